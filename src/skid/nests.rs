//! Samples stay in the loop that caused them, but for what enters and leaves it.
//!
//! Skid carries a sample some dozens of instructions on. Inside a loop that runs for long, and in what it calls, this moves
//! samples from block to block, but hardly any out of the loop: its total is known far better than that of its blocks. The
//! loops are those of the walk, nested as Steensgaard has them ("Sequentializing program dependence graphs for irreducible
//! programs", 1993): strongly connected parts, then those that are left in each when the steps to its entries are cut. What
//! lies in no loop stays in its block in the same way.

use super::circulation::Rates;
use super::components::{Components, next_of_walk};
use super::hold::each_step;
use super::region::Region;

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
#[derive(Clone, Debug)]
pub struct Nests {
    /// The loop that each loop lies in; loops come after those they lie in.
    outer: Vec<Option<usize>>,
    /// The innermost loop of each block.
    inner: Vec<Option<usize>>,
    /// Samples per loop.
    seen: Vec<f64>,
    /// Loops around each loop.
    depth: Vec<usize>,
}

impl Nests {
    /// The loops of `region`; `samples` are per node.
    pub fn new(region: &Region, samples: &[f64]) -> Nests {
        let blocks = region.blocks.len();
        let mut nests =
            Nests { outer: Vec::new(), inner: vec![None; blocks], seen: Vec::new(), depth: Vec::new() };
        nests.split(&next_of_walk(region), None, 0);
        nests.seen = vec![0.0; nests.outer.len()];
        for (node, samples) in region.nodes.iter().zip(samples) {
            let mut at = nests.inner[node.block];
            while let Some(l) = at {
                nests.seen[l] += samples;
                at = nests.outer[l];
            }
        }
        nests
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
        let mut expected = vec![0.0; self.seen.len()];
        let mut crossed = vec![0.0; self.seen.len()];
        for (b, block) in region.blocks.iter().enumerate() {
            let executed = rates.blocks[b] * block.nodes.len() as f64 / period;
            let mut at = self.inner[b];
            while let Some(l) = at {
                expected[l] += executed;
                at = self.outer[l];
            }
        }
        each_step(region, rates, |from, to, flow| {
            let ends = (self.inner[region.nodes[from].block], self.inner[region.nodes[to].block]);
            self.between(ends, |l| crossed[l] += flow / period);
        });
        let residual = |(l, seen): (usize, &f64)| {
            let displaced = CARRIED * crossed[l];
            let variance = DISPERSION * (seen + 1.0) + displaced * displaced;
            (expected[l] - seen) / variance.sqrt()
        };
        self.seen.iter().enumerate().map(residual).collect()
    }

    /// Visits the loops that a step from inside one loop to inside another leaves and enters.
    fn between(&self, (mut from, mut to): (Option<usize>, Option<usize>), mut visit: impl FnMut(usize)) {
        let depth = |l: Option<usize>| l.map_or(0, |l| self.depth[l] + 1);
        while from != to {
            let (a, b) = (depth(from), depth(to));
            if let Some(l) = from.filter(|_| a >= b) {
                visit(l);
                from = self.outer[l];
            }
            if let Some(l) = to.filter(|_| b >= a) {
                visit(l);
                to = self.outer[l];
            }
        }
    }
}
