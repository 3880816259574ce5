//! What can be waited for an instruction at most and for a block at least, and so how seldom and how often they can have run.
//!
//! Instructions retire in order: when the one before has left, an instruction's operands are there, for what computed them
//! has left as well. It is then waited for no longer than it takes itself. More than that is a load that misses, a slow unit,
//! or the refilling of the pipeline behind a branch that was guessed wrong; and wrong guesses behind a branch are at most as
//! many as it goes its rarer way (Smith, "A study of branch prediction strategies", 1981: any predictor is at least as good
//! as always guessing the usual way). Time seen on an instruction thus bounds its executions from below, without a model of
//! the skid.
//!
//! No more instructions than the core is wide leave in a cycle: a block with less time than that takes ran less often. With this
//! and loads that are quick believed less seldom than slow ones (`skid/pace.rs`), block distance of flow and time over ten larger
//! programs is .1480 → .1444, .0545 → .0537 over 44 recordings, .0657 → .0643 over 28 others, .0271 → .0272 over five programs.
//! Counted in full instead of by half: .1428, .0537, .0649, .0300; with a core always 4 wide .1431, .0552, .0657, .0296.
//!
//! Refuted: residuals that count 1.5, 2 or 3 times (block distance .0797, .0801 and .0835 over 44 recordings, .0251, .0262 and
//! .0372 over five programs, against .0788 and .0244); refills in at least 3 or 10 of 100 runs, for no predictor is perfect
//! (.0807 and .0814 against .0801); refills of 14 or 30 cycles (.0808 twice).

use super::circulation::Rates;
use super::pace::{Seen, deviance};
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

/// Standard deviation of the logarithm of a block's time below the least, and what the residual counts: what is around a block may
/// hide it.
const HASTY: f64 = 0.25;
const HALF: f64 = 0.5;

/// Of what reaches no such share of its limit, or hardly any samples, nothing near by passes it.
const NEARBY: f64 = 0.7;
const FEW: f64 = 0.05;

/// For each node, by how much its wait exceeds what it can be, then for each block, by how much its time falls short of what a core
/// `width` wide takes, as residuals ≥ 0.
pub fn residuals(seen: &Seen<'_>, width: u32) -> Vec<f64> {
    let refills = refills(seen.region, seen.rates);
    let slow = (0..seen.region.nodes.len()).map(|i| Reach::slow(seen, &refills, i).residual());
    let hasty = (0..seen.region.blocks.len()).map(|b| Reach::hasty(seen, width, b).residual());
    slow.chain(hasty).collect()
}

/// What is near its limit or beyond.
pub struct Near {
    nodes: Vec<usize>,
    blocks: Vec<usize>,
    width: u32,
}

impl Near {
    /// Of what was `seen`.
    pub fn new(seen: &Seen<'_>, width: u32) -> Near {
        let refills = refills(seen.region, seen.rates);
        let near = |reach: Reach| reach.times > NEARBY && reach.samples > 1.0 + FEW;
        let slow = (0..seen.region.nodes.len()).filter(|&i| near(Reach::slow(seen, &refills, i)));
        let hasty = (0..seen.region.blocks.len()).filter(|&b| near(Reach::hasty(seen, width, b)));
        Near { nodes: slow.collect(), blocks: hasty.collect(), width }
    }

    /// What [`residuals`] are of what was `seen` near there.
    pub fn at(&self, seen: &Seen<'_>) -> Vec<f64> {
        let (refills, nodes) = (refills(seen.region, seen.rates), seen.region.nodes.len());
        let mut residuals = vec![0.0; nodes + seen.region.blocks.len()];
        self.nodes.iter().for_each(|&i| residuals[i] = Reach::slow(seen, &refills, i).residual());
        for &b in &self.blocks {
            residuals[nodes + b] = Reach::hasty(seen, self.width, b).residual();
        }
        residuals
    }
}

/// How far something goes.
struct Reach {
    /// How many times as far as its limit.
    times: f64,
    /// Standard deviation of the logarithm of that, but for chance.
    deviation: f64,
    /// Samples there.
    samples: f64,
    /// What its residual counts.
    counts: f64,
}

impl Reach {
    /// The wait for node `i`, where blocks are refilled for so long.
    fn slow(seen: &Seen<'_>, refills: &[f64], i: usize) -> Reach {
        let &Seen { region, rates, waited, period, doubt, .. } = seen;
        let node = &region.nodes[i];
        let (own, deviation) = own(node);
        let mut most = rates.blocks[node.block] * own;
        if region.blocks[node.block].nodes.start == i {
            most += refills[node.block];
        }
        let samples = waited[i] / period + 1.0;
        Reach { times: samples / (most / period + 1.0), deviation: doubt * deviation, samples, counts: 1.0 }
    }

    /// How short the time of block `b` is.
    fn hasty(seen: &Seen<'_>, width: u32, b: usize) -> Reach {
        let &Seen { region, rates, waited, period, doubt, .. } = seen;
        let nodes = region.blocks[b].nodes.clone();
        // the second of a fused pair leaves with the first
        let operations = region.nodes[nodes.clone()].iter().filter(|node| !node.fused).count();
        let cycles = operations / width as usize;
        let least = cycles as f64 * rates.blocks[b] / period + 1.0;
        let samples = waited[nodes].iter().sum::<f64>() / period + 1.0;
        Reach { times: least / samples, deviation: doubt * HASTY, samples: least, counts: HALF }
    }

    /// Student's t of the logarithm; 0 within the limit.
    fn residual(&self) -> f64 {
        if self.times <= 1.0 {
            return 0.0;
        }
        let units = self.times.ln() / (self.deviation * self.deviation + DISPERSION / self.samples).sqrt();
        self.counts * deviance(units, FREEDOM).sqrt()
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skid::hold::Reporting;
    use crate::skid::testing::skipping;

    #[test]
    fn time_bounds_how_seldom_and_how_often_code_runs() {
        let model = skipping([50.0; 6], true, Reporting::default());
        let rates = model.rates(&[0.0, 7.0]).expect("a flow");
        let total = |cycles: f64, width: u32| {
            let each = |n: &Node| cycles * rates.blocks[n.block];
            let waited: Vec<f64> = model.region.nodes.iter().map(each).collect();
            let (region, period) = (&model.region, rates.blocks[0] / 1e3);
            let seen = Seen { region, ideal: &[], rates: &rates, waited: &waited, period, doubt: 1.0 };
            residuals(&seen, width).iter().sum::<f64>()
        };
        assert_eq!(total(1.1, 2), 0.0);
        assert!(total(9.0, 2) > 1.0, "too long for what is quick");
        assert!(total(0.1, 2) > 1.0, "blocks of two and more need whole cycles");
        assert_eq!(total(0.1, 8), 0.0, "but not where all of them leave in one");
    }
}
