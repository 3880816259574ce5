//! Executions per block from branch probabilities: Kirchhoff's law for programs.
//!
//! A block runs as often as the arms that lead to it are taken; a call goes on behind itself and feeds its callee. With
//! *p* the arm probabilities and *s* the rates of the roots, *E = s + Bᵀ(p) E*.

use std::ops::Range;

use super::region::{Arm, By, Region, ReturnSite, Step};
use super::sparse::{Factors, Pattern};

/// Transfers are damped by so much, so that a loop without an exit has a solution.
const DAMPING: f64 = 1.0 - 1e-6;

/// What runs less often, of all instructions, has no part in a mean of flows.
const NEVER: f64 = 1e-12;

/// The flow equations of one region.
#[derive(Clone, Debug)]
pub struct Circulation {
    pattern: Pattern,
    /// Arms that feed a block, ascending: the block fed, the block that they leave, the arm.
    feeds: Vec<(usize, usize, usize)>,
    /// Steps that are as likely as an arm, by arm: the arm, the step.
    by_arm: Vec<(usize, usize)>,
    /// The steps of each node that returns.
    returning: Vec<Range<usize>>,
    /// The decision of each free logit, and the first logit of that.
    decisions: Vec<(usize, usize)>,
}

/// The flow at some parameters, from which those are found where one of them is another.
pub struct Around<'a> {
    circulation: &'a Circulation,
    region: &'a Region,
    z: &'a Logits,
    flow: Flow,
    /// Probability of each step of the walk.
    steps: Vec<f64>,
}

/// A solution of the equations.
struct Flow {
    arms: Vec<f64>,
    factors: Factors,
    /// Executions of each block, to no scale.
    blocks: Vec<f64>,
}

