//! Counts → how often each path ran, with intervals.
//!
//! In: regions as numbers, with their observations ([`crate::skid::Model`]). Out: executions per block with 90 % credible
//! intervals, and how far they can be trusted. It knows arrays; neither perf nor x86.

pub mod energy;
mod linear;
pub mod levenberg;
pub mod conserve;
pub mod posterior;
pub mod diagnose;
pub mod gibbs;
pub mod circuits;
pub mod ics;
mod whole;
pub use whole::{Answer, Evidence, Method, Settings, Solved, solve};
