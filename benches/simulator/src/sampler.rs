//! Runs a trace through a core, with counters that overflow and interrupts that come late.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

use crate::core::{Core, Cycle, Executed, Timing};
use crate::counter::{Counter, Event, Setup};
use crate::interrupt::Skid;
use crate::stack::{BranchStack, CallStack, Taken};
use crate::trace::{InstIx, Step, Trace};

/// How a recording is made.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The counters, all running at once.
    pub counters: Vec<Setup>,
    /// How often the program runs; a longer recording of the same work.
    pub passes: u32,
    /// Whether samples carry the frame-pointer call chain.
    pub call_chains: bool,
    /// Branch records per sample; none if 0.
    pub branch_depth: usize,
    /// Everything random comes from it.
    pub seed: u64,
}

/// What a recording and its truth are written from.
#[derive(Debug)]
pub struct Recording {
    /// Samples in order of time.
    pub samples: Vec<Sample>,
    /// What really happened to each instruction, by index in the trace.
    pub truth: Vec<Happened>,
    /// The last cycle.
    pub cycles: Cycle,
}

/// What really happened to one instruction in all passes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Happened {
    /// Times it ran.
    pub executions: u64,
    /// Cycles it was the oldest that had not retired.
    pub head_cycles: u64,
    /// First-level misses of its loads.
    pub load_misses: u64,
    /// Times it was mispredicted.
    pub mispredicts: u64,
    /// Times it loaded.
    pub loads: u64,
    /// Times it stored.
    pub stores: u64,
    /// Times it ran, if it may transfer control.
    pub branches: u64,
}

/// One sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// Which counter, by its place in the plan.
    pub counter: usize,
    /// When, in cycles.
    pub cycle: Cycle,
    /// The recorded address.
    pub address: u64,
    /// The period that led to it.
    pub period: u64,
    /// Whether the address is exact.
    pub exact: bool,
    /// Return addresses, innermost first.
    pub callers: Vec<u64>,
    /// Taken branches, youngest first.
    pub branches: Vec<Taken>,
}

/// An interrupt on its way. Ordered by time, then by counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pending {
    fires: Cycle,
    counter: usize,
    period: u64,
}

/// Makes the recording.
pub fn record(trace: &Trace, core: &mut dyn Core, plan: &Plan) -> Recording {
    let mut run = Run::new(trace, plan);
    for _ in 0..plan.passes {
        run.calls.clear();
        for step in trace.steps() {
            let next = trace.inst(step.next).address;
            let executed =
                Executed { inst: trace.inst(step.index), loads: step.loads, stores: step.stores, next };
            let timing = core.execute(executed);
            run.step(step, executed, timing);
        }
    }
    run.recording.cycles = run.retired;
    // An interrupt that lets the head finish is recorded later than one that fires after it and does not.
    run.recording.samples.sort_by_key(|s| s.cycle);
    run.recording
}

struct Run<'a> {
    plan: &'a Plan,
    counters: Vec<Counter>,
    pending: BinaryHeap<Reverse<Pending>>,
    landing: Vec<Pending>,
    retired: Cycle,
    calls: CallStack,
    branches: BranchStack,
    random: Xoshiro256PlusPlus,
    recording: Recording,
}

