//! Calls that are measured, from the entry of a function to its return, and samples of what runs.
//!
//! In: a thread that an event of ours stopped. Out: what the observer is told, and a thread that goes on. It knows nothing
//! of when a window is due.

use super::counters::{Values, WALL, difference, value};
use super::frames::{Access, Frame, ends_in_call};
use super::plan::Random;
use super::sampler::{Sampler, clock};
use super::tracee::{Cause, Pending};
use super::{Call, Observer, Stop};
use crate::sys::trace::{self, RIP, RSP, Registers};

/// Bytes of the stack that a calling context is made of.
const STACK: usize = 16 << 10;
/// Calls inside calls that are kept apart.
const DEEPEST: usize = 64;
/// Accesses in passing after which a call is given up.
const PASSING: u32 = 100;
/// Jumps to its own entry after which a function is left alone.
const JUMPS: u32 = 8;
/// Mean ns between samples of what runs: at first, to find functions soon, and later.
pub const PERIODS: [f64; 2] = [1e6, 50e6];
/// The least of these times.
const SHORTEST: f64 = 10_000.0;
/// Samples of the first kind.
const FIRST: u32 = 40;

impl<O: Observer> Sampler<'_, O> {
    pub(super) fn trapped(&mut self, tid: u32, cause: Cause, time: u64) -> Result<(), O::Error> {
        let Some(tracee) = self.tracees.get_mut(&tid) else { return self.pass(tid, 0) };
        let seen = trace::registers(tid as i32).and_then(|of| Ok((of, tracee.counters.stopped(time)?)));
        let Ok((registers, seen)) = seen else { return self.pass(tid, 0) };
        if let Some(cost) = tracee.end_probe(Some(cause), &seen) {
            self.probes.push(&cost);
            self.go_on(tid, &seen);
            return Ok(());
        }
        match cause {
            Cause::Entry(register) => self.entered(tid, register, &registers, &seen),
            Cause::Watch => self.accessed(tid, &registers, &seen),
            Cause::Clock => self.ticked(tid, &registers, &seen),
        }
    }

    /// The thread goes on after a stop that began with these counters, which are given as they are now.
    fn go_on(&mut self, tid: u32, seen: &Values) {
        if let Some(tracee) = self.tracees.get_mut(&tid) {
            tracee.calls.iter_mut().for_each(|call| call.stops += 1);
            // of a thread that was killed meanwhile nothing more is measured
            let _ = tracee.account(seen, clock());
        }
        let _ = trace::resume(tid as i32, 0);
    }

    /// It goes on, and is stopped again at once: what is counted meanwhile is what a stop costs.
    fn probe(&mut self, tid: u32, seen: &Values, next: u64) {
        if let Some(tracee) = self.tracees.get_mut(&tid)
            && let Ok(before) = tracee.account(seen, clock())
        {
            let _ = tracee.set_probe(next, before);
        }
        let _ = trace::resume(tid as i32, 0);
    }

    /// All calls of a thread that are being measured have ended without a return.
    pub(super) fn lose(&mut self, tid: u32) -> Result<(), O::Error> {
        let Some(tracee) = self.tracees.get_mut(&tid) else { return Ok(()) };
        let calls = std::mem::take(&mut tracee.calls);
        let _ = tracee.watch();
        calls.iter().try_for_each(|call| self.observer.lost(tid, call.context))
    }

    /// A thread is at the first instruction of a function.
    fn entered(
        &mut self,
        tid: u32,
        register: usize,
        registers: &Registers,
        seen: &Values,
    ) -> Result<(), O::Error> {
        self.shut_all(tid, seen);
        let Some((frame, weight, pid)) = self.begun(tid, register, registers)? else {
            self.go_on(tid, seen);
            return Ok(());
        };
        let Some(tracee) = self.tracees.get_mut(&tid) else { return self.pass(tid, 0) };
        let mut stack = vec![0; STACK];
        let read = tracee.memory.read(frame.slot, &mut stack);
        stack.truncate(read);
        if let Some(open) = &mut tracee.open[register] {
            open.calls += 1;
        }
        if tracee.open[register].is_some_and(|open| open.calls >= open.window.most) {
            self.shut(tid, register, seen);
        }
        let Some(tracee) = self.tracees.get_mut(&tid) else { return self.pass(tid, 0) };
        tracee.calls.iter_mut().for_each(|call| call.stops += 1);
        let (before, taken) = (Values::new(), Values::new());
        tracee.calls.push(Pending { frame, context: 0, weight, before, stops: 0, taken, passing: 0 });
        let _ = tracee.watch();
        let end = clock();
        let before = tracee.account(seen, end).unwrap_or_default();
        if let Some(call) = tracee.calls.last_mut() {
            (call.before, call.taken) = (before, tracee.taken.clone());
        }
        let _ = trace::resume(tid as i32, 0);
        let context = self.observer.called(&Stop { pid, tid, time: end, registers, stack: &stack })?;
        if let Some(call) = self.tracees.get_mut(&tid).and_then(|tracee| tracee.calls.last_mut()) {
            call.context = context;
        }
        Ok(())
    }

    /// The call that begins, if one does that can be measured.
    fn begun(
        &mut self,
        tid: u32,
        register: usize,
        registers: &Registers,
    ) -> Result<Option<(Frame, f64, u32)>, O::Error> {
        let Some(tracee) = self.tracees.get_mut(&tid) else { return Ok(None) };
        let slot = registers[RSP];
        let open = tracee.open[register].filter(|open| open.entry == registers[RIP]);
        let (Some(open), Some(back)) = (open, tracee.memory.word(slot)) else { return Ok(None) };
        let mut before = [0; 7];
        let seen = tracee.memory.read(back.wrapping_sub(7), &mut before) == before.len();
        let Some(planned) = tracee.plans.get_mut(&open.entry) else { return Ok(None) };
        let again = tracee.calls.last().is_some_and(|call| call.frame.slot == slot);
        if again || !seen || !ends_in_call(&before) {
            planned.jumps += 1;
            if planned.jumps >= JUMPS {
                tracee.plans.remove(&open.entry);
            }
            if again {
                self.lose(tid)?;
            }
            return Ok(None);
        }
        let weight = planned.plan.weight(open.window);
        let pid = tracee.pid;
        let is_inside = tracee.calls.last().is_none_or(|call| call.frame.encloses(slot));
        if !is_inside {
            self.lose(tid)?;
        }
        let depth = self.tracees.get(&tid).map_or(0, |tracee| tracee.calls.len());
        let frame = Frame { slot, back, entry: open.entry, end: open.end };
        Ok((depth < DEEPEST).then_some((frame, weight, pid)))
    }

    /// The slot of the innermost call was accessed.
    fn accessed(&mut self, tid: u32, registers: &Registers, seen: &Values) -> Result<(), O::Error> {
        let Some(tracee) = self.tracees.get_mut(&tid) else { return self.pass(tid, 0) };
        let Some(call) = tracee.calls.last_mut() else {
            self.go_on(tid, seen);
            return Ok(());
        };
        let word = tracee.memory.word(call.frame.slot);
        match call.frame.access(registers[RIP], registers[RSP], word) {
            Access::Return => return self.returned(tid, registers, seen),
            Access::Passing if call.passing < PASSING => call.passing += 1,
            Access::Passing | Access::Gone => self.lose(tid)?,
        }
        self.go_on(tid, seen);
        Ok(())
    }

    fn returned(&mut self, tid: u32, registers: &Registers, seen: &Values) -> Result<(), O::Error> {
        let Some(tracee) = self.tracees.get_mut(&tid) else { return self.pass(tid, 0) };
        let Some(call) = tracee.calls.pop() else { return self.pass(tid, 0) };
        let _ = tracee.watch();
        let (pid, is_last) = (tracee.pid, tracee.calls.is_empty());
        let taken = difference(&call.taken, &tracee.taken);
        self.shut_all(tid, seen);
        match is_last && self.probes.is_due() {
            true => self.probe(tid, seen, registers[RIP]),
            false => self.go_on(tid, seen),
        }
        let Some((start, end)) = value(&call.before, WALL).zip(value(seen, WALL)) else {
            return self.observer.lost(tid, call.context);
        };
        let values = difference(&taken, &difference(&call.before, seen));
        self.observer.returned(&Call {
            pid,
            tid,
            context: call.context,
            start,
            end,
            slot: call.frame.slot,
            weight: call.weight,
            stops: call.stops,
            values,
        })
    }

    /// The thread ran for a while: where?
    fn ticked(&mut self, tid: u32, registers: &Registers, seen: &Values) -> Result<(), O::Error> {
        let Some(tracee) = self.tracees.get_mut(&tid) else { return self.pass(tid, 0) };
        let mut stack = vec![0; STACK];
        let read = tracee.memory.read(registers[RSP], &mut stack);
        stack.truncate(read);
        tracee.samples += 1;
        let period = PERIODS[usize::from(tracee.samples > FIRST)];
        let period = until_sample(&mut self.random, period);
        // a clock that is on would take its next tick for a sample
        let clock = &tracee.clock;
        let _ = clock.disable().and_then(|()| clock.set_period(period)).and_then(|()| clock.enable());
        let (pid, time) = (tracee.pid, value(seen, WALL).unwrap_or(0));
        self.go_on(tid, seen);
        let candidates = self.observer.running(&Stop { pid, tid, time, registers, stack: &stack })?;
        self.of_process(pid).into_iter().for_each(|tid| self.plan(tid, &candidates));
        Ok(())
    }
}

/// ns to the next sample of what runs, so many on average.
pub fn until_sample(random: &mut Random, mean: f64) -> u64 {
    random.exponential(mean).max(SHORTEST) as u64
}
