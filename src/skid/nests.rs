//! Samples stay in the loop that caused them, but for what enters and leaves it.
//!
//! Skid carries a sample some dozens of instructions on. Inside a loop that runs for long, and in what it calls, this moves
//! samples from block to block, but hardly any out of the loop: its total is known far better than that of its blocks. The
//! loops are those of the walk, nested as Steensgaard has them ("Sequentializing program dependence graphs for irreducible
//! programs", 1993): strongly connected parts, then those that are left in each when the steps to its entries are cut. What
//! lies in no loop stays in its block in the same way.

use super::circulation::Rates;
use super::components::{Components, next_of_walk};
use super::region::{Block, Region};

/// Instructions that a skid may carry a sample past: what each entry or exit of a loop may add to it or take from it. (98 functions
/// of 41 recordings gain or lose 5 or fewer each time in three cases of four, 10 in nine of ten, 29 at most.) With 60, block
/// distance is .0497 instead of .0493 over 44 recordings, .0597 instead of .0603 over 28 others, .0258 instead of .0265 over
/// five programs, .0809 instead of .0801 over 72 recordings of 500 samples.
const CARRIED: f64 = 40.0;
/// Variance of a loop's samples over Poisson's: below 1, for what pulls at a loop's total is not chance but the error of the
/// skid model in its blocks. With .3 functions are .0049 off on five programs and .0335 on 44 recordings, with .1 .0038 and
/// .0323; .03 lets no block move (.065 instead of .036).
const DISPERSION: f64 = 0.1;
/// Loops inside loops that are told apart.
const DEEPEST: usize = 6;

/// The loops of a region, and the samples in each.
#[derive(Clone, Debug, Default)]
pub struct Nests {
    /// The loop that each loop lies in; loops come after those they lie in.
    outer: Vec<Option<usize>>,
    /// The innermost loop of each block.
    inner: Vec<Option<usize>>,
    /// Samples per loop.
    seen: Vec<f64>,
    /// Loops around each loop.
    depth: Vec<usize>,
    /// Steps that enter or leave a loop: the step's number, the node it leaves, the loop.
    crossings: Vec<(usize, usize, usize)>,
}

impl Nests {
    /// The loops of `region`; `samples` are per node.
    pub fn new(region: &Region, samples: &[f64]) -> Nests {
        let blocks = region.blocks.len();
        let mut nests = Nests { inner: vec![None; blocks], ..Nests::default() };
        nests.split(&next_of_walk(region), None, 0);
        nests.seen = nests.within(region.nodes.iter().zip(samples).map(|(node, s)| (node.block, *s)));
        for from in 0..region.nodes.len() {
            for (step, at) in region.steps_of(from).iter().zip(region.starts[from]..) {
                let ends = [from, step.to].map(|node| nests.inner[region.nodes[node].block]);
                nests.crossings.extend(nests.between(ends).into_iter().map(|l| (at, from, l)));
            }
        }
        nests
    }

    /// What lies in each loop, of what lies in blocks.
    fn within(&self, blocks: impl Iterator<Item = (usize, f64)>) -> Vec<f64> {
        let mut sums = vec![0.0; self.outer.len()];
        blocks.filter_map(|(b, own)| Some((self.inner[b]?, own))).for_each(|(l, own)| sums[l] += own);
        for l in (0..sums.len()).rev() {
            if let Some(outer) = self.outer[l] {
                sums[outer] += sums[l];
            }
        }
        sums
    }

    /// Finds the loops along steps `next`, all of them inside loop `outer`.
    fn split(&mut self, next: &[Vec<usize>], outer: Option<usize>, depth: usize) {
        let components = Components::along(next.to_vec());
        let mut members = vec![Vec::new(); components.count];
        components.of.iter().enumerate().for_each(|(b, &c)| members[c].push(b));
        let repeats = |m: &&Vec<usize>| depth == 0 || m.len() > 1 || next[m[0]].contains(&m[0]);
        for own in members.iter().filter(repeats) {
            let within = |b: usize| components.of[b] == components.of[own[0]];
            let ix = self.outer.len();
            self.outer.push(outer);
            self.depth.push(depth);
            own.iter().for_each(|&b| self.inner[b] = Some(ix));
            let mut entered = vec![false; next.len()];
            for (from, to) in next.iter().enumerate().flat_map(|(f, n)| n.iter().map(move |&t| (f, t))) {
                entered[to] |= within(to) && !within(from);
            }
            if !own.iter().any(|&b| entered[b]) {
                entered[own[0]] = true;
            }
            let keep = |from: usize, to: usize| within(from) && within(to) && !entered[to];
            let rest: Vec<Vec<usize>> = next
                .iter()
                .enumerate()
                .map(|(f, n)| n.iter().copied().filter(|&t| keep(f, t)).collect())
                .collect();
            if depth < DEEPEST {
                self.split(&rest, Some(ix), depth + 1);
            }
        }
    }

    /// For each loop, how many standard deviations its executions, at one sample per `period`, are off its samples.
    pub fn residuals(&self, region: &Region, rates: &Rates, period: f64) -> Vec<f64> {
        let executed = |(b, block): (usize, &Block)| (b, rates.blocks[b] * block.nodes.len() as f64 / period);
        let expected = self.within(region.blocks.iter().enumerate().map(executed));
        let mut crossed = vec![0.0; self.seen.len()];
        for &(step, from, l) in &self.crossings {
            crossed[l] += rates.blocks[region.nodes[from].block] * rates.steps[step] / period;
        }
        let residual = |(l, seen): (usize, &f64)| {
            let displaced = CARRIED * crossed[l];
            let variance = DISPERSION * (seen + 1.0) + displaced * displaced;
            (expected[l] - seen) / variance.sqrt()
        };
        self.seen.iter().enumerate().map(residual).collect()
    }

    /// The loops that a step from inside one loop to inside another leaves and enters.
    fn between(&self, [mut from, mut to]: [Option<usize>; 2]) -> Vec<usize> {
        let mut crossed = Vec::new();
        let depth = |l: Option<usize>| l.map_or(0, |l| self.depth[l] + 1);
        while from != to {
            let (a, b) = (depth(from), depth(to));
            if let Some(l) = from.filter(|_| a >= b) {
                crossed.push(l);
                from = self.outer[l];
            }
            if let Some(l) = to.filter(|_| b >= a) {
                crossed.push(l);
                to = self.outer[l];
            }
        }
        crossed
    }
}
