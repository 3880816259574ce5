//! Records with `perf_event_open`: the part of skidconv that runs beside the program it measures.
//!
//! In: a command, a process or the machine, and what to count. Out: a `perf.data` as `perf record` writes it. It knows
//! nothing of skid, code or profiles, and the library that does knows nothing of this one. All `unsafe` code of the project
//! is in [`sys`], each block with its reason. On systems other than Linux the crate is empty.
#![cfg(target_os = "linux")]
#![deny(missing_docs, unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

// in the order in which a recording passes them
pub mod plan;
pub mod names;
mod units;
mod tracepoints;
mod periods;
mod choice;
mod open;
mod random;
mod session;
pub mod calibrate;
pub mod sys;
pub mod records;
pub mod running;
pub mod set_aside;
pub mod output;
mod file;
mod stream;
mod survey;
mod features;
mod build_ids;
mod machine;
mod error;
#[cfg(target_arch = "x86_64")]
pub mod variance;

pub use choice::has_counters;
pub use error::Error;
pub use machine::{Machine, list};
pub use session::{Summary, run};
