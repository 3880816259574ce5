//! When the entry of a function is watched: opens the windows of a thread that are due, closes them, plans the next.
//!
//! In: a thread, and a window of it that is due. Out: breakpoints on or off, and when to look again. It knows nothing of
//! calls but how many began.

use super::Candidate;
use super::counters::{RAN, Values, WALL, value};
use super::plan::{Plan, share};
use super::sampler::{Sampler, clock};
use super::tracee::{Open, Planned};
use std::cmp::Reverse;

/// ns between looks at how long a thread ran; doubled while it does not.
const LOOK: u64 = 20_000;
/// How often that is doubled at most: up to 40 ms.
const IDLEST: u32 = 11;

/// What is due at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// A window for the function with this entry.
    Open(u64),
    /// The end of the window in this register, by its number.
    Close(usize, u64),
}

impl<O> Sampler<'_, O> {
    /// Not before the thread ran for the gap's length.
    pub(super) fn open(&mut self, tid: u32, entry: u64, time: u64) {
        let Some(tracee) = self.tracees.get_mut(&tid) else { return };
        let ran = tracee.counters.ran().unwrap_or(u64::MAX);
        let Some(planned) = tracee.plans.get_mut(&entry) else { return };
        if ran < planned.from {
            planned.idle = if ran > planned.ran { 0 } else { (planned.idle + 1).min(IDLEST) };
            planned.ran = ran;
            let at = time + (planned.from - ran).max(LOOK << planned.idle);
            return self.due.push(Reverse((at, tid, Due::Open(entry))));
        }
        let (end, window) = (planned.end, planned.next);
        let late = (ran - planned.from) as f64 * 1e-9;
        let register = tracee.free(window.length);
        self.windows += 1;
        let number = self.windows;
        let armed = register.is_some_and(|register| {
            let open = Open {
                entry,
                end,
                window,
                since: ran,
                stops: tracee.stops,
                slowed: tracee.slowed(),
                ran: 0,
                idle: 0,
                looks: 0,
                calls: 0,
                number,
            };
            tracee.arm(register, open).is_ok()
        });
        let Some(planned) = tracee.plans.get_mut(&entry) else { return };
        planned.plan.due(armed.then_some(late));
        let length = nanoseconds(window.length);
        match register.filter(|_| armed) {
            Some(register) => self.due.push(Reverse((clock() + length, tid, Due::Close(register, number)))),
            None => self.next(tid, entry, time, ran + length),
        }
    }

    /// Not before the program ran for the window's length.
    pub(super) fn close(&mut self, tid: u32, register: usize, number: u64, time: u64) {
        let Some(tracee) = self.tracees.get_mut(&tid) else { return };
        let Some(mut open) = tracee.open[register].filter(|open| open.number == number) else { return };
        if let Some(at) = tracee.undisturbed_until().filter(|at| *at > time) {
            return self.due.push(Reverse((at, tid, Due::Close(register, number))));
        }
        // a call may have begun in time, and be seen later
        if tracee.counters.is_stopping() {
            return self.due.push(Reverse((time + LOOK, tid, Due::Close(register, number))));
        }
        let ran = tracee.counters.ran().unwrap_or(u64::MAX);
        let within = tracee.within(&open, ran, self.probes.cost());
        let length = nanoseconds(open.window.length);
        if within >= length {
            tracee.quiet(register);
            if !tracee.counters.is_stopping() {
                return self.end(tid, register, time, ran);
            }
        }
        let has_run = ran > open.ran;
        open.idle = if has_run { 0 } else { (open.idle + 1).min(IDLEST) };
        // a thread that waits is not disturbed
        open.looks += u64::from(has_run);
        open.ran = ran;
        tracee.open[register] = Some(open);
        let at = time + length.saturating_sub(within).max(LOOK << open.idle);
        self.due.push(Reverse((at, tid, Due::Close(register, number))));
    }

    /// Ends a window, and plans the next of the function. The thread stands still since an event came with these counters.
    pub(super) fn shut(&mut self, tid: u32, register: usize, seen: &Values) {
        let of = |place| value(seen, place).unwrap_or(0);
        self.end(tid, register, of(WALL), of(RAN));
    }

    /// Ends the windows of such a thread that are over: looking costs it nothing now.
    pub(super) fn shut_all(&mut self, tid: u32, seen: &Values) {
        let Some(tracee) = self.tracees.get(&tid) else { return };
        let (ran, cost) = (value(seen, RAN).unwrap_or(0), self.probes.cost());
        let over = |open: &Open| tracee.within(open, ran, cost) >= nanoseconds(open.window.length);
        let over: Vec<usize> =
            (0..tracee.open.len()).filter(|&ix| tracee.open[ix].as_ref().is_some_and(over)).collect();
        over.into_iter().for_each(|register| self.shut(tid, register, seen));
    }

    fn end(&mut self, tid: u32, register: usize, time: u64, ran: u64) {
        let Some(tracee) = self.tracees.get_mut(&tid) else { return };
        let Some(open) = tracee.open[register] else { return };
        tracee.disarm(register, ran, self.probes.cost());
        self.next(tid, open.entry, time, ran);
    }

    /// Plans the next window of a function of a thread, a gap after that has run for `from` ns.
    fn next(&mut self, tid: u32, entry: u64, time: u64, from: u64) {
        let Some(tracee) = self.tracees.get_mut(&tid) else { return };
        let Some(plan) = tracee.plans.get(&entry).map(|planned| planned.plan) else { return };
        let rate = share(self.options.rate, &plan, tracee.plans.values().map(|planned| &planned.plan));
        let next = plan.window(rate);
        let place = self.random.uniform();
        let Some(planned) = tracee.plans.get_mut(&entry) else { return };
        let gap = nanoseconds(next.wait(planned.place, place));
        (planned.next, planned.from, planned.ran, planned.idle) = (next, from + gap, from, 0);
        planned.place = place;
        self.due.push(Reverse((time + gap, tid, Due::Open(entry))));
    }

    /// Gives a thread's functions windows, and takes those of others away.
    pub(super) fn plan(&mut self, tid: u32, candidates: &[Candidate]) {
        let Some(tracee) = self.tracees.get_mut(&tid) else { return };
        tracee.plans.retain(|entry, _| candidates.iter().any(|candidate| candidate.entry == *entry));
        let mut new = Vec::new();
        for &Candidate { entry, end } in candidates {
            tracee.plans.entry(entry).or_insert_with(|| {
                new.push(entry);
                let place = self.random.uniform();
                Planned {
                    end,
                    plan: Plan::default(),
                    next: Plan::default().window(1.0),
                    from: 0,
                    place,
                    ran: 0,
                    idle: 0,
                    jumps: 0,
                }
            });
        }
        let time = clock();
        let ran = tracee.counters.ran().unwrap_or(0);
        new.into_iter().for_each(|entry| self.next(tid, entry, time, ran));
    }
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}
