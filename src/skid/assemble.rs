//! From folded samples to models: which functions are solved together, and which of their blocks matter.

use std::collections::{BTreeMap, BTreeSet};

use super::hold::{Reporting, TimeSamples};
use super::likelihood::{Model, Observation};
use super::region::{Classes, Region};
use crate::code::{FunctionIx, Program};

/// A region takes in no further function beyond so many instructions.
const LARGEST_REGION: usize = 3000;

/// What an event counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// All instructions.
    Instructions,
    /// Branches, calls and returns.
    Transfers,
    /// Instructions that read memory.
    Loads,
    /// Instructions that write memory.
    Stores,
}

/// An event's samples, folded per instruction of the program.
#[derive(Clone, Debug)]
pub struct Folded {
    /// Weight per (function, instruction).
    pub weight: BTreeMap<(FunctionIx, usize), f64>,
    /// Mean period.
    pub period: f64,
    /// What it counts.
    pub counts: Counts,
}

impl Folded {
    fn within(&self, f: FunctionIx) -> f64 {
        self.weight.range((f, 0)..(f + 1, 0)).map(|(_, w)| w).sum()
    }

    fn at(&self, region: &Region) -> Vec<f64> {
        region.nodes.iter().map(|n| self.weight.get(&(n.function, n.inst)).copied().unwrap_or(0.0)).collect()
    }
}

/// Groups functions that call each other, strongest ties first, as long as a group stays small enough to solve.
pub fn groups(program: &Program, load: &dyn Fn(FunctionIx) -> f64) -> Vec<Vec<FunctionIx>> {
    let mut ties: Vec<(f64, FunctionIx, FunctionIx)> = Vec::new();
    for call in &program.calls {
        for target in &call.targets {
            let strength = load(call.caller).min(load(target.function)) + target.seen as f64;
            ties.push((strength, call.caller, target.function));
        }
    }
    ties.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
    let mut group: Vec<usize> = (0..program.functions.len()).collect();
    let mut size: Vec<usize> = program.functions.iter().map(|(_, f)| f.insts.len()).collect();
    for (_, a, b) in ties {
        let (a, b) = (group[a], group[b]);
        if a != b && size[a] + size[b] <= LARGEST_REGION {
            group.iter_mut().filter(|g| **g == b).for_each(|g| *g = a);
            size[a] += size[b];
        }
    }
    let mut groups: BTreeMap<usize, Vec<FunctionIx>> = BTreeMap::new();
    for (f, &g) in group.iter().enumerate() {
        groups.entry(g).or_default().push(f);
    }
    groups.into_values().collect()
}

/// The model of `functions`, of the blocks that `keep` wants.
pub fn model(
    program: &Program,
    classes: &Classes,
    functions: &[FunctionIx],
    retired: &[Folded],
    time: Option<&Folded>,
    reporting: Reporting,
    keep: &dyn Fn(FunctionIx, usize) -> bool,
) -> Model {
    let region = Region::build(program, classes, functions, keep);
    let events = retired.iter().map(|e| observation(&region, e)).collect();
    let time = time.map(|t| TimeSamples { cycles: t.at(&region), period: t.period });
    Model { region, events, time, reporting }
}

fn observation(region: &Region, event: &Folded) -> Observation {
    let counts = |n: &super::Node| match event.counts {
        Counts::Instructions => true,
        Counts::Transfers => n.transfers,
        Counts::Loads => n.loads,
        Counts::Stores => n.stores,
    };
    Observation { weight: event.at(region), period: event.period, counts: region.nodes.iter().map(counts).collect() }
}

/// Blocks of `model` that run often enough to matter at `blocks` executions, the entries of their functions, and the
/// blocks that call those.
pub fn hot(program: &Program, model: &Model, blocks: &[f64]) -> BTreeSet<(FunctionIx, usize)> {
    let region = &model.region;
    let origin = |b: usize| {
        let node = &region.nodes[region.blocks[b].nodes.start];
        (node.function, program.functions[node.function].1.cfg.block_of(node.inst))
    };
    let total = model.total();
    let share = |b: usize| blocks[b] * region.blocks[b].nodes.len() as f64 / total;
    let mut hot: BTreeSet<(FunctionIx, usize)> =
        (0..region.blocks.len()).filter(|&b| share(b) > 2e-4).map(origin).collect();
    // what ends a recursion may be rare, but without it there is no flow
    let recursive = region.recursive();
    let again: BTreeSet<FunctionIx> =
        (0..region.blocks.len()).filter(|&b| recursive[b]).map(|b| region.blocks[b].function).collect();
    hot.extend((0..region.blocks.len()).map(origin).filter(|(f, _)| again.contains(f)));
    // what every way to a hot block leads through runs too, with or without samples
    for (f, block) in hot.clone() {
        let dominators = &program.functions[f].1.dominators;
        let mut above = dominators.parent(block);
        while let Some(b) = above.filter(|&b| hot.insert((f, b))) {
            above = dominators.parent(b);
        }
    }
    let functions: BTreeSet<FunctionIx> = hot.iter().map(|h| h.0).collect();
    for b in 0..region.blocks.len() {
        let (f, block) = origin(b);
        let calls_hot = region.arms.iter().any(|a| {
            region.nodes[a.node].block == b
                && a.kind != super::region::ArmKind::Edge
                && a.to.is_some_and(|to| functions.contains(&region.blocks[to].function) && blocks[to] > 1e-6 * total)
        });
        if functions.contains(&f) && (block == 0 || calls_hot) {
            hot.insert((f, block));
        }
    }
    hot
}