impl<'a> Run<'a> {
    fn new(trace: &Trace, plan: &'a Plan) -> Run<'a> {
        let truth = vec![Happened::default(); trace.insts.len()];
        Run {
            plan,
            counters: plan.counters.iter().map(|&s| Counter::new(s)).collect(),
            pending: BinaryHeap::new(),
            landing: Vec::new(),
            retired: 0,
            calls: CallStack::default(),
            branches: BranchStack::new(plan.branch_depth),
            random: Xoshiro256PlusPlus::seed_from_u64(plan.seed),
            recording: Recording { samples: Vec::new(), truth, cycles: 0 },
        }
    }

    fn step(&mut self, step: Step<'_>, executed: Executed<'_>, timing: Timing) {
        let held = timing.retire - self.retired;
        let address = executed.inst.address;
        self.happened(step.index, executed, &timing, held);
        self.count_while_held(address, &timing, held);
        self.deliver(address, &timing, held);
        self.count_retired(executed, &timing);
        self.calls.follow(executed.inst, executed.next);
        self.branches.follow(executed.inst, executed.next, &timing);
        self.retired = timing.retire;
    }

    fn happened(&mut self, index: InstIx, executed: Executed<'_>, timing: &Timing, held: Cycle) {
        let truth = &mut self.recording.truth[index.0 as usize];
        truth.executions += 1;
        truth.head_cycles += held;
        truth.load_misses += u64::from(timing.miss.is_some());
        truth.mispredicts += u64::from(timing.mispredict.is_some());
        truth.branches += u64::from(Event::Branches.retires(executed));
        truth.loads += u64::from(Event::Loads.retires(executed));
        truth.stores += u64::from(Event::Stores.retires(executed));
    }

    /// Cycles pass while this instruction is the head, and misses happen before it retires: their interrupts can hit itself.
    fn count_while_held(&mut self, address: u64, timing: &Timing, held: Cycle) {
        for i in 0..self.counters.len() {
            let (n, last) = match self.counters[i].setup.event {
                Event::Instructions | Event::Branches | Event::Loads | Event::Stores => (0, None),
                Event::Cycles => (held, Some(timing.retire)),
                Event::LoadMisses => (1, timing.miss),
                Event::BranchMisses => (1, timing.mispredict),
            };
            if let Some(last) = last {
                self.count(i, n, last, address, timing);
            }
        }
    }

    fn count_retired(&mut self, executed: Executed<'_>, timing: &Timing) {
        for i in 0..self.counters.len() {
            if self.counters[i].setup.event.retires(executed) {
                self.count(i, 1, timing.retire, executed.inst.address, timing);
            }
        }
    }

    fn count(&mut self, i: usize, n: u64, last: Cycle, address: u64, timing: &Timing) {
        let Self { counters, pending, random, recording, calls, branches, plan, .. } = self;
        let setup = counters[i].setup;
        counters[i].add(n, setup.event == Event::Cycles, last, |now, period| {
            let fires = setup.skid.fires(now, timing.memory_busy, random);
            let on_its_way = Pending { fires, counter: i, period };
            if setup.skid == Skid::Precise {
                recording.samples.push(sample(on_its_way, address, now, true, plan, calls, branches));
            } else {
                pending.push(Reverse(on_its_way));
            }
        });
    }

    /// Interrupts that fire while the instruction at `address` is the head, and those that let its predecessor finish.
    fn deliver(&mut self, address: u64, timing: &Timing, held: Cycle) {
        if !timing.fused {
            for landed in std::mem::take(&mut self.landing) {
                self.take(landed, address, timing.retire);
            }
        }
        // One that retires together with its predecessor has never been the head.
        while held > 0
            && let Some(&Reverse(due)) = self.pending.peek()
            && due.fires <= timing.retire
        {
            self.pending.pop();
            let now = due.fires.max(self.retired + 1);
            if self.plan.counters[due.counter].lands.finishes(self.retired, now) {
                self.landing.push(due);
            } else {
                self.take(due, address, now);
            }
        }
    }

    fn take(&mut self, due: Pending, address: u64, now: Cycle) {
        self.recording.samples.push(sample(due, address, now, false, self.plan, &self.calls, &self.branches));
    }
}

fn sample(
    due: Pending,
    address: u64,
    cycle: Cycle,
    exact: bool,
    plan: &Plan,
    calls: &CallStack,
    branches: &BranchStack,
) -> Sample {
    Sample {
        counter: due.counter,
        cycle,
        address,
        period: due.period,
        exact,
        callers: if plan.call_chains { calls.return_addresses().collect() } else { Vec::new() },
        branches: branches.entries().copied().collect(),
    }
}
