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
        let changed = (0..16).filter(|&register| inst.changes().has(register));
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
mod tests;
