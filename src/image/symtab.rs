//! The symbols and relocations that an ELF file lists.
//!
//! In: an ELF file. Out: its symbol tables and relocation tables as plain values.

use std::cmp::Reverse;

use object::Endianness;
use object::elf::{self, Rel32, Rel64, Rela32, Rela64, Sym32, Sym64};
use object::pod::{Pod, slice_from_bytes};
use object::read::elf::{Rel, Rela, Sym};

use super::elf::{Elf, Section};
use super::strings::Strings;

/// Sound files have two or three loaded relocation tables; a damaged one may have thousands that are each the whole file.
const MOST_TABLES: usize = 16;

/// Which symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// All that the linker kept.
    Symtab,
    /// Those that other files may use or that this file needs.
    Dynsym,
}

/// Who may use a symbol, from the name that serves best to the one that serves least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Binding {
    /// Every file.
    Global,
    /// This file.
    Local,
    /// Every file, unless another defines it too: mostly a second name.
    Weak,
}

/// A symbol, whether defined or only named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name as the linker knows it.
    pub name: String,
    /// Its address.
    pub value: u64,
    /// Its size in bytes; 0 if not stated.
    pub size: u64,
    /// The section that defines it; in files that are not linked yet, its address is the offset in there.
    pub section: usize,
    /// Who may use it.
    pub binding: Binding,
    /// Whether it is a function that this file defines.
    pub function: bool,
    /// Whether it is data that this file defines.
    pub object: bool,
    /// Whether it is a place in this file of which no more is said, as assemblers make them.
    pub label: bool,
}

/// Which of several names for one address serves best: the least. Global, fewest underscores in front, longest, as perf
/// chooses; the name itself makes the order total.
pub fn name_rank(binding: Binding, name: &str) -> impl Ord + use<'_> {
    let underscores = name.len() - name.trim_start_matches('_').len();
    (binding, underscores, Reverse(name.len()), name)
}

/// A place that the loader fills in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Its address.
    pub place: u64,
    /// `R_*` of the machine.
    pub kind: u32,
    /// Index of its symbol in [`Table::Dynsym`]; 0 for none.
    pub symbol: u32,
    /// `None` where it stands at the place itself.
    pub addend: Option<i64>,
}

/// The symbols of a table, in the file's order so that relocations find theirs.
pub fn symbols(elf: &Elf, table: Table) -> Vec<Symbol> {
    let kind = match table {
        Table::Symtab => elf::SHT_SYMTAB,
        Table::Dynsym => elf::SHT_DYNSYM,
    };
    let Some(section) = elf.sections().iter().find(|section| section.kind == kind) else {
        return Vec::new();
    };
    let strings = elf.sections().get(section.link).and_then(|strings| elf.section_bytes(strings));
    let (Some(bytes), Some(strings)) = (elf.section_bytes(section), strings) else {
        return Vec::new();
    };
    let mut strings = Strings::new(&strings);
    match elf.is_64 {
        true => {
            entries::<Sym64<Endianness>>(&bytes).iter().map(|s| symbol(s, elf.endian, &mut strings)).collect()
        }
        false => {
            entries::<Sym32<Endianness>>(&bytes).iter().map(|s| symbol(s, elf.endian, &mut strings)).collect()
        }
    }
}

/// The relocations of all loaded relocation sections.
pub fn relocations(elf: &Elf) -> Vec<Relocation> {
    let loaded =
        |section: &&Section| section.svma != 0 && [elf::SHT_RELA, elf::SHT_REL].contains(&section.kind);
    let mut all = Vec::new();
    for section in elf.sections().iter().filter(loaded).take(MOST_TABLES) {
        let is_rela = section.kind == elf::SHT_RELA;
        let Some(bytes) = elf.section_bytes(section) else {
            continue;
        };
        let endian = elf.endian;
        match (is_rela, elf.is_64) {
            (true, true) => {
                all.extend(entries::<Rela64<Endianness>>(&bytes).iter().map(|r| with_addend(r, endian)))
            }
            (true, false) => {
                all.extend(entries::<Rela32<Endianness>>(&bytes).iter().map(|r| with_addend(r, endian)))
            }
            (false, true) => {
                all.extend(entries::<Rel64<Endianness>>(&bytes).iter().map(|r| without_addend(r, endian)))
            }
            (false, false) => {
                all.extend(entries::<Rel32<Endianness>>(&bytes).iter().map(|r| without_addend(r, endian)))
            }
        }
    }
    all
}

fn entries<T: Pod>(bytes: &[u8]) -> &[T] {
    slice_from_bytes(bytes, bytes.len() / size_of::<T>()).map_or(&[], |(entries, _)| entries)
}

fn symbol<S: Sym<Endian = Endianness>>(symbol: &S, endian: Endianness, strings: &mut Strings<'_>) -> Symbol {
    let (kind, defined) = (symbol.st_type(), !symbol.is_undefined(endian));
    Symbol {
        name: strings.at(symbol.st_name(endian)),
        value: symbol.st_value(endian).into(),
        size: symbol.st_size(endian).into(),
        section: symbol.st_shndx(endian).0.into(),
        binding: match symbol.st_bind() {
            elf::STB_LOCAL => Binding::Local,
            elf::STB_WEAK => Binding::Weak,
            _ => Binding::Global,
        },
        function: (kind == elf::STT_FUNC || kind == elf::STT_GNU_IFUNC) && defined,
        object: kind == elf::STT_OBJECT && defined,
        label: kind == elf::STT_NOTYPE && defined && symbol.st_shndx(endian) != elf::SHN_ABS,
    }
}

fn with_addend<R: Rela<Endian = Endianness>>(rela: &R, endian: Endianness) -> Relocation {
    Relocation {
        place: rela.r_offset(endian).into(),
        kind: rela.r_type(endian, false).0,
        symbol: rela.r_sym(endian, false),
        addend: Some(rela.r_addend(endian).into()),
    }
}

fn without_addend<R: Rel<Endian = Endianness>>(rel: &R, endian: Endianness) -> Relocation {
    Relocation {
        place: rel.r_offset(endian).into(),
        kind: rel.r_type(endian).0,
        symbol: rel.r_sym(endian),
        addend: None,
    }
}
