//! How far a memory operand moves from one iteration of its loop to the next: what stays in one place stays in the caches.
//!
//! In: a function's induction variables ([`super::induction`]), and an address. Out: its stride.

use super::cfg::BlockIx;
use super::induction::Inductions;
use super::state::{Form, State};

/// How a memory operand moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stride {
    /// It has none, or one that stays.
    Fixed,
    /// By so many bytes.
    By(u64),
    /// As data says, or from call to call.
    Unknown,
}

/// The stride of what `pointer` points to in `block`, where locations hold `state`, in the innermost loop around it. Outside of loops,
/// what is neither constant nor in the function's own frame is unknown.
pub(super) fn stride(inductions: &Inductions<'_>, block: BlockIx, state: &State, pointer: &Form) -> Stride {
    let step = match inductions.function.loops.of(block) {
        Some(around) => inductions.step(around, pointer),
        None => (pointer.known().is_some() || state.slot(pointer).is_some()).then_some(0),
    };
    match step {
        Some(0) => Stride::Fixed,
        Some(step) => Stride::By(step.unsigned_abs()),
        None => Stride::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::super::explore::explore;
    use super::super::operand::operands;
    use super::super::testing::Bytes;
    use super::*;

    fn of(code: &[u8]) -> Vec<Stride> {
        let function = explore(&Bytes(0, code.to_vec()), 0..code.len() as u64, &[]);
        operands(&function).iter().map(|operand| operand.stride).collect()
    }

    #[test]
    fn a_slot_stays_and_arrays_are_walked_through_as_far_as_their_index_is_scaled() {
        // push %rbp; mov %rsp,%rbp; mov (%rdi),%rcx
        // 7: mov -8(%rbp),%eax; add (%rsi,%rcx,4),%eax; add (%rdx),%eax; dec %rcx; jne 7; pop %rbp; ret
        let code = [
            0x55, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x0f, 0x8b, 0x45, 0xf8, 0x03, 0x04, 0x8e, 0x03, 0x02, 0x48,
            0xff, 0xc9, 0x75, 0xf3, 0x5d, 0xc3,
        ];
        use Stride::{By, Fixed, Unknown};
        assert_eq!(of(&code), [Fixed, Fixed, Unknown, Fixed, By(4), Fixed, Fixed, Fixed, Fixed, Fixed]);
    }

    #[test]
    fn a_counter_in_memory_steps_what_is_made_of_it() {
        // push %rbp; mov %rsp,%rbp; 4: mov -8(%rbp),%eax; cltq; imul $0xdc,%rax,%rdx; mov (%rsi,%rdx,4),%ecx;
        // addl $1,-8(%rbp); jne 4; pop %rbp; ret
        let code = [
            0x55, 0x48, 0x89, 0xe5, 0x8b, 0x45, 0xf8, 0x48, 0x98, 0x48, 0x69, 0xd0, 0xdc, 0, 0, 0, 0x8b,
            0x0c, 0x96, 0x83, 0x45, 0xf8, 0x01, 0x75, 0xeb, 0x5d, 0xc3,
        ];
        assert_eq!(of(&code)[5], Stride::By(880));
    }

    #[test]
    fn a_list_is_followed_nobody_knows_where() {
        // 0: mov (%rdi),%rdi; test %rdi,%rdi; jne 0; ret
        let code = [0x48, 0x8b, 0x3f, 0x48, 0x85, 0xff, 0x75, 0xf8, 0xc3];
        assert_eq!(of(&code)[0], Stride::Unknown);
    }
}
