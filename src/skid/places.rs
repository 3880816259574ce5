//! Where memory operands point, relative to one another, while code runs.
//!
//! In: what instructions do to registers and memory, one after the other. Out: for each memory operand a place; two operands with the
//! same place are of the same memory. Numbers that nobody knows are drawn at random, and what is made of them is computed, so that a
//! place is found again when a loop has gone on to the next element, when a pointer was kept in memory meanwhile, as all that unoptimized
//! code does is, or when a callee gave back a register that it had saved. Two that are unlike are the same by chance once in 2⁶⁴. It knows
//! the arithmetic that addresses are made of, no widths, and of memory what was read or written last.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};

use super::operands::Operands;
use crate::code::{Address, Effect, Number};

/// Registers that addresses are made of.
const COUNT: usize = 16;
/// Words of memory that are remembered: a frame, and some objects.
const WORDS: usize = 256;

/// A place in memory: its address, were unknown numbers what was drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place(u64);

/// What registers and memory hold.
#[derive(Clone, Debug)]
pub struct Places {
    registers: [u64; COUNT],
    /// What was read or written last, each where its place's remainder says.
    words: Vec<(Place, u64)>,
    unknowns: Xoshiro256PlusPlus,
}

impl Default for Places {
    fn default() -> Places {
        let mut unknowns = Xoshiro256PlusPlus::seed_from_u64(0);
        let registers = std::array::from_fn(|_| unknowns.next_u64());
        Places { registers, words: vec![(Place::default(), 0); WORDS], unknowns }
    }
}

impl Places {
    /// Where `address` points now; `None` where more than registers decide.
    pub fn of(&self, address: Address) -> Option<Place> {
        (!address.opaque).then_some(Place(self.sum(address)))
    }

    /// Lets an instruction with these operands run, the memory operand of which is at `place`, and which `stores` there.
    pub fn run(&mut self, operands: &Operands, place: Option<Place>, stores: bool) {
        let made = self.made(operands, place);
        let sum = operands.sum.map(|sum| (sum.to, self.register(sum.from).wrapping_add(sum.added as u64)));
        for register in operands.writes.numbers().take_while(|&r| r < COUNT) {
            self.registers[register] = self.draw();
        }
        for (to, value) in sum.into_iter().chain(made.and_then(|(to, value)| Some((register(to)?, value)))) {
            self.registers[usize::from(to) % COUNT] = value;
        }
        if let Some(place) = place.filter(|_| stores) {
            let made = made.filter(|(to, _)| *to == Number::Memory);
            let value = made.map_or_else(|| self.draw(), |(_, value)| value);
            self.words[place.slot()] = (place, value);
        }
    }

    /// The operand that an instruction makes something of that is known, and what.
    fn made(&mut self, operands: &Operands, place: Option<Place>) -> Option<(Number, u64)> {
        let mut value = |number| match number {
            Number::Register(register) => self.register(register),
            Number::Constant(constant) => constant as u64,
            Number::Memory => self.word(place),
        };
        Some(match operands.effect {
            Effect::Copy { to, from } => (to, value(from)),
            Effect::Add { to, from, minus: false } => (to, value(to).wrapping_add(value(from))),
            Effect::Add { to, from, minus: true } => (to, value(to).wrapping_sub(value(from))),
            Effect::Scale { to, from, by } => (to, value(from).wrapping_mul(by as u64)),
            Effect::Mask { to, by } => (to, value(to) & by as u64),
            Effect::Lea { to } => (Number::Register(to), self.sum(operands.memory?)),
            _ => return None,
        })
    }

    /// The word at `place`.
    fn word(&mut self, place: Option<Place>) -> u64 {
        let Some(place) = place else { return self.draw() };
        if self.words[place.slot()].0 != place {
            self.words[place.slot()] = (place, self.draw());
        }
        self.words[place.slot()].1
    }

    fn sum(&self, address: Address) -> u64 {
        let base = address.base.map_or(0, |base| self.register(base));
        let index = address.index.map_or(0, |(index, by)| self.register(index).wrapping_mul(by.into()));
        base.wrapping_add(index).wrapping_add(address.disp as u64)
    }

    fn register(&self, register: u8) -> u64 {
        self.registers[usize::from(register) % COUNT]
    }

    /// A number that nobody knows.
    fn draw(&mut self) -> u64 {
        self.unknowns.next_u64()
    }
}

impl Place {
    fn slot(self) -> usize {
        // Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4)
        (self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - WORDS.ilog2())) as usize
    }
}

fn register(number: Number) -> Option<u8> {
    if let Number::Register(register) = number { Some(register) } else { None }
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
        let found = places(bitness, code);
        found[0].is_some() && found.first() == found.last()
    }

    /// Where each of `code` has its memory operand.
    fn places(bitness: Bitness, code: &[&[u8]]) -> Vec<Option<Place>> {
        let mut places = Places::default();
        let run = |bytes: &&[u8]| {
            let inst = decode(bitness, 0, bytes).expect("code");
            let operands = Operands::of(&inst);
            let place = operands.memory.and_then(|address| places.of(address));
            places.run(&operands, place, inst.stores);
            place
        };
        code.iter().map(run).collect()
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

    #[test]
    fn what_memory_holds_is_loaded_again() {
        let (load, keep) = (&[0x48, 0x8b, 0x75, 0xf8], &[0x48, 0x89, 0x75, 0xf8]); // mov -8(%rbp),%rsi; mov %rsi,-8(%rbp)
        let next = &[0x48, 0x83, 0x45, 0xf8, 0x08]; // addq $8,-8(%rbp)
        let lost = &[0x48, 0xc1, 0x7d, 0xf8, 0x02]; // sarq $2,-8(%rbp)
        assert!(same(&[STORE, keep, &[0x31, 0xf6], load, STORE]), "xor %esi,%esi between");
        assert!(same(&[STORE, keep, next, load, &[0x8b, 0x46, 0xf8]]), "and mov -8(%rsi),%eax");
        assert!(!same(&[STORE, keep, lost, load, STORE]));
    }

    #[test]
    fn an_element_of_an_array_is_found_by_an_index_in_memory() {
        // mov -4(%rbp),%eax; cltq; lea (,%rax,4),%rdx; mov $0x100,%rax; mov %ecx,(%rdx,%rax)
        let element: [&[u8]; 5] = [
            &[0x8b, 0x45, 0xfc],
            &[0x48, 0x98],
            &[0x48, 0x8d, 0x14, 0x85, 0, 0, 0, 0],
            &[0x48, 0xc7, 0xc0, 0, 1, 0, 0],
            &[0x89, 0x0c, 0x02],
        ];
        let found = places(Bitness::Bits64, &[element, element].concat());
        assert!(found[4].is_some() && found[4] == found[9]);
        let next: &[u8] = &[0x83, 0x45, 0xfc, 0x01]; // addl $1,-4(%rbp)
        let found = places(Bitness::Bits64, &[&element[..], &[next], &element].concat());
        assert_ne!(found[4], found[10]);
    }

    #[test]
    fn a_callee_gives_back_what_it_saved() {
        // mov %eax,-4(%rbp); push %rbp; mov %rsp,%rbp; sub $32,%rsp; push %rbx; pop %rbx; leave; mov -4(%rbp),%eax
        let framed: [&[u8]; 8] = [
            &[0x89, 0x45, 0xfc],
            &[0x55],
            &[0x48, 0x89, 0xe5],
            &[0x48, 0x83, 0xec, 0x20],
            &[0x53],
            &[0x5b],
            &[0xc9],
            &[0x8b, 0x45, 0xfc],
        ];
        assert!(same(&framed));
    }
}
