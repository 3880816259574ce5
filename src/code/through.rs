//! What an indirect call or jump finds its target in.
//!
//! In: a function, and one of its calls or jumps. Out: the cell at a constant address, or how far into some object the word is that
//! holds the target, where the instruction itself says it or loads right before do.

use super::function::Function;
use super::inst::{Address, Effect, Number, Registers};

/// How far back, in instructions, a load is looked for.
const LOOK_BACK: usize = 16;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Through {
    /// A cell at this address.
    Cell(u64),
    /// A word so many bytes behind where a pointer to an object leads.
    Slot(i64),
    /// Nobody knows.
    Unknown,
}

/// What instruction number `inst` of a function, an indirect call or jump, finds its target in.
pub(super) fn through(function: &Function, inst: usize) -> Through {
    let call = &function.insts[inst];
    if let Some(operand) = call.memory {
        return word(operand);
    }
    let Some(mut held) = call.reads.without(Registers::STACK).general_number() else {
        return Through::Unknown;
    };
    let mut at = call.address;
    for before in function.insts[..inst].iter().rev().take(LOOK_BACK) {
        if before.end() != at || !before.falls_through() {
            break;
        }
        at = before.address;
        match before.effect {
            Effect::Copy { to: Number::Register(to), from: Number::Memory } if to == held => {
                return before.memory.map_or(Through::Unknown, word);
            }
            Effect::Copy { to: Number::Register(to), from: Number::Register(from) } if to == held => {
                held = from
            }
            _ if before.changes().has(held) => break,
            _ => {}
        }
    }
    Through::Unknown
}

fn word(operand: Address) -> Through {
    let slot = || operand.in_object().map_or(Through::Unknown, Through::Slot);
    operand.fixed().map_or_else(slot, Through::Cell)
}

#[cfg(test)]
mod tests {
    use super::super::explore::explore;
    use super::super::testing::Bytes;
    use super::*;

    /// What the instruction at `at` goes through.
    fn found(code: &[u8], at: u64) -> Through {
        let function = explore(&Bytes(0, code.to_vec()), 0..code.len() as u64, &[]);
        through(&function, function.at(at).expect("an instruction"))
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
}
