//! Plain instructions all take about the same time.
//!
//! An instruction that reads no memory, uses nothing just loaded, takes a cycle at most and does not stand behind a choice of
//! ways has nothing to wait for: what it takes depends on the core, not on where it stands. Blocks whose plain instructions
//! seem quicker or slower than those of all others ran more often or less often than thought.

use super::circulation::Rates;
use super::hold::Holds;
use super::region::{Node, Region};

/// Standard deviation of the logarithm of a block's pace.
const SPREAD: f64 = 0.5;
/// Samples, of instructions and of time together, that make a block's pace known to that.
const SETTLED: f64 = 20.0;
/// Cycles per plain instruction that are expected, and those that a retirement group's leader may hide.
const TYPICAL: f64 = 0.5;
const HIDDEN: f64 = 0.1;
/// Blocks whose logarithm is further from the usual do not help to find it.
const NEAR: f64 = 2.0;
/// Degrees of freedom of Student's t: many things slow a block down, hardly any makes it quicker.
const SLOWER: f64 = 1.0;
const QUICKER: f64 = 20.0;

/// A block's pace.
struct Pace {
    /// Logarithm of its cycles per plain instruction, relative to [`TYPICAL`].
    log: f64,
    /// Samples' worth of plain instructions executed.
    executed: f64,
    /// How well it is known, 0 to 1.
    weight: f64,
}

/// For each block, by how much its pace is unlike the usual, as a residual; none where no time was observed. `period` is that
/// of the samples of time.
pub fn residuals(region: &Region, rates: &Rates, holds: &Holds, period: f64) -> Vec<f64> {
    if holds.waited.is_empty() {
        return Vec::new();
    }
    let paces: Vec<Pace> = (0..region.blocks.len()).map(|b| pace(region, rates, holds, period, b)).collect();
    let usual = usual(&paces);
    let residual = |pace: &Pace| {
        let units = (pace.log - usual) / SPREAD;
        let freedom = if units > 0.0 { SLOWER } else { QUICKER };
        units.signum() * (pace.weight * (freedom + 1.0) * (units * units / freedom).ln_1p()).sqrt()
    };
    paces.iter().map(residual).collect()
}

fn plain(node: &Node) -> bool {
    !(node.chosen || node.loads || node.fed) && node.latency <= 1.0
}

fn pace(region: &Region, rates: &Rates, holds: &Holds, period: f64, b: usize) -> Pace {
    let (mut waited, mut count) = (0.0, 0.0);
    for i in region.blocks[b].nodes.clone().filter(|&i| plain(&region.nodes[i])) {
        waited += holds.waited[i];
        count += 1.0;
    }
    let instructions = count * rates.blocks[b];
    let executed = instructions / period;
    let samples = executed + waited / period;
    Pace {
        log: ((waited + period + HIDDEN * instructions) / (TYPICAL * instructions + period)).ln(),
        executed,
        weight: samples / (samples + SETTLED),
    }
}

/// The logarithm that most executions are near: Tukey's biweight around the median.
fn usual(paces: &[Pace]) -> f64 {
    let median = median(paces);
    let weight = |p: &Pace| {
        let off = (p.log - median) / NEAR;
        if off.abs() < 1.0 { p.executed * (1.0 - off * off).powi(2) } else { 0.0 }
    };
    let total: f64 = paces.iter().map(weight).sum();
    if total > 0.0 { paces.iter().map(|p| weight(p) * p.log).sum::<f64>() / total } else { median }
}

fn median(paces: &[Pace]) -> f64 {
    let mut logs: Vec<(f64, f64)> = paces.iter().map(|p| (p.log, p.executed)).collect();
    logs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = logs.iter().map(|l| l.1).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    let upper = logs.iter().find(|l| {
        sum += l.1;
        sum >= half
    });
    upper.map_or(0.0, |l| l.0)
}
