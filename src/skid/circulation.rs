//! Executions per block from branch probabilities: Kirchhoff's law for programs.
//!
//! A block runs as often as the arms that lead to it are taken; a call goes on behind itself and feeds its callee. With
//! *p* the arm probabilities and *s* the rates of the roots, *E = s + Bᵀ(p) E*.

use super::region::{By, Region};
use super::sparse::{Factors, Pattern};

/// Transfers are damped by so much, so that a loop without an exit has a solution.
const DAMPING: f64 = 1.0 - 1e-6;

/// The flow equations of one region, with room to solve them again and again.
#[derive(Clone, Debug)]
pub struct Circulation {
    pattern: Pattern,
    factors: Factors,
    entries: Vec<(usize, usize, f64)>,
    /// Arm of each entry.
    arm_of: Vec<usize>,
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
        let mut arm_of = Vec::new();
        let mut entries = Vec::new();
        for (ix, arm) in region.arms.iter().enumerate() {
            if let Some(to) = arm.to.filter(|_| !arm.again) {
                entries.push((to, region.nodes[arm.node].block, 0.0));
                arm_of.push(ix);
            }
        }
        let pattern = Pattern::new(region.blocks.len(), entries.iter().map(|&(r, c, _)| (r, c)));
        Circulation { pattern, factors: Factors::default(), entries, arm_of }
    }

    /// Number of parameters: free branch logits and root rates.
    pub fn parameters(region: &Region) -> usize {
        region.freedom() + region.roots.len().saturating_sub(1)
    }

    /// Executions and walk for parameters `z`, scaled so that instructions executed sum to `total`. `None` where the
    /// parameters admit none (a recursion that grows without bound).
    pub fn rates(&mut self, region: &Region, z: &Logits, total: f64) -> Option<Rates> {
        let arms = probabilities(region, z);
        self.factorise(&arms);
        let sources = sources(region, z);
        let mut blocks = self.pattern.solve(&self.factors, &sources);
        let sum: f64 =
            region.blocks.iter().zip(&blocks).map(|(b, e)| b.nodes.len() as f64 * e.max(0.0)).sum();
        if !(sum.is_finite() && sum > 0.0) || blocks.iter().any(|&e| e < -1e-9 * sum) {
            return None;
        }
        blocks.iter_mut().for_each(|e| *e = e.max(0.0) * total / sum);
        let steps = steps(region, &arms, &blocks);
        Some(Rates { arms, blocks, steps })
    }

    /// For each root, the rate at which it would have to run to give the blocks it feeds `samples`, were it alone.
    pub fn fed(&mut self, region: &Region, z: &Logits, samples: &[f64]) -> Vec<f64> {
        self.factorise(&probabilities(region, z));
        let rate = |&root: &usize| {
            let mut alone = vec![0.0; region.blocks.len()];
            alone[root] = 1.0;
            let blocks = self.pattern.solve(&self.factors, &alone);
            let (mut seen, mut expected) = (0.5, 0.0);
            for (b, block) in region.blocks.iter().enumerate().filter(|&(b, _)| blocks[b] > 1e-9) {
                seen += samples[b];
                expected += blocks[b] * block.nodes.len() as f64;
            }
            seen / expected.max(1e-9)
        };
        region.roots.iter().map(rate).collect()
    }

    fn factorise(&mut self, arms: &[f64]) {
        for (entry, &arm) in self.entries.iter_mut().zip(&self.arm_of) {
            entry.2 = -DAMPING * arms[arm];
        }
        self.pattern.factorise(&mut self.factors, &self.entries);
    }
}

/// Arm probabilities: softmax over each decision, 1 for arms without an alternative.
pub fn probabilities(region: &Region, z: &Logits) -> Vec<f64> {
    let mut arms = vec![1.0; region.arms.len()];
    let mut at = 0;
    for decision in &region.decisions {
        let free = decision.arms.len() - 1;
        let logits = &z[at..at + free];
        at += free;
        let top = logits.iter().copied().fold(0.0, f64::max);
        let mut sum = 0.0;
        for (k, arm) in decision.arms.clone().enumerate() {
            arms[arm] = (if k == 0 { 0.0 } else { logits[k - 1] } - top).exp();
            sum += arms[arm];
        }
        decision.arms.clone().for_each(|arm| arms[arm] /= sum);
    }
    arms
}

fn sources(region: &Region, z: &Logits) -> Vec<f64> {
    let rates = &z[region.freedom()..];
    let mut sources = vec![0.0; region.blocks.len()];
    for (k, &root) in region.roots.iter().enumerate() {
        sources[root] += if k == 0 { 1.0 } else { rates[k - 1].exp() };
    }
    sources
}

/// Probabilities of the walk's steps from those of arms and executions per block.
pub fn steps(region: &Region, arms: &[f64], blocks: &[f64]) -> Vec<f64> {
    let flow = |arm: usize| arms[arm] * blocks[region.nodes[region.arms[arm].node].block];
    let share: Vec<f64> = region
        .returns
        .iter()
        .map(|site| {
            let through: f64 =
                site.tails.iter().map(|&(arm, entry)| flow(arm) / blocks[entry].max(1e-12)).product();
            (flow(site.call) * through / blocks[site.entry].max(1e-12)).min(1.0)
        })
        .collect();
    let mut steps = Vec::with_capacity(region.steps.len());
    for step in &region.steps {
        steps.push(match step.by {
            By::Sure => 1.0,
            By::Arm(arm) => arms[arm],
            By::Return(site) => share[site],
        });
    }
    // rounding and recursion may bring a return's shares above 1
    for node in 0..region.nodes.len() {
        let own = region.starts[node]..region.starts[node + 1];
        let sum: f64 = steps[own.clone()].iter().sum();
        if sum > 1.0 {
            steps[own].iter_mut().for_each(|s| *s /= sum);
        }
    }
    steps
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
        let mut circulation = Circulation::new(&region);
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
}
