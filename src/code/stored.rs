//! Where in objects a function puts an address that it takes.
//!
//! In: the instructions of a function. Out: how far behind the start of some object each copy of the address is stored: what fills a table
//! of handlers at run time does so with the offsets that calls through it read. It follows code straight on, for a few instructions.

use std::collections::BTreeSet;

use super::effect::{Effect, Number};
use super::inst::{Inst, Registers};

/// How far on, in instructions, a store is looked for.
const LOOK_AHEAD: usize = 16;

/// The offsets, in bytes, at which `insts` store an address.
pub fn stored(insts: &[Inst], address: u64) -> BTreeSet<i64> {
    let taken = insts.iter().enumerate();
    let taken = taken.filter_map(|(ix, inst)| Some((ix, inst.constant().filter(|c| c.1 == address)?.0)));
    let put = |(ix, to)| match to {
        Number::Register(register) => follow(&insts[ix..], register),
        _ => offset(&insts[ix]).into_iter().collect(),
    };
    taken.flat_map(put).collect()
}

/// Offsets at which what the first of `insts` puts into a register is stored.
fn follow(insts: &[Inst], register: u8) -> Vec<i64> {
    let (mut held, mut offsets) = (Registers::general(register), Vec::new());
    for pair in insts.windows(2).take(LOOK_AHEAD) {
        let inst = &pair[1];
        if pair[0].end() != inst.address || !pair[0].falls_through() {
            break;
        }
        match inst.effect {
            Effect::Copy { to: Number::Memory, from: Number::Register(from) } if held.has(from) => {
                offsets.extend(offset(inst));
            }
            Effect::Copy { to: Number::Register(to), from: Number::Register(from) } if held.has(from) => {
                held = held.or(Registers::general(to));
            }
            // one of two addresses
            _ if inst.mnemonic.starts_with("cmov") && !inst.reads.and(held).is_empty() => {
                held = held.or(inst.writes);
            }
            _ => held = held.without(inst.changes()),
        }
    }
    offsets
}

/// How far into some object an instruction's operand is.
fn offset(inst: &Inst) -> Option<i64> {
    inst.memory?.in_object()
}

#[cfg(test)]
mod tests {
    use super::super::explore::explore;
    use super::super::testing::Bytes;
    use super::*;

    /// Where 0x100 is stored.
    fn offsets(code: &[u8]) -> Vec<i64> {
        let function = explore(&Bytes(0, code.to_vec()), 0..code.len() as u64, &[]);
        stored(&function.insts, 0x100).into_iter().collect()
    }

    #[test]
    fn an_address_is_followed_to_where_it_is_stored() {
        // lea 0xf9(%rip),%rax; test %edi,%edi; cmovne %rax,%rdx; mov %rdx,8(%r14); mov %rax,(%rsp); mov %rax,0x20(%rbx); ret
        let mut code = vec![0x48, 0x8d, 0x05, 0xf9, 0, 0, 0, 0x85, 0xff, 0x48, 0x0f, 0x45, 0xd0];
        code.extend([0x49, 0x89, 0x56, 0x08, 0x48, 0x89, 0x04, 0x24, 0x48, 0x89, 0x43, 0x20, 0xc3]);
        assert_eq!(offsets(&code), [8, 0x20]);
    }

    #[test]
    fn a_constant_may_be_stored_at_once() {
        // movq $0x100,0x10(%rdi); ret
        assert_eq!(offsets(&[0x48, 0xc7, 0x47, 0x10, 0, 1, 0, 0, 0xc3]), [0x10]);
    }

    #[test]
    fn what_is_put_there_instead_is_not() {
        // lea 0xf9(%rip),%rax; mov $0,%eax; mov %rax,8(%rbx); ret
        let code = [0x48, 0x8d, 0x05, 0xf9, 0, 0, 0, 0xb8, 0, 0, 0, 0, 0x48, 0x89, 0x43, 0x08, 0xc3];
        assert!(offsets(&code).is_empty());
    }
}
