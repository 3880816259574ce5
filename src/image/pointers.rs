//! What the words of an image's data hold when the program starts: what stands in the file, or what the loader puts there by a
//! relocation.
//!
//! In: an x86 ELF file of either width. Out: single words; where some addresses stand, in tables of functions and slots that may be read
//! instead of called through, or in the global offset table; and how far into its object such a place is. What the program itself puts
//! there later it does not know.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use object::elf;

use super::Svma;
use super::elf::{Elf, Section};
use super::symtab::{Relocation, Symbol, Table, relocations, symbols};

/// Words in front of the first function of a C++ table of virtual functions, which the objects' pointers skip (Itanium C++ ABI, 2.5.2).
const VIRTUAL_WORDS: u64 = 2;

/// The sections of the global offset table.
const OFFSETS: [&str; 2] = [".got", ".got.plt"];

/// See the module.
#[derive(Debug, Default)]
pub struct Pointers {
    /// What the loader puts where.
    put: HashMap<u64, u64>,
    /// Named objects: start, end, and where a pointer to one leads.
    objects: Vec<(u64, u64, u64)>,
    /// The global offset table.
    offsets: Vec<Range<u64>>,
}

/// Where addresses stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The places of each that is in data, but for those in the global offset table.
    pub places: BTreeMap<u64, BTreeSet<u64>>,
    /// Cells of that table that the program does not change, with the address that each holds.
    pub cells: BTreeMap<u64, u64>,
}

impl Pointers {
    /// Those of an image, whose objects `named`, the file itself or the one with its symbols, has names for.
    pub fn new(elf: &Elf, named: &Elf) -> Pointers {
        let names = symbols(elf, Table::Dynsym);
        let resolved = [elf::R_X86_64_IRELATIVE.0, elf::R_386_IRELATIVE.0];
        let jumped_through = [elf::R_X86_64_JUMP_SLOT.0, elf::R_386_JMP_SLOT.0];
        let known = |r: &&Relocation| !resolved.contains(&r.kind) && !jumped_through.contains(&r.kind);
        let value = |r: &Relocation| match r.symbol {
            0 => r.addend.map(|addend| addend as u64),
            symbol => {
                let symbol = names.get(symbol as usize).filter(|s| s.value != 0);
                symbol.map(|s| s.value.wrapping_add_signed(r.addend.unwrap_or(0)))
            }
        };
        let put = relocations(elf);
        let put = put.iter().filter(known).filter_map(|r| Some((r.place, value(r)?))).collect();
        let word = if elf.is_64 { 8 } else { 4 };
        let object = |s: Symbol| {
            let skipped = if s.name.starts_with("_ZTV") { VIRTUAL_WORDS * word } else { 0 };
            (s.value, s.value.saturating_add(s.size), s.value.saturating_add(skipped))
        };
        let mut objects: Vec<_> = symbols(named, Table::Symtab)
            .into_iter()
            .filter(|s| s.object && s.size > 0)
            .map(object)
            .collect();
        objects.sort_unstable();
        let offsets = OFFSETS.iter().filter_map(|name| Some(elf.section(name)?.range())).collect();
        Pointers { put, objects, offsets }
    }

    /// The word at `at`.
    pub fn word(&self, elf: &Elf, at: Svma) -> Option<u64> {
        let len = if elf.is_64 { 8 } else { 4 };
        self.put.get(&at.0).copied().or_else(|| {
            let bytes = elf.read(at, len)?;
            (bytes.len() as u64 == len).then(|| word(&bytes))
        })
    }

    /// Where each of `wanted` stands in the data of `elf`.
    pub fn to(&self, elf: &Elf, wanted: &BTreeSet<u64>) -> Standing {
        let mut found = Standing::default();
        let (Some(&first), Some(&last)) = (wanted.first(), wanted.last()) else { return found };
        let mut stands = |place: u64, address: u64| {
            if !(first..=last).contains(&address) || !wanted.contains(&address) {
                return;
            }
            match self.is_offset(place) {
                true if elf.is_constant(Svma(place)) => _ = found.cells.insert(place, address),
                true => {}
                false => _ = found.places.entry(address).or_default().insert(place),
            }
        };
        self.put.iter().for_each(|(&place, &address)| stands(place, address));
        let size = if elf.is_64 { 8 } else { 4 };
        for section in elf.sections().iter().filter(|section| holds_data(section)) {
            let bytes = elf.section_bytes(section).unwrap_or_default();
            for (ix, bytes) in bytes.chunks_exact(size).enumerate() {
                stands(section.svma.wrapping_add((ix * size) as u64), word(bytes));
            }
        }
        found
    }

    /// Whether a place is in the global offset table, through which code reaches what has a name.
    fn is_offset(&self, place: u64) -> bool {
        self.offsets.iter().any(|range| range.contains(&place))
    }

    /// How many bytes behind where pointers to its object lead a `place` is, and how many there are; `None` outside named objects.
    pub fn within(&self, place: u64) -> Option<(i64, i64)> {
        let before = self.objects.partition_point(|object| object.0 <= place);
        let &(_, end, at) = self.objects.get(before.checked_sub(1)?)?;
        (place < end).then(|| (place.wrapping_sub(at) as i64, end.wrapping_sub(at) as i64))
    }
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
        let pointers = Pointers::new(&elf, &elf);
        let found = pointers.to(&elf, &BTreeSet::from([output, called]));
        let found = found.places;
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), [output]);
        // the eighth word of `_IO_helper_jumps` and of others like it, the first two of which are not used
        let offsets: BTreeSet<_> = found[&output].iter().map(|&place| pointers.within(place)).collect();
        assert_eq!(offsets, BTreeSet::from([Some((7 * 8, 21 * 8))]));
        let place = found[&output].first().expect("one");
        assert_eq!(pointers.word(&elf, Svma(*place)), Some(output));
        assert_eq!(pointers.within(named("main")), None);
    }
}
