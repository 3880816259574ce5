//! Counts → how often each path ran, with intervals.
//!
//! In: a linked program and its folded samples. Out: per group of connected functions, executions per block with 90 %
//! credible intervals, and how far they can be trusted. It knows regions and arrays; neither perf nor x86.
//!
//! A group's flow conservation ([`conserve`]) comes first, then the flow that samples and time agree on, which stays where
//! nothing better is to be had. Then the file's skid is found by all groups together ([`pool`]), each group is sampled under
//! it ([`gibbs`]), and what does not earn its place is refused ([`gate`]). Estimators of others, to compare against, are in
//! [`baseline`] and [`ics`].
//!
//! Refuted, by block distance over the cases of `benches/accuracy`: holds of other shapes (mispredict windows of 5 to 18
//! cycles, bimodal ones) change the misfit at the truth by less than .005 or make it worse; means of several estimators gain
//! nothing, for they err alike (.106 against .108 and .119); Student's t around the flow, or a wider prior, less than .003;
//! samples believed block by block inside loops shorter than the skid (dispersion 5 instead of 500) .119 against .074; a
//! heavy-tailed prior of branches around their static prediction (Student's t, 1 to 3 degrees) .095 against .093; samples
//! believed instruction by instruction instead of block by block .095 against .078 on five programs; quick blocks of 1 to 4 plain
//! instructions forgiven, for a leader before them may hide them, and loops expected to be entered 92 or 97 times in 100 instead
//! of 82: flow and time .076 to .085 instead of .084 on five programs, .092 to .104 instead of .092 on 44. Even the best
//! dispersion for each recording alone would have left .079 and .074: what was missing was in the model of time, and what the
//! code's dependences allow ([`schedule`](crate::skid::schedule)) supplies the most of it.
//!
//! Refuted with that schedule, for flow and time alone on 44 recordings and five programs (.0788 and .0244 when tried): a beta
//! prior of 2 to 9 pseudo-counts instead of the Gaussian one (.080 to .085, .030 to .039); one centred in part on flow
//! conservation (.077 to .081, .036 to .045); means of the answers of cores 4, 5 and 8 wide (.0725 instead of .0772, but .034
//! instead of .025), of the core that strains time least (.0756, .0280), or of optima with noise on the prior (.0784, .027);
//! cores that issue in order are told by strain, but others are taken for them as well. At the truth time is strained no more
//! than at what is found: it is the prior that decides where neither time nor samples do. The gain in likelihood does not tell
//! where the model of skid does harm: it is largest (15 nats) in the two recordings where it does most. How far its answer is
//! from the samples does ([`gate`]).
//!
//! Refuted with recursions, stubs and skipped callers linked (.0700 and .0248; .0863 over 26 recordings that nothing was chosen
//! by): tails of the prior that grow as the logarithm's first power, from half a deviation on to two (.0717 to .0732, .0249 to
//! .0346); ways of switches left as free as in flow conservation (.0672 instead of .0683, but .0866 on the 26, and all of the gain is
//! one recording's); a choice between flow, and flow and time, by how well the kernel explains the samples under either, each with
//! the skid that suits it best (.088 and .119).
//!
//! Draws of the model of skid alone cover fewer executions than with those of flow and time among them (76 % against 83 %,
//! when both were narrower).

mod beliefs;
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
mod solver;
mod answer;
mod identified;
mod gate;
mod group;
mod pool;
pub mod descend;
mod laplace;
mod floor;
mod settle;
mod timed;
mod whole;

pub use answer::{Answer, Evidence, Known, Settings, Solved, credible};
pub use group::{Group, prepare};
pub use identified::Identified;
pub use solver::Solver;
pub use whole::{solve, solve_all};
