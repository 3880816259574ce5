//! An event's samples, folded per instruction.

use std::collections::BTreeMap;
use std::ops::Range;

use super::region::{Node, Region};
use crate::code::FunctionIx;

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
    /// Instructions that read or write memory.
    Memory,
    /// Transfers whose target is predicted: conditional and indirect ones, returns.
    Predicted,
}

impl Counts {
    /// Whether executing `node` counts, or can.
    pub fn includes(self, node: &Node) -> bool {
        match self {
            Counts::Instructions => true,
            Counts::Transfers => node.transfers,
            Counts::Loads => node.loads,
            Counts::Stores => node.stores,
            Counts::Memory => node.loads || node.stores,
            Counts::Predicted => node.predicted,
        }
    }
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
    /// Whether its samples stand where they arose.
    pub exact: bool,
    /// Weight of its samples that stand in none of the program's functions.
    pub stray: f64,
}

impl Folded {
    /// Samples on an instruction.
    pub fn samples_at(&self, f: FunctionIx, inst: usize) -> f64 {
        self.weight.get(&(f, inst)).map_or(0.0, |w| w / self.period)
    }

    /// Whether any of the instructions `insts` of a function has samples.
    pub fn any(&self, f: FunctionIx, insts: Range<usize>) -> bool {
        self.weight.range((f, insts.start)..(f, insts.end)).any(|(_, weight)| *weight > 0.0)
    }

    /// Weight in a function.
    pub fn within(&self, f: FunctionIx) -> f64 {
        self.weight.range((f, 0)..(f + 1, 0)).map(|(_, w)| w).sum()
    }

    /// Weight per node of a region.
    pub fn at(&self, region: &Region) -> Vec<f64> {
        region.nodes.iter().map(|n| self.weight.get(&(n.function, n.inst)).copied().unwrap_or(0.0)).collect()
    }
}
