//! An out-of-order core: dispatch and retire in order, `width` a cycle; execution whenever operands and a port are there.

use super::inorder::bits;
use super::{Core, Cycle, Executed, Hierarchy, Latencies, Memory, Predictor, Sibling, Timing};
use crate::inst::{Flow, Work};

const WINDOW: usize = 1 << 13;
const FORWARDS: usize = 1 << 12;
/// Cycles from dispatch to the earliest execution.
const SCHEDULE: Cycle = 2;

/// What makes one out-of-order core unlike another.
#[derive(Debug)]
pub struct Shape {
    /// What the recording's header calls it.
    pub name: String,
    /// Instructions dispatched and retired in a cycle.
    pub width: u32,
    /// Entries of the reorder buffer.
    pub rob: usize,
    /// Misses under way at once.
    pub misses: usize,
    /// Cycles from the discovery of a misprediction to the next dispatch.
    pub flush: Cycle,
    /// Whether a compare and the branch after it are one.
    pub fusion: bool,
    /// Result latencies.
    pub latencies: Latencies,
    /// The memory behind it.
    pub memory: Memory,
    /// Bits of the branch predictor's table, and of its history.
    pub predictor: (u32, u32),
    /// A second thread on the same core.
    pub sibling: Option<Sibling>,
}

/// The core's state.
#[derive(Debug)]
pub struct OutOfOrder {
    shape: Shape,
    caches: Hierarchy,
    predictor: Predictor,
    front: Slots,
    back: Slots,
    redirect: Cycle,
    retired: Vec<Cycle>,
    at: usize,
    ready: [Cycle; 64],
    ports: [Port; 5],
    divider_free: Cycle,
    fills: Vec<Cycle>,
    fill: usize,
    forwards: Vec<(u64, Cycle)>,
    compare: Option<(u64, Cycle)>,
    memory_busy: Cycle,
}

/// In-order progress, so many a cycle.
#[derive(Debug, Default, Clone, Copy)]
struct Slots {
    cycle: Cycle,
    used: u32,
}

impl Slots {
    fn take(&mut self, earliest: Cycle, width: u32) -> Cycle {
        if earliest > self.cycle {
            *self = Slots { cycle: earliest, used: 0 };
        } else if self.used == width {
            *self = Slots { cycle: self.cycle + 1, used: 0 };
        }
        self.used += 1;
        self.cycle
    }
}

/// Units of one kind, by cycle.
#[derive(Debug)]
struct Port {
    units: u8,
    used: Vec<(Cycle, u8)>,
}

impl Port {
    fn new(units: u8) -> Port {
        Port { units, used: vec![(0, 0); WINDOW] }
    }

    /// The first cycle not before `earliest` with a free unit.
    fn take(&mut self, mut earliest: Cycle) -> Cycle {
        loop {
            let slot = &mut self.used[earliest as usize % WINDOW];
            if slot.0 != earliest {
                *slot = (earliest, 0);
            }
            if slot.1 < self.units {
                slot.1 += 1;
                return earliest;
            }
            earliest += 1;
        }
    }
}

const INTEGER: usize = 0;
const FLOAT: usize = 1;
const MULTIPLY: usize = 2;
const LOAD: usize = 3;
const STORE: usize = 4;

impl OutOfOrder {
    /// A core at rest.
    pub fn new(shape: Shape, seed: u64) -> OutOfOrder {
        let wide = shape.width >= 6;
        let integer = shape.width as u8 / 2 + 1;
        OutOfOrder {
            caches: Hierarchy::new(shape.memory, seed),
            predictor: Predictor::new(shape.predictor.0, shape.predictor.1),
            front: Slots::default(),
            back: Slots { cycle: 1, used: 0 },
            redirect: 0,
            retired: vec![0; shape.rob],
            at: 0,
            ready: [0; 64],
            ports: [integer, 2, 1, if wide { 3 } else { 2 }, if wide { 2 } else { 1 }].map(Port::new),
            divider_free: 0,
            fills: vec![0; shape.misses],
            fill: 0,
            forwards: vec![(u64::MAX, 0); FORWARDS],
            compare: None,
            memory_busy: 0,
            shape,
        }
    }

