//! How long each node holds the head of the retirement queue, in ticks.
//!
//! In: head times and the length of a tick. Out: the probability that a node is passed at once, and that what stands on it moves
//! on in a tick. Up to [`STAGES`] ticks the hold is geometric; longer ones are Erlang, for fixed latencies vary less.

use super::hold::Holds;

/// Stages of a long hold: its coefficient of variation is 1/√STAGES.
pub const STAGES: usize = 4;
/// Those behind the first.
pub const LATER: usize = STAGES - 1;

/// How long a node holds the head in each of `L` walks.
#[derive(Clone, Copy, Debug)]
pub struct Stay<const L: usize> {
    /// Probability that what arrives passes at once.
    pub pass: [f64; L],
    /// Probability that what is held leaves its stage in a tick.
    pub leave: [f64; L],
    /// The hold has all stages, not the first alone.
    pub long: [bool; L],
    /// Which of those it is that have more stages than the first in some walk; `None` if it is none.
    pub staged: Option<usize>,
}

impl<const L: usize> Stay<L> {
    /// That of a node with these head times, for ticks of so many cycles.
    fn new(holds: [f64; L], tick: f64) -> Stay<L> {
        let long = holds.map(|h| h >= STAGES as f64 * tick);
        let leave = |lane: usize| {
            let stages = if long[lane] { STAGES as f64 } else { 1.0 };
            (stages * tick / holds[lane].max(1e-9)).min(1.0)
        };
        Stay {
            pass: holds.map(|h| (1.0 - h / tick).max(0.0)),
            leave: std::array::from_fn(leave),
            long,
            staged: None,
        }
    }

    /// Those of all nodes of a region, whose head times each walk has.
    pub fn all(holds: [&Holds; L], tick: f64) -> Vec<Stay<L>> {
        let all = (0..holds[0].mean.len()).map(|node| Stay::new(holds.map(|holds| holds.mean[node]), tick));
        let mut all: Vec<Stay<L>> = all.collect();
        let staged = all.iter_mut().filter(|stay| stay.long.contains(&true));
        staged.enumerate().for_each(|(ix, stay)| stay.staged = Some(ix));
        all
    }
}
