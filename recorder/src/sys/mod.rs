//! The system calls behind recording, safe to use.
//!
//! In: typed descriptions of events, threads, signals. Out: counters as [`Event`]s, their records as the bytes of a
//! [`Ring`]. It knows the interface of the kernel (perf_event_open(2)) and nothing of files or of what is recorded why.

mod attr;
mod bits;
mod clock;
mod event;
pub mod loops;
mod process;
mod ring;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
pub mod trace;
mod wait;

pub use attr::{Access, Attr, Rate, Source};
pub use bits::{Branches, Fields, Flags, ReadFormat};
pub use clock::{Clock, now};
pub use event::{Cpu, Event, Thread};
pub use loops::Loop;
pub use process::{Launch, Status, announce_on, hurry, raise_file_limit, terminate};
pub use ring::{Ring, page_size};
pub use wait::{ENDS, INTERRUPTS, Poll, Signals, end_by, is_news};

/// The result of a call that gives -1 and `errno` where it fails.
fn checked<T: PartialEq + From<i8>>(result: T) -> std::io::Result<T> {
    if result == T::from(-1) { Err(std::io::Error::last_os_error()) } else { Ok(result) }
}
