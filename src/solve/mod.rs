//! Counts → how often each path ran, with intervals.
//!
//! In: a linked program and its folded samples. Out: per group of connected functions, executions per block with 90 %
//! credible intervals, and how far they can be trusted. It knows regions and arrays; neither perf nor x86.
//!
//! Functions that call each other make groups ([`workshop`]). A group's flow conservation ([`conserve`]) comes first, then the flow
//! that samples and time agree on ([`timed`], from some searches: [`search`]), which stays where nothing better is to be had; how
//! far its branches may be from what is usual, all groups say together ([`prior`]). Then the file's skid is found by all groups
//! together ([`pool`]). Where samples tell how long it is each group is sampled under it ([`gibbs`]), and what does not earn its
//! place is refused ([`gate`]): of the flows found when samples are believed more or less, the one under which all that was seen is
//! likeliest ([`beliefs`]) is the answer then. Last, intervals are widened by how far a group's samples may be those of others
//! ([`totals`]). Estimators of others, to compare against, are in [`baseline`] and [`ics`].
//!
//! What was tried and refuted, with figures, is in `docs/refuted.md`.

mod beliefs;
pub mod energy;
mod linear;
mod slopes;
pub mod levenberg;
pub mod conserve;
pub mod posterior;
pub mod diagnose;
pub mod gibbs;
pub mod circuits;
mod decomposition;
pub mod ics;
pub mod baseline;
mod solver;
mod answer;
mod draws;
mod identified;
mod gate;
mod group;
mod workshop;
mod telling;
mod pool;
mod prior;
pub mod descend;
mod laplace;
mod floor;
mod settle;
mod search;
mod timed;
mod totals;
mod whole;

pub use answer::{Answer, Evidence, Known, Settings, Solved, credible};
pub use group::Group;
pub use identified::Identified;
pub use solver::Solver;
pub use whole::{share_out, solve, solve_all, tells_of_skid};
