//! Where memory operands are, as far as it tells how likely they miss the caches.
//!
//! In: a function. Out: for each instruction how its operand moves, and how near it is to what was accessed before.

use super::beside::Before;
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
    let mut operands = vec![Operand { stride: Stride::Fixed, beside: None }; function.insts.len()];
    let mut before = Before::new(&function.dominators);
    for &block in &function.dominators.order {
        inductions.values.follow(block, |ix, state| {
            let inst = &function.insts[ix];
            let Some(address) = inst.memory else { return };
            let Some(pointer) = state.address(address) else {
                operands[ix].stride = Stride::Unknown;
                return;
            };
            operands[ix].stride = stride(&inductions, block, state, &pointer);
            if inst.loads || inst.stores {
                operands[ix].beside = before.access(block, pointer);
            }
        });
    }
    operands
}
