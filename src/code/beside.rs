//! How near each memory operand is to another that was there before: what is in the same line comes with it.
//!
//! In: what locations hold in a function. Out: for each instruction the distance to the nearest operand that is made of the same
//! unknown numbers, of an instruction that has always run since these were made, for it stands on every way here. It does not know where lines begin.

use std::collections::BTreeMap;

use super::cfg::BlockIx;
use super::function::Function;
use super::state::Unknown;
use super::values::Values;

/// Operands of the same numbers that are remembered, the last ones.
const MOST: usize = 32;

/// Where something was accessed: the block, and the constant of the address.
type Place = (BlockIx, i64);

/// Bytes to the nearest operand that was accessed before, for each instruction of `function`; `None` where no such is known.
pub(super) fn beside(function: &Function, values: &Values<'_>) -> Vec<Option<u64>> {
    let mut nearest = vec![None; function.insts.len()];
    let mut before: BTreeMap<Vec<(Unknown, i64)>, Vec<Place>> = BTreeMap::new();
    // what stands on every way to a block comes before it in this order
    for &block in &function.dominators.order {
        values.follow(block, |ix, state| {
            let inst = &function.insts[ix];
            let pointer = inst.memory.filter(|_| inst.loads || inst.stores).and_then(|at| state.address(at));
            let Some(pointer) = pointer.filter(|pointer| pointer.known().is_none()) else { return };
            let places = before.entry(pointer.terms).or_default();
            let always = places.iter().filter(|place| function.dominators.dominates(place.0, block));
            nearest[ix] = always.map(|place| place.1.abs_diff(pointer.constant)).min();
            if places.len() == MOST {
                places.remove(0);
            }
            places.push((block, pointer.constant));
        });
    }
    nearest
}

#[cfg(test)]
mod tests {
    use super::super::explore::explore;
    use super::super::followed::Numbers;
    use super::super::testing::Bytes;
    use super::*;

    fn of(code: &[u8]) -> Vec<Option<u64>> {
        let function = explore(&Bytes(0, code.to_vec()), 0..code.len() as u64, &[]);
        let numbers = Numbers::of(&function);
        beside(&function, &numbers.followed().expect("they settle").values)
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
