//! Counts → how often each path ran, with intervals.
//!
//! In: a linked program and its folded samples. Out: per group of connected functions, executions per block with 90 %
//! credible intervals, and how far they can be trusted. It knows regions and arrays; neither perf nor x86.
//!
//! A group's flow conservation ([`conserve`]) comes first, and stays where nothing better is to be had. Then the file's
//! skid is found by all groups together ([`pool`]), each group is sampled under it ([`gibbs`]), and what does not earn its
//! place is refused ([`gate`]). Estimators of others, to compare against, are in [`baseline`] and [`ics`].

pub mod energy;
mod linear;
pub mod levenberg;
pub mod conserve;
pub mod posterior;
pub mod diagnose;
pub mod gibbs;
pub mod circuits;
mod decomposition;
pub mod ics;
pub mod baseline;
mod answer;
mod gate;
mod group;
mod pool;
pub mod descend;
mod laplace;
mod settle;
mod whole;

pub use answer::{Answer, Evidence, Method, Settings, Solved};
pub use group::{Group, prepare};
pub use whole::{solve, solve_all};