    fn dispatch(&mut self) -> Cycle {
        let room = self.retired[self.at] + 1;
        self.front.take(room.max(self.redirect), self.shape.width)
    }

    /// Reads memory: when the data is there, and when the last first-level miss was filled.
    fn load(&mut self, addresses: &[u64], ready: Cycle) -> (Cycle, Option<Cycle>) {
        let (mut data, mut miss) = (ready, None);
        for &address in addresses {
            let start = self.ports[LOAD].take(ready);
            let (stored, at) = self.forwards[(address >> 2) as usize % FORWARDS];
            let (cycles, missed) = self.caches.access(address, start);
            let mut done = start + cycles;
            if stored == address >> 2 {
                done = done.max(at + 5);
            }
            if missed {
                // With every fill buffer taken the miss waits for the oldest.
                done = done.max(self.fills[self.fill] + cycles);
                self.fills[self.fill] = done;
                self.fill = (self.fill + 1) % self.fills.len();
                miss = miss.max(Some(done));
                self.memory_busy = self.memory_busy.max(done);
            }
            data = data.max(done);
        }
        (data, miss)
    }

    fn compute(&mut self, work: Work, operands: Cycle, loaded: bool) -> Cycle {
        let latency = self.shape.latencies.of(work);
        let port = match work {
            Work::Nop => return operands,
            Work::Move if loaded => return operands,
            Work::Move | Work::Integer | Work::Serialize | Work::Microcode => INTEGER,
            Work::Multiply => MULTIPLY,
            Work::Vector | Work::FloatAdd | Work::FloatMultiply => FLOAT,
            Work::Divide | Work::FloatDivide => {
                let start = self.ports[MULTIPLY].take(operands.max(self.divider_free));
                self.divider_free = start + latency * 2 / 3;
                return start + latency;
            }
        };
        self.ports[port].take(operands) + latency
    }

    fn retire(&mut self, earliest: Cycle) -> Cycle {
        let mut cycle = earliest.max(self.back.cycle);
        if cycle == self.back.cycle && self.back.used == self.shape.width {
            cycle += 1;
        }
        if let Some(sibling) = &mut self.shape.sibling {
            cycle = sibling.next_free(cycle);
        }
        self.back.take(cycle, self.shape.width)
    }

    fn resolve(&mut self, step: Executed<'_>, done: Cycle) -> Option<Cycle> {
        if step.jumped() {
            // A taken branch ends the group that was dispatched with it.
            self.front.used = self.shape.width;
        }
        if self.predictor.predicts(step.inst, step.next) {
            return None;
        }
        self.redirect = self.redirect.max(done + self.shape.flush);
        Some(done)
    }

    /// A branch that joined its compare: no slot, no latency, never the head of the queue.
    fn join(&mut self, step: Executed<'_>, done: Cycle) -> Timing {
        let mispredict = self.resolve(step, done);
        Timing { retire: self.back.cycle, fused: true, miss: None, mispredict, memory_busy: self.memory_busy }
    }
}

impl Core for OutOfOrder {
    fn execute(&mut self, step: Executed<'_>) -> Timing {
        let inst = step.inst;
        if let Some((end, done)) = self.compare.take()
            && end == inst.address
            && inst.flow == Flow::Conditional
        {
            return self.join(step, done);
        }
        let mut start = self.dispatch() + SCHEDULE;
        if matches!(inst.work, Work::Serialize | Work::Microcode) {
            start = start.max(self.back.cycle);
        }
        let operands = bits(inst.reads).map(|r| self.ready[r]).fold(start, Cycle::max);
        let (data, miss) = self.load(step.loads, operands);
        let done = self.compute(inst.work, data, !step.loads.is_empty());
        for r in bits(inst.writes) {
            self.ready[r] = done;
        }
        for &address in step.stores {
            let at = self.ports[STORE].take(done);
            self.caches.access(address, at);
            self.forwards[(address >> 2) as usize % FORWARDS] = (address >> 2, at);
        }
        if matches!(inst.work, Work::Serialize | Work::Microcode) {
            self.redirect = self.redirect.max(done);
        }
        let mispredict = self.resolve(step, done);
        let retire = self.retire(done + 1);
        self.retired[self.at] = retire;
        self.at = (self.at + 1) % self.retired.len();
        self.compare = (self.shape.fusion && inst.fuses).then_some((inst.end(), done));
        Timing { retire, fused: false, miss, mispredict, memory_busy: self.memory_busy }
    }

