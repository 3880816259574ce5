//! The entry of a table that an indirect jump goes through, by the instructions before the jump.
//!
//! In: an indirect jump and the code it is reached from. Out: where the entry is read, as a base, an index and a displacement, and
//! what is added to it. Compilers read it with the jump itself or with a load, sign extended or not; where they do not optimise, they
//! multiply the index and add the base one after the other. What the registers hold is for [`super::jump_table`] to find.

use super::effect::{Effect, Number};
use super::inst::{Address, Inst, Registers};
use super::linear::Linear;

/// An index is multiplied by so much at least: no entry has fewer bytes.
const SMALLEST: i64 = 4;

/// What a jump goes through, whatever its registers hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The register of its index, and the bytes of an entry.
    pub index: (u8, u8),
    /// What is added to it.
    pub base: Option<u8>,
    /// … and what besides.
    pub disp: i64,
    /// The register that is added to what is read there.
    pub added: Option<u8>,
    /// The first instruction behind which the index is known: what it is compared with stands before.
    pub from: u64,
}

/// The entry that `jump` reads, or one of the instructions `before` it, from the last to the first.
pub(super) fn read_by<'a>(jump: &Inst, mut before: impl Iterator<Item = &'a Inst>) -> Option<Entry> {
    let (load, operand, added) = match jump.memory {
        Some(operand) => (jump.address, operand, None),
        None => loaded(jump.reads.without(Registers::STACK).general_number()?, &mut before)?,
    };
    let (from, sum) = indexed(address(operand)?, load, before)?;
    let (index, base) = split(&sum)?;
    Some(Entry { index, base, disp: sum.constant, added, from })
}

/// Where what ends up in the register `value` is read, its operand, and the register that is added to it.
fn loaded<'a>(
    mut value: u8,
    before: &mut impl Iterator<Item = &'a Inst>,
) -> Option<(u64, Address, Option<u8>)> {
    let mut added = None;
    for inst in before {
        match inst.effect {
            Effect::Add { to: Number::Register(to), from, minus: false }
                if to == value && added.is_none() =>
            {
                match from {
                    Number::Register(from) => added = Some(from),
                    Number::Memory => return Some((inst.address, inst.memory?, Some(to))),
                    Number::Constant(_) => return None,
                }
            }
            Effect::Copy { to: Number::Register(to), from: Number::Memory }
                if to == value || Some(to) == added =>
            {
                let added = if to == value { added } else { Some(value) };
                return Some((inst.address, inst.memory?, added));
            }
            Effect::Copy { to: Number::Register(to), from: Number::Register(from) } if to == value => {
                value = from
            }
            _ if inst.changes().has(value) => return None,
            _ => {}
        }
    }
    None
}

/// Registers, each multiplied by something, and a constant.
type Sum = Linear<u8>;

fn address(operand: Address) -> Option<Sum> {
    let base = operand.base.map(|base| (base, 1));
    let index = operand.index.map(|(index, scale)| (index, i64::from(scale)));
    let terms = base.into_iter().chain(index);
    let sum = terms.fold(Sum::constant(operand.disp), |sum, (register, by)| sum.plus(&Sum::of(register), by));
    (!operand.opaque).then_some(sum)
}

/// `sum` by what the instructions `before` the one at `from` make its registers of, as far as it takes for one of them to be an index;
/// and the address of the instruction behind which that is.
fn indexed<'a>(
    mut sum: Sum,
    mut from: u64,
    mut before: impl Iterator<Item = &'a Inst>,
) -> Option<(u64, Sum)> {
    while sum.terms.iter().all(|&(_, by)| by < SMALLEST) {
        let inst = before.next()?;
        let changed = sum.terms.iter().find(|(register, _)| inst.changes().has(*register)).copied();
        if let Some((register, by)) = changed {
            sum = sum.plus(&Sum::of(register), -by).plus(&made(inst, register)?, by);
        }
        from = inst.address;
    }
    Some((from, sum))
}

/// What `inst` leaves in a `register` that it changes; `None` where that is no such sum.
fn made(inst: &Inst, register: u8) -> Option<Sum> {
    let writes = |to: Number| to == Number::Register(register);
    Some(match inst.effect {
        Effect::Add { to, from: Number::Constant(added), minus } if writes(to) => {
            Sum::of(register).shifted(if minus { added.wrapping_neg() } else { added })
        }
        Effect::Add { to, from: Number::Register(from), minus: false } if writes(to) => {
            Sum::of(register).plus(&Sum::of(from), 1)
        }
        Effect::Copy { to, from: Number::Register(from) } if writes(to) => Sum::of(from),
        Effect::Scale { to, from: Number::Register(from), by } if writes(to) => {
            Sum::default().plus(&Sum::of(from), by)
        }
        Effect::Lea { to } if to == register => address(inst.memory?)?,
        _ => return None,
    })
}

