//! The loop: waits for threads that stop and for windows that are due, and does what either asks for.
//!
//! In: a command or a process, and an [`Observer`]. Out: what the observer is told. One thread does it all, as ptrace wants
//! it.

use super::counters::difference;
use super::frames::{Access, Frame, ends_in_call};
use super::plan::{Plan, Random, share};
use super::tracee::{Cause, Open, Pending, Planned, Tracee};
use super::{Call, Candidate, Error, Observer, Options, Outcome, Stop};
use crate::sys::trace::{self, Change, Memory, RIP, RSP, Registers};
use crate::sys::{Clock, Poll, Signals, hurry, now, raise_file_limit};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::os::fd::AsFd;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

/// Bytes of the stack that a calling context is made of.
const STACK: usize = 16 << 10;
/// Calls inside calls that are kept apart.
const DEEPEST: usize = 64;
/// Accesses in passing after which a call is given up.
const PASSING: u32 = 100;
/// Jumps to its own entry after which a function is left alone.
const JUMPS: u32 = 8;
/// Mean ns between samples of what runs: at first, to find functions soon, and later.
const PERIODS: [f64; 2] = [1e6, 20e6];
/// Samples of the first kind.
const FIRST: u32 = 50;
/// ns between looks at how long a thread ran; doubled while it does not.
const LOOK: u64 = 20_000;
/// How often that is doubled at most: up to 40 ms.
const IDLEST: u32 = 11;
/// ns that threads have to stop in, when the program is left.
const LEAVING: u64 = 200_000_000;

/// What is due at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// A window for the function with this entry.
    Open(u64),
    /// The end of the window in this register, by its number.
    Close(usize, u64),
}

/// Samples calls of a program.
pub struct Sampler<'a, O> {
    options: Options,
    observer: &'a mut O,
    random: Random,
    /// ns of the thread's time that a stop costs.
    slowdown: u64,
    tracees: HashMap<u32, Tracee>,
    memories: HashMap<u32, Rc<Memory>>,
    due: BinaryHeap<Reverse<(u64, u32, Due)>>,
    windows: u64,
    unwatched: u32,
    root: u32,
    end: Option<Change>,
}

fn clock() -> u64 {
    now(Clock::Monotonic).unwrap_or(0)
}

