//! How near each memory operand is to another that was there before: what is in the same line comes with it.
//!
//! In: the addresses that a function accesses, in an order in which what stands on every way to a block comes before it. Out: for each
//! the distance to the nearest that is made of the same unknown numbers, of an instruction that has always run since these were made,
//! for it stands on every way here. It does not know where lines begin.

use std::collections::BTreeMap;

use super::cfg::BlockIx;
use super::dominators::Dominators;
use super::state::{Form, Unknown};

/// Operands of the same numbers that are remembered, the last ones.
const MOST: usize = 32;

/// Where something was accessed: the block, and the constant of the address.
type Place = (BlockIx, i64);

/// What was accessed in a function so far.
pub(super) struct Before<'a> {
    dominators: &'a Dominators,
    places: BTreeMap<Vec<(Unknown, i64)>, Vec<Place>>,
}

impl<'a> Before<'a> {
    /// Nothing yet.
    pub fn new(dominators: &'a Dominators) -> Before<'a> {
        Before { dominators, places: BTreeMap::new() }
    }

    /// Accesses `pointer` in `block`, behind all that it accesses in blocks that dominate that one. Bytes to the nearest that always was
    /// accessed before; `None` where no such is known.
    pub fn access(&mut self, block: BlockIx, pointer: Form) -> Option<u64> {
        if pointer.known().is_some() {
            return None;
        }
        let places = self.places.entry(pointer.terms).or_default();
        let always = places.iter().filter(|place| self.dominators.dominates(place.0, block));
        let nearest = always.map(|place| place.1.abs_diff(pointer.constant)).min();
        if places.len() == MOST {
            places.remove(0);
        }
        places.push((block, pointer.constant));
        nearest
    }
}

#[cfg(test)]
mod tests {
    use super::super::explore::explore;
    use super::super::operand::operands;
    use super::super::testing::Bytes;

    fn of(code: &[u8]) -> Vec<Option<u64>> {
        let function = explore(&Bytes(0, code.to_vec()), 0..code.len() as u64, &[]);
        operands(&function).iter().map(|operand| operand.beside).collect()
    }

    #[test]
    fn members_of_an_object_stand_beside_the_first_that_is_read() {
        // cmpl $1,0x10(%rcx); je 10; mov 8(%rcx),%eax; mov (%rdx),%edx; 10: mov 4(%rcx),%eax; ret
        let code = [0x83, 0x79, 0x10, 0x01, 0x74, 0x05, 0x8b, 0x41, 0x08, 0x8b, 0x12, 0x8b, 0x41, 0x04, 0xc3];
        let found = of(&code);
        assert_eq!(found[..4], [None, None, Some(8), None]);
        assert_eq!(found[4], Some(12), "what is jumped over may not have run");
    }

    #[test]
    fn each_turn_of_a_loop_is_elsewhere() {
        // 0: mov (%rdi),%rdi; mov 8(%rdi),%eax; test %rdi,%rdi; jne 0; mov (%rdi),%eax; ret
        let code = [0x48, 0x8b, 0x3f, 0x8b, 0x47, 0x08, 0x48, 0x85, 0xff, 0x75, 0xf5, 0x8b, 0x07, 0xc3];
        let found = of(&code);
        assert_eq!(found[..2], [None, None]);
        assert_eq!(found[4], Some(8));
    }
}
