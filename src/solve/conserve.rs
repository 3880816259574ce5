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
    std::env::var("NOISE").ok().and_then(|v| v.parse().ok()).unwrap_or(2.0)
}
/// Samples scatter more than Poisson's: skid moves them by blocks.
const DISPERSION: f64 = 5.0;
#[allow(non_snake_case)]
fn PRIOR() -> f64 {
    std::env::var("FPRIOR").ok().and_then(|v| v.parse().ok()).unwrap_or(0.05)
}
const ITERATIONS: u64 = 150;

/// Parameters of the flow nearest to the first event's samples.
pub fn conserve(model: &Model, flow: &mut Circulation, logits: &[f64]) -> Vec<f64> {
    let region = &model.region;
    let samples: Vec<f64> = model.events[0].samples().collect();
    let blocks: Vec<f64> = region.blocks.iter().map(|b| samples[b.nodes.clone()].iter().sum()).collect();
    let start = start(model, flow, &blocks, logits);
    let total = samples.iter().sum();
    let mut fit = Fit { model, flow, blocks, total, expected: region.expectation() };
    minimise(&mut fit, start, ITERATIONS).0
}

/// A start at `logits`, turned away from recursions that would feed themselves more than they are fed, and with the roots at
/// rates that give what they feed its samples.
fn start(model: &Model, circulation: &mut Circulation, blocks: &[f64], logits: &[f64]) -> Vec<f64> {
    let region = &model.region;
    let recursive = region.recursive();
    let again = |a: usize| f64::from(u8::from(region.arms[a].to.is_some_and(|to| recursive[to])));
    let turn: Vec<f64> = region
        .decisions
        .iter()
        .flat_map(|d| d.arms.clone().skip(1).map(move |a| (d.arms.start, a)))
        .map(|(first, a)| again(first) - again(a))
        .collect();
    let still = vec![0.0; region.roots.len().saturating_sub(1)];
    let mut z = logits.to_vec();
    for _ in 0..30 {
        if circulation.rates(region, &[&z[..], &still[..]].concat(), 1.0).is_some() {
            break;
        }
        z.iter_mut().zip(&turn).for_each(|(z, t)| *z += t);
    }
    let fed = circulation.fed(region, &z, blocks);
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
            let (mean, seen) = (expected + 0.5, self.blocks[b] + 0.5);
            let root = mean.sqrt();
            value += 2.0 / NOISE() * (root + seen / root);
            by_block[b] = length / NOISE() * (1.0 / root - seen / (mean * root));
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
