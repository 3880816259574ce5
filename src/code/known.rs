//! What registers, slots of the frame and flags hold where that is known to the bit.
//!
//! In: instructions, one after the other, and the slots that their memory operands are. Out: numbers, and which way branches go by
//! them. What follows from something unknown is unknown. It does not know memory other than slots.

use std::collections::BTreeMap;

use super::effect::{Effect, Number, Operation};
use super::inst::{Inst, Registers};
use super::state::{Location, copied};
use super::width::Width;

/// The accumulator and the data register.
const RESULTS: [u8; 2] = [0, 2];

/// What is known of locations.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Known {
    registers: [Option<u64>; 16],
    /// Numbers without a sign, and how many bytes were stored.
    slots: BTreeMap<Location, (u64, u8)>,
    flags: Option<Flags>,
}

/// The flags that branches go by.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Flags {
    zero: bool,
    sign: bool,
    carry: Option<bool>,
    overflow: Option<bool>,
}

impl Known {
    /// What `location` holds.
    pub fn get(&self, location: Location) -> Option<u64> {
        match location {
            Location::Register(register) => self.registers[usize::from(register) % 16],
            Location::Slot(..) => self.slots.get(&location).map(|slot| slot.0),
        }
    }

    /// Puts a number of eight bytes there, or forgets what is there.
    pub fn put(&mut self, location: Location, value: Option<u64>) {
        self.store(location, value.map(|value| (value, 8)));
    }

    fn store(&mut self, location: Location, value: Option<(u64, u8)>) {
        match (location, value) {
            (Location::Register(register), _) => {
                self.registers[usize::from(register) % 16] = value.map(|value| value.0);
            }
            (_, Some(value)) => drop(self.slots.insert(location, value)),
            (_, None) => drop(self.slots.remove(&location)),
        }
    }

    /// Forgets what another way to the same place does not bring as well.
    pub fn meet(&mut self, other: &Known) {
        for (own, theirs) in self.registers.iter_mut().zip(other.registers) {
            *own = own.filter(|_| *own == theirs);
        }
        self.slots.retain(|slot, value| other.slots.get(slot) == Some(value));
        self.flags = self.flags.filter(|_| self.flags == other.flags);
    }

    /// Lets an instruction run, whose memory operand is `slot`.
    pub fn run(&mut self, inst: &Inst, slot: Option<Location>) {
        let made = self.made(inst, slot);
        let flags = match made.flags {
            _ if inst.writes.and(Registers::FLAGS).is_empty() => self.flags,
            flags => flags,
        };
        let stored = slot.filter(|_| inst.stores);
        let changed = (0..16).filter(|&r| !inst.changes().and(Registers::general(r)).is_empty());
        let changed = changed.map(Location::Register).chain(stored);
        changed.for_each(|location| self.put(location, None));
        for (number, value) in made.values.into_iter().flatten() {
            match (number, slot) {
                (Number::Register(register), _) => self.put(Location::Register(register), value),
                (Number::Memory, Some(slot)) => {
                    self.store(slot, value.map(|value| (cut(inst, value), inst.width)));
                }
                _ => {}
            }
        }
        self.flags = flags.filter(|_| !inst.is_call());
    }

    /// An operand of `inst`, as wide as it is.
    fn number(&self, inst: &Inst, number: Number, slot: Option<Location>) -> Option<u64> {
        let value = match number {
            Number::Register(register) => self.registers[usize::from(register) % 16]?,
            Number::Constant(constant) => constant as u64,
            Number::Memory => {
                self.slots.get(&slot?).filter(|held| (1..=held.1).contains(&inst.width)).map(|held| held.0)?
            }
        };
        Some(cut(inst, value))
    }

