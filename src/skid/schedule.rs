//! How long instructions hold the head of the retirement queue where nothing misses and nothing is guessed wrong.
//!
//! In: a region, how often each way is taken, and what loads and wrong guesses seem to stall for. Out: cycles per node,
//! averaged over walks through an ideal [`Core`]. A chain of multiplications through a loop keeps its head waiting on any
//! core, code without one leaves at full width, and what stands behind a long stall leaves as fast as can be, for it was done
//! in the meantime. Time over this is executions: the other half of what is seen, for it does not depend on the skid.
//!
//! It replaced half a cycle for each plain instruction: block distance of flow and time from .084 to .034 on five programs,
//! from .092 to .083 on 44 recordings of other cores. On a loop of three multiplications it gives the 3.0 and 1.0 cycles that
//! the simulator spends, cycle for cycle. Refuted: widths of 3, 5 or 6 (.062 to .065 against .062 on five programs, .084 to
//! .089 against .084 on 44); stalls that all take 20 or 100 cycles instead of 40 (no difference).

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::circulation::Rates;
use super::core::{Core, WIDTH};
use super::hold::Holds;
use super::likelihood::Model;
use super::region::{Node, Region};

/// Instructions walked for each of the region's, at least and at most in all.
const WALKED: usize = 60;
const LEAST_WALKED: usize = 40_000;
const MOST_WALKED: usize = 400_000;
/// Instructions walked in one go, and how many only fill the core where a walk starts as often as code runs.
const STRETCH: usize = 400;
const FILLING: usize = 60;
const SEED: u64 = 1;
/// Cycles of a load that misses, and of a wrong guess.
const MISS: f64 = 40.0;
const WRONG: f64 = 16.0;
/// Cycles beyond the ideal that are not taken for a stall.
const CHANCE: f64 = 2.0;

/// Cycles that each node holds the head at `rates`, if it stalls for `stalls` on average; none: nothing stalls.
pub fn schedule(region: &Region, rates: &Rates, stalls: &[f64]) -> Vec<f64> {
    let mut walker = Walker::new(region, rates, stalls);
    let mut left = (WALKED * region.nodes.len()).clamp(LEAST_WALKED, MOST_WALKED);
    let mut turn = 0;
    while left > 0 && !region.blocks.is_empty() {
        // where time is spent, and in turn everywhere
        let (block, skip) = match turn % 2 {
            0 => (walker.likely(), FILLING),
            _ => ((turn / 2) % region.blocks.len(), 0),
        };
        left -= walker.walk(block, skip, STRETCH.min(left));
        turn += 1;
    }
    walker.means()
}

/// What loads, and what stands behind a choice of ways, is waited for beyond `model`'s ideal at `rates`.
pub fn stalls(model: &Model, rates: &Rates) -> Vec<f64> {
    let holds = Holds::measure(&model.region, rates, model.time.as_ref(), model.reporting);
    let beyond = |(i, node): (usize, &Node)| match node.loads || node.fed || node.chosen {
        true => (holds.mean[i] - model.ideal[i] - CHANCE).max(0.0),
        false => 0.0,
    };
    model.region.nodes.iter().enumerate().map(beyond).collect()
}

struct Walker<'a> {
    region: &'a Region,
    rates: &'a Rates,
    stalls: &'a [f64],
    /// Executed instructions in all blocks up to each.
    sums: Vec<f64>,
    rng: Xoshiro256PlusPlus,
    /// Cycles and visits of each node.
    held: Vec<(f64, f64)>,
}

impl<'a> Walker<'a> {
    fn new(region: &'a Region, rates: &'a Rates, stalls: &'a [f64]) -> Walker<'a> {
        let mut sum = 0.0;
        let executed = region.blocks.iter().zip(&rates.blocks);
        let sums = executed.map(|(block, rate)| {
            sum += rate.max(0.0) * block.nodes.len() as f64;
            sum
        });
        Walker {
            region,
            rates,
            stalls,
            sums: sums.collect(),
            rng: Xoshiro256PlusPlus::seed_from_u64(SEED),
            held: vec![(0.0, 0.0); region.nodes.len()],
        }
    }

    /// A block, as often as its instructions run.
    fn likely(&mut self) -> usize {
        let at = self.rng.random::<f64>() * self.sums.last().copied().unwrap_or(0.0);
        self.sums.partition_point(|&s| s < at).min(self.region.blocks.len() - 1)
    }

    /// Walks from `block` for at most `most` instructions, the first `skip` of which do not count; how many it were.
    fn walk(&mut self, block: usize, skip: usize, most: usize) -> usize {
        let mut core = Core::default();
        let mut at = self.region.blocks[block].nodes.start;
        for walked in 0..most {
            let stall = self.stall(at);
            let cycles = core.retire(&self.region.nodes[at], stall);
            if walked >= skip {
                self.held[at].0 += cycles as f64;
                self.held[at].1 += 1.0;
            }
            match self.next(at) {
                Some(to) => at = to,
                None => return walked + 1,
            }
        }
        most
    }

    /// Cycles of a stall at `node`: seldom and long rather than always and short.
    fn stall(&mut self, node: usize) -> u64 {
        let mean = self.stalls.get(node).copied().unwrap_or(0.0);
        let long = if self.region.nodes[node].chosen { WRONG } else { MISS };
        if mean > 0.0 && self.rng.random::<f64>() < mean / long { long.max(mean) as u64 } else { 0 }
    }

    fn next(&mut self, from: usize) -> Option<usize> {
        let mut left = self.rng.random::<f64>();
        let taken = (self.region.starts[from]..self.region.starts[from + 1]).find(|&step| {
            left -= self.rates.steps[step];
            left < 0.0
        })?;
        Some(self.region.steps[taken].to)
    }

    fn means(self) -> Vec<f64> {
        let mean = |(cycles, visits)| if visits > 0.0 { cycles / visits } else { 1.0 / f64::from(WIDTH) };
        self.held.into_iter().map(mean).collect()
    }
}
