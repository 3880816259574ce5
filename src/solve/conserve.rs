//! Circulation conservation only: the executions that satisfy Kirchhoff's law and lie nearest to the samples as they stand.
//!
//! The floor under every other solver. A block's samples are taken as Poisson with mean executions × length; branch logits
//! have a weak prior around even, and a back edge is taken for granted to be taken.

use super::descend::{Smooth, minimise};
use crate::skid::{Circulation, Model};

#[allow(non_snake_case)]
fn SHAPE() -> f64 {
    std::env::var("SHAPE").ok().and_then(|v| v.parse().ok()).unwrap_or(0.5)
}
#[allow(non_snake_case)]
fn NOISE() -> f64 {
    std::env::var("NOISE").ok().and_then(|v| v.parse().ok()).unwrap_or(3.0)
}
/// Samples scatter more than Poisson's: skid moves them by blocks.
const DISPERSION: f64 = 5.0;
#[allow(non_snake_case)]
fn PRIOR() -> f64 {
    std::env::var("FPRIOR").ok().and_then(|v| v.parse().ok()).unwrap_or(0.3)
}
const ITERATIONS: u64 = 150;

/// Parameters of the flow nearest to the first event's samples.
pub fn conserve(model: &Model, flow: &mut Circulation) -> Vec<f64> {
    let region = &model.region;
    let samples: Vec<f64> = model.events[0].samples().collect();
    let blocks: Vec<f64> = region.blocks.iter().map(|b| samples[b.nodes.clone()].iter().sum()).collect();
    let start = guess(model, flow, &blocks);
    let mut fit = Fit { model, flow, blocks, total: samples.iter().sum(), expected: region.expectation() };
    minimise(&mut fit, start, ITERATIONS).0
}

/// A start: arms in proportion to how densely their targets were sampled, roots so that what they feed has its samples.
fn guess(model: &Model, circulation: &mut Circulation, blocks: &[f64]) -> Vec<f64> {
    let region = &model.region;
    let density = |b: Option<usize>| match b {
        Some(b) => (blocks[b] + 0.5) / region.blocks[b].nodes.len() as f64,
        None => 0.05,
    };
    let recursive = region.recursive();
    let mut z = Vec::new();
    // a recursion that feeds itself more than it is fed has no flow: turn away from it until there is one
    for reluctance in 0..8 {
        let logit = |a: usize| {
            let again = region.arms[a].to.is_some_and(|to| recursive[to]);
            0.5 * region.arms[a].prior + 0.5 * density(region.arms[a].to).ln()
                - if again { f64::from(reluctance) } else { 0.0 }
        };
        z.clear();
        for decision in &region.decisions {
            let first = logit(decision.arms.start);
            z.extend(decision.arms.clone().skip(1).map(|a| (logit(a) - first).clamp(-6.0, 6.0)));
        }
        let roots = vec![0.0; region.roots.len().saturating_sub(1)];
        if circulation.rates(region, &[&z[..], &roots[..]].concat(), 1.0).is_some() {
            break;
        }
    }
    let fed: Vec<f64> = circulation.fed(region, &z, blocks);
    z.extend(fed.iter().skip(1).map(|f| (f / fed[0]).ln()));
    z
}

struct Fit<'a> {
    model: &'a Model,
    flow: &'a mut Circulation,
    blocks: Vec<f64>,
    total: f64,
    expected: Vec<f64>,
}

impl Smooth for Fit<'_> {
    fn evaluate(&mut self, z: &[f64]) -> (f64, Vec<f64>) {
        let region = &self.model.region;
        let free = region.freedom();
        let Some(rates) = self.flow.rates(region, z, self.total) else {
            return (f64::INFINITY, vec![0.0; z.len()]);
        };
        let mut value = 0.0;
        let mut by_block = vec![0.0; region.blocks.len()];
        for (b, block) in region.blocks.iter().enumerate() {
            let length = block.nodes.len() as f64;
            let expected = (rates.blocks[b] * length).max(1e-3);
            let shape = length * SHAPE();
            let seen = self.blocks[b] / NOISE();
            let mean = expected / NOISE();
            value += (seen + shape) * (mean + shape).ln() - seen * mean.ln();
            if expected > 1e-3 {
                by_block[b] = length / NOISE() * ((seen + shape) / (mean + shape) - seen / mean);
            }
        }
        let mut gradient = self.flow.gradient(region, z, &rates, &by_block);
        for (k, x) in z.iter().enumerate() {
            let (precision, x) = if k < free { (PRIOR(), x - self.expected[k]) } else { (0.001, *x) };
            value += 0.5 * precision * x * x;
            gradient[k] += precision * x;
        }
        (value, gradient)
    }
}