    fn made(&self, inst: &Inst, slot: Option<Location>) -> Made {
        let number = |number| self.number(inst, number, slot);
        match inst.effect {
            Effect::Copy { to, from } => {
                Made::of(to, number(from).map(|value| copied(inst, to, value as i64) as u64))
            }
            Effect::Add { to, from, minus } => {
                let sum = number(to).zip(number(from)).map(|(a, b)| sum(inst, a, b, minus));
                let counts = matches!(&*inst.mnemonic, "inc" | "dec");
                let flags = |(value, flags): (u64, Flags)| match counts {
                    true => (value, Flags { carry: None, ..flags }),
                    false => (value, flags),
                };
                Made::with_flags(to, sum.map(flags))
            }
            Effect::Scale { to, from, by } => {
                Made::of(to, number(from).map(|value| cut(inst, value.wrapping_mul(by as u64))))
            }
            Effect::Mask { to, by } => {
                Made::with_flags(to, number(to).map(|value| logical(inst, value & by as u64)))
            }
            Effect::Combine { to, from, how } => self.combined(inst, to, how, number(to).zip(number(from))),
            Effect::Product { from, signed } => self.product(inst, number(from), signed),
            Effect::Compare { left, right } => {
                Made::flags(number(left).zip(number(right)).map(|(a, b)| sum(inst, a, b, true).1))
            }
            Effect::Test { left, right } => {
                Made::flags(number(left).zip(number(right)).map(|(a, b)| logical(inst, a & b).1))
            }
            Effect::Lea { to } => Made::of(Number::Register(to), self.address(inst)),
            Effect::Other => Made::default(),
        }
    }

    fn address(&self, inst: &Inst) -> Option<u64> {
        let address = inst.memory.filter(|address| !address.opaque)?;
        let register = |register: u8| self.registers[usize::from(register) % 16];
        let base = address.base.map_or(Some(0), register)?;
        let index = address
            .index
            .map_or(Some(0), |(index, scale)| Some(register(index)?.wrapping_mul(u64::from(scale))))?;
        Some(cut(inst, base.wrapping_add(index).wrapping_add(address.disp as u64)))
    }

    fn combined(&self, inst: &Inst, to: Number, how: Operation, both: Option<(u64, u64)>) -> Made {
        let bits = u32::from(inst.width) * 8;
        let Some((a, b)) = both.filter(|_| matches!(bits, 8 | 16 | 32 | 64)) else {
            return Made::of(to, None);
        };
        // a count has the bits that it needs, of a wider register too
        let count = (b & if bits == 64 { 63 } else { 31 }) as u32;
        let turn = count % bits;
        let value = match how {
            Operation::And => a & b,
            Operation::Or => a | b,
            Operation::Xor => a ^ b,
            Operation::Multiply => return Made::of(to, Some(cut(inst, a.wrapping_mul(b)))),
            Operation::Negate => return Made::with_flags(to, Some(sum(inst, 0, a, true))),
            Operation::Not => return Made::of(to, Some(cut(inst, !a))),
            Operation::ShiftLeft => a.wrapping_shl(count),
            Operation::ShiftRight => a.wrapping_shr(count),
            Operation::ShiftSigned => (signed(inst, a) >> count) as u64,
            Operation::RotateLeft if turn > 0 => {
                return Made::of(to, Some(cut(inst, a << turn | a >> (bits - turn))));
            }
            Operation::RotateRight if turn > 0 => {
                return Made::of(to, Some(cut(inst, a >> turn | a << (bits - turn))));
            }
            Operation::RotateLeft | Operation::RotateRight => return Made::of(to, Some(a)),
        };
        let (value, flags) = logical(inst, value);
        match how {
            Operation::And | Operation::Or | Operation::Xor => Made::with_flags(to, Some((value, flags))),
            // no flag changes if nothing is shifted
            _ if count == 0 => Made::of(to, Some(value)),
            _ => Made::with_flags(to, Some((value, Flags { carry: None, overflow: None, ..flags }))),
        }
    }

