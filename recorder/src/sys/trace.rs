//! Tracing other threads: ptrace(2) and what goes with it.
//!
//! All calls come from the thread that attached, and most are for threads that stand still.

use super::{Status, checked};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::ptr::null_mut;

/// General registers of x86-64, in the order of DWARF: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, and rip.
pub type Registers = [u64; 17];
/// Their numbers.
pub const RSP: usize = 7;
/// The instruction pointer's number.
pub const RIP: usize = 16;

/// Why [`wait`] came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is about to get this signal.
    Signal(i32),
    /// A stop of `PTRACE_EVENT_*`, with the signal that stops the group where it is one.
    Event(i32, i32),
    /// It ended by itself.
    Exited(i32),
    /// A signal ended it.
    Killed(i32),
}

/// Starts a command that stands still before its first instruction, traced by the calling thread with
/// `PTRACE_O_TRACE{CLONE,FORK,VFORK,EXEC,EXIT}`. Signals taken by [`super::Signals`] reach it as they would have without.
pub fn start(command: &mut Command) -> io::Result<Child> {
    let none = super::wait::set_of(&[])?;
    // SAFETY: between fork and exec only system calls are made, with an initialised set and numbers.
    let child = unsafe {
        command.pre_exec(move || {
            checked(libc::sigprocmask(libc::SIG_SETMASK, &none, null_mut()))?;
            checked(libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0)).map(drop)
        })
    }
    .spawn()?;
    let seized = seize_started(child.id() as i32);
    if seized.is_err() {
        let _ = kill(child.id() as i32, libc::SIGKILL);
    }
    seized.map(|()| child)
}

/// Who asked to be traced cannot be interrupted or left in a group's stop; who was seized can.
fn seize_started(pid: i32) -> io::Result<()> {
    wait_for(pid)?;
    // SAFETY: the child stands still; it goes on into the stop that this signal makes.
    checked(unsafe { libc::ptrace(libc::PTRACE_DETACH, pid, 0, libc::SIGSTOP as usize) })?;
    // SAFETY: waits for the stop; the status is not wanted.
    checked(unsafe { libc::waitpid(pid, null_mut(), libc::WUNTRACED) })?;
    seize(pid)?;
    wait_for(pid)?;
    kill(pid, libc::SIGCONT)
}

/// Traces a thread that runs.
pub fn seize(tid: i32) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_TRACEEXIT;
    // SAFETY: attaches, with options as a number.
    checked(unsafe { libc::ptrace(libc::PTRACE_SEIZE, tid, 0, options as usize) }).map(drop)
}

/// Makes a traced thread stand still soon.
pub fn interrupt(tid: i32) -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, tid, 0, 0) }).map(drop)
}

/// Lets a thread that stands still go on, with a signal or 0.
pub fn resume(tid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::ptrace(libc::PTRACE_CONT, tid, 0, signal as usize) }).map(drop)
}

/// Leaves a thread in its group's stop, and hears when that ends.
pub fn listen(tid: i32) -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::ptrace(libc::PTRACE_LISTEN, tid, 0, 0) }).map(drop)
}

/// Lets a thread that stands still go on untraced, with a signal or 0.
pub fn detach(tid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::ptrace(libc::PTRACE_DETACH, tid, 0, signal as usize) }).map(drop)
}

/// Sends a signal to a process.
pub fn kill(pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::kill(pid, signal) }).map(drop)
}

/// The registers of a thread that stands still.
pub fn registers(tid: i32) -> io::Result<Registers> {
    let mut raw = MaybeUninit::<libc::user_regs_struct>::uninit();
    // SAFETY: the kernel fills the structure that the pointer is to.
    checked(unsafe { libc::ptrace(libc::PTRACE_GETREGS, tid, 0, raw.as_mut_ptr()) })?;
    // SAFETY: it was filled.
    let r = unsafe { raw.assume_init() };
    Ok([
        r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8, r.r9, r.r10, r.r11, r.r12, r.r13,
        r.r14, r.r15, r.rip,
    ])
}

