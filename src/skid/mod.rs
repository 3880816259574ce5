//! How a sample slips from its cause to where it is reported: the forward model.
//!
//! In: linked code and the samples folded per instruction. Out: for branch probabilities and a distribution of the skid, the
//! expected samples per instruction, and how likely the observed ones are. It knows instructions as numbered nodes with a
//! class and a latency, and nothing of files, addresses or the search for the best probabilities.
//!
//! The model. An instruction runs *E* times; the counter overflows behind one of those times; for the length of the skid
//! the processor goes on, holding each instruction at the head of its retirement queue for *h* = cycles / executions on
//! average; what stands at the head when the interrupt arrives, or the one after it, is reported. See [`kernel`].

pub mod around;
pub mod assemble;
pub mod border;
pub mod calibration;
pub mod causes;
pub mod choices;
pub mod circulation;
pub mod classes;
mod components;
pub mod core;
pub mod distribution;
mod expansion;
pub mod folded;
pub mod fusion;
pub mod guesses;
mod heads;
pub mod hold;
pub mod hot;
pub mod kernel;
pub mod lag;
pub mod landed;
pub mod levels;
pub mod likelihood;
pub mod limits;
mod marked;
pub mod nests;
pub mod operands;
pub mod outside;
pub mod pace;
pub mod patience;
mod places;
pub mod recursions;
pub mod region;
pub mod reporting;
pub mod restarts;
pub mod schedule;
pub mod shares;
pub mod sparse;
pub mod stays;
pub mod steps;
#[cfg(test)]
pub(crate) mod testing;
pub mod timing;
mod units;
mod uses;
pub mod usual;
pub mod waits;

pub use calibration::Calibration;
pub use circulation::{Circulation, Rates};
pub use distribution::Skid;
pub use hold::Holds;
pub use kernel::Kernel;
pub use likelihood::{Model, Observation};
pub use region::{Arm, Decision, Node, Region};
