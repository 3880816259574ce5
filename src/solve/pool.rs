//! One skid for the whole file: every group says how well each skid explains it.

use rayon::prelude::*;

use super::group::Group;
use super::levenberg::{Mode, descend};
use super::posterior::{Posterior, Trust};
use crate::skid::Skid;

/// Length of a tick, cycles.
pub const TICK: f64 = 1.0;
/// Skids that are tried, cycles.
const GRID: [f64; 13] = [4.0, 6.0, 9.0, 13.0, 18.0, 25.0, 32.0, 40.0, 50.0, 62.0, 78.0, 100.0, 130.0];
/// Width of a skid's distribution, in units of its least value.
const JITTER: f64 = 0.2;
/// Skid is lognormal around so many cycles …
const TYPICAL: f64 = 40.0;
/// … with this deviation of its logarithm.
const DEVIATION: f64 = 0.8;
const ITERATIONS: usize = 15;

/// Skids to try; one alone where it is `given`.
pub fn candidates(given: Option<f64>) -> Vec<Skid> {
    match given {
        Some(cycles) => vec![Skid::fixed(TICK, cycles, JITTER * cycles)],
        None => GRID.iter().map(|&c| Skid::fixed(TICK, c, JITTER * c)).collect(),
    }
}

/// A group's best mode under each of `skids`; `None` where there is none.
pub fn modes(group: &Group, skids: &[Skid], trust: Trust) -> Vec<Option<Mode>> {
    let model = &group.model;
    let expected = model.region.expectation();
    let between = |(k, z): (usize, &f64)| expected.get(k).map_or(*z, |e| 0.5 * (z + e));
    let starts = [group.flow.clone(), group.flow.iter().enumerate().map(between).collect()];
    let search = |skid: &Skid| {
        let mut posterior = Posterior::new(model, &group.flow, skid.clone(), trust);
        let found = starts.iter().filter_map(|s| descend(&mut posterior, s.clone(), ITERATIONS));
        found.min_by(|a, b| a.energy.total_cmp(&b.energy))
    };
    skids.par_iter().map(search).collect()
}

/// Probability of each of `skids` given all groups' modes under it.
pub fn weigh(skids: &[Skid], modes: &[Vec<Option<Mode>>]) -> Vec<f64> {
    let energy = |k: usize| {
        let from_typical = (skids[k].mean() / TYPICAL).ln() / DEVIATION;
        let fits: f64 = modes.iter().map(|m| m[k].as_ref().map_or(f64::MAX / 1e6, |m| m.energy)).sum();
        fits + 0.5 * from_typical * from_typical
    };
    let energies: Vec<f64> = (0..skids.len()).map(energy).collect();
    let least = energies.iter().copied().fold(f64::INFINITY, f64::min);
    let mut weights: Vec<f64> = energies.iter().map(|e| (least - e).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|w| *w /= sum);
    weights
}

/// The mixture of `skids`.
pub fn mixed(skids: &[Skid], weights: &[f64]) -> Skid {
    let mut mixture: Vec<(usize, usize, f64)> = Vec::new();
    for (skid, weight) in skids.iter().zip(weights).filter(|(_, w)| **w > 1e-3) {
        for (edge, share) in skid.edges.windows(2).zip(&skid.weights) {
            mixture.push((edge[0], edge[1], weight * share));
        }
    }
    let mut edges: Vec<usize> = mixture.iter().flat_map(|m| [m.0, m.1]).collect();
    edges.sort_unstable();
    edges.dedup();
    let within = |e: &[usize]| {
        let part = |&(a, b, w): &(usize, usize, f64)| {
            let overlap = e[1].min(b).saturating_sub(e[0].max(a));
            w * overlap as f64 / (b - a) as f64
        };
        mixture.iter().map(part).sum()
    };
    let weights = edges.windows(2).map(within).collect();
    Skid { tick: TICK, edges, weights }
}