    fn product(&self, inst: &Inst, from: Option<u64>, is_signed: bool) -> Made {
        let accumulator = self.number(inst, Number::Register(RESULTS[0]), None);
        let bits = u32::from(inst.width) * 8;
        let both = accumulator.zip(from).filter(|_| matches!(bits, 32 | 64));
        let wide = both.map(|(a, b)| match is_signed {
            true => (i128::from(signed(inst, a)) * i128::from(signed(inst, b))) as u128,
            false => u128::from(a) * u128::from(b),
        });
        let halves = [0, bits].map(|shift| wide.map(|wide| cut(inst, (wide >> (shift % 128)) as u64)));
        let [low, high] = RESULTS.map(Number::Register);
        Made { values: [Some((low, halves[0])), Some((high, halves[1]))], flags: None }
    }

    /// Whether a branch of this name is taken.
    pub fn takes(&self, mnemonic: &str) -> Option<bool> {
        let Flags { zero, sign, carry, overflow } = self.flags?;
        let less = || overflow.map(|overflow| sign != overflow);
        let not = |condition: Option<bool>| condition.map(|holds| !holds);
        match mnemonic {
            "jz" => Some(zero),
            "jnz" => Some(!zero),
            "js" => Some(sign),
            "jns" => Some(!sign),
            "jb" => carry,
            "jnb" => not(carry),
            "jna" => carry.map(|carry| carry || zero),
            "ja" => carry.map(|carry| !(carry || zero)),
            "jl" => less(),
            "jge" => not(less()),
            "jle" => less().map(|less| less || zero),
            "jg" => less().map(|less| !(less || zero)),
            _ => None,
        }
    }
}

impl FromIterator<(Location, Option<u64>)> for Known {
    fn from_iter<T: IntoIterator<Item = (Location, Option<u64>)>>(numbers: T) -> Known {
        let mut known = Known::default();
        numbers.into_iter().for_each(|(location, number)| known.put(location, number));
        known
    }
}

/// What an instruction makes.
#[derive(Default)]
struct Made {
    values: [Option<(Number, Option<u64>)>; 2],
    flags: Option<Flags>,
}

impl Made {
    fn of(to: Number, value: Option<u64>) -> Made {
        Made { values: [Some((to, value)), None], flags: None }
    }

    fn with_flags(to: Number, made: Option<(u64, Flags)>) -> Made {
        Made { flags: made.map(|made| made.1), ..Made::of(to, made.map(|made| made.0)) }
    }

    fn flags(flags: Option<Flags>) -> Made {
        Made { flags, ..Made::default() }
    }
}

/// As many bytes of a number as the operands of `inst` have.
fn cut(inst: &Inst, value: u64) -> u64 {
    Width(inst.width).unsigned(value as i64) as u64
}

fn signed(inst: &Inst, value: u64) -> i64 {
    Width(inst.width).signed(value as i64)
}

/// a ± b, of as many bytes as the operands have.
fn sum(inst: &Inst, a: u64, b: u64, minus: bool) -> (u64, Flags) {
    let value = cut(inst, if minus { a.wrapping_sub(b) } else { a.wrapping_add(b) });
    let (carry, apart) = match minus {
        true => (a < b, (a ^ b) & (a ^ value)),
        false => (value < a, !(a ^ b) & (a ^ value)),
    };
    let (_, flags) = logical(inst, value);
    (value, Flags { carry: Some(carry), overflow: Some(signed(inst, apart) < 0), ..flags })
}

/// What remains of a result, and its flags where nothing is carried.
fn logical(inst: &Inst, value: u64) -> (u64, Flags) {
    let value = cut(inst, value);
    let flags =
        Flags { zero: value == 0, sign: signed(inst, value) < 0, carry: Some(false), overflow: Some(false) };
    (value, flags)
}

#[cfg(test)]
mod tests {
    use super::super::decode::{Bitness, decode};
    use super::*;

    /// Numbers at which something happens, and some others.
    const NUMBERS: [u64; 9] =
        [0, 1, 5, 0x7f, 0x80, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x8123_4567_89ab_cdef];

