//! The flow where one parameter is another.
//!
//! In: a flow. Out: what it would be if one logit, or one root's rate, were more, in much less time than from the start: for
//! derivatives by differences. It does not know what they are of.

use std::ops::Range;

use super::circulation::{Circulation, DAMPING, Flow, Logits, Rates, scaled, softmax};
use super::region::{By, Region, Step};
use super::steps::{at_most_one, shares, steps};

/// The flow at some parameters, from which those are found where one of them is another.
pub struct Around<'a> {
    circulation: &'a Circulation,
    region: &'a Region,
    z: &'a Logits,
    flow: Flow,
    /// Probability of each step of the walk.
    steps: Vec<f64>,
    /// Steps that are as likely as an arm, by arm: the arm, the step.
    by_arm: Vec<(usize, usize)>,
    /// The steps of each node that returns.
    returning: Vec<Range<usize>>,
    /// The decisions of each free logit.
    decisions: Vec<Vec<usize>>,
}

impl Circulation {
    /// The flow at `z`.
    pub fn around<'a>(&'a self, region: &'a Region, z: &'a Logits) -> Around<'a> {
        let flow = self.flow(region, z);
        let steps = steps(region, &flow.arms, &flow.blocks);
        let by = |(step, s): (usize, &Step)| if let By::Arm(arm) = s.by { Some((arm, step)) } else { None };
        let mut by_arm: Vec<_> = region.steps.iter().enumerate().filter_map(by).collect();
        by_arm.sort_unstable();
        let returns = |own: &Range<usize>| region.steps[own.clone()].iter().any(Step::returns);
        let returning = region.starts.windows(2).map(|ends| ends[0]..ends[1]).filter(returns).collect();
        Around { circulation: self, region, z, flow, steps, by_arm, returning, decisions: decisions(region) }
    }
}

/// The decisions of each free logit of `region`.
fn decisions(region: &Region) -> Vec<Vec<usize>> {
    let mut decisions = vec![Vec::new(); region.freedom()];
    for (ix, decision) in region.decisions.iter().enumerate() {
        decision.logits().for_each(|logit| decisions[logit].push(ix));
    }
    decisions
}

impl Around<'_> {
    /// As [`Circulation::rates`], at these parameters.
    pub fn here(&self, total: f64) -> Option<Rates> {
        let blocks = scaled(self.region, self.flow.blocks.clone(), total)?;
        Some(Rates { arms: self.flow.arms.clone(), blocks, steps: self.steps.clone() })
    }

    /// As [`Circulation::rates`], where parameter `k` is `step` more.
    ///
    /// Another logit changes one column of the equations, another rate of a root one number on their right: what follows
    /// takes one solution, not another factorisation (Sherman and Morrison, "Adjustment of an inverse matrix corresponding
    /// to a change in one element of a given matrix", 1950). Of decisions that share the logit all columns change alike, which
    /// is of rank one as well.
    pub fn moved(&self, k: usize, step: f64, total: f64) -> Option<Rates> {
        let Around { circulation, region, z, flow, .. } = self;
        let mut change = vec![0.0; region.blocks.len()];
        let (mut arms, mut factor) = (flow.arms.clone(), 1.0);
        let mut changed = Vec::new();
        match k.checked_sub(region.freedom()) {
            Some(root) => change[region.roots[root + 1]] = (z[k] + step).exp() - z[k].exp(),
            None => {
                changed = self.decide(k, step, &mut arms);
                for &(to, _, arm) in range(&circulation.feeds, &changed[0], |feed| feed.2) {
                    change[to] += DAMPING * (arms[arm] - flow.arms[arm]);
                }
            }
        }
        let change = circulation.pattern.solve(&flow.factors, &change);
        if !changed.is_empty() {
            let from = || changed.iter().map(|arms| region.nodes[region.arms[arms.start].node].block);
            let sum = |of: &[f64]| from().map(|block| of[block]).sum::<f64>();
            factor = sum(&flow.blocks) / (1.0 - sum(&change));
        }
        let blocks = flow.blocks.iter().zip(&change).map(|(e, c)| e + factor * c).collect();
        let blocks = scaled(region, blocks, total)?;
        Some(Rates { steps: self.steps(&changed, &arms, &blocks), arms, blocks })
    }

    /// Makes those of `arms` what they are where logit `k` is `step` more, and says which change.
    fn decide(&self, k: usize, step: f64, arms: &mut [f64]) -> Vec<Range<usize>> {
        let decide = |&ix: &usize| {
            let decision = &self.region.decisions[ix];
            let mut logits = self.z[decision.logits()].to_vec();
            logits[k - decision.first] += step;
            softmax(&logits, &mut arms[decision.arms.clone()]);
            decision.arms.clone()
        };
        self.decisions[k].iter().map(decide).collect()
    }

    /// The walk where no arms but those `changed` are others.
    fn steps(&self, changed: &[Range<usize>], arms: &[f64], blocks: &[f64]) -> Vec<f64> {
        let mut steps = self.steps.clone();
        let own = changed.iter().flat_map(|changed| range(&self.by_arm, changed, |by| by.0));
        own.for_each(|&(arm, step)| steps[step] = arms[arm]);
        let shares = shares(self.region, arms, blocks);
        for own in &self.returning {
            let likely = self.region.steps[own.clone()].iter().map(|step| step.likely(arms, &shares));
            steps[own.clone()].iter_mut().zip(likely).for_each(|(step, likely)| *step = likely);
            at_most_one(&mut steps[own.clone()]);
        }
        steps
    }
}

/// Those of `sorted` whose key is in `keys`.
fn range<'a, T>(sorted: &'a [T], keys: &Range<usize>, key: impl Fn(&T) -> usize) -> &'a [T] {
    let start = sorted.partition_point(|one| key(one) < keys.start);
    &sorted[start..start + sorted[start..].partition_point(|one| key(one) < keys.end)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skid::testing::{called, threaded};

    /// The flow where one parameter is another is what it is from the start there.
    fn moves(region: &Region, z: &[f64]) {
        let circulation = Circulation::new(region);
        let around = circulation.around(region, z);
        for k in 0..z.len() {
            for step in [0.02, -0.7] {
                let mut there = z.to_vec();
                there[k] += step;
                let anew = circulation.rates(region, &there, 100.0).expect("flows");
                let moved = around.moved(k, step, 100.0).expect("flows");
                let pairs = anew.blocks.iter().zip(&moved.blocks).chain(anew.steps.iter().zip(&moved.steps));
                assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + a)), "{k} {step}");
            }
        }
    }

    #[test]
    fn what_moves_one_parameter_is_what_starts_there() {
        moves(&called(), &[1.0, -0.5, 2.0, 0.3]);
    }

    #[test]
    fn what_moves_a_logit_that_decisions_share_moves_all_of_them() {
        let mut region = threaded();
        region.share_logits(&[0.0; 4]);
        moves(&region, &[0.4, -1.2]);
    }
}
