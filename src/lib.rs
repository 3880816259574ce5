//! skidconv puts `perf` samples back on the instructions that caused them.
//!
//! A counter interrupt arrives late, and the address it records is an instruction downstream of the cause ("skid"). This
//! crate reads a `perf.data`, rebuilds the control flow of the sampled code, solves for how often each path ran, and hands
//! the recording back with its samples on their causes. A sample passes these stages, and no stage calls forward:
//!
//! ```text
//! perfdata → image → code → skid → solve → attribute → export
//! bytes ⇄    address  bytes → counts   numbers  one new   one file
//! samples    → file   blocks  → model  only     ip each   per format
//! ```
//!
//! Beside that path stands [`stat`]: how far the self times of one recording, or of many, can be trusted.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

// in the order in which a sample passes them
pub mod perfdata;
pub mod image;
pub mod code;
pub mod ibs;
pub mod skid;
pub mod solve;
pub mod attribute;
pub mod export;

pub mod options;
mod divisor;
mod quantile;
pub mod pipeline;
pub mod progress;
pub mod scratch;
pub mod report;
pub mod variance;
pub mod stat;