    /// What is known behind `code`, if the accumulator, the counter and the data register hold numbers.
    fn behind(code: &[u8], [rax, rcx, rdx]: [u64; 3]) -> Known {
        let mut known: Known = [(0, rax), (1, rcx), (2, rdx)]
            .map(|(r, n)| (Location::Register(r), Some(n)))
            .into_iter()
            .collect();
        let inst = decode(Bitness::Bits64, 0, code).expect("an instruction");
        assert_eq!(usize::from(inst.len), code.len());
        known.run(&inst, None);
        known
    }

    fn register(code: &[u8], numbers: [u64; 3], register: u8) -> Option<u64> {
        behind(code, numbers).get(Location::Register(register))
    }

    /// All pairs of numbers.
    fn pairs() -> impl Iterator<Item = (u64, u64)> {
        NUMBERS.into_iter().flat_map(|a| NUMBERS.into_iter().map(move |b| (a, b)))
    }

    #[test]
    fn branches_behind_a_comparison_go_by_what_is_greater() {
        for (a, b) in pairs() {
            let takes = |code: &[u8]| {
                let known = behind(code, [a, b, 0]);
                move |branch: &str| known.takes(branch)
            };
            // cmp %cl,%al; cmp %ecx,%eax; cmp %rcx,%rax
            let all = [
                (takes(&[0x38, 0xc8]), (a as u8).cmp(&(b as u8)), (a as i8).cmp(&(b as i8))),
                (takes(&[0x39, 0xc8]), (a as u32).cmp(&(b as u32)), (a as i32).cmp(&(b as i32))),
                (takes(&[0x48, 0x39, 0xc8]), a.cmp(&b), (a as i64).cmp(&(b as i64))),
            ];
            for (takes, unsigned, signed) in all {
                let told = ["jz", "jnz", "jb", "jnb", "jna", "ja", "jl", "jge", "jle", "jg"].map(takes);
                let meant = [
                    (unsigned.is_eq(), unsigned.is_ne()),
                    (unsigned.is_lt(), unsigned.is_ge()),
                    (unsigned.is_le(), unsigned.is_gt()),
                    (signed.is_lt(), signed.is_ge()),
                    (signed.is_le(), signed.is_gt()),
                ];
                let meant: Vec<Option<bool>> = meant.iter().flat_map(|&(a, b)| [Some(a), Some(b)]).collect();
                assert_eq!(told[..], meant, "{a:x} {b:x}");
            }
        }
    }

    #[test]
    fn results_are_as_wide_as_their_operands() {
        for (a, b) in pairs() {
            let of = |code: &[u8]| register(code, [a, b, 0], 0);
            let (short, by) = (a as u32, b as u32);
            assert_eq!(of(&[0x01, 0xc8]), Some(u64::from(short.wrapping_add(by))), "add %ecx,%eax");
            assert_eq!(of(&[0x48, 0x29, 0xc8]), Some(a.wrapping_sub(b)), "sub %rcx,%rax");
            assert_eq!(of(&[0x0f, 0xaf, 0xc1]), Some(u64::from(short.wrapping_mul(by))), "imul %ecx,%eax");
            assert_eq!(of(&[0x31, 0xc8]), Some(u64::from(short ^ by)), "xor %ecx,%eax");
            assert_eq!(of(&[0xf7, 0xd8]), Some(u64::from(short.wrapping_neg())), "neg %eax");
            assert_eq!(of(&[0xf7, 0xd0]), Some(u64::from(!short)), "not %eax");
            assert_eq!(of(&[0xd3, 0xe0]), Some(u64::from(short.wrapping_shl(by))), "shl %cl,%eax");
            assert_eq!(of(&[0xd3, 0xe8]), Some(u64::from(short.wrapping_shr(by))), "shr %cl,%eax");
            assert_eq!(of(&[0x48, 0xd3, 0xf8]), Some((a as i64).wrapping_shr(by) as u64), "sar %cl,%rax");
            assert_eq!(of(&[0xd1, 0xc8]), Some(u64::from(short.rotate_right(1))), "ror %eax");
            assert_eq!(of(&[0x48, 0xc1, 0xc0, 7]), Some(a.rotate_left(7)), "rol $7,%rax");
            assert_eq!(of(&[0x0f, 0xb6, 0xc1]), Some(b & 0xff), "movzbl %cl,%eax");
            assert_eq!(of(&[0x48, 0x63, 0xc1]), Some(b as i32 as u64), "movslq %ecx,%rax");
            let sum = short.wrapping_add(by.wrapping_mul(2)).wrapping_sub(1);
            assert_eq!(of(&[0x8d, 0x44, 0x48, 0xff]), Some(u64::from(sum)), "lea -1(%rax,%rcx,2),%eax");
            assert_eq!(of(&[0x83, 0xe0, 0xf0]), Some(u64::from(short & !15)), "and $-16,%eax");
        }
    }

