//! Samples stay in the loop nest that caused them, but for what enters and leaves it.
//!
//! Skid carries a sample some dozens of instructions on. Inside a nest of loops that runs for long this moves samples from
//! block to block, but hardly any out of the nest: its total is known far better than that of its blocks.

use super::circulation::Rates;
use super::components::Components;
use super::hold::each_step;
use super::region::Region;

/// Instructions that a skid may carry a sample past: what each entry or exit of a nest may add to it or
/// take from it.
const CARRIED: f64 = 120.0;
/// Variance of a nest's samples over Poisson's: below 1, for what pulls at a nest's total is not chance but the error of the
/// skid model in its blocks.
const DISPERSION: f64 = 0.3;

/// The nests of a region, and the samples in each.
#[derive(Clone, Debug)]
pub struct Nests {
    of: Vec<usize>,
    seen: Vec<f64>,
}

impl Nests {
    /// Nests are the strongly connected parts of the walk, so that what a loop calls belongs to it; `samples` are per node.
    pub fn new(region: &Region, samples: &[f64]) -> Nests {
        let components = Components::of_walk(region);
        let mut seen = vec![0.0; components.count];
        for (node, samples) in region.nodes.iter().zip(samples) {
            seen[components.of[node.block]] += samples;
        }
        Nests { of: components.of, seen }
    }

    /// For each nest, how many standard deviations its executions, at one sample per `period`, are off its samples.
    pub fn residuals(&self, region: &Region, rates: &Rates, period: f64) -> Vec<f64> {
        let mut expected = vec![0.0; self.seen.len()];
        let mut crossed = vec![0.0; self.seen.len()];
        for (b, block) in region.blocks.iter().enumerate() {
            expected[self.of[b]] += rates.blocks[b] * block.nodes.len() as f64 / period;
        }
        each_step(region, rates, |from, to, flow| {
            let (from, to) = (self.of[region.nodes[from].block], self.of[region.nodes[to].block]);
            if from != to {
                crossed[from] += flow / period;
                crossed[to] += flow / period;
            }
        });
        let residual = |(nest, seen): (usize, &f64)| {
            let displaced = CARRIED * crossed[nest];
            let variance = DISPERSION * (seen + 1.0) + displaced * displaced;
            (expected[nest] - seen) / variance.sqrt()
        };
        self.seen.iter().enumerate().map(residual).collect()
    }
}
