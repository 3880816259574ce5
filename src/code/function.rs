//! A function's code as all behind it see it: instructions, graph, loops, and what the numbers tell that it computes.

use std::collections::BTreeMap;
use std::ops::Range;

use super::cfg::{BlockIx, Cfg};
use super::dominators::Dominators;
use super::inst::{Inst, Registers};
use super::loops::{Counted, Loop, LoopIx, Loops};

/// A function's code.
#[derive(Clone, Debug)]
pub struct Function {
    /// Addresses that belong to it.
    pub range: Range<u64>,
    /// Its instructions by address.
    pub insts: Vec<Inst>,
    /// Blocks and edges over `insts`.
    pub cfg: Cfg,
    /// Dominators of `cfg`.
    pub dominators: Dominators,
    /// Natural loops and irreducible regions of `cfg`.
    pub loops: Loops,
    /// For each block, whether every way from it ends in a trap or in a call that does not return.
    pub doomed: Vec<bool>,
    /// Loops that run as often as the code says.
    pub counted: Vec<Counted>,
    /// Branches that what a loop computes decides.
    pub chances: Vec<Chance>,
    /// Stacks that its loops keep.
    pub stacks: Vec<Stack>,
    /// What its indirect calls, and jumps that leave it, find their targets in.
    pub(super) throughs: BTreeMap<usize, Through>,
}

/// A stack that a loop keeps, and the ways through that loop ([`super::stacks`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Stack {
    /// Edges by which the top moves: blocks left and entered, bytes.
    pub moves: Vec<(BlockIx, BlockIx, i64)>,
    /// Edges behind which it may be another, for the register is set anew.
    pub anew: Vec<(BlockIx, BlockIx)>,
    /// The loop.
    pub of: LoopIx,
}

/// A branch that goes by what its loop computes of nothing else ([`super::chances`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chance {
    /// The loop.
    pub of: LoopIx,
    /// The block that it ends.
    pub block: BlockIx,
    /// The loop was gone through from its beginning to its end; where not, it may be too short for what holds in the long run.
    pub whole: bool,
    /// How often it is taken, above 0 and below 1.
    pub taken: f64,
    /// Standard deviation of the logit of that.
    pub deviation: f64,
}

/// What an indirect call or jump finds its target in ([`super::through`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Through {
    /// A cell at this address.
    Cell(u64),
    /// A word so many bytes behind where a pointer to an object leads.
    Slot(i64),
    /// Nobody knows.
    Unknown,
}

impl Function {
    /// Index of the instruction that starts at `address`.
    pub fn at(&self, address: u64) -> Option<usize> {
        self.insts.binary_search_by_key(&address, |i| i.address).ok()
    }

    /// What an indirect call or jump, which has this index, finds its target in.
    pub(super) fn through(&self, inst: usize) -> Through {
        self.throughs.get(&inst).copied().unwrap_or(Through::Unknown)
    }

    /// The instruction whose flags the branch at the end of `block` goes by, if it is in that block.
    pub(super) fn decides(&self, block: BlockIx) -> Option<usize> {
        let block = &self.cfg.blocks[block];
        let flags = |&ix: &usize| !self.insts[ix].writes.and(Registers::FLAGS).is_empty();
        (block.first..block.end - 1).rev().find(flags)
    }

    /// The last block that every turn of a loop comes by.
    pub(super) fn last_passed(&self, around: &Loop) -> Option<BlockIx> {
        let mut latches = around.latches.iter().copied();
        let first = latches.next()?;
        latches.try_fold(first, |last, latch| self.dominators.meet(last, latch))
    }

    /// Whether the instruction with this index is in a loop.
    pub fn repeats(&self, inst: usize) -> bool {
        self.loops.of(self.cfg.block_of(inst)).is_some()
    }
}
