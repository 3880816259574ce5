//! Measures single calls of functions: FVSampler (Su, Jiao, Chabbi, Liu, SC'19) without a unit that counts calls.
//!
//! In: a command, and an [`Observer`] who knows its code. Out: calls, each with what was counted from its first instruction
//! to its return, handed to the observer as they return. It decides when to look where; it knows neither files nor names.
//!
//! - [`plan`]: at random times, for a while, a debug register watches the entry of a function that is hot.
//! - [`frames`]: at the entry, another one is put on the stack slot of the return address. Calls inside calls are kept on a
//!   stack; the register watches the innermost.
//! - [`tracee`]: a thread of the program with its events. They stop it with `SIGTRAP`, which its tracer sees and it does not.
//! - [`attach`]: how it comes to a process that runs, and leaves one.
//! - [`sampler`]: the loop. What it waits for, it hands on to [`windows`], which are due at a time, to [`threads`], which come
//!   and go, and to [`calls`], which begin and return.
//!
//! The tool stands outside of the program (ptrace) and not in it, as in the paper: no code runs in the program, its signal
//! handlers and its memory stay as they are, and programs without a dynamic linker work as well. Measured on a virtual machine
//! (an AMD EPYC under KVM), where a debug exception alone takes 17 to 27 µs, a sampled call took 95 to 105 µs with the tracer
//! and 56 to 66 µs with a signal handler in the program, which at 60 calls a second and thread are 0.6 % and 0.4 %. Each
//! switch between the two threads adds to that: with the windows and the samples of what runs, and with what is measured before
//! the program begins, 2.2 s of nested calls of 8 ns took 1.02 to 1.04 times as long at 45 calls a second, and 1.04 to 1.08 at
//! 60 with twice as many samples of what runs.
//!
//! What every stop costs inside a call (the way back into the program and the exception that ends it) is measured beforehand
//! with a function that does nothing, see [`Cost`], and again and again while the program runs, see
//! [`probes`].

mod attach;
mod calls;
pub mod counters;
mod cost;
pub mod frames;
pub mod plan;
mod probes;
mod sampler;
mod threads;
mod tracee;
mod windows;

pub use cost::{Cost, Stops};
pub use counters::{Metric, Values};
pub use sampler::Sampler;

use crate::sys::trace::{Change, Registers};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// How to sample.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Calls a second that every running thread is to be sampled for, over all functions.
    pub rate: f64,
    /// Of the random times.
    pub seed: u64,
    /// No longer than this; a command that was started is asked to end then.
    pub duration: Option<Duration>,
}

/// A function that may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The address of its first instruction, in the process.
    pub entry: u64,
    /// The address after its last.
    pub end: u64,
}

/// A thread that stood still, and what was around its stack pointer.
#[derive(Debug)]
pub struct Stop<'a> {
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    pub time: u64,
    /// Its registers.
    pub registers: &'a Registers,
    /// Its memory from the stack pointer on.
    pub stack: &'a [u8],
}

/// A call that returned.
#[derive(Clone, Debug)]
pub struct Call {
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// What [`Observer::called`] gave for it.
    pub context: u32,
    /// When it was let into its first instruction, nanoseconds of `CLOCK_MONOTONIC`.
    pub start: u64,
    /// When its return was seen.
    pub end: u64,
    /// Where its return address lay.
    pub slot: u64,
    /// How many calls it stands for.
    pub weight: f64,
    /// How often the tool stopped the thread during the call.
    pub stops: u32,
    /// What was counted, the cost of the tool included; of wall time, what the stops took is taken away.
    pub values: Values,
}

/// Who knows the code, and what becomes of what was measured.
pub trait Observer {
    /// Why it cannot go on.
    type Error;
    /// A thread is there.
    fn thread(&mut self, pid: u32, tid: u32) -> Result<(), Self::Error>;
    /// A process runs another program from now on.
    fn exec(&mut self, pid: u32) -> Result<(), Self::Error>;
    /// A thread runs here. Gives the functions of its process that are worth sampling.
    fn running(&mut self, stop: &Stop<'_>) -> Result<Vec<Candidate>, Self::Error>;
    /// A call begins that is sampled. Gives a number for its function and context.
    fn called(&mut self, stop: &Stop<'_>) -> Result<u32, Self::Error>;
    /// A call returned.
    fn returned(&mut self, call: &Call) -> Result<(), Self::Error>;
    /// A sampled call ended without returning, or the program did.
    fn lost(&mut self, tid: u32, context: u32) -> Result<(), Self::Error>;
}

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// How the process ended; `None` if it goes on.
    pub end: Option<Change>,
    /// Threads that could not be followed, as there were no descriptors left.
    pub unwatched: u32,
    /// Threads that could not be followed, as there were no debug registers left.
    pub crowded: u32,
    /// What stops took of the wall's time and of the thread's, if enough were measured.
    pub stops: Option<[Stops; 2]>,
}

/// Why nothing is measured, or no more.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command cannot be run.
    #[error("cannot run {}", .program.display())]
    Start {
        /// Its name.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no such process.
    #[error("there is no process {0}")]
    NoProcess(u32),
    /// The kernel does not let us count.
    #[error(
        "no permission to watch the program: kernel.perf_event_paranoid is {}; it has to be 2 or lower, or the \
         capability CAP_PERFMON given, and no filter of system calls may forbid perf_event_open",
        crate::error::paranoid()
    )]
    Permission(#[source] io::Error),
    /// No breakpoints.
    #[error("no debug register is free: another debugger or recorder uses them")]
    Busy(#[source] io::Error),
    /// An old kernel, or a machine without.
    #[error(
        "this system cannot stop a program at breakpoints of perf_event_open: Linux 5.13 or later on x86-64 can"
    )]
    Unsupported(#[source] io::Error),
    /// The thread cannot be traced.
    #[error(
        "cannot trace the program: it is another user's, a debugger is there already, or kernel.yama.ptrace_scope \
         forbids it"
    )]
    Trace(#[source] io::Error),
    /// The system fails.
    #[error("cannot wait for the program")]
    Wait(#[source] io::Error),
}

impl Error {
    /// Of an event that could not be opened.
    fn of_event(error: io::Error) -> Error {
        match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => Error::Permission(error),
            Some(libc::ENOSPC | libc::EBUSY) => Error::Busy(error),
            _ => Error::Unsupported(error),
        }
    }
}
