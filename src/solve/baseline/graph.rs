//! One function's control flow, as the baselines see it: blocks with a count each, edges, entries and exits.
//!
//! Calls are not linked: a call is an instruction like others, and a function is fed at its entry by as much as its blocks
//! ask for. Blocks that a region left out as cold are left out here too.
//!
//! A block's count is the mean of its instructions'. Refuted: the largest, which compilers take. Mean distance of instructions
//! over fifteen recordings, mean and largest: block means .286 .316, profi .172 .229, GCC's smoothing .151 .195.

use std::ops::Range;

use crate::skid::circulation::probabilities;
use crate::skid::region::ArmKind;
use crate::skid::steps::steps;
use crate::skid::{Model, Rates};

/// An edge between blocks of a function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// Block left, counted from the function's first.
    pub from: usize,
    /// Block entered.
    pub to: usize,
    /// Probability that the shape of the code suggests.
    pub likely: f64,
}

/// A function.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Samples per instruction of each block.
    pub counts: Vec<f64>,
    /// Edges.
    pub edges: Vec<Edge>,
    /// Blocks where the function begins: its first, and those that no edge leads to.
    pub entries: Vec<bool>,
    /// Blocks where it can be left.
    pub exits: Vec<bool>,
}

/// What a baseline makes of a function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// Executions per block.
    pub blocks: Vec<f64>,
    /// How often each edge is taken.
    pub edges: Vec<f64>,
}

/// A region's functions.
pub struct Functions<'a> {
    model: &'a Model,
    parts: Vec<Part>,
    expected: Vec<f64>,
}

struct Part {
    blocks: Range<usize>,
    graph: Graph,
    /// Arm of each edge.
    arms: Vec<usize>,
    /// Arms that leave the function, with the block they leave.
    ways_out: Vec<(usize, usize)>,
}

impl<'a> Functions<'a> {
    /// Splits a region into its functions.
    pub fn of(model: &'a Model) -> Functions<'a> {
        let region = &model.region;
        let expected = probabilities(region, &region.expectation());
        let mut parts: Vec<Part> = Vec::new();
        let mut start = 0;
        for blocks in region.blocks.chunk_by(|a, b| a.function == b.function) {
            parts.push(Part::of(model, start..start + blocks.len(), &expected));
            start += blocks.len();
        }
        Functions { model, parts, expected }
    }

    /// Applies `infer` to each function, and puts what it found together.
    pub fn infer(&self, infer: impl Fn(&Graph) -> Counts) -> Option<Rates> {
        let region = &self.model.region;
        let mut blocks = vec![0.0; region.blocks.len()];
        let mut taken = vec![0.0; region.arms.len()];
        for part in &self.parts {
            let counts = infer(&part.graph);
            blocks[part.blocks.clone()].copy_from_slice(&counts.blocks);
            part.arms.iter().zip(&counts.edges).for_each(|(&arm, count)| taken[arm] = *count);
            for &(arm, block) in &part.ways_out {
                let kept: f64 = part
                    .graph
                    .edges
                    .iter()
                    .zip(&counts.edges)
                    .filter(|(e, _)| e.from == block)
                    .map(|(_, c)| c)
                    .sum();
                let others = part.ways_out.iter().filter(|w| w.1 == block).count() as f64;
                taken[arm] = (counts.blocks[block] - kept).max(0.0) / others;
            }
        }
        let sum: f64 = region.blocks.iter().zip(&blocks).map(|(b, e)| b.events * e).sum();
        let scale = self.model.total() / sum;
        if !(scale.is_finite() && scale > 0.0) {
            return None;
        }
        blocks.iter_mut().for_each(|b| *b *= scale);
        self.feed_calls(&blocks, &mut taken);
        let arms = self.shares(&taken);
        let steps = steps(region, &arms, &blocks);
        Some(Rates { arms, blocks, steps })
    }

    /// Calls with several targets lead to each as often as it runs.
    fn feed_calls(&self, blocks: &[f64], taken: &mut [f64]) {
        for (arm, taken) in self.model.region.arms.iter().zip(taken) {
            if let (ArmKind::Call { .. }, Some(to)) = (arm.kind, arm.to) {
                *taken = blocks[to];
            }
        }
    }

    /// Probabilities of arms taken so often; where none was, what the shape of the code suggests.
    fn shares(&self, taken: &[f64]) -> Vec<f64> {
        let mut arms = self.expected.clone();
        for decision in &self.model.region.decisions {
            let sum: f64 = taken[decision.arms.clone()].iter().sum();
            if sum > 0.0 {
                decision.arms.clone().for_each(|a| arms[a] = taken[a] / sum);
            }
        }
        arms
    }
}

impl Part {
    fn of(model: &Model, blocks: Range<usize>, expected: &[f64]) -> Part {
        let region = &model.region;
        let samples: Vec<f64> = model.events[0].samples().collect();
        let count = |b: usize| {
            let nodes = region.blocks[b].nodes.clone();
            samples[nodes].iter().sum::<f64>() / region.blocks[b].events
        };
        let mut graph = Graph { counts: blocks.clone().map(count).collect(), ..Graph::default() };
        let (mut arms, mut ways_out) = (Vec::new(), Vec::new());
        for (ix, arm) in region.arms.iter().enumerate() {
            let from = region.nodes[arm.node].block;
            if !blocks.contains(&from) || arm.is_call() {
                continue;
            }
            match arm.to.filter(|_| arm.kind == ArmKind::Edge) {
                Some(to) => {
                    graph.edges.push(Edge {
                        from: from - blocks.start,
                        to: to - blocks.start,
                        likely: expected[ix],
                    });
                    arms.push(ix);
                }
                None => ways_out.push((ix, from - blocks.start)),
            }
        }
        graph.close(|b| ways_out.iter().any(|w| w.1 == b));
        Part { blocks, graph, arms, ways_out }
    }
}

impl Graph {
    /// Finds entries and exits; `leaves` says which blocks can be left to elsewhere.
    fn close(&mut self, leaves: impl Fn(usize) -> bool) {
        let blocks = 0..self.counts.len();
        self.entries = blocks.clone().map(|b| b == 0 || self.edges.iter().all(|e| e.to != b)).collect();
        self.exits = blocks.map(|b| leaves(b) || self.edges.iter().all(|e| e.from != b)).collect();
    }
}

#[cfg(test)]
pub mod testing {
    //! Small graphs, and what holds on all of them.

