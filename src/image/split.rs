//! Split units: debug information that the linker left in files of its own, `.dwo` (DWARF 5, 7.3.2).
//!
//! In: a binary, or such a file. Out: the numbers by which the one finds its units in the other.

use gimli::{AttributeValue, DebugAbbrev, DebugInfo, EndianSlice, RunTimeEndian, UnitHeader, UnitType};
use object::Endian;

use super::elf::Elf;

/// The ids of the units that a binary has only the frame of, or, of a file of `split` units, those of its own.
pub fn unit_ids(elf: &Elf, split: bool) -> Vec<u64> {
    let section = |name: &str| {
        let name = if split { format!("{name}.dwo") } else { name.to_owned() };
        elf.section(&name)
            .filter(|section| !section.compressed)
            .and_then(|section| elf.section_bytes(section))
    };
    let (Some(info), Some(abbrev)) = (section(".debug_info"), section(".debug_abbrev")) else {
        return Vec::new();
    };
    let endian = endian(elf);
    let abbrev = DebugAbbrev::new(&abbrev, endian);
    let mut units = DebugInfo::new(&info, endian).units();
    let mut ids = Vec::new();
    while let Ok(Some(unit)) = units.next() {
        ids.extend(id(&unit, &abbrev));
    }
    ids
}

/// Bytes of debug information.
pub(super) type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// The order of bytes in it.
pub(super) fn endian(elf: &Elf) -> RunTimeEndian {
    if elf.endian.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big }
}

fn id(unit: &UnitHeader<Slice<'_>>, abbrev: &DebugAbbrev<Slice<'_>>) -> Option<u64> {
    match unit.type_() {
        UnitType::Skeleton(id) | UnitType::SplitCompilation(id) => Some(id.0),
        // before DWARF 5, as GNU's compilers have it
        UnitType::Compilation => {
            let abbreviations = unit.abbreviations(abbrev).ok()?;
            let mut entries = unit.entries(&abbreviations);
            match entries.next_dfs().ok()??.attr_value(gimli::DW_AT_GNU_dwo_id)? {
                AttributeValue::DwoId(id) => Some(id.0),
                _ => None,
            }
        }
        _ => None,
    }
}
