//! Executions per block from branch probabilities: Kirchhoff's law for programs.
//!
//! A block runs as often as the arms that lead to it are taken; a call goes on behind itself and feeds its callee. With
//! *p* the arm probabilities and *s* the rates of the roots, *E = s + Bᵀ(p) E*.

use super::region::{Arm, Region};
use super::sparse::{Factors, Pattern};
use super::steps::steps;

/// Transfers are damped by so much, so that a loop without an exit has a solution.
pub(super) const DAMPING: f64 = 1.0 - 1e-6;

/// What runs less often, of all instructions, has no part in a mean of flows.
const NEVER: f64 = 1e-12;

/// The flow equations of one region.
#[derive(Clone, Debug)]
pub struct Circulation {
    pub(super) pattern: Pattern,
    /// Arms that feed a block, ascending: the block fed, the block that they leave, the arm.
    pub(super) feeds: Vec<(usize, usize, usize)>,
}

/// A solution of the equations.
pub(super) struct Flow {
    /// Probability of each arm.
    pub(super) arms: Vec<f64>,
    pub(super) factors: Factors,
    /// Executions of each block, to no scale.
    pub(super) blocks: Vec<f64>,
}

/// What follows from branch probabilities.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    /// Probability of each arm.
    pub arms: Vec<f64>,
    /// Executions of each block: with [`Block::events`](super::region::Block::events) each they sum to the events in the region.
    pub blocks: Vec<f64>,
    /// Probability of each step of the walk; a node's steps sum to at most 1.
    pub steps: Vec<f64>,
}

impl Rates {
    /// How often an arm is taken.
    pub fn taken(&self, region: &Region, arm: usize) -> f64 {
        self.arms[arm] * self.blocks[region.nodes[region.arms[arm].node].block]
    }
}

/// Parameters of a region: branch logits relative to each decision's first arm, then log rates of the roots but the first.
pub type Logits = [f64];

impl Circulation {
    /// Sets up the equations of `region`.
    pub fn new(region: &Region) -> Circulation {
        let fed = |(ix, arm): (usize, &Arm)| {
            Some((arm.to.filter(|_| !arm.again)?, region.nodes[arm.node].block, ix))
        };
        let feeds: Vec<_> = region.arms.iter().enumerate().filter_map(fed).collect();
        let pattern = Pattern::new(region.blocks.len(), feeds.iter().map(|&(to, from, _)| (to, from)));
        Circulation { pattern, feeds }
    }

    /// Number of parameters: free branch logits and root rates.
    pub fn parameters(region: &Region) -> usize {
        region.freedom() + region.roots.len().saturating_sub(1)
    }

    /// Executions and walk for parameters `z`, scaled so that events sum to `total`. `None` where the
    /// parameters admit none (a recursion that grows without bound).
    pub fn rates(&self, region: &Region, z: &Logits, total: f64) -> Option<Rates> {
        self.flow(region, z).rates(region, total)
    }

    /// The flow at `z`, scaled to `total` events, and how often each root then runs.
    fn fed_by_roots(&self, region: &Region, z: &Logits, total: f64) -> Option<(Rates, Vec<f64>)> {
        let flow = self.flow(region, z);
        let scale = total / events(region, &flow.blocks);
        let roots = (0..region.roots.len()).map(|root| scale * root_rate(region, z, root)).collect();
        Some((flow.rates(region, total)?, roots))
    }

    /// The flow at `z`.
    pub(super) fn flow(&self, region: &Region, z: &Logits) -> Flow {
        let arms = probabilities(region, z);
        let factors = self.factorise(&arms);
        let blocks = self.pattern.solve(&factors, &sources(region, z));
        Flow { arms, factors, blocks }
    }

