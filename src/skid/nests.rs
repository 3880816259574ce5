//! Samples stay in the loop that caused them, but for what enters and leaves it.
//!
//! Skid carries a sample some dozens of instructions on. Inside a loop that runs for long, and in what it calls, this moves
//! samples from block to block, but hardly any out of the loop: its total is known far better than that of its blocks. The
//! loops are those of the walk, nested as Steensgaard has them ("Sequentializing program dependence graphs for irreducible
//! programs", 1993): strongly connected parts, then those that are left in each when the steps to its entries are cut. What
//! lies in no loop stays in its block in the same way.
//!
//! Where loops call what is sampled but outside the region, skid carries samples there and back as well, so that the loops' totals and
//! the region's are off by what the callees themselves have at most. `lex` of `benches/simulator` fills a text by a loop of calls of
//! `sprintf` and evaluates it in another: held to the region's total, a short loop of the first takes what is missing there. What
//! the callees call in turn does not count: `sprintf` has few samples of its own, so that `lex` gains little (.090 → .088), but
//! with those below it 29 recordings are .0720 off instead of .0704.

use super::circulation::Rates;
use super::components::{Components, next_of_walk};
use super::region::{Away, Block, By, Region};

/// Instructions that a skid may carry a sample past: what each entry or exit of a loop may add to it or take from it. (98 functions
/// of 41 recordings gain or lose 5 or fewer each time in three cases of four, 10 in nine of ten, 29 at most.) With 60, block
/// distance is .0497 instead of .0493 over 44 recordings, .0597 instead of .0603 over 28 others, .0258 instead of .0265 over
/// five programs, .0809 instead of .0801 over 72 recordings of 500 samples.
const CARRIED: f64 = 40.0;
/// Variance of a loop's samples over Poisson's: below 1, for what pulls at a loop's total is not chance but the error of the
/// skid model in its blocks. With .3 functions are .0049 off on five programs and .0335 on 44 recordings, with .1 .0038 and
/// .0323; .03 lets no block move (.065 instead of .036).
const DISPERSION: f64 = 0.1;
/// A region whose samples can be off by a smaller share has those that it has.
const LEAST_OFF: f64 = 1e-6;
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
    /// Calls that leave the region.
    leaves: Vec<Leave>,
}

/// A call of what is sampled outside the region.
#[derive(Clone, Debug)]
struct Leave {
    /// The step over it.
    step: usize,
    /// The node that calls.
    from: usize,
    /// Samples of what it calls.
    samples: f64,
    /// The loops around it.
    loops: Vec<usize>,
}

