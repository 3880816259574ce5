//! A counter: opened, switched on and off, read.

use super::{Attr, Ring, checked};
use perf_event_open_sys::{bindings as raw, ioctls, perf_event_open};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whom an event counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thread {
    /// The calling thread.
    Own,
    /// The thread with this number; the number of a process is that of its first thread.
    Of(u32),
    /// Whatever runs on the processor.
    All,
}

/// Where an event counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cpu {
    /// Wherever the thread runs. Not with [`Thread::All`]; an inherited event has no ring then.
    Any,
    /// On this processor.
    Of(u32),
}

/// An open counter; closed when dropped.
#[derive(Debug)]
pub struct Event {
    fd: File,
    /// Whether its records have a reader: two would free what the other still reads.
    is_read: AtomicBool,
}

impl Event {
    /// Opens a counter, in the group of `leader` if there is one.
    pub fn open(attr: &Attr, thread: Thread, cpu: Cpu, leader: Option<&Event>) -> io::Result<Event> {
        let pid = match thread {
            Thread::Own => 0,
            Thread::Of(number) => i32::try_from(number).map_err(io::Error::other)?,
            Thread::All => -1,
        };
        let cpu = match cpu {
            Cpu::Any => -1,
            Cpu::Of(number) => i32::try_from(number).map_err(io::Error::other)?,
        };
        let group = leader.map_or(-1, |event| event.fd.as_raw_fd());
        let flags = u64::from(raw::PERF_FLAG_FD_CLOEXEC);
        let mut attr = attr.raw();
        // SAFETY: the pointer is to an initialised structure that says its size; what the kernel writes into records goes
        // to memory only through a `Ring`. A signal (sigtrap) goes to the thread that is counted, as the caller asked.
        let fd = checked(unsafe { perf_event_open(&mut attr, pid, cpu, group, flags) })?;
        // SAFETY: the call made this descriptor, and nobody else owns it.
        Ok(Event { fd: unsafe { File::from_raw_fd(fd) }, is_read: AtomicBool::new(false) })
    }

    /// Starts counting.
    pub fn enable(&self) -> io::Result<()> {
        // SAFETY: the argument is a number.
        self.done(|fd| unsafe { ioctls::ENABLE(fd, 0) })
    }

    /// Stops counting.
    pub fn disable(&self) -> io::Result<()> {
        // SAFETY: the argument is a number.
        self.done(|fd| unsafe { ioctls::DISABLE(fd, 0) })
    }

    /// Starts counting, with all of the group that it leads.
    pub fn enable_group(&self) -> io::Result<()> {
        // SAFETY: the argument is a number.
        self.done(|fd| unsafe { ioctls::ENABLE(fd, raw::PERF_IOC_FLAG_GROUP) })
    }

    /// Stops counting, with all of the group that it leads.
    pub fn disable_group(&self) -> io::Result<()> {
        // SAFETY: the argument is a number.
        self.done(|fd| unsafe { ioctls::DISABLE(fd, raw::PERF_IOC_FLAG_GROUP) })
    }

    /// Counts on for `samples` more, and then stops by itself.
    pub fn refresh(&self, samples: u32) -> io::Result<()> {
        let samples = i32::try_from(samples).map_err(io::Error::other)?;
        // SAFETY: the argument is a number.
        self.done(|fd| unsafe { ioctls::REFRESH(fd, samples) })
    }

    /// Sets the count to 0; times and what children counted stay.
    pub fn reset(&self) -> io::Result<()> {
        // SAFETY: the argument is a number.
        self.done(|fd| unsafe { ioctls::RESET(fd, 0) })
    }

    /// Starts a new interval, of `period` events (of a second, with a frequency). Events that were inherited from this one
    /// keep theirs. A software event or breakpoint that is on takes its next event for a sample: switch it off before.
    pub fn set_period(&self, period: u64) -> io::Result<()> {
        // SAFETY: the argument is the address of a number that outlives the call; the kernel copies it. (The binding
        // declares the number itself, which is not what the kernel reads.)
        self.done(|fd| unsafe { ioctls::PERIOD(fd, &raw const period as u64) })
    }

    /// Sends its records to the ring of `other`, which counts on the same processor or the same thread. It can have no ring
    /// of its own.
    pub fn set_output(&self, other: &Event) -> io::Result<()> {
        self.claim()?;
        // SAFETY: the argument is an open descriptor of the same kind.
        self.done(|fd| unsafe { ioctls::SET_OUTPUT(fd, other.fd.as_raw_fd()) })
    }

    /// Puts a breakpoint elsewhere; the kernel changes nothing but address, length, access and whether it is on.
    pub fn modify(&self, attr: &Attr) -> io::Result<()> {
        let mut attr = attr.raw();
        // SAFETY: as for opening.
        self.done(|fd| unsafe { ioctls::MODIFY_ATTRIBUTES(fd, &mut attr) })
    }

    /// Its number in records.
    pub fn id(&self) -> io::Result<u64> {
        let mut id = 0;
        // SAFETY: the kernel writes the one number that the pointer is to.
        self.done(|fd| unsafe { ioctls::ID(fd, &mut id) })?;
        Ok(id)
    }

    /// The words that reading gives, as [`ReadFormat`](super::ReadFormat) says; how many there were.
    pub fn read(&self, words: &mut [u64]) -> io::Result<usize> {
        let mut bytes = [0; 512];
        let room = bytes.len().min(size_of_val(words));
        let read = (&self.fd).read(&mut bytes[..room])? / size_of::<u64>();
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_ne_bytes(*bytes);
        }
        Ok(read)
    }

    /// The count, of an event whose reading gives it first.
    pub fn count(&self) -> io::Result<u64> {
        let mut words = [0; 8];
        self.read(&mut words)?;
        Ok(words[0])
    }

    /// Gives it a ring for `pages` pages of records, a power of two. It can have but one, ever.
    pub fn ring(&self, pages: usize) -> io::Result<Ring> {
        self.claim()?;
        Ring::map(self.fd.as_fd(), pages)
    }

    fn claim(&self) -> io::Result<()> {
        let is_read = self.is_read.swap(true, Ordering::Relaxed);
        if is_read { Err(io::ErrorKind::AlreadyExists.into()) } else { Ok(()) }
    }

    fn done(&self, call: impl FnOnce(RawFd) -> i32) -> io::Result<()> {
        checked(call(self.fd.as_raw_fd())).map(drop)
    }
}

impl AsFd for Event {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
