//! The loop: waits for threads that stop and for windows that are due, and has done what either asks for.
//!
//! In: a command or a process, and an [`Observer`]. Out: how it ended. One thread does it all, as ptrace wants it.

use super::plan::Random;
use super::tracee::{Cause, Tracee};
use super::windows::Due;
use super::{Candidate, Error, Observer, Options, Outcome};
use crate::sys::trace::{self, Change, Memory};
use crate::sys::{Clock, Poll, Signals, hurry, now, raise_file_limit};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::os::fd::AsFd;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

/// ns that threads have to stop in, when the program is left.
const LEAVING: u64 = 200_000_000;

/// Samples calls of a program.
pub struct Sampler<'a, O> {
    pub(super) options: Options,
    pub(super) observer: &'a mut O,
    pub(super) random: Random,
    /// ns of the thread's time that a stop costs.
    pub(super) slowdown: u64,
    pub(super) tracees: HashMap<u32, Tracee>,
    pub(super) memories: HashMap<u32, Rc<Memory>>,
    pub(super) due: BinaryHeap<Reverse<(u64, u32, Due)>>,
    pub(super) windows: u64,
    pub(super) unwatched: u32,
    pub(super) root: u32,
    pub(super) end: Option<Change>,
}

/// ns of `CLOCK_MONOTONIC`, which windows and the times of calls are in.
pub fn clock() -> u64 {
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
