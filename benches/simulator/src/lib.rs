//! Recordings whose truth is known exactly, made under timing assumptions that differ from one another.
//!
//! An estimator tuned to one simulator learns that simulator. This crate runs small real programs, knows from their complete
//! instruction trace how often each instruction ran, puts several unlike cores under the trace, and samples each core the way
//! an imprecise counter interrupt does. What comes out is an ordinary `perf.data` beside a table of the truth:
//!
//! ```text
//! program → image → trace → core → sampler → perfdata
//! C source  ELF     what    when    which     the file     + truth, distance
//!                   ran     it      address
//!                           retired perf saw
//! ```
//!
//! Nothing here knows how skidconv corrects anything; the only thing shared is the format of the files.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod program;
pub mod image;
pub mod module;
pub mod inst;
pub mod decode;
pub mod trace;
pub mod core;
pub mod interrupt;
pub mod counter;
pub mod stack;
pub mod sampler;
pub mod perfdata;
pub mod truth;
pub mod distance;
pub mod grid;
pub mod sets;
pub mod compiled;
pub mod scale;

pub use error::{Error, Result};

mod error;
