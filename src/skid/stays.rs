//! How long each node holds the head of the retirement queue, in ticks.
//!
//! In: head times and the length of a tick. Out: the probability that a node is passed at once, and that what stands on it moves
//! on in a tick. Up to [`STAGES`] ticks the hold is geometric; longer ones are Erlang, for fixed latencies vary less.

use super::hold::Holds;

/// Stages of a long hold: its coefficient of variation is 1/√STAGES.
pub const STAGES: usize = 4;

/// Holds in ticks, per node.
#[derive(Clone, Debug, Default)]
pub struct Stays {
    /// Probability that what arrives passes at once.
    pub pass: Vec<f64>,
    /// Probability that what is held leaves its stage in a tick.
    pub leave: Vec<f64>,
    /// The hold has all stages, not the first alone.
    pub long: Vec<bool>,
}

impl Stays {
    /// Those of `holds`, for ticks of so many cycles.
    pub fn new(holds: &Holds, tick: f64) -> Stays {
        let long: Vec<bool> = holds.mean.iter().map(|&h| h >= STAGES as f64 * tick).collect();
        let leave = |(&long, &h): (&bool, &f64)| {
            let stages = if long { STAGES as f64 } else { 1.0 };
            (stages * tick / h.max(1e-9)).min(1.0)
        };
        Stays {
            pass: holds.mean.iter().map(|h| (1.0 - h / tick).max(0.0)).collect(),
            leave: long.iter().zip(&holds.mean).map(leave).collect(),
            long,
        }
    }
}
