//! Starting a program that waits until everything is ready to record it.

use super::checked;
use super::wait::set_of;
use std::io::{self, PipeReader, PipeWriter, Read, Write, pipe};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::thread::JoinHandle;

/// A process that was forked and waits before it becomes the program. When this is dropped it ends without having run it.
#[derive(Debug)]
pub struct Launch {
    pid: u32,
    go: PipeWriter,
    /// Starting a process ends when it has become the program, so that another thread has to wait for that.
    starting: JoinHandle<io::Result<Child>>,
}

impl Launch {
    /// Forks.
    pub fn new(mut command: Command) -> io::Result<Launch> {
        let (mut own_pid, child_pid) = pipe()?;
        let (wait, go) = pipe()?;
        let no_signals = set_of(&[])?;
        let others = go.as_raw_fd();
        let ready = move || {
            // SAFETY: the mask is initialised, and both calls are allowed between fork and exec. The descriptor is this
            // process's copy of the other side of its own pipe, which would never end otherwise; nothing uses it later.
            unsafe {
                libc::sigprocmask(libc::SIG_SETMASK, &no_signals, std::ptr::null_mut());
                libc::close(others);
            }
            if announce(&child_pid, &wait).is_err() {
                // nobody waits to be told why: the recorder has given up, or is gone
                // SAFETY: it ends this process, and is allowed between fork and exec.
                unsafe { libc::_exit(127) };
            }
            Ok(())
        };
        // SAFETY: between fork and exec it only calls sigprocmask, close, write, read and _exit, and allocates nothing.
        unsafe { command.pre_exec(ready) };
        let starting = std::thread::Builder::new().spawn(move || command.spawn())?;
        let mut pid = [0; 4];
        match own_pid.read_exact(&mut pid) {
            Ok(()) => Ok(Launch { pid: u32::from_ne_bytes(pid), go, starting }),
            // it could not even fork
            Err(error) => match starting.join() {
                Ok(Err(cause)) => Err(cause),
                _ => Err(error),
            },
        }
    }

    /// The number of the process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Runs the program. The error is that of `exec`: of a missing program, `NotFound`.
    pub fn go(mut self) -> io::Result<Child> {
        self.go.write_all(&[0])?;
        self.starting.join().map_err(|_| io::Error::other("the thread that starts programs has ended"))?
    }
}

/// Says which process this is, and waits to be let go.
fn announce(mut pid: &PipeWriter, mut wait: &PipeReader) -> io::Result<()> {
    pid.write_all(&std::process::id().to_ne_bytes())?;
    wait.read_exact(&mut [0])
}

/// Asks a process to end.
pub fn terminate(pid: u32) -> io::Result<()> {
    let pid = i32::try_from(pid).map_err(io::Error::other)?;
    // SAFETY: sending a signal touches no memory.
    checked(unsafe { libc::kill(pid, libc::SIGTERM) }).map(drop)
}

/// Lets this process have as many open files as it may.
pub fn raise_file_limit() -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes the one structure that the pointer is to.
    checked(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) })?;
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: the kernel reads the one structure that the pointer is to.
    checked(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }).map(drop)
}

/// Lets the calling thread run before all others of the usual kind, where that is allowed.
pub fn hurry() -> io::Result<()> {
    // SAFETY: the arguments are numbers; 0 is the calling thread.
    checked(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) }).map(drop)
}

/// Runs the calling thread on this processor, and renames it there to what it is called already: whoever records that
/// gets a record from this processor.
pub fn announce_on(cpu: u32) -> io::Result<()> {
    // SAFETY: a set of no processors is all zeros.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    if cpu as usize >= 8 * size_of_val(&set) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut name = [0u8; 16];
    // SAFETY: the number has a place in the set; the kernel reads the set, and writes and reads the 16 bytes of a name.
    unsafe {
        libc::CPU_SET(cpu as usize, &mut set);
        checked(libc::sched_setaffinity(0, size_of_val(&set), &set))?;
        checked(libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()))?;
        checked(libc::prctl(libc::PR_SET_NAME, name.as_ptr()))?;
    }
    Ok(())
}

/// What the kernel says of a thread: /proc/TID/status.
#[derive(Debug)]
pub struct Status(String);

impl Status {
    /// Of this thread; empty of one that is gone.
    pub fn of(tid: u32) -> Status {
        Status(std::fs::read_to_string(format!("/proc/{tid}/status")).unwrap_or_default())
    }

    /// The line that begins with `name`, which ends in a colon, without that.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.0.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
    }

    /// The process that the thread is of.
    pub fn process(&self) -> Option<u32> {
        self.field("Tgid:")?.parse().ok()
    }
}