/// What an event with [`super::Flags::SIGTRAP`] said with its signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trap {
    /// [`super::Attr::signal_data`].
    pub data: u64,
    /// The thread had the signal blocked, and so it came later than the event.
    pub is_late: bool,
}

/// `si_code` of a signal that an event sent.
const TRAP_PERF: i32 = 6;

/// Whether the signal that a thread stands still with comes from an event.
pub fn trap(tid: i32) -> io::Result<Option<Trap>> {
    let raw = signal(tid)?;
    // si_signo, si_errno; si_code, 0; then the union: si_addr, si_perf_data, si_perf_type and si_perf_flags
    let (code, flags) = (raw[1] as u32 as i32, (raw[4] >> 32) as u32);
    Ok((code == TRAP_PERF).then_some(Trap { data: raw[3], is_late: flags & 1 != 0 }))
}

fn signal(tid: i32) -> io::Result<[u64; 16]> {
    let mut raw = [0u64; 16];
    // SAFETY: siginfo_t has 128 bytes and the alignment of a word.
    checked(unsafe { libc::ptrace(libc::PTRACE_GETSIGINFO, tid, 0, raw.as_mut_ptr()) })?;
    Ok(raw)
}

/// Whether a signal waits for the thread, which does not block it.
pub fn is_pending(tid: i32, signal: i32) -> bool {
    let status = Status::of(tid as u32);
    let set = |name| u64::from_str_radix(status.field(name).unwrap_or_default(), 16).unwrap_or(0);
    set("SigPnd:") & !set("SigBlk:") & 1 << (signal - 1) != 0
}

fn change(status: i32) -> Change {
    if libc::WIFEXITED(status) {
        return Change::Exited(libc::WEXITSTATUS(status));
    }
    if libc::WIFSIGNALED(status) {
        return Change::Killed(libc::WTERMSIG(status));
    }
    match status >> 16 {
        0 => Change::Signal(libc::WSTOPSIG(status)),
        event => Change::Event(event, libc::WSTOPSIG(status)),
    }
}

/// What happened to a child or a traced thread, without waiting for it.
pub fn wait() -> io::Result<Option<(i32, Change)>> {
    let mut status = 0;
    // SAFETY: the kernel writes the one status that the pointer is to.
    match checked(unsafe { libc::waitpid(-1, &mut status, libc::__WALL | libc::WNOHANG) }) {
        // nobody is left
        Err(error) if error.raw_os_error() == Some(libc::ECHILD) => Ok(None),
        tid => tid.map(|tid| (tid != 0).then(|| (tid, change(status)))),
    }
}

/// Waits for this one.
pub fn wait_for(tid: i32) -> io::Result<Change> {
    let mut status = 0;
    // SAFETY: the kernel writes the one status that the pointer is to.
    checked(unsafe { libc::waitpid(tid, &mut status, libc::__WALL) })?;
    Ok(change(status))
}

/// A process that goes on with the caller's memory and does only what it is told to: for measuring.
pub fn fork(run: extern "C" fn() -> !) -> io::Result<i32> {
    // SAFETY: the child runs `run` and nothing else, which does not return.
    match checked(unsafe { libc::fork() })? {
        0 => {
            // SAFETY: no pointers.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as usize) };
            run()
        }
        pid => Ok(pid),
    }
}

/// The memory of a traced process.
#[derive(Debug)]
pub struct Memory(File);

impl Memory {
    /// That of the process as it is now: an `exec` makes another.
    pub fn of(pid: i32) -> io::Result<Memory> {
        File::open(format!("/proc/{pid}/mem")).map(Memory)
    }

    /// As much as there is from an address on.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> usize {
        let mut done = 0;
        while done < bytes.len() {
            match self.0.read_at(&mut bytes[done..], address.wrapping_add(done as u64)) {
                Ok(read) if read > 0 => done += read,
                _ => break,
            }
        }
        done
    }

    /// The word at an address.
    pub fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        (self.read(address, &mut bytes) == 8).then(|| u64::from_ne_bytes(bytes))
    }
}

/// Makes timers of the calling thread exact to the nanosecond instead of 50 µs.
pub fn exact_timers() {
    // SAFETY: no pointers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1usize) };
}
