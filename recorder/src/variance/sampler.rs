//! The loop: waits for threads that stop and for windows that are due, and has done what either asks for.
//!
//! In: a command or a process, and an [`Observer`]. Out: how it ended. One thread does it all, as ptrace wants it. How it
//! comes to a process that runs, and leaves one, is in [`super::attach`].

use super::plan::Random;
use super::probes::Probes;
use super::tracee::Tracee;
use super::windows::Due;
use super::{Candidate, Error, Observer, Options, Outcome};
use crate::sys::trace::{self, Change, Memory};
use crate::sys::{Clock, Poll, Signals, hurry, now, raise_file_limit};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::os::fd::AsFd;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

/// Samples calls of a program.
pub struct Sampler<'a, O> {
    pub(super) options: Options,
    pub(super) observer: &'a mut O,
    pub(super) random: Random,
    /// ns of the thread's time that a stop costs.
    pub(super) probes: Probes,
    pub(super) tracees: HashMap<u32, Tracee>,
    pub(super) memories: HashMap<u32, Rc<Memory>>,
    pub(super) due: BinaryHeap<Reverse<(u64, u32, Due)>>,
    pub(super) windows: u64,
    /// Traced, and not met yet.
    pub(super) seized: BTreeSet<u32>,
    pub(super) unwatched: u32,
    pub(super) crowded: u32,
    pub(super) root: u32,
    /// It was started here, and ends with the recording.
    pub(super) is_child: bool,
    /// Its end is told: its first thread is traced.
    pub(super) is_led: bool,
    /// When the recording is to end.
    pub(super) until: Option<u64>,
    pub(super) end: Option<Change>,
}

/// Signals that ask to end, and what a child has to say.
pub(super) const ASKED: [i32; 4] = [libc::SIGCHLD, libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

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
            probes: Probes::new(slowdown),
            tracees: HashMap::new(),
            memories: HashMap::new(),
            due: BinaryHeap::new(),
            windows: 0,
            seized: BTreeSet::new(),
            unwatched: 0,
            crowded: 0,
            root: 0,
            is_child: true,
            is_led: true,
            until: options.duration.map(|duration| clock().saturating_add(duration.as_nanos() as u64)),
            end: None,
        }
    }

    /// Runs a command to its end. Signals that end programs are handed on to it; it gets SIGTERM when something fails.
    pub fn run(mut self, command: &mut Command) -> Result<Outcome, O::Error> {
        let signals = Signals::take(&ASKED).map_err(Error::Wait)?;
        let program = command.get_program().into();
        let child = trace::start(command).map_err(|source| match source.raw_os_error() {
            Some(libc::EPERM) => Error::Trace(source),
            _ => Error::Start { program, source },
        })?;
        let _ = raise_file_limit();
        // a stopped program waits for this thread
        let _ = hurry();
        self.root = child.id();
        self.seized.insert(self.root);
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
        self.first(tid)?;
        trace::resume(tid as i32, 0).map_err(Error::Trace)?;
        Ok(())
    }

    /// The first thread stands still.
    pub(super) fn first(&mut self, tid: u32) -> Result<(), O::Error> {
        trace::exact_timers();
        let tracee = self.tracee(tid).map_err(Error::of_event)?;
        self.observer.thread(tracee.pid, tid)?;
        self.seized.remove(&tid);
        self.tracees.insert(tid, tracee);
        Ok(())
    }

    pub(super) fn follow(&mut self, signals: &Signals) -> Result<Outcome, O::Error> {
        let mut poll = Poll::default();
        poll.add(signals.as_fd());
        loop {
            let mut asked = None;
            while let Some(signal) = signals.next().map_err(Error::Wait)? {
                asked = Some(signal).filter(|signal| *signal != libc::SIGCHLD).or(asked);
            }
            while let Some((tid, change)) = trace::wait().map_err(Error::Wait)? {
                self.change(tid as u32, change)?;
                if self.end.is_some() {
                    return self.outcome();
                }
                // threads that stop all the time would leave no other time for it, and would go on, for a window ends here
                self.serve();
            }
            if self.until.is_some_and(|until| clock() >= until) {
                (self.until, asked) = (None, asked.or(Some(libc::SIGTERM)));
            }
            match asked {
                Some(signal) if self.is_child => {
                    let _ = trace::kill(self.root as i32, signal);
                }
                Some(_) => return self.outcome(),
                None if !self.is_led && self.tracees.is_empty() && self.seized.is_empty() => {
                    return self.outcome();
                }
                None => {}
            }
            let due = self.serve();
            let left = self.until.map(|until| Duration::from_nanos(until.saturating_sub(clock())));
            let wait = due.into_iter().chain(left).min();
            poll.wait_for(wait).map_err(Error::Wait)?;
        }
    }

    /// Calls that go on have no return in the recording.
    fn outcome(&mut self) -> Result<Outcome, O::Error> {
        let tids: Vec<u32> = self.tracees.keys().copied().collect();
        tids.into_iter().try_for_each(|tid| self.lose(tid))?;
        Ok(Outcome {
            end: self.end,
            unwatched: self.unwatched,
            crowded: self.crowded,
            stops: self.probes.stops(),
        })
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
}
