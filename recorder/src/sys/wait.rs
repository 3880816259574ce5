//! Waiting: for records, and for signals without handlers.

use super::checked;
use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd};
use std::time::Duration;

/// Descriptors to wait for.
#[derive(Default)]
pub struct Poll(Vec<libc::pollfd>);

impl Poll {
    /// Waits for `fd` as well, which has to stay open; it is known by its place in the order of calls.
    pub fn add(&mut self, fd: BorrowedFd<'_>) -> usize {
        self.0.push(libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 });
        self.0.len() - 1
    }

    /// Waits for nothing any more.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// No longer waits for the one at `place`.
    pub fn ignore(&mut self, place: usize) {
        self.0[place].fd = -1;
    }

    /// Waits until something can be read, or ended, or `milliseconds` have passed; how many there are.
    pub fn wait(&mut self, milliseconds: Option<u32>) -> io::Result<usize> {
        let timeout = milliseconds.map_or(-1, |time| i32::try_from(time).unwrap_or(i32::MAX));
        // SAFETY: pointer and length are of one vector. A descriptor that was closed gives an error in its entry.
        let ready =
            checked(unsafe { libc::poll(self.0.as_mut_ptr(), self.0.len() as libc::nfds_t, timeout) });
        match ready {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            ready => Ok(ready? as usize),
        }
    }

    /// The same, to the nanosecond.
    pub fn wait_for(&mut self, time: Option<Duration>) -> io::Result<usize> {
        let time = time.map(|time| libc::timespec {
            tv_sec: time.as_secs() as libc::time_t,
            tv_nsec: time.subsec_nanos().into(),
        });
        let timeout = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let (fds, len) = (self.0.as_mut_ptr(), self.0.len() as libc::nfds_t);
        // SAFETY: pointer and length are of one vector, the time outlives the call, and no mask of signals is given.
        match checked(unsafe { libc::ppoll(fds, len, timeout, std::ptr::null()) }) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            ready => Ok(ready? as usize),
        }
    }

    /// Whether the one at `place` has something to read.
    pub fn is_ready(&self, place: usize) -> bool {
        self.0[place].revents & libc::POLLIN != 0
    }

    /// Whether the one at `place` has ended: of an event, that the thread it counts is gone.
    pub fn has_ended(&self, place: usize) -> bool {
        self.0[place].revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0
    }
}

/// What ends a program: Ctrl-C, being asked to end, a terminal that is gone.
pub const ENDS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// What ends a recording: Ctrl-C and being asked to end; and what tells that a child or the room for files has ended.
pub const INTERRUPTS: [i32; 5] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGCHLD, libc::SIGXFSZ];

/// Whether it is one that does not ask to end: of a child, or of room for files.
pub fn is_news(signal: i32) -> bool {
    matches!(signal, libc::SIGCHLD | libc::SIGXFSZ)
}

/// Signals that come as something to read instead of ending the program. They stay so until the thread ends.
#[derive(Debug)]
pub struct Signals(File);

impl Signals {
    /// Takes these signals of the calling thread, and of those that it starts from now on.
    pub fn take(signals: &[i32]) -> io::Result<Signals> {
        let set = set_of(signals)?;
        // SAFETY: the set is initialised, and the old one is not asked for.
        let failed = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) };
        if failed != 0 {
            return Err(io::Error::from_raw_os_error(failed));
        }
        // SAFETY: the set is initialised.
        let fd = checked(unsafe { libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) })?;
        // SAFETY: the call made this descriptor, and nobody else owns it.
        Ok(Signals(unsafe { File::from_raw_fd(fd) }))
    }

    /// Waits for one.
    pub fn wait(&self) -> io::Result<i32> {
        let mut poll = Poll::default();
        poll.add(self.as_fd());
        loop {
            poll.wait(None)?;
            if let Some(signal) = self.next()? {
                return Ok(signal);
            }
        }
    }

    /// A signal that has come, or `None`.
    pub fn next(&self) -> io::Result<Option<i32>> {
        let mut info = [0; size_of::<libc::signalfd_siginfo>()];
        match (&self.0).read(&mut info) {
            Ok(_) => Ok(Some(u32::from_ne_bytes([info[0], info[1], info[2], info[3]]) as i32)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Ends the program as a signal does that nobody takes, so that whoever started it sees that.
pub fn end_by(signal: i32) -> ! {
    if let Ok(set) = set_of(&[signal]) {
        // SAFETY: the set is initialised, and the old one is not asked for; raising a signal touches no memory.
        unsafe {
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
            libc::raise(signal);
        }
    }
    std::process::exit(128 + signal)
}

pub(super) fn set_of(signals: &[i32]) -> io::Result<libc::sigset_t> {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the call initialises the set.
    checked(unsafe { libc::sigemptyset(set.as_mut_ptr()) })?;
    for &signal in signals {
        // SAFETY: the set is initialised; a number that is no signal is an error.
        checked(unsafe { libc::sigaddset(set.as_mut_ptr(), signal) })?;
    }
    // SAFETY: it was initialised above.
    Ok(unsafe { set.assume_init() })
}
