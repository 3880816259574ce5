//! Posterior → one corrected address per sample.
//!
//! In: what was solved, and the folded samples. Out: for every cell of equal samples, to which instructions how many of them
//! move, and how their callchains change. Whole samples move, each backwards along a way that execution could have taken,
//! and the totals come as near to the solution as whole samples can. It knows regions and calls, not files.

mod balance;
mod blind;
mod couple;
mod deconvolve;
mod occur;
mod plan;
mod quota;
mod route;
mod suspicion;

pub use balance::balance;
pub use couple::{Late, by_overflow, by_waiting};
pub use deconvolve::deconvolve;
pub use occur::{Occurrence, by_occurrence};
pub use plan::{Dealer, Move, Plan, Row, Share, Ways};
pub use quota::quotas;
pub use route::{Calls, Frames, Route};
pub use suspicion::suspicion;

/// For each node reported, its possible causes (node, joint weight), by node.
pub type Coupling = Vec<Vec<(usize, f64)>>;
