//! What an instruction can wait at most, and so how seldom it can have run.
//!
//! Instructions retire in order: when the one before has left, an instruction's operands are there, for what computed them
//! has left as well. It is then waited for no longer than it takes itself. More than that is a load that misses, a slow unit,
//! or the refilling of the pipeline behind a branch that was guessed wrong; and wrong guesses behind a branch are at most as
//! many as it goes its rarer way (Smith, "A study of branch prediction strategies", 1981: any predictor is at least as good
//! as always guessing the usual way). Time seen on an instruction thus bounds its executions from below, without a model of
//! the skid.
//!
//! Refuted: residuals that count 1.5, 2 or 3 times (block distance .0797, .0801 and .0835 over 44 recordings, .0251, .0262 and
//! .0372 over five programs, against .0788 and .0244); refills in at least 3 or 10 of 100 runs, for no predictor is perfect
//! (.0807 and .0814 against .0801); refills of 14 or 30 cycles (.0808 twice).

use super::circulation::Rates;
use super::region::{Node, Region};
use crate::code::Kind;

/// Cycles from a wrong guess to the first instruction of the right way; 14 to 20 on cores of 2010–2025.
const REFILL: f64 = 20.0;
/// Cycles that the quickest instruction may be waited for: the leader of a retirement group takes a whole one.
const QUICKEST: f64 = 1.2;
/// Standard deviation of the logarithm of a wait beyond its limit, where nothing but the instruction is waited for …
const STRICT: f64 = 0.25;
/// … and where a cache, a slow unit or the memory may be.
const LOOSE: f64 = 1.5;
/// Variance of the samples of time over Poisson's.
const DISPERSION: f64 = 3.0;
/// Degrees of freedom of Student's t: here and there an instruction waits for what is not known here.
const FREEDOM: f64 = 4.0;

/// For each node, by how much its wait exceeds what it can be, as a residual ≥ 0. `waited` has the cycles
/// waited for each node, `period` is that of the samples of time.
pub fn residuals(region: &Region, rates: &Rates, waited: &[f64], period: f64) -> Vec<f64> {
    let refills = refills(region, rates);
    let residual = |(i, waited): (usize, &f64)| {
        let node = &region.nodes[i];
        let (own, deviation) = own(node);
        let mut limit = rates.blocks[node.block] * own;
        if region.blocks[node.block].nodes.start == i {
            limit += refills[node.block];
        }
        let samples = waited / period + 1.0;
        let beyond = samples / (limit / period + 1.0);
        if beyond <= 1.0 {
            return 0.0;
        }
        let units = beyond.ln() / (deviation * deviation + DISPERSION / samples).sqrt();
        ((FREEDOM + 1.0) * (units * units / FREEDOM).ln_1p()).sqrt()
    };
    waited.iter().enumerate().map(residual).collect()
}

/// Longest wait for `node` itself, cycles, and how far it is to be trusted. Cores that stop at the first use of what is not
/// there wait at that use instead of at the load.
fn own(node: &Node) -> (f64, f64) {
    let slow = [Kind::Divide, Kind::FloatDivide, Kind::Atomic, Kind::String, Kind::System, Kind::Return]
        .contains(&node.kind);
    let hit = if node.fed { super::classes::LOAD } else { 0.0 };
    let deviation = if node.loads || node.fed || slow { LOOSE } else { STRICT };
    ((node.latency + hit).max(QUICKEST), deviation)
}

/// Cycles that refilling can take at the entry of each block.
fn refills(region: &Region, rates: &Rates) -> Vec<f64> {
    let mut refills = vec![0.0; region.blocks.len()];
    for arm in region.decisions.iter().flat_map(|d| d.arms.clone()) {
        if let Some(to) = region.arms[arm].to {
            let p = rates.arms[arm];
            refills[to] += REFILL * p.min(1.0 - p) * rates.blocks[region.nodes[region.arms[arm].node].block];
        }
    }
    refills
}