impl Leave {
    /// Samples that may have been carried across at most.
    fn carried(&self, region: &Region, rates: &Rates, period: f64) -> f64 {
        let calls = rates.blocks[region.nodes[self.from].block] * rates.steps[self.step] / period;
        // there and back
        (2.0 * CARRIED * calls).min(self.samples)
    }
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
        nests.leaves = region.away.iter().filter_map(|away| nests.leave(region, away)).collect();
        nests
    }

    fn leave(&self, region: &Region, away: &Away) -> Option<Leave> {
        let from = region.arms[away.arm].node;
        let steps = region.starts[from]..region.starts[from + 1];
        let step = steps.into_iter().find(|&at| region.steps[at].by == By::Arm(away.arm))?;
        let inner = self.inner[region.nodes[from].block];
        let loops = std::iter::successors(inner, |&l| self.outer[l]).collect();
        Some(Leave { step, from, samples: away.samples, loops })
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
            if own.len() == 1 {
                continue;
            }
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

    /// For each loop, how many standard deviations its executions, at one sample per `period`, are off its samples; then the same of
    /// the region. How many samples the region would have is what fits its loops best, within what calls may have carried away.
    pub fn residuals(&self, region: &Region, rates: &Rates, period: f64) -> Vec<f64> {
        let executed = |(b, block): (usize, &Block)| (b, rates.blocks[b] * block.events / period);
        let expected = self.within(region.blocks.iter().enumerate().map(executed));
        let (displaced, away) = self.displaced(region, rates, period);
        let spread =
            |(seen, displaced): (&f64, &f64)| (DISPERSION * (seen + 1.0) + displaced * displaced).sqrt();
        let spread: Vec<f64> = self.seen.iter().zip(&displaced).map(spread).collect();
        let total: f64 = rates.blocks.iter().zip(&region.blocks).map(|(e, b)| e * b.events).sum();
        let off = away * period / total.max(f64::MIN_POSITIVE);
        let scale = self.scale(&expected, &spread, off);
        let loops = self.seen.iter().zip(&expected).zip(&spread);
        let residuals = loops.map(|((seen, expected), spread)| (scale * expected - seen) / spread);
        residuals.chain([(scale - 1.0) / off.max(LEAST_OFF)]).collect()
    }

    /// Samples that may have been carried into or out of each loop, and out of the region.
    fn displaced(&self, region: &Region, rates: &Rates, period: f64) -> (Vec<f64>, f64) {
        let mut displaced = vec![0.0; self.seen.len()];
        for &(step, from, l) in &self.crossings {
            displaced[l] += CARRIED * rates.blocks[region.nodes[from].block] * rates.steps[step] / period;
        }
        let mut away = 0.0;
        for leave in &self.leaves {
            let carried = leave.carried(region, rates, period);
            leave.loops.iter().for_each(|&l| displaced[l] += carried);
            away += carried;
        }
        (displaced, away)
    }

    /// How many times the samples it has the region would have, where that is 1 give or take `off`: the least squares of the loops'.
    fn scale(&self, expected: &[f64], spread: &[f64], off: f64) -> f64 {
        if off < LEAST_OFF {
            return 1.0;
        }
        let prior = 1.0 / (off * off);
        let (mut fits, mut weight) = (prior, prior);
        for ((seen, expected), spread) in self.seen.iter().zip(expected).zip(spread) {
            fits += expected * seen / (spread * spread);
            weight += expected * expected / (spread * spread);
        }
        fits / weight
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Program, Told, explore};
    use crate::skid::classes::Classes;
    use crate::skid::folded::{Counts, Folded};
    use crate::skid::hold::Reporting;
    use crate::skid::{Circulation, Model, assemble};

    /// A loop of calls and a loop behind it, alone; the callee, outside, has so many `samples`, the first loop has 200 more than it
    /// ran.
    fn calling(samples: f64) -> Model {
        // 0: call 20; 5: dec %edi; 7: jne 0; 9: nop; a: dec %esi; c: jne 9; e: ret — 20: nop; 21: ret
        let mut code = vec![0xe8, 0x1b, 0, 0, 0, 0xff, 0xcf, 0x75, 0xf7, 0x90, 0xff, 0xce, 0x75, 0xfb, 0xc3];
        code.resize(0x20, 0xcc);
        code.extend([0x90, 0xc3]);
        let source = Bytes(0, code);
        let functions = [0..0xf, 0x20..0x22].map(|r| (0, explore(&source, r, &[])));
        let program = Program::link(functions.into(), &NoStubs, &Told::default());
        let own = [300.0, 100.0, 100.0, 100.0, 100.0, 100.0, 0.1];
        let mut weight: std::collections::BTreeMap<_, _> =
            own.iter().enumerate().map(|(inst, n)| ((0, inst), *n)).collect();
        weight.insert((1, 0), samples);
        let event = Folded { weight, period: 1.0, counts: Counts::Instructions, exact: false, stray: 0.0 };
        let classes = Classes::of(&program);
        assemble::model(&program, &classes, &[0], &[event], None, Reporting::default(), &|_, _| true)
    }

    /// The energy of the loops where both run as often.
    fn strain(model: &Model) -> f64 {
        let (region, samples) = (&model.region, model.events[0].samples().collect::<Vec<_>>());
        let z = vec![7.0; region.freedom()];
        let rates = Circulation::new(region).rates(region, &z, model.total()).expect("a flow");
        let residuals = Nests::new(region, &samples).residuals(region, &rates, 1.0);
        0.5 * residuals.iter().map(|r| r * r).sum::<f64>()
    }

    #[test]
    fn samples_of_what_a_loop_calls_elsewhere_may_stand_in_it() {
        let (known, unknown) = (calling(300.0), calling(0.0));
        assert_eq!((known.region.away.len(), unknown.region.away.len()), (1, 0));
        assert!(strain(&unknown) > 50.0, "{}", strain(&unknown));
        assert!(strain(&known) < 2.0, "{}", strain(&known));
        assert!(strain(&calling(3.0)) > 50.0, "no more than it has can have gone there");
    }
}
