//! How the sampler comes to a process that runs, and how it leaves one as it was.
//!
//! In: the number of a process. Out: its threads traced, or let go again without a signal of ours on its way to them: a
//! `SIGTRAP` that is left behind would end the program.

use super::sampler::{ASKED, Sampler, clock};
use super::tracee::Cause;
use super::{Error, Observer, Outcome};
use crate::running::threads;
use crate::sys::trace::{self, Change};
use crate::sys::{Signals, hurry, raise_file_limit};
use std::time::Duration;

/// ns that threads have to stop in, when the program is left.
const LEAVING: u64 = 1_000_000_000;

impl<O: Observer> Sampler<'_, O>
where
    O::Error: From<Error>,
{
    /// Samples a process that runs, with all its threads, until it ends or someone asks to stop.
    pub fn attach(mut self, pid: u32) -> Result<Outcome, O::Error> {
        let signals = Signals::take(&ASKED).map_err(Error::Wait)?;
        let _ = raise_file_limit();
        // a stopped program waits for this thread
        let _ = hurry();
        (self.root, self.is_child, self.is_led) = (pid, false, false);
        let done = self.seize(pid).and_then(|()| self.follow(&signals));
        self.leave();
        done
    }

    /// Until no thread is new: those that come later are traced by then.
    fn seize(&mut self, pid: u32) -> Result<(), O::Error> {
        let mut known = Vec::new();
        loop {
            let new: Vec<u32> = threads(pid).into_iter().filter(|tid| !known.contains(tid)).collect();
            if new.is_empty() {
                let is_there = !self.tracees.is_empty();
                return if is_there { Ok(()) } else { Err(Error::NoProcess(pid).into()) };
            }
            known.extend(&new);
            for tid in new {
                let seized = trace::seize(tid as i32).and_then(|()| trace::interrupt(tid as i32));
                match seized {
                    Ok(()) => self.seized(tid)?,
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    // one of a traced thread is traced already
                    Err(error) if self.tracees.is_empty() => return Err(Error::Trace(error).into()),
                    Err(_) => {}
                }
            }
        }
    }

    /// What cannot be done with the first thread cannot be done at all.
    fn seized(&mut self, tid: u32) -> Result<(), O::Error> {
        self.seized.insert(tid);
        self.is_led |= tid == self.root;
        if !self.tracees.is_empty() {
            return Ok(());
        }
        let change = trace::wait_for(tid as i32).map_err(Error::Trace)?;
        if matches!(change, Change::Exited(_) | Change::Killed(_)) {
            self.seized.remove(&tid);
            return Ok(());
        }
        self.first(tid)?;
        self.change(tid, change)
    }

    /// Leaves the threads that are still there alone.
    pub(super) fn leave(&mut self) {
        let seized = std::mem::take(&mut self.seized);
        // from here on there are no events of ours
        let mut left: Vec<u32> = std::mem::take(&mut self.tracees).into_keys().chain(seized).collect();
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
                // it stopped for us before it took the signal of an event
                Change::Event(..) if trace::is_pending(tid, libc::SIGTRAP) => {
                    let _ = trace::resume(tid, 0);
                    continue;
                }
                Change::Event(..) => 0,
            };
            let _ = trace::detach(tid, signal);
            left.retain(|other| *other != tid as u32);
        }
    }
}
