//! The stubs through which a program calls functions of other files.
//!
//! In: an x86 ELF file of either width. Out: for each stub of `.plt`, `.plt.sec`, `.plt.got` and `.iplt` the slot of the
//! global offset table that it jumps through, and from the slot's relocation the symbol, or the resolver that chooses the
//! function when the program starts. It knows the one jump that stubs are made of and no other instruction.

use std::collections::HashMap;
use std::ops::Range;

use object::elf;

use super::Svma;
use super::elf::{Class, Elf, Section};
use super::symtab::{Table, relocations, symbols};

/// The sections of stubs; a file has each at most once.
const SECTIONS: [&str; 5] = [".plt", ".plt.sec", ".plt.got", ".plt.bnd", ".iplt"];

/// Where a stub leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PltTarget {
    /// The dynamic symbol of this name, as the linker knows it.
    Symbol(String),
    /// A function chosen at start by the code at this address; `None` where the address stands in the slot itself and the
    /// file does not hold it. Which function it chose is not known.
    Resolver(Option<Svma>),
}

/// All stubs of an image.
#[derive(Debug, Default)]
pub struct Plt {
    /// By start.
    stubs: Vec<(Range<Svma>, PltTarget)>,
    slots: HashMap<u64, PltTarget>,
    sections: Vec<Range<u64>>,
}

impl Plt {
    /// Finds the stubs.
    pub fn new(elf: &Elf) -> Plt {
        let Some(class) = elf.class() else {
            return Plt::default();
        };
        let slots = slots(elf, class);
        let got = global_offset_table(elf);
        let mut plt = Plt::default();
        let holds_stubs = |section: &&Section| SECTIONS.contains(&section.name.as_str());
        for section in elf.sections().iter().filter(holds_stubs).take(SECTIONS.len()) {
            let Some(code) = elf.section_bytes(section) else {
                continue;
            };
            plt.sections.push(section.range());
            let size = if section.entry_size == 8 { 8 } else { stub_size(&code) };
            for (at, stub) in (section.svma..).step_by(size).zip(code.chunks(size)) {
                let target = slot_of(class, at, stub, got).and_then(|slot| slots.get(&slot));
                let end = at.saturating_add(stub.len() as u64);
                plt.stubs.extend(target.map(|target| (Svma(at)..Svma(end), target.clone())));
            }
        }
        plt.stubs.sort_by_key(|(range, _)| range.start);
        plt.slots = slots;
        plt
    }

    /// Where the stub at an address leads; any address inside it will do.
    pub fn target(&self, at: Svma) -> Option<&PltTarget> {
        let ix = self.stubs.partition_point(|(range, _)| range.start <= at).checked_sub(1)?;
        let (range, target) = &self.stubs[ix];
        range.contains(&at).then_some(target)
    }

    /// What the loader puts into the slot at an address.
    pub fn slot(&self, at: Svma) -> Option<&PltTarget> {
        self.slots.get(&at.0)
    }

    /// The stubs, by start.
    pub fn stubs(&self) -> impl Iterator<Item = (&Range<Svma>, &PltTarget)> {
        self.stubs.iter().map(|(range, target)| (range, target))
    }

    /// The addresses that are nothing but stubs.
    pub fn sections(&self) -> &[Range<u64>] {
        &self.sections
    }
}

/// What the loader puts into each slot that stubs may jump through.
fn slots(elf: &Elf, class: Class) -> HashMap<u64, PltTarget> {
    let (jump_slot, glob_dat, irelative) = match class {
        Class::Bits64 => (elf::R_X86_64_JUMP_SLOT, elf::R_X86_64_GLOB_DAT, elf::R_X86_64_IRELATIVE),
        Class::Bits32 => (elf::R_386_JMP_SLOT, elf::R_386_GLOB_DAT, elf::R_386_IRELATIVE),
    };
    let names = symbols(elf, Table::Dynsym);
    let mut slots = HashMap::new();
    for relocation in relocations(elf) {
        let target = if relocation.kind == irelative.0 {
            let resolver = match relocation.addend {
                Some(addend) => Some(Svma(addend as u64)),
                None => elf
                    .read(Svma(relocation.place), 4)
                    .and_then(|bytes| word(&bytes))
                    .map(|at| Svma(at.into())),
            };
            PltTarget::Resolver(resolver)
        } else if relocation.kind == jump_slot.0 || relocation.kind == glob_dat.0 {
            match names.get(relocation.symbol as usize) {
                Some(symbol) if !symbol.name.is_empty() => PltTarget::Symbol(symbol.name.clone()),
                _ => continue,
            }
        } else {
            continue;
        };
        slots.insert(relocation.place, target);
    }
    slots
}

/// What `%ebx` holds in position-independent IA-32 code.
pub fn global_offset_table(elf: &Elf) -> Option<u64> {
    elf.section(".got.plt").or_else(|| elf.section(".got")).map(|section| section.svma)
}

/// Stubs are 16 bytes apart, or 8 where each is nothing but its jump (`.plt.got` of linkers that state no entry size).
fn stub_size(code: &[u8]) -> usize {
    let jumps = |at: usize| {
        code.get(at..at + 2) == Some(&[0xff, 0x25]) || code.get(at..at + 2) == Some(&[0xff, 0xa3])
    };
    if jumps(0) && (code.len() == 8 || jumps(8)) { 8 } else { 16 }
}

/// The slot that a stub jumps through: `[endbr] [bnd] jmp *slot`.
fn slot_of(class: Class, at: u64, stub: &[u8], got: Option<u64>) -> Option<u64> {
    let mut jump = stub;
    for prefix in [&[0xf3, 0x0f, 0x1e, 0xfa][..], &[0xf3, 0x0f, 0x1e, 0xfb], &[0xf2]] {
        jump = jump.strip_prefix(prefix).unwrap_or(jump);
    }
    let next = at.wrapping_add((stub.len() - jump.len()) as u64 + 6);
    let operand = word(jump.get(2..6)?)?;
    match (class, jump[0], jump[1]) {
        (Class::Bits64, 0xff, 0x25) => Some(next.wrapping_add(operand as i32 as i64 as u64)),
        (Class::Bits32, 0xff, 0x25) => Some(operand.into()),
        (Class::Bits32, 0xff, 0xa3) => Some((got? as u32).wrapping_add(operand).into()),
        _ => None,
    }
}

fn word(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stubs_of_all_shapes_lead_to_their_slots() {
        let slot = |class, stub: &[u8]| slot_of(class, 0x1000, stub, Some(0x4000));
        let plain = [0xff, 0x25, 0x10, 0, 0, 0, 0x68, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0];
        assert_eq!(slot(Class::Bits64, &plain), Some(0x1016));
        assert_eq!(slot(Class::Bits32, &plain), Some(0x10));
        assert_eq!(
            slot(Class::Bits64, &[0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0xf6, 0xff, 0xff, 0xff]),
            Some(0x1000)
        );
        assert_eq!(
            slot(Class::Bits64, &[0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 1, 0, 0, 0]),
            Some(0x100c)
        );
        assert_eq!(slot(Class::Bits32, &[0xff, 0xa3, 0x0c, 0, 0, 0, 0x66, 0x90]), Some(0x400c));
        assert_eq!(slot(Class::Bits64, &[0xff, 0x35, 0, 0, 0, 0]), None, "push, in the header");
        assert_eq!(slot(Class::Bits64, &[0xff, 0x25, 0]), None, "cut off");
        assert_eq!(slot(Class::Bits64, &[]), None);
    }
}