/// The index in a sum with the bytes of an entry, and the base.
fn split(sum: &Sum) -> Option<((u8, u8), Option<u8>)> {
    let (index, base): (Vec<_>, Vec<_>) = sum.terms.iter().partition(|(_, by)| *by >= SMALLEST);
    let [(index, bytes @ (4 | 8))] = index[..] else { return None };
    match base[..] {
        [] => Some(((index, bytes as u8), None)),
        [(base, 1)] => Some(((index, bytes as u8), Some(base))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::decode::Bitness;
    use super::super::explore::explore;
    use super::super::source::Source;
    use super::super::testing::{Bytes, targets};

    fn with_table(mut code: Vec<u8>, at: usize, entries: &[i32]) -> Vec<u8> {
        code.resize(at, 0xcc);
        code.extend(entries.iter().flat_map(|entry| entry.to_le_bytes()));
        code
    }

    #[test]
    fn an_index_is_multiplied_and_a_base_added_by_instructions_of_their_own() {
        // 0: cmp $2,%edi; 3: ja 2a; 5: mov %edi,%eax; 7: lea 0(,%rax,4),%rdx; f: lea 0x30,%rax; 16: mov (%rdx,%rax),%eax; 19: cltq;
        // 1b: lea 0x30,%rdx; 22: add %rdx,%rax; 25: jmp *%rax; 27: nop; 28: ret; 29: nop; 2a: ret
        let mut code = vec![0x83, 0xff, 0x02, 0x77, 0x25, 0x89, 0xf8, 0x48, 0x8d, 0x14, 0x85, 0, 0, 0, 0];
        code.extend([0x48, 0x8d, 0x05, 0x1a, 0, 0, 0, 0x8b, 0x04, 0x02, 0x48, 0x98]);
        code.extend([0x48, 0x8d, 0x15, 0x0e, 0, 0, 0, 0x48, 0x01, 0xd0, 0xff, 0xe0, 0x90, 0xc3, 0x90, 0xc3]);
        let code = with_table(code, 0x30, &[0x27, 0x28, 0x2a, 0x29].map(|target| target - 0x30));
        assert_eq!(targets(&explore(&Bytes(0, code), 0..0x30, &[]), 0x25), [0x27, 0x28, 0x2a]);
    }

    /// Code of 32 bits.
    struct Old(Bytes);

    impl Source for Old {
        fn bitness(&self) -> Bitness {
            Bitness::Bits32
        }

        fn read(&self, address: u64, len: usize) -> Vec<u8> {
            self.0.read(address, len)
        }
    }

    #[test]
    fn code_of_32_bits_adds_entries_to_where_it_finds_itself() {
        // 0: call 20; 5: add $0x3b,%edx (0x40); 8: cmp $1,%eax; b: ja 16; d: add -0x10(%edx,%eax,4),%edx; 11: jmp *%edx; 13: ret;
        // 14: nop; 15: ret; 16: ret; 20: mov (%esp),%edx; ret
        let mut code = vec![0xe8, 0x1b, 0, 0, 0, 0x83, 0xc2, 0x3b, 0x83, 0xf8, 0x01, 0x77, 0x09];
        code.extend([0x03, 0x54, 0x82, 0xf0, 0xff, 0xe2, 0xc3, 0x90, 0xc3, 0xc3]);
        code.resize(0x20, 0xcc);
        code.extend([0x8b, 0x14, 0x24, 0xc3]);
        let code = with_table(code, 0x30, &[0x13 - 0x40, 0x14 - 0x40, 0x15 - 0x40]);
        assert_eq!(targets(&explore(&Old(Bytes(0, code)), 0..0x18, &[]), 0x11), [0x13, 0x14]);
    }

    #[test]
    fn so_does_code_that_calls_what_is_behind_the_call() {
        // 0: call 5; 5: pop %ecx; 6: add $0x2b,%ecx (0x30); 9: and $1,%eax; c: mov (%ecx,%eax,4),%eax; f: add %ecx,%eax; 11: jmp *%eax;
        // 13: ret; 14: ret
        let mut code =
            vec![0xe8, 0, 0, 0, 0, 0x59, 0x83, 0xc1, 0x2b, 0x83, 0xe0, 0x01, 0x8b, 0x04, 0x81, 0x01, 0xc8];
        code.extend([0xff, 0xe0, 0xc3, 0xc3]);
        let code = with_table(code, 0x30, &[0x14 - 0x30, 0x13 - 0x30]);
        assert_eq!(targets(&explore(&Old(Bytes(0, code)), 0..0x18, &[]), 0x11), [0x14, 0x13]);
    }
}
