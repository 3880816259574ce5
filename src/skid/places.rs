//! Where memory operands point, relative to one another, while code runs.
//!
//! In: what instructions make of registers, one after the other. Out: for each memory operand a place; two operands with the same
//! place are of the same memory. Registers are numbers that nobody knows, plus constants that are added to them, so that a
//! place is found again when a loop has gone on to the next element, or the stack has grown. It does not know what memory holds:
//! an address that was loaded is a new unknown.

use super::operands::Operands;
use crate::code::Address;

/// Registers that addresses are made of.
const COUNT: usize = 16;

/// A number that nobody knows, and what was added to it since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Value {
    unknown: u64,
    added: i64,
}

/// A place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    base: u64,
    index: (u64, u8),
    offset: i64,
}

/// What registers hold.
#[derive(Clone, Debug)]
pub struct Places {
    registers: [Value; COUNT],
    /// Unknown numbers so far; none has the number 0.
    unknowns: u64,
}

impl Default for Places {
    fn default() -> Places {
        let registers = std::array::from_fn(|r| Value { unknown: r as u64 + 1, added: 0 });
        Places { registers, unknowns: COUNT as u64 }
    }
}

impl Places {
    /// Where `address` points now; `None` where more than registers decide.
    pub fn of(&self, address: Address) -> Option<Place> {
        let value = |register: Option<u8>| match register {
            Some(r) => self.registers.get(usize::from(r)).copied(),
            None => Some(Value::default()),
        };
        let (base, scale) = (value(address.base)?, address.index.map_or(0, |i| i.1));
        let index = value(address.index.map(|i| i.0))?;
        let offset = address.disp.wrapping_add(base.added);
        let offset = offset.wrapping_add(index.added.wrapping_mul(i64::from(scale)));
        (!address.opaque).then_some(Place { base: base.unknown, index: (index.unknown, scale), offset })
    }

    /// Lets an instruction with these operands run.
    pub fn run(&mut self, operands: &Operands) {
        let sum = operands.sum.and_then(|sum| {
            let from = self.registers.get(usize::from(sum.from))?;
            Some((sum.to, Value { added: from.added.wrapping_add(sum.added), ..*from }))
        });
        for r in operands.writes.numbers().take_while(|&r| r < COUNT) {
            self.unknowns += 1;
            self.registers[r] = Value { unknown: self.unknowns, added: 0 };
        }
        if let Some((to, value)) = sum
            && let Some(register) = self.registers.get_mut(usize::from(to))
        {
            *register = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{Bitness, decode};

    /// Whether they are in x86-64 code.
    fn same(code: &[&[u8]]) -> bool {
        same_in(Bitness::Bits64, code)
    }

    /// Whether the memory operands of the first and the last of `code` are one place.
    fn same_in(bitness: Bitness, code: &[&[u8]]) -> bool {
        let all = code.iter().map(|bytes| Operands::of(&decode(bitness, 0, bytes).expect("code")));
        let all: Vec<Operands> = all.collect();
        let mut places = Places::default();
        let mut found = all.iter().map(|operands| {
            let place = operands.memory.and_then(|address| places.of(address));
            places.run(operands);
            place
        });
        let first = found.next().flatten();
        first.is_some() && first == found.last().flatten()
    }

    const STORE: &[u8] = &[0x89, 0x06]; // mov %eax,(%rsi)

    #[test]
    fn a_place_stays_where_it_is_when_its_register_goes_on() {
        let (next, before) = (&[0x48, 0x83, 0xc6, 0x08], &[0x8b, 0x46, 0xf8]); // add $8,%rsi; mov -8(%rsi),%eax
        assert!(same(&[STORE, next, before]));
        assert!(!same(&[STORE, next, STORE]));
        let copied = [0x48, 0x8d, 0x4e, 0x10]; // lea 0x10(%rsi),%rcx
        assert!(same(&[STORE, &copied, &[0x8b, 0x41, 0xf0]])); // mov -0x10(%rcx),%eax
    }

    #[test]
    fn an_index_counts_as_often_as_it_is_scaled() {
        let store = [0x89, 0x04, 0x8e]; // mov %eax,(%rsi,%rcx,4)
        let (next, before) = (&[0x48, 0xff, 0xc1], &[0x8b, 0x44, 0x8e, 0xfc]); // inc %rcx; mov -4(%rsi,%rcx,4),%eax
        assert!(same(&[&store, next, before]));
        assert!(!same(&[&store, next, &store]));
    }

    #[test]
    fn what_was_pushed_is_popped() {
        assert!(same(&[&[0x50], &[0x51], &[0x5a], &[0x5b]])); // push %rax; push %rcx; pop %rdx; pop %rbx
        assert!(same(&[&[0x50], &[0x51], &[0x48, 0x8b, 0x44, 0x24, 0x08]])); // …; mov 8(%rsp),%rax
    }

    #[test]
    fn a_push_of_32_bit_code_is_half_as_wide() {
        let pushed = |disp| same_in(Bitness::Bits32, &[&[0x50], &[0x51], &[0x8b, 0x44, 0x24, disp]]);
        assert!(pushed(4) && !pushed(8)); // push %eax; push %ecx; mov 4(%esp),%eax
        assert!(same_in(Bitness::Bits32, &[&[0x50], &[0x51], &[0x5a], &[0x5b]]));
    }

    #[test]
    fn a_register_that_was_loaded_points_anywhere() {
        assert!(!same(&[STORE, &[0x48, 0x8b, 0x36], STORE])); // mov (%rsi),%rsi
        assert!(!same(&[STORE, &[0x48, 0x01, 0xce], STORE])); // add %rcx,%rsi
    }
}
