//! Which of some addresses an image's data holds, or will when the program runs.
//!
//! In: an x86 ELF file of either width. Out: those that stand in a word of its data, or that the loader puts there by a
//! relocation: tables of functions, and slots that may be read instead of called through.

use std::collections::BTreeSet;

use object::elf;

use super::elf::{Elf, Section};
use super::symtab::{Relocation, Table, relocations, symbols};

/// Those of `wanted` that `elf`'s data points to.
pub fn pointers(elf: &Elf, wanted: &BTreeSet<u64>) -> BTreeSet<u64> {
    let names = symbols(elf, Table::Dynsym);
    let put = |r: &Relocation| match r.symbol {
        0 => r.addend.map(|addend| addend as u64),
        symbol => names.get(symbol as usize).map(|s| s.value.wrapping_add_signed(r.addend.unwrap_or(0))),
    };
    let jumped_through = [elf::R_X86_64_JUMP_SLOT.0, elf::R_386_JMP_SLOT.0];
    let loaded = relocations(elf);
    let put = loaded.iter().filter(|r| !jumped_through.contains(&r.kind)).filter_map(put);
    let mut found: BTreeSet<u64> = put.filter(|address| wanted.contains(address)).collect();
    for section in elf.sections().iter().filter(|section| holds_data(section)) {
        found.extend(words(elf, section).filter(|word| wanted.contains(word)));
    }
    found
}

fn holds_data(section: &Section) -> bool {
    let kinds = [elf::SHT_PROGBITS, elf::SHT_INIT_ARRAY, elf::SHT_FINI_ARRAY];
    section.svma != 0 && !section.executable && kinds.contains(&section.kind)
}

fn words(elf: &Elf, section: &Section) -> impl Iterator<Item = u64> {
    let size = if elf.is_64 { 8 } else { 4 };
    let bytes = elf.section_bytes(section).unwrap_or_default();
    let word =
        |ix| bytes.get(ix..ix + size).map(|word| word.iter().rev().fold(0, |w, b| w << 8 | u64::from(*b)));
    (0..bytes.len()).step_by(size).filter_map(word).collect::<Vec<u64>>().into_iter()
}