    fn name(&self) -> &str {
        &self.shape.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::Bursts;
    use crate::inst::{Frame, Inst};

    fn core(width: u32) -> OutOfOrder {
        let memory = Memory {
            first: (32, 8, 5),
            second: (256, 8, 14),
            latency: 200,
            prefetch: false,
            bursts: Bursts::Steady,
        };
        let shape = Shape {
            name: String::new(),
            width,
            rob: 224,
            misses: 10,
            flush: 15,
            fusion: true,
            latencies: Latencies::FAST,
            memory,
            predictor: (12, 8),
            sibling: None,
        };
        OutOfOrder::new(shape, 1)
    }

    fn inst(address: u64, work: Work, flow: Flow, reads: u64, writes: u64) -> Inst {
        Inst {
            address,
            length: 4,
            work,
            flow,
            frame: Frame::Same,
            reads,
            writes,
            fuses: false,
            repeats: false,
        }
    }

    /// Runs a loop and gives the mean cycles each of its instructions was the head of the queue, after a warm-up.
    fn head_times(body: &[Inst], loads: &[usize]) -> Vec<f64> {
        let mut core = core(4);
        let (mut last, mut held) = (0, vec![0; body.len()]);
        for round in 0..2000 {
            for (i, inst) in body.iter().enumerate() {
                let next = body[(i + 1) % body.len()].address;
                let address = [0x5000u64];
                let read = if loads.contains(&i) { &address[..] } else { &[] };
                let retire = core.execute(Executed { inst, loads: read, stores: &[], next }).retire;
                if round >= 1000 {
                    held[i] += retire - last;
                }
                last = retire;
            }
        }
        held.iter().map(|&h| h as f64 / 1000.0).collect()
    }

    /// Downs 2019, Skylake: of a load and an addition in one chain the load takes five samples to the addition's one (4.9:1).
    #[test]
    fn a_load_is_waited_for_five_times_as_long_as_the_addition_after_it() {
        let body = [inst(0x100, Work::Move, Flow::Next, 1, 1), inst(0x104, Work::Integer, Flow::Next, 1, 1)];
        // No backward branch: the chain alone sets the pace.
        let held = head_times(&body, &[0]);
        assert!((held[0] / held[1] - 5.0).abs() < 0.2, "{held:?}");
    }

    /// His chart of a load and ten `nop`s: after the load every fourth slot takes a cycle, those between take none.
    #[test]
    fn instructions_behind_a_load_retire_in_the_shadow_of_every_fourth() {
        let mut body = vec![inst(0x100, Work::Move, Flow::Next, 1, 1)];
        body.extend((1..=10).map(|i| inst(0x100 + 4 * i, Work::Nop, Flow::Next, 0, 0)));
        body.push(inst(0x12c, Work::Integer, Flow::Next, 1, 1));
        let held = head_times(&body, &[0]);
        assert!(held[0] >= 3.0, "{held:?}");
        assert_eq!(held[1..4], [0.0; 3]);
        assert_eq!((held[4], held[8]), (1.0, 1.0));
        assert_eq!([held[5], held[6], held[7]], [0.0; 3]);
    }

    #[test]
    fn a_branch_joined_to_its_compare_is_never_the_head() {
        let mut compare = inst(0x100, Work::Integer, Flow::Next, 1, 1 << 16);
        compare.fuses = true;
        let body = [compare, inst(0x104, Work::Integer, Flow::Conditional, 1 << 16, 0)];
        assert_eq!(head_times(&body, &[])[1], 0.0);
    }
}
