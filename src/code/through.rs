//! What an indirect call or jump finds its target in.
//!
//! In: a function, and one of its calls or jumps. Out: the cell at a constant address, or how far into some object the word is that holds
//! the target, whatever registers and slots of the frame it came through. Where different ones may have come it does not know.

use std::collections::{BTreeMap, BTreeSet};

use super::cfg::{Block, Exit};
use super::followed::{Followed, Numbers};
use super::function::{Function, Through};
use super::inst::{Address, Flow, Registers};
use super::state::{Form, Location, Unknown};

/// Copies from slot to slot that are followed.
const DEEPEST: usize = 4;

/// What each indirect call of a function, and each indirect jump out of it, goes through. Its numbers are followed if one does not say it
/// itself.
pub(super) fn throughs(numbers: &Numbers<'_>) -> BTreeMap<usize, Through> {
    let Function { insts, cfg, .. } = numbers.function;
    let calls = (0..insts.len()).filter(|&ix| matches!(insts[ix].flow, Flow::IndirectCall { .. }));
    let leaves = |block: &&Block| matches!(block.exit, Exit::Indirect { .. });
    let jumps = cfg.blocks.iter().filter(leaves).map(|block| block.end - 1);
    calls.chain(jumps).map(|ix| (ix, through(numbers, ix))).collect()
}

/// What instruction number `inst`, an indirect call or jump, finds its target in.
fn through(numbers: &Numbers<'_>, inst: usize) -> Through {
    let call = &numbers.function.insts[inst];
    let plain = call.memory.filter(|operand| operand.base != Some(Registers::FRAME_POINTER));
    if let Some(cell) = plain.and_then(Address::fixed) {
        return Through::Cell(cell);
    }
    if let Some(offset) = plain.and_then(Address::in_object) {
        return Through::Slot(offset);
    }
    let Some(function) = numbers.followed() else { return Through::Unknown };
    match call.memory {
        Some(operand) => word(function, inst, operand, DEEPEST),
        None => {
            let register = call.reads.without(Registers::STACK).general_number();
            let held = |register| function.values.before(inst).value(Location::Register(register));
            register.map_or(Through::Unknown, |register| number(function, &held(register), DEEPEST))
        }
    }
}

/// What a number was read from.
fn number(function: &Followed<'_>, form: &Form, depth: usize) -> Through {
    match form.terms[..] {
        [(Unknown::Made(inst, Location::Register(_)), 1)] if form.constant == 0 => {
            let operand = function.insts[inst].memory.filter(|_| function.insts[inst].loads);
            operand.map_or(Through::Unknown, |operand| word(function, inst, operand, depth))
        }
        [(Unknown::Made(_, slot @ Location::Slot(..)), 1)] if form.constant == 0 => {
            stored(function, slot, depth)
        }
        _ => Through::Unknown,
    }
}

/// What the word is that an operand of instruction `inst` means.
fn word(function: &Followed<'_>, inst: usize, operand: Address, depth: usize) -> Through {
    let state = function.values.before(inst);
    let Some(pointer) = state.address(operand) else { return Through::Unknown };
    match (state.slot(&pointer), &pointer.terms[..]) {
        (Some(slot), _) => match number(function, &state.value(slot), depth.saturating_sub(1)) {
            Through::Unknown => stored(function, slot, depth),
            known => known,
        },
        (None, []) => Through::Cell(pointer.constant as u64),
        (None, [(_, 1)]) => operand.in_object().map_or(Through::Unknown, |_| Through::Slot(pointer.constant)),
        // a register that leads to an element
        _ => operand.in_object().map_or(Through::Unknown, Through::Slot),
    }
}

/// What all that the function stores in a slot was read from.
fn stored(function: &Followed<'_>, slot: Location, depth: usize) -> Through {
    let Some(depth) = depth.checked_sub(1) else { return Through::Unknown };
    let all: BTreeSet<Through> = function.stored(slot).map(|form| number(function, form, depth)).collect();
    match all.into_iter().collect::<Vec<_>>()[..] {
        [one] => one,
        _ => Through::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::super::explore::explore;
    use super::super::testing::Bytes;
    use super::*;

    /// What the instruction at `at` goes through.
    fn found(code: &[u8], at: u64) -> Through {
        let function = explore(&Bytes(0, code.to_vec()), 0..code.len() as u64, &[]);
        function.through(function.at(at).expect("an instruction"))
    }

    #[test]
    fn an_operand_says_it() {
        assert_eq!(found(&[0xff, 0x50, 0x28, 0xc3], 0), Through::Slot(0x28), "call *0x28(%rax)");
        assert_eq!(found(&[0xff, 0x15, 0x10, 0, 0, 0, 0xc3], 0), Through::Cell(0x16), "call *0x10(%rip)");
        assert_eq!(found(&[0xff, 0x54, 0x24, 0x08, 0xc3], 0), Through::Unknown, "call *8(%rsp)");
        assert_eq!(found(&[0xff, 0x14, 0xc7, 0xc3], 0), Through::Unknown, "call *(%rdi,%rax,8)");
    }

    #[test]
    fn a_load_before_says_it() {
        // mov 0x30(%rax),%rax; mov %rdx,%rdi; jmp *%rax
        assert_eq!(found(&[0x48, 0x8b, 0x40, 0x30, 0x48, 0x89, 0xd7, 0xff, 0xe0], 7), Through::Slot(0x30));
        // mov 0x10(%rip),%rcx; mov %rcx,%rax; call *%rax
        let copied = [0x48, 0x8b, 0x0d, 0x10, 0, 0, 0, 0x48, 0x89, 0xc8, 0xff, 0xd0, 0xc3];
        assert_eq!(found(&copied, 10), Through::Cell(0x17));
        // mov 0x30(%rax),%rax; inc %rax; call *%rax
        assert_eq!(found(&[0x48, 0x8b, 0x40, 0x30, 0x48, 0xff, 0xc0, 0xff, 0xd0, 0xc3], 7), Through::Unknown);
        assert_eq!(found(&[0xff, 0xd0, 0xc3], 0), Through::Unknown, "given");
    }

    #[test]
    fn what_was_kept_in_the_frame_is_followed() {
        // push %rbp; mov %rsp,%rbp; mov 0x18(%rdx),%rax; mov %rax,-8(%rbp); 10: call *-8(%rbp); jmp 10
        let framed = [
            0x55, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x42, 0x18, 0x48, 0x89, 0x45, 0xf8, 0xff, 0x55, 0xf8, 0xeb,
            0xfb,
        ];
        assert_eq!(found(&framed, 12), Through::Slot(0x18));
        // mov 0x18(%rdx),%rbx; 4: call *%rbx; jmp 4
        assert_eq!(found(&[0x48, 0x8b, 0x5a, 0x18, 0xff, 0xd3, 0xeb, 0xfc], 4), Through::Slot(0x18));
    }
}
