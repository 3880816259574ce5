//! Clocks, as records and programs are timed by them.

use std::io;

/// A clock of `clock_gettime`, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Clock {
    /// The time of day.
    Realtime = libc::CLOCK_REALTIME,
    /// Time since the machine started.
    Monotonic = libc::CLOCK_MONOTONIC,
    /// Time that the calling thread ran.
    Thread = libc::CLOCK_THREAD_CPUTIME_ID,
    /// Time since the machine started, of its own pace.
    MonotonicRaw = libc::CLOCK_MONOTONIC_RAW,
}

/// Its time in nanoseconds.
pub fn now(clock: Clock) -> io::Result<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes the one timespec that the pointer is to.
    super::checked(unsafe { libc::clock_gettime(clock as libc::clockid_t, &mut time) })?;
    Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
