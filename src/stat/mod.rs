//! How far the numbers of a profile can be trusted: NIST TN 1826, *Estimation of uncertainty in application profiles*.
//!
//! In: sample counts per function, of one run or of many; of one run also the order, times and processors of its samples.
//! Out: standard deviations as the published models predict them and as they are observed, intervals, and findings that each
//! have a test behind them. It knows arrays, and nothing of perf, binaries or files. Formulas cite the note's sections.
//!
//! What the tests cannot do: whether self time is cut into more pieces than samples show (fragmentation) is in no data that
//! sampling yields, so that finding needs counts of calls; a rhythm of the program that keeps step with the sampling period
//! exactly looks like a program without rhythm, so that only other periods show it.

mod aliasing;
mod analytical;
mod attraction;
mod autocorrelation;
mod bias;
mod bootstrap;
mod compare;
mod density;
pub mod distribution;
mod drift;
mod finding;
mod fragmentation;
mod loss;
mod outliers;
mod projection;
mod runs;
mod series;
mod sidak;
mod single;
mod student;
mod summary;

pub use aliasing::{Rhythm, rhythm};
pub use analytical::{Predicted, quantisation_bound};
pub use attraction::{Attraction, CLASSES, attraction};
pub use autocorrelation::{Independence, autocorrelation, independence};
pub use bias::{Bias, Cells, Refusal, bias};
pub use bootstrap::{Bootstrapped, Intervals, bootstrap};
pub use compare::{Difference, compare};
pub use density::{Density, density};
pub use drift::{Trend, across, trend};
pub use finding::{Finding, Kind};
pub use fragmentation::{Fragmentation, fragmentation};
pub use loss::{Losses, smallest_seen};
pub use outliers::{Outliers, outliers};
pub use projection::{Point, Projection, project};
pub use runs::{Group, Observed, Table, observe};
pub use series::{Sample, Series};
pub use sidak::{adjusted, level};
pub use single::{Asked, Profile, SelfTime, Single, single};
pub use student::{Interval, Welch, interval, welch};
pub use summary::Summary;