    use super::{Counts, Edge, Graph};

    /// One way in, two ways on that meet again.
    pub const DIAMOND: [(usize, usize); 4] = [(0, 1), (0, 2), (1, 3), (2, 3)];

    /// Fails unless both are the same but for rounding.
    pub fn near(found: &[f64], expected: &[f64]) {
        assert!(
            found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6),
            "{found:?} for {expected:?}"
        );
    }

    impl Graph {
        /// A graph of counts per block, and edges; likelihoods are even.
        pub fn sketch(counts: &[f64], edges: &[(usize, usize)]) -> Graph {
            let ways = |from: usize| edges.iter().filter(|e| e.0 == from).count() as f64;
            let edge = |&(from, to): &(usize, usize)| Edge { from, to, likely: 1.0 / ways(from) };
            let mut graph = Graph {
                counts: counts.to_vec(),
                edges: edges.iter().map(edge).collect(),
                ..Graph::default()
            };
            graph.close(|_| false);
            graph
        }

        /// By how much a block's executions differ from its edges in and out, the largest over all blocks; entries may be
        /// entered and exits left otherwise.
        pub fn imbalance(&self, counts: &Counts) -> f64 {
            let sum = |of: &dyn Fn(&Edge) -> bool| -> f64 {
                self.edges.iter().zip(&counts.edges).filter(|(e, _)| of(e)).map(|(_, c)| c).sum()
            };
            let off = |b: usize| {
                let (into, out) =
                    (counts.blocks[b] - sum(&|e| e.to == b), counts.blocks[b] - sum(&|e| e.from == b));
                // what is entered or left elsewhere is not negative
                let into = if self.entries[b] { (-into).max(0.0) } else { into.abs() };
                let out = if self.exits[b] { (-out).max(0.0) } else { out.abs() };
                into.max(out)
            };
            (0..self.counts.len()).map(off).fold(0.0, f64::max)
        }
    }
}
