//! Where memory operands are, as far as it tells how likely they miss the caches.
//!
//! In: a function. Out: for each instruction how its operand moves, and how near it is to what was accessed before.

use super::beside::beside;
use super::followed::Numbers;
use super::function::Function;
use super::induction::Inductions;
use super::stride::{Stride, stride};

/// Where a memory operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// How it moves.
    pub stride: Stride,
    /// Bytes from there to another that was accessed before it, where one is known.
    pub beside: Option<u64>,
}

/// Those of the instructions of `function`; of one whose numbers do not settle nothing is known.
pub fn operands(function: &Function) -> Vec<Operand> {
    let numbers = Numbers::of(function);
    let Some(inductions) = Inductions::of(&numbers) else {
        return vec![Operand { stride: Stride::Unknown, beside: None }; function.insts.len()];
    };
    let near = beside(function, inductions.values).into_iter();
    let mut operands: Vec<Operand> = near.map(|beside| Operand { stride: Stride::Fixed, beside }).collect();
    for block in 0..function.cfg.blocks.len() {
        inductions.values.follow(block, |ix, state| operands[ix].stride = stride(&inductions, ix, state));
    }
    operands
}