/// What follows from branch probabilities.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    /// Probability of each arm.
    pub arms: Vec<f64>,
    /// Executions of each block, in samples' worth: sums to the number of instruction samples over the region's nodes.
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
        let by = |(step, s): (usize, &Step)| if let By::Arm(arm) = s.by { Some((arm, step)) } else { None };
        let mut by_arm: Vec<_> = region.steps.iter().enumerate().filter_map(by).collect();
        by_arm.sort_unstable();
        let returns = |own: &Range<usize>| region.steps[own.clone()].iter().any(Step::returns);
        let returning = region.starts.windows(2).map(|ends| ends[0]..ends[1]).filter(returns).collect();
        let mut first = 0;
        let logits = region.decisions.iter().enumerate().flat_map(|(ix, decision)| {
            let (own, free) = (first, decision.arms.len() - 1);
            first += free;
            std::iter::repeat_n((ix, own), free)
        });
        let decisions = logits.collect();
        Circulation { pattern, feeds, by_arm, returning, decisions }
    }

    /// Number of parameters: free branch logits and root rates.
    pub fn parameters(region: &Region) -> usize {
        region.freedom() + region.roots.len().saturating_sub(1)
    }

    /// Executions and walk for parameters `z`, scaled so that instructions executed sum to `total`. `None` where the
    /// parameters admit none (a recursion that grows without bound).
    pub fn rates(&self, region: &Region, z: &Logits, total: f64) -> Option<Rates> {
        let Flow { arms, blocks, .. } = self.flow(region, z);
        let blocks = scaled(region, blocks, total)?;
        Some(Rates { steps: steps(region, &arms, &blocks), arms, blocks })
    }

    /// The flow at `z`, scaled to `total` instructions, and how often each root then runs.
    fn fed_by_roots(&self, region: &Region, z: &Logits, total: f64) -> Option<(Rates, Vec<f64>)> {
        let Flow { arms, blocks, .. } = self.flow(region, z);
        let scale = total / instructions(region, &blocks);
        let roots = (0..region.roots.len()).map(|root| scale * root_rate(region, z, root)).collect();
        let blocks = scaled(region, blocks, total)?;
        Some((Rates { steps: steps(region, &arms, &blocks), arms, blocks }, roots))
    }

    /// The flow at `z`.
    pub fn around<'a>(&'a self, region: &'a Region, z: &'a Logits) -> Around<'a> {
        let flow = self.flow(region, z);
        let steps = steps(region, &flow.arms, &flow.blocks);
        Around { circulation: self, region, z, flow, steps }
    }

    fn flow(&self, region: &Region, z: &Logits) -> Flow {
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
                expected += blocks[b] * block.nodes.len() as f64;
            }
            seen / expected.max(1e-9)
        };
        region.roots.iter().map(rate).collect()
    }

    fn factorise(&self, arms: &[f64]) -> Factors {
        self.pattern.factorise(self.feeds.iter().map(|&(to, from, arm)| (to, from, -DAMPING * arms[arm])))
    }
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
    /// to a change in one element of a given matrix", 1950).
    pub fn moved(&self, k: usize, step: f64, total: f64) -> Option<Rates> {
        let Around { circulation, region, z, flow, .. } = self;
        let mut change = vec![0.0; region.blocks.len()];
        let (mut arms, mut factor) = (flow.arms.clone(), 1.0);
        let mut changed = 0..0;
        match k.checked_sub(region.freedom()) {
            Some(root) => change[region.roots[root + 1]] = (z[k] + step).exp() - z[k].exp(),
            None => {
                changed = self.decide(k, step, &mut arms);
                for &(to, _, arm) in range(&circulation.feeds, &changed, |feed| feed.2) {
                    change[to] += DAMPING * (arms[arm] - flow.arms[arm]);
                }
            }
        }
        let change = circulation.pattern.solve(&flow.factors, &change);
        if !changed.is_empty() {
            let from = region.nodes[region.arms[changed.start].node].block;
            factor = flow.blocks[from] / (1.0 - change[from]);
        }
        let blocks = flow.blocks.iter().zip(&change).map(|(e, c)| e + factor * c).collect();
        let blocks = scaled(region, blocks, total)?;
        Some(Rates { steps: self.steps(&changed, &arms, &blocks), arms, blocks })
    }

    /// Makes those of `arms` what they are where logit `k` is `step` more, and says which change.
    fn decide(&self, k: usize, step: f64, arms: &mut [f64]) -> Range<usize> {
        let (decision, first) = self.circulation.decisions[k];
        let changed = self.region.decisions[decision].arms.clone();
        let mut logits = self.z[first..first + changed.len() - 1].to_vec();
        logits[k - first] += step;
        softmax(&logits, &mut arms[changed.clone()]);
        changed
    }

    /// The walk where no arms but those `changed` are others.
    fn steps(&self, changed: &Range<usize>, arms: &[f64], blocks: &[f64]) -> Vec<f64> {
        let Circulation { by_arm, returning, .. } = self.circulation;
        let mut steps = self.steps.clone();
        range(by_arm, changed, |by| by.0).iter().for_each(|&(arm, step)| steps[step] = arms[arm]);
        let shares = shares(self.region, arms, blocks);
        for own in returning {
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

/// Executions scaled so that instructions executed sum to `total`; `None` where they are none.
fn scaled(region: &Region, mut blocks: Vec<f64>, total: f64) -> Option<Vec<f64>> {
    let sum = instructions(region, &blocks);
    if !(sum.is_finite() && sum > 0.0) || blocks.iter().any(|&e| e < -1e-9 * sum) {
        return None;
    }
    blocks.iter_mut().for_each(|e| *e = e.max(0.0) * total / sum);
    Some(blocks)
}

/// Instructions executed where blocks run so often.
fn instructions(region: &Region, blocks: &[f64]) -> f64 {
    region.blocks.iter().zip(blocks).map(|(b, e)| b.nodes.len() as f64 * e.max(0.0)).sum()
}

/// Arm probabilities: softmax over each decision, 1 for arms without an alternative.
pub fn probabilities(region: &Region, z: &Logits) -> Vec<f64> {
    let mut arms = vec![1.0; region.arms.len()];
    let mut at = 0;
    for decision in &region.decisions {
        let free = decision.arms.len() - 1;
        softmax(&z[at..at + free], &mut arms[decision.arms.clone()]);
        at += free;
    }
    arms
}

/// The probabilities of a decision's `arms`, by the `logits` of all but the first.
fn softmax(logits: &[f64], arms: &mut [f64]) {
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
    let logits = region.decisions.iter().flat_map(|decision| {
        decision.arms.clone().skip(1).map(|arm| (taken(arm) / taken(decision.arms.start)).ln())
    });
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
    fn returns(&self) -> bool {
        matches!(self.by, By::Return(_))
    }

    /// Its probability, by those of arms and the `shares` of returns.
    fn likely(&self, arms: &[f64], shares: &[f64]) -> f64 {
        match self.by {
            By::Sure => 1.0,
            By::Arm(arm) => arms[arm],
            By::Return(site) => shares[site],
        }
    }
}

/// For each return, the share of its function's runs that go there.
fn shares(region: &Region, arms: &[f64], blocks: &[f64]) -> Vec<f64> {
    let flow = |arm: usize| arms[arm] * blocks[region.nodes[region.arms[arm].node].block];
    let share = |site: &ReturnSite| {
        let through: f64 =
            site.tails.iter().map(|&(arm, entry)| flow(arm) / blocks[entry].max(1e-12)).product();
        (flow(site.call) * through / blocks[site.entry].max(1e-12)).min(1.0)
    };
    region.returns.iter().map(share).collect()
}

/// Scales the `steps` of a node that sum to more than 1: rounding and recursion may bring a return's shares there.
fn at_most_one(steps: &mut [f64]) {
    let sum: f64 = steps.iter().sum();
    if sum > 1.0 {
        steps.iter_mut().for_each(|s| *s /= sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Program, explore};
    use crate::skid::classes::Classes;

    /// A loop that calls a function with a branch in it, and a second root.
    fn region() -> Region {
        // 0: nop; 1: call 10; 6: dec edi; 8: jne 1; a: ret | 10: je 14; 12: nop; 13: nop; 14: ret | 18: dec; jne 18; ret
        let mut code = vec![0x90, 0xe8, 0x0a, 0, 0, 0, 0xff, 0xcf, 0x75, 0xf7, 0xc3];
        code.resize(0x10, 0xcc);
        code.extend([0x74, 0x02, 0x90, 0x90, 0xc3]);
        code.resize(0x18, 0xcc);
        code.extend([0xff, 0xcf, 0x75, 0xfc, 0xc3]);
        let source = Bytes(0, code);
        let functions = [0..0xb, 0x10..0x15, 0x18..0x1d].map(|r| (0, explore(&source, r, &[])));
        let program = Program::link(functions.into(), &NoStubs, &crate::code::Told::default());
        Region::build(&program, &Classes::of(&program), &[0, 1, 2], &|_, _| true)
    }

    #[test]
    fn a_loop_runs_as_often_as_its_back_edge_says_and_feeds_what_it_calls() {
        let region = region();
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
    fn what_moves_one_parameter_is_what_starts_there() {
        let region = region();
        let circulation = Circulation::new(&region);
        let z = [1.0, -0.5, 2.0, 0.3];
        let around = circulation.around(&region, &z);
        for k in 0..z.len() {
            for step in [0.02, -0.7] {
                let mut there = z;
                there[k] += step;
                let anew = circulation.rates(&region, &there, 100.0).expect("flows");
                let moved = around.moved(k, step, 100.0).expect("flows");
                let pairs = anew.blocks.iter().zip(&moved.blocks).chain(anew.steps.iter().zip(&moved.steps));
                assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + a)), "{k} {step}");
            }
        }
    }

    #[test]
    fn in_a_mean_of_flows_everything_runs_as_often_as_on_average() {
        let region = region();
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
        let region = region();
        // the call, and with it the branch behind it, hardly runs beside the second root
        let seldom = |logit: f64| vec![logit, logit, logit, 60.0];
        let found = mean(&region, &[(1.0, &seldom(2.0)), (1.0, &seldom(-1.0))]).expect("a mean");
        assert!(found[..2].iter().all(|logit| (logit - 0.5).abs() < 0.1), "{found:?}");
        let one = seldom(2.0);
        let same = mean(&region, &[(0.3, &one)]).expect("a mean");
        assert!(same.iter().zip(&one).all(|(same, one)| (same - one).abs() < 1e-6), "{same:?}");
    }
}
