//! How likely each step of the walk is.
//!
//! In: probabilities of arms, and executions. Out: those of the steps that a processor takes from node to node; returns go behind each
//! call as often as it was made.

use super::region::{By, Region, Step};

/// Probabilities of the walk's steps from those of arms and executions per block.
pub fn steps(region: &Region, arms: &[f64], blocks: &[f64]) -> Vec<f64> {
    let shares = shares(region, arms, blocks);
    let mut steps: Vec<f64> = region.steps.iter().map(|step| step.likely(arms, &shares)).collect();
    for ends in region.starts.windows(2) {
        at_most_one(&mut steps[ends[0]..ends[1]]);
    }
    steps
}

impl Step {
    /// Whether it returns.
    pub(super) fn returns(&self) -> bool {
        matches!(self.by, By::Return(_))
    }

    /// Its probability, by those of arms and the `shares` of returns.
    pub(super) fn likely(&self, arms: &[f64], shares: &[f64]) -> f64 {
        match self.by {
            By::Sure => 1.0,
            By::Arm(arm) => arms[arm],
            By::Return(site) => shares[site],
        }
    }
}

/// For each call of [`Region::returns`], the share of its context's runs that return there.
pub(super) fn shares(region: &Region, arms: &[f64], blocks: &[f64]) -> Vec<f64> {
    let flow = |arm: usize| arms[arm] * blocks[region.nodes[region.arms[arm].node].block];
    let mut shares = vec![0.0; region.returns.len()];
    region.contexts.iter().for_each(|context| context.share(region, flow, blocks, &mut shares));
    shares
}

/// Scales the `steps` of a node that sum to more than 1: rounding and recursion may bring a return's shares there.
pub(super) fn at_most_one(steps: &mut [f64]) {
    let sum: f64 = steps.iter().sum();
    if sum > 1.0 {
        steps.iter_mut().for_each(|s| *s /= sum);
    }
}