    /// For each root, the rate at which it would have to run to give the blocks it feeds `samples`, were it alone.
    pub fn fed(&self, region: &Region, z: &Logits, samples: &[f64]) -> Vec<f64> {
        let factors = self.factorise(&probabilities(region, z));
        let rate = |&root: &usize| {
            let mut alone = vec![0.0; region.blocks.len()];
            alone[root] = 1.0;
            let blocks = self.pattern.solve(&factors, &alone);
            let (mut seen, mut expected) = (0.5, 0.0);
            for (b, block) in region.blocks.iter().enumerate().filter(|&(b, _)| blocks[b] > 1e-9) {
                seen += samples[b];
                expected += blocks[b] * block.events;
            }
            seen / expected.max(1e-9)
        };
        region.roots.iter().map(rate).collect()
    }

    fn factorise(&self, arms: &[f64]) -> Factors {
        self.pattern.factorise(self.feeds.iter().map(|&(to, from, arm)| (to, from, -DAMPING * arms[arm])))
    }
}

impl Flow {
    /// Executions and walk, scaled to `total` events.
    fn rates(self, region: &Region, total: f64) -> Option<Rates> {
        let blocks = scaled(region, self.blocks, total)?;
        Some(Rates { steps: steps(region, &self.arms, &blocks), arms: self.arms, blocks })
    }
}

/// Executions scaled so that events sum to `total`; `None` where they are none.
pub(super) fn scaled(region: &Region, mut blocks: Vec<f64>, total: f64) -> Option<Vec<f64>> {
    let sum = events(region, &blocks);
    if !(sum.is_finite() && sum > 0.0) || blocks.iter().any(|&e| e < -1e-9 * sum) {
        return None;
    }
    blocks.iter_mut().for_each(|e| *e = e.max(0.0) * total / sum);
    Some(blocks)
}

/// Events where blocks run so often.
fn events(region: &Region, blocks: &[f64]) -> f64 {
    region.blocks.iter().zip(blocks).map(|(b, e)| b.events * e.max(0.0)).sum()
}

/// Arm probabilities: softmax over each decision, 1 for arms without an alternative.
pub fn probabilities(region: &Region, z: &Logits) -> Vec<f64> {
    let mut arms = vec![1.0; region.arms.len()];
    for decision in &region.decisions {
        softmax(&z[decision.logits()], &mut arms[decision.arms.clone()]);
    }
    arms
}

/// The probabilities of a decision's `arms`, by the `logits` of all but the first.
pub(super) fn softmax(logits: &[f64], arms: &mut [f64]) {
    let top = logits.iter().copied().fold(0.0, f64::max);
    let mut sum = 0.0;
    for (arm, logit) in arms.iter_mut().zip(std::iter::once(&0.0).chain(logits)) {
        *arm = (logit - top).exp();
        sum += *arm;
    }
    arms.iter_mut().for_each(|arm| *arm /= sum);
}

/// Parameters of the mean of flows, each of which has a `share` in it and is scaled to as many instructions: each arm is as likely as it
/// is taken in all of them together, and each root runs as often as in all of them. Distances of flows add up over arms, so the mean is
/// no further from the true flow than they are on average, which the flow at the mean of their parameters may be. (With roots at the
/// geometric mean of their rates what calls itself ran as often as in none of them: `lex-shared-60` of `benches/simulator` .178 off by
/// block, the flows .09 each.) `None` where one of them is no flow.
pub fn mean(region: &Region, shares: &[(f64, &Logits)]) -> Option<Vec<f64>> {
    let circulation = Circulation::new(region);
    let flow = |&(share, z): &(f64, &Logits)| circulation.fed_by_roots(region, z, share);
    let flows: Vec<(Rates, Vec<f64>)> = shares.iter().map(flow).collect::<Option<_>>()?;
    let all: f64 = shares.iter().map(|(share, _)| share).sum();
    let each = |k: usize| shares.iter().map(|(share, z)| share * z[k]).sum::<f64>() / all;
    let middle: Vec<f64> = (0..Circulation::parameters(region)).map(each).collect();
    let otherwise = probabilities(region, &middle);
    let taken = |arm: usize| {
        flows.iter().map(|(flow, _)| flow.taken(region, arm)).sum::<f64>() + NEVER * otherwise[arm]
    };
    let arms = region.per_logit(|_, arm| taken(arm));
    let firsts = region.per_logit(|decision, _| taken(decision.arms.start));
    let logits = arms.into_iter().zip(firsts).map(|(arm, first)| (arm / first).ln());
    let usual = |root: usize| root_rate(region, &middle, root);
    let seldom = NEVER / (0..region.roots.len()).map(usual).sum::<f64>();
    let run = |root: usize| flows.iter().map(|(_, roots)| roots[root]).sum::<f64>() + seldom * usual(root);
    let roots = (1..region.roots.len()).map(|root| (run(root) / run(0)).ln());
    Some(logits.chain(roots).collect())
}

