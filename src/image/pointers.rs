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
        let bytes = elf.section_bytes(section).unwrap_or_default();
        let words = bytes.chunks_exact(if elf.is_64 { 8 } else { 4 }).map(word);
        found.extend(words.filter(|word| wanted.contains(word)));
    }
    found
}

fn holds_data(section: &Section) -> bool {
    let kinds = [elf::SHT_PROGBITS, elf::SHT_INIT_ARRAY, elf::SHT_FINI_ARRAY];
    section.svma != 0 && !section.executable && kinds.contains(&section.kind)
}

/// A number of so many bytes, the lowest first.
fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_table_of_functions_holds_their_addresses() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/cases/symfs/opt/cases/nist_fn/nist_fn");
        let elf = Elf::open(Path::new(path)).expect("the binary");
        let named = |name: &str| {
            let symbol = symbols(&elf, Table::Symtab).into_iter().find(|s| s.name == name);
            symbol.unwrap_or_else(|| panic!("{name}")).value
        };
        let (output, called) = (named("_IO_default_xsputn"), named("fn1"));
        assert_eq!(pointers(&elf, &BTreeSet::from([output, called])), BTreeSet::from([output]));
    }
}