    #[test]
    fn products_fill_two_registers() {
        for (a, b) in pairs() {
            let of = |code: &[u8]| [0, 2].map(|r| register(code, [a, b, 0], r));
            let halves = |wide: u128, bits: u32| {
                let mask = (1 << bits) - 1;
                [wide & mask, wide >> bits & mask].map(|half| Some(half as u64))
            };
            let short = u128::from(a as u32) * u128::from(b as u32);
            assert_eq!(of(&[0xf7, 0xe1]), halves(short, 32), "mul %ecx");
            let signed = i128::from(a as i64) * i128::from(b as i64);
            assert_eq!(of(&[0x48, 0xf7, 0xe9]), halves(signed as u128, 64), "imul %rcx");
        }
    }

    #[test]
    fn what_is_not_followed_is_unknown() {
        let numbers = [7, 3, 0];
        assert_eq!(register(&[0xf7, 0xf1], numbers, 0), None, "div %ecx");
        assert_eq!(register(&[0x8b, 0x01], numbers, 0), None, "mov (%rcx),%eax");
        assert_eq!(register(&[0xb0, 5], numbers, 0), None, "mov $5,%al");
        assert_eq!(register(&[0x0f, 0x44, 0xc1], numbers, 0), None, "cmove %ecx,%eax");
        assert_eq!(behind(&[0x69, 0xc1, 5, 0, 0, 0], numbers).takes("jz"), None, "imul $5,%ecx,%eax");
        assert_eq!(behind(&[0xff, 0xc0], numbers).takes("jb"), None, "inc %eax leaves the carry");
        assert_eq!(behind(&[0xff, 0xc0], numbers).takes("jz"), Some(false));
        assert_eq!(behind(&[0xe8, 0, 0, 0, 0], numbers).get(Location::Register(0)), None, "call");
    }

    #[test]
    fn where_ways_meet_what_both_bring_is_known() {
        let known = |numbers: [u64; 2]| -> Known {
            let slot = Location::Slot(None, -8);
            [(Location::Register(0), Some(numbers[0])), (slot, Some(numbers[1]))].into_iter().collect()
        };
        let mut met = known([1, 2]);
        met.meet(&known([1, 3]));
        let held = [Location::Register(0), Location::Slot(None, -8)].map(|location| met.get(location));
        assert_eq!(held, [Some(1), None]);
    }

    #[test]
    fn a_slot_is_read_as_far_as_it_was_stored() {
        let slot = Some(Location::Slot(None, -8));
        let mut known: Known = [(Location::Register(0), Some(0x1234_5678))].into_iter().collect();
        let mut run = |code: &[u8]| {
            let inst = decode(Bitness::Bits64, 0, code).expect("an instruction");
            known.run(&inst, slot);
            known.get(Location::Register(1))
        };
        run(&[0x89, 0x45, 0xf8]);
        assert_eq!(run(&[0x8b, 0x4d, 0xf8]), Some(0x1234_5678), "mov %eax,-8(%rbp); mov -8(%rbp),%ecx");
        assert_eq!(run(&[0x0f, 0xb6, 0x4d, 0xf8]), Some(0x78), "movzbl -8(%rbp),%ecx");
        assert_eq!(run(&[0x48, 0x8b, 0x4d, 0xf8]), None, "mov -8(%rbp),%rcx");
    }
}