fn sources(region: &Region, z: &Logits) -> Vec<f64> {
    let mut sources = vec![0.0; region.blocks.len()];
    for (k, &root) in region.roots.iter().enumerate() {
        sources[root] += root_rate(region, z, k);
    }
    sources
}

/// How often root number `root` runs for each run of the first.
fn root_rate(region: &Region, z: &Logits, root: usize) -> f64 {
    root.checked_sub(1).map_or(1.0, |k| z[region.freedom() + k].exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skid::testing::called;

    #[test]
    fn a_loop_runs_as_often_as_its_back_edge_says_and_feeds_what_it_calls() {
        let region = called();
        assert_eq!((region.roots.len(), region.freedom()), (2, 3));
        let circulation = Circulation::new(&region);
        // arms of a loop: fall through first, taken second; back edge 3 times in 4
        let z = [3f64.ln(), 0.0, 0.0, 0.0];
        let rates = circulation.rates(&region, &z, 100.0).expect("flows");
        let entry = rates.blocks[0];
        assert!((rates.blocks[1] / entry - 4.0).abs() < 1e-4, "{:?}", rates.blocks);
        assert!((rates.blocks[3] / entry - 4.0).abs() < 1e-4, "the callee runs once an iteration");
        let total: f64 = region.blocks.iter().zip(&rates.blocks).map(|(b, e)| b.nodes.len() as f64 * e).sum();
        assert!((total - 100.0).abs() < 1e-9);
        for node in 0..region.nodes.len() {
            let out: f64 = rates.steps[region.starts[node]..region.starts[node + 1]].iter().sum();
            assert!(out <= 1.0 + 1e-9);
        }
    }

    #[test]
    fn in_a_mean_of_flows_everything_runs_as_often_as_on_average() {
        let region = called();
        let circulation = Circulation::new(&region);
        let all = [vec![-4.0, 2.0, 0.5, 1.0], vec![3.0, 1.0, 1.5, -3.0], vec![0.0, 3.0, -1.0, 6.0]];
        let blocks = |z: &Vec<f64>| circulation.rates(&region, z, 30.0).expect("a flow").blocks;
        let shares = [0.5, 0.2, 0.3];
        let of: Vec<(f64, &[f64])> = shares.into_iter().zip(all.iter().map(Vec::as_slice)).collect();
        let (found, of) = (blocks(&mean(&region, &of).expect("a mean")), all.each_ref().map(blocks));
        for (b, found) in found.iter().enumerate() {
            let average: f64 = shares.iter().zip(&of).map(|(share, blocks)| share * blocks[b]).sum();
            assert!((found - average).abs() < 1e-4, "block {b}: {found} for {average}");
        }
    }

    #[test]
    fn ways_that_no_flow_takes_keep_what_was_thought_of_them() {
        let region = called();
        // the call, and with it the branch behind it, hardly runs beside the second root
        let seldom = |logit: f64| vec![logit, logit, logit, 60.0];
        let found = mean(&region, &[(1.0, &seldom(2.0)), (1.0, &seldom(-1.0))]).expect("a mean");
        assert!(found[..2].iter().all(|logit| (logit - 0.5).abs() < 0.1), "{found:?}");
        let one = seldom(2.0);
        let same = mean(&region, &[(0.3, &one)]).expect("a mean");
        assert!(same.iter().zip(&one).all(|(same, one)| (same - one).abs() < 1e-6), "{same:?}");
    }
}
