//! Threads of the program: those that begin, run another program, get signals and end.
//!
//! In: what ptrace says of a thread. Out: the threads that are watched, and threads that go on. What a stop by an event of
//! ours means, it leaves to those who measure calls.

use super::calls::{PERIODS, until_sample};
use super::counters::Values;
use super::sampler::{Sampler, clock};
use super::tracee::{Cause, Planned, Tracee};
use super::{Candidate, Observer};
use crate::sys::Status;
use crate::sys::trace::{self, Change, Memory};
use std::io;
use std::rc::Rc;

impl<O: Observer> Sampler<'_, O> {
    pub(super) fn tracee(&mut self, tid: u32) -> io::Result<Tracee> {
        let gone = || io::Error::from_raw_os_error(libc::ESRCH);
        let pid = Status::of(tid).process().ok_or_else(gone)?;
        let memory = match self.memories.get(&pid) {
            Some(memory) => memory.clone(),
            None => Rc::new(Memory::of(pid as i32)?),
        };
        self.memories.insert(pid, memory.clone());
        Tracee::new(pid, tid, memory, until_sample(&mut self.random, PERIODS[0]))
    }

    /// Threads of a process that are watched.
    pub(super) fn of_process(&self, pid: u32) -> Vec<u32> {
        self.tracees.iter().filter(|(_, of)| of.pid == pid).map(|(tid, _)| *tid).collect()
    }

    pub(super) fn change(&mut self, tid: u32, change: Change) -> Result<(), O::Error> {
        if let Some(tracee) = self.tracees.get_mut(&tid).filter(|_| change != Change::Signal(libc::SIGTRAP)) {
            // the program does something else first
            tracee.end_probe(None, &Values::new());
        }
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
                self.meet(tid)?;
                if [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU].contains(&signal) {
                    let _ = trace::listen(tid as i32);
                    return Ok(());
                }
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
    pub(super) fn pass(&mut self, tid: u32, signal: i32) -> Result<(), O::Error> {
        let _ = trace::resume(tid as i32, signal);
        Ok(())
    }

    /// A thread that may be new.
    fn meet(&mut self, tid: u32) -> Result<(), O::Error> {
        if self.tracees.contains_key(&tid) {
            return Ok(());
        }
        self.seized.remove(&tid);
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
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EBUSY)) => {
                self.crowded += 1
            }
            Err(_) => self.unwatched += 1,
        }
        Ok(())
    }

    /// The threads of the process are gone, and its first one runs something else.
    fn exec(&mut self, pid: u32) -> Result<(), O::Error> {
        self.of_process(pid).into_iter().try_for_each(|tid| self.forget(tid))?;
        self.memories.remove(&pid);
        self.observer.exec(pid)?;
        self.meet(pid)
    }

    /// A thread ends, and with it what was being measured.
    fn forget(&mut self, tid: u32) -> Result<(), O::Error> {
        self.seized.remove(&tid);
        let Some(tracee) = self.tracees.remove(&tid) else { return Ok(()) };
        if !self.tracees.values().any(|other| other.pid == tracee.pid) {
            self.memories.remove(&tracee.pid);
        }
        tracee.calls.iter().try_for_each(|call| self.observer.lost(tid, call.context))
    }
}