impl<'a, O: Observer> Sampler<'a, O>
where
    O::Error: From<Error>,
{
    /// Nothing is watched yet. `slowdown` is what a stop costs of the thread's time, in ns.
    pub fn new(options: Options, slowdown: u64, observer: &'a mut O) -> Sampler<'a, O> {
        Sampler {
            options,
            observer,
            random: Random(options.seed),
            slowdown,
            tracees: HashMap::new(),
            memories: HashMap::new(),
            due: BinaryHeap::new(),
            windows: 0,
            unwatched: 0,
            root: 0,
            end: None,
        }
    }

    /// Runs a command to its end. Signals that end programs are handed on to it; it gets SIGTERM when something fails.
    pub fn run(mut self, command: &mut Command) -> Result<Outcome, O::Error> {
        let signals = [libc::SIGCHLD, libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
        let signals = Signals::take(&signals).map_err(Error::Wait)?;
        let program = command.get_program().into();
        let child = trace::start(command).map_err(|source| match source.raw_os_error() {
            Some(libc::EPERM) => Error::Trace(source),
            _ => Error::Start { program, source },
        })?;
        let _ = raise_file_limit();
        // a stopped program waits for this thread
        let _ = hurry();
        self.root = child.id();
        let done = self.begin(self.root).and_then(|()| self.follow(&signals));
        if done.is_err() {
            let _ = trace::kill(self.root as i32, libc::SIGTERM);
        }
        self.leave();
        done
    }

    /// Samples a process that was made with [`trace::fork`], for one function, until the observer fails.
    pub(super) fn watch(mut self, pid: i32, candidate: Candidate) -> Result<Outcome, O::Error> {
        let signals = Signals::take(&[libc::SIGCHLD]).map_err(Error::Wait)?;
        self.root = pid as u32;
        let stopped =
            trace::seize(pid).and_then(|()| trace::interrupt(pid)).and_then(|()| trace::wait_for(pid));
        stopped.map_err(Error::Trace)?;
        let done = self.begin(self.root).and_then(|()| {
            self.plan(self.root, &[candidate]);
            self.follow(&signals)
        });
        self.leave();
        done
    }

    /// The first thread stands still and goes.
    fn begin(&mut self, tid: u32) -> Result<(), O::Error> {
        trace::exact_timers();
        let tracee = self.tracee(tid).map_err(Error::of_event)?;
        self.observer.thread(tracee.pid, tid)?;
        self.tracees.insert(tid, tracee);
        trace::resume(tid as i32, 0).map_err(Error::Trace)?;
        Ok(())
    }

    fn tracee(&mut self, tid: u32) -> io::Result<Tracee> {
        let pid = process_of(tid)?;
        let memory = match self.memories.get(&pid) {
            Some(memory) => memory.clone(),
            None => Rc::new(Memory::of(pid as i32)?),
        };
        self.memories.insert(pid, memory.clone());
        let period = self.random.exponential(PERIODS[0]) as u64;
        Tracee::new(pid, tid, memory, period.max(10_000))
    }

    fn follow(&mut self, signals: &Signals) -> Result<Outcome, O::Error> {
        let mut poll = Poll::default();
        poll.add(signals.as_fd());
        loop {
            while let Some(signal) = signals.next().map_err(Error::Wait)? {
                if signal != libc::SIGCHLD {
                    let _ = trace::kill(self.root as i32, signal);
                }
            }
            while let Some((tid, change)) = trace::wait().map_err(Error::Wait)? {
                self.change(tid as u32, change)?;
                if let Some(end) = self.end {
                    return Ok(Outcome { end, unwatched: self.unwatched });
                }
            }
            let wait = self.serve();
            poll.wait_for(wait).map_err(Error::Wait)?;
        }
    }

    /// Does what is due; how long there is nothing to do then.
    fn serve(&mut self) -> Option<Duration> {
        loop {
            let &Reverse((at, tid, due)) = self.due.peek()?;
            let time = clock();
            if at > time {
                return Some(Duration::from_nanos(at - time));
            }
            self.due.pop();
            match due {
                Due::Open(entry) => self.open(tid, entry, time),
                Due::Close(register, number) => self.close(tid, register, number, time),
            }
        }
    }

    /// Not before the thread ran for the gap's length.
    fn open(&mut self, tid: u32, entry: u64, time: u64) {
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
                ran: 0,
                idle: 0,
                calls: 0,
                number,
            };
            tracee.arm(register, open).is_ok()
        });
        let Some(planned) = tracee.plans.get_mut(&entry) else { return };
        planned.plan.due(armed);
        let length = nanoseconds(window.length);
        match register.filter(|_| armed) {
            Some(register) => self.due.push(Reverse((time + length, tid, Due::Close(register, number)))),
            None => self.next(tid, entry, time, length),
        }
    }

    /// Not before the program ran for the window's length.
    fn close(&mut self, tid: u32, register: usize, number: u64, time: u64) {
        let Some(tracee) = self.tracees.get_mut(&tid) else { return };
        let Some(mut open) = tracee.open[register].filter(|open| open.number == number) else { return };
        let (ran, length) = (tracee.ran(&open, self.slowdown), nanoseconds(open.window.length));
        if ran >= length {
            return self.shut(tid, register, time);
        }
        open.idle = if ran > open.ran { 0 } else { (open.idle + 1).min(IDLEST) };
        open.ran = ran;
        tracee.open[register] = Some(open);
        let at = time + (length - ran).max(LOOK << open.idle);
        self.due.push(Reverse((at, tid, Due::Close(register, number))));
    }

    /// Ends a window, and plans the next of the function.
    fn shut(&mut self, tid: u32, register: usize, time: u64) {
        let Some(tracee) = self.tracees.get_mut(&tid) else { return };
        let Some(open) = tracee.open[register] else { return };
        tracee.disarm(register, self.slowdown);
        self.next(tid, open.entry, time, 0);
    }

    /// Plans the next window of a function of a thread, when that has run for `skipped` ns and a gap.
    fn next(&mut self, tid: u32, entry: u64, time: u64, skipped: u64) {
        let Some(tracee) = self.tracees.get_mut(&tid) else { return };
        let Some(plan) = tracee.plans.get(&entry).map(|planned| planned.plan) else { return };
        let rate = share(self.options.rate, &plan, tracee.plans.values().map(|planned| &planned.plan));
        let next = plan.window(rate);
        let ran = tracee.counters.ran().unwrap_or(0);
        let gap = nanoseconds(self.random.exponential(next.gap)) + skipped;
        tracee.plans.entry(entry).and_modify(|planned| {
            (planned.next, planned.from, planned.ran, planned.idle) = (next, ran + gap, ran, 0);
        });
        self.due.push(Reverse((time + gap, tid, Due::Open(entry))));
    }

    /// Gives a thread's functions windows, and takes those of others away.
    fn plan(&mut self, tid: u32, candidates: &[Candidate]) {
        let Some(tracee) = self.tracees.get_mut(&tid) else { return };
        tracee.plans.retain(|entry, _| candidates.iter().any(|candidate| candidate.entry == *entry));
        let mut new = Vec::new();
        for &Candidate { entry, end } in candidates {
            tracee.plans.entry(entry).or_insert_with(|| {
                new.push(entry);
                Planned {
                    end,
                    plan: Plan::default(),
                    next: Plan::default().window(1.0),
                    from: 0,
                    ran: 0,
                    idle: 0,
                    jumps: 0,
                }
            });
        }
        let time = clock();
        new.into_iter().for_each(|entry| self.next(tid, entry, time, 0));
    }

    fn change(&mut self, tid: u32, change: Change) -> Result<(), O::Error> {
        match change {
            Change::Exited(_) | Change::Killed(_) => {
                self.forget(tid)?;
                if tid == self.root {
                    self.end = Some(change);
                }
                return Ok(());
            }
            Change::Event(libc::PTRACE_EVENT_EXEC, _) => self.exec(tid)?,
            Change::Event(libc::PTRACE_EVENT_EXIT, _) => self.forget(tid)?,
            Change::Event(libc::PTRACE_EVENT_STOP, signal) => {
                if [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU].contains(&signal) {
                    let _ = trace::listen(tid as i32);
                    return Ok(());
                }
                self.meet(tid)?;
            }
            Change::Event(..) => {}
            Change::Signal(libc::SIGTRAP) => {
                let time = clock();
                let trap = trace::trap(tid as i32).ok().flatten();
                let cause = trap.and_then(|trap| Some((Cause::of(trap.data)?, trap.is_late)));
                match cause {
                    Some((cause, false)) => return self.trapped(tid, cause, time),
                    Some((_, true)) => {}
                    None => return self.pass(tid, libc::SIGTRAP),
                }
            }
            Change::Signal(signal) => return self.pass(tid, signal),
        }
        self.pass(tid, 0)
    }

    /// Lets a thread go on. One that was killed meanwhile says so by itself.
    fn pass(&mut self, tid: u32, signal: i32) -> Result<(), O::Error> {
        let _ = trace::resume(tid as i32, signal);
        Ok(())
    }

    /// A thread that may be new.
    fn meet(&mut self, tid: u32) -> Result<(), O::Error> {
        if self.tracees.contains_key(&tid) {
            return Ok(());
        }
        match self.tracee(tid) {
            Ok(tracee) => {
                let pid = tracee.pid;
                self.observer.thread(pid, tid)?;
                let same = self.tracees.values().find(|other| other.pid == pid);
                let known = same.map(|other| {
                    let candidate =
                        |(entry, planned): (&u64, &Planned)| Candidate { entry: *entry, end: planned.end };
                    other.plans.iter().map(candidate).collect::<Vec<_>>()
                });
                self.tracees.insert(tid, tracee);
                self.plan(tid, &known.unwrap_or_default());
            }
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            Err(_) => self.unwatched += 1,
        }
        Ok(())
    }

    /// The threads of the process are gone, and its first one runs something else.
    fn exec(&mut self, pid: u32) -> Result<(), O::Error> {
        let gone: Vec<u32> =
            self.tracees.iter().filter(|(_, of)| of.pid == pid).map(|(tid, _)| *tid).collect();
        gone.into_iter().try_for_each(|tid| self.forget(tid))?;
        self.memories.remove(&pid);
        self.observer.exec(pid)?;
        self.meet(pid)
    }

    /// A thread ends, and with it what was being measured.
    fn forget(&mut self, tid: u32) -> Result<(), O::Error> {
        let Some(tracee) = self.tracees.remove(&tid) else { return Ok(()) };
        if !self.tracees.values().any(|other| other.pid == tracee.pid) {
            self.memories.remove(&tracee.pid);
        }
        tracee.calls.iter().try_for_each(|call| self.observer.lost(tid, call.context))
    }

    fn trapped(&mut self, tid: u32, cause: Cause, time: u64) -> Result<(), O::Error> {
        let known = self.tracees.contains_key(&tid);
        let registers = trace::registers(tid as i32).ok().filter(|_| known);
        let Some(registers) = registers else { return self.pass(tid, 0) };
        match cause {
            Cause::Entry(register) => self.entered(tid, register, &registers, time),
            Cause::Watch => self.accessed(tid, &registers, time),
            Cause::Clock => self.ticked(tid, &registers, time),
        }
    }

    /// The thread goes on after a stop that began at `time`.
    fn go_on(&mut self, tid: u32, time: u64) {
        if let Some(tracee) = self.tracees.get_mut(&tid) {
            tracee.calls.iter_mut().for_each(|call| call.stops += 1);
            tracee.stopped += clock().saturating_sub(time);
            tracee.stops += 1;
        }
        let _ = trace::resume(tid as i32, 0);
    }

    /// All calls of a thread that are being measured have ended without a return.
    fn lose(&mut self, tid: u32) -> Result<(), O::Error> {
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
        time: u64,
    ) -> Result<(), O::Error> {
        let Some((frame, weight, pid)) = self.begun(tid, register, registers)? else {
            self.go_on(tid, time);
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
            self.shut(tid, register, time);
        }
        let Some(tracee) = self.tracees.get_mut(&tid) else { return self.pass(tid, 0) };
        let call = Pending { frame, context: 0, weight, before: vec![], stops: 0, stopped: 0, passing: 0 };
        tracee.calls.push(call);
        let _ = tracee.watch();
        let end = clock();
        tracee.stopped += end.saturating_sub(time);
        tracee.stops += 1;
        let (stopped, before) = (tracee.stopped, tracee.counters.read(end));
        let (call, outer) = tracee.calls.split_last_mut().unwrap_or_else(|| unreachable!());
        outer.iter_mut().for_each(|call| call.stops += 1);
        (call.stopped, call.before) = (stopped, before.unwrap_or_default());
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
    fn accessed(&mut self, tid: u32, registers: &Registers, time: u64) -> Result<(), O::Error> {
        let Some(tracee) = self.tracees.get_mut(&tid) else { return self.pass(tid, 0) };
        let Some(call) = tracee.calls.last_mut() else {
            self.go_on(tid, time);
            return Ok(());
        };
        let word = tracee.memory.word(call.frame.slot);
        match call.frame.access(registers[RIP], registers[RSP], word) {
            Access::Return => return self.returned(tid, time),
            Access::Passing if call.passing < PASSING => call.passing += 1,
            Access::Passing | Access::Gone => self.lose(tid)?,
        }
        self.go_on(tid, time);
        Ok(())
    }

    fn returned(&mut self, tid: u32, time: u64) -> Result<(), O::Error> {
        let Some(tracee) = self.tracees.get_mut(&tid) else { return self.pass(tid, 0) };
        let after = tracee.counters.read(time);
        let Some(call) = tracee.calls.pop() else { return self.pass(tid, 0) };
        let _ = tracee.watch();
        let (pid, stopped) = (tracee.pid, tracee.stopped);
        self.go_on(tid, time);
        let Some((after, start)) = after.ok().zip(call.before.first().copied().flatten()) else {
            return self.observer.lost(tid, call.context);
        };
        let mut values = difference(&call.before, &after);
        if let Some(Some(wall)) = values.first_mut() {
            *wall = wall.saturating_sub(stopped - call.stopped);
        }
        self.observer.returned(&Call {
            pid,
            tid,
            context: call.context,
            start,
            end: time,
            slot: call.frame.slot,
            weight: call.weight,
            stops: call.stops,
            values,
        })
    }

    /// The thread ran for a while: where?
    fn ticked(&mut self, tid: u32, registers: &Registers, time: u64) -> Result<(), O::Error> {
        let Some(tracee) = self.tracees.get_mut(&tid) else { return self.pass(tid, 0) };
        let mut stack = vec![0; STACK];
        let read = tracee.memory.read(registers[RSP], &mut stack);
        stack.truncate(read);
        tracee.samples += 1;
        let period = PERIODS[usize::from(tracee.samples > FIRST)];
        let period = self.random.exponential(period).max(10_000.0) as u64;
        // a clock that is on would take its next tick for a sample
        let clock = &tracee.clock;
        let _ = clock.disable().and_then(|()| clock.set_period(period)).and_then(|()| clock.enable());
        let pid = tracee.pid;
        self.go_on(tid, time);
        let candidates = self.observer.running(&Stop { pid, tid, time, registers, stack: &stack })?;
        let threads: Vec<u32> =
            self.tracees.iter().filter(|(_, of)| of.pid == pid).map(|(tid, _)| *tid).collect();
        threads.into_iter().for_each(|tid| self.plan(tid, &candidates));
        Ok(())
    }

    /// Leaves the threads that are still there alone, without a signal of ours on its way to them.
    fn leave(&mut self) {
        let mut left: Vec<u32> = std::mem::take(&mut self.tracees).into_keys().collect();
        left.retain(|tid| trace::interrupt(*tid as i32).is_ok());
        let until = clock() + LEAVING;
        while !left.is_empty() && clock() < until {
            let Ok(Some((tid, change))) = trace::wait() else {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            };
            let signal = match change {
                Change::Exited(_) | Change::Killed(_) => 0,
                Change::Signal(libc::SIGTRAP) => match trace::trap(tid) {
                    Ok(Some(trap)) if Cause::of(trap.data).is_some() => 0,
                    _ => libc::SIGTRAP,
                },
                Change::Signal(signal) => signal,
                Change::Event(libc::PTRACE_EVENT_STOP, _) | Change::Event(..) => 0,
            };
            let _ = trace::detach(tid, signal);
            left.retain(|other| *other != tid as u32);
        }
    }
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

fn process_of(tid: u32) -> io::Result<u32> {
    let gone = || io::Error::from_raw_os_error(libc::ESRCH);
    let status = std::fs::read_to_string(format!("/proc/{tid}/status")).map_err(|_| gone())?;
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    line.and_then(|text| text.trim().parse().ok()).ok_or_else(gone)
}
