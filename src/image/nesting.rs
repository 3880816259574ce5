//! Calls inlined within each other, deeper than wholesym can follow.
//!
//! In: an ELF file. Out: whether its debug information has code inlined in too many calls at once. addr2line, which wholesym
//! reads it with, calls itself for each, so that a file that is made up ends the program.

use gimli::{DW_TAG_inlined_subroutine, DebugAbbrev, DebugInfo, UnitHeader};

use super::elf::Elf;
use super::expansion::{is_compressed, unpacked};
use super::split::{Slice, endian};

/// Compilers inline some dozens of calls in each other; a thread of 2 MiB holds some thousands.
const DEEPEST: usize = 1000;

/// Whether there are more than that.
pub fn is_nested(elf: &Elf) -> bool {
    let section = |name: String| {
        let old = name.replacen(".debug", ".zdebug", 1);
        let section = elf.section(&name).or_else(|| elf.section(&old))?;
        if is_compressed(section) { unpacked(elf, section) } else { elf.whole_section(section) }
    };
    let endian = endian(elf);
    ["", ".dwo"].iter().any(|suffix| {
        let info = section(format!(".debug_info{suffix}"));
        let abbrev = info.as_ref().and_then(|_| section(format!(".debug_abbrev{suffix}")));
        info.zip(abbrev).is_some_and(|(info, abbrev)| {
            let mut units = DebugInfo::new(&info, endian).units();
            let abbrev = DebugAbbrev::new(&abbrev, endian);
            std::iter::from_fn(|| units.next().ok()?).any(|unit| is_deep(&unit, &abbrev))
        })
    })
}

/// Whether a unit is, as far as it can be read: addr2line gets no further either.
fn is_deep(unit: &UnitHeader<Slice<'_>>, abbrev: &DebugAbbrev<Slice<'_>>) -> bool {
    let Ok(abbreviations) = unit.abbreviations(abbrev) else { return false };
    let Ok(mut entries) = unit.entries_raw(&abbreviations, None) else { return false };
    // how deep each of the inlined calls around an entry is
    let mut around = Vec::new();
    while !entries.is_empty() {
        let depth = entries.next_depth();
        while around.pop_if(|inlined| *inlined >= depth).is_some() {}
        let Ok(entry) = entries.read_abbreviation() else { return false };
        let Some(entry) = entry else { continue };
        if entry.tag() == DW_TAG_inlined_subroutine {
            around.push(depth);
        }
        if around.len() > DEEPEST {
            return true;
        }
        if entries.skip_attributes(entry.attributes()).is_err() {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::testing::{COMPRESSED, elf};
    use super::*;

    /// A unit of DWARF 4 with `count` inlined calls, each in the last or beside it.
    fn info(count: usize, within: bool) -> Vec<u8> {
        let body = match within {
            true => [vec![2; count], vec![0; count + 1]].concat(),
            false => [[2, 0].repeat(count), vec![0]].concat(),
        };
        let rest = [&[4, 0, 0, 0, 0, 0, 8, 1][..], &body].concat();
        [&(rest.len() as u32).to_le_bytes()[..], &rest].concat()
    }

    /// A compilation unit and an inlined call, both with children and without attributes.
    const ABBREV: [u8; 11] = [1, 0x11, 1, 0, 0, 2, 0x1d, 1, 0, 0, 0];

    fn nested(suffix: &str, info: &[u8], flags: u64) -> bool {
        let dir = tempfile::tempdir().unwrap();
        let (named, described) = (format!(".debug_info{suffix}"), format!(".debug_abbrev{suffix}"));
        let sections = [(named.as_str(), flags, info), (described.as_str(), 0, &ABBREV[..])];
        is_nested(&elf(&dir.path().join("file"), &sections))
    }

    #[test]
    fn calls_inlined_in_each_other_without_end_are_seen() {
        for suffix in ["", ".dwo"] {
            assert!(nested(suffix, &info(DEEPEST + 1, true), 0));
            assert!(!nested(suffix, &info(DEEPEST, true), 0));
            assert!(!nested(suffix, &info(20 * DEEPEST, false), 0), "beside each other");
        }
        let second = [info(3, true), info(DEEPEST + 1, true)].concat();
        assert!(nested("", &second, 0), "in the second unit");
        assert!(!nested("", &info(DEEPEST + 1, true)[..500], 0), "a unit that is cut off is not read");
    }

    #[test]
    fn those_in_compressed_sections_are_seen() {
        let deep = info(2 * DEEPEST, true);
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut zlib, &deep).unwrap();
        let head = [1u64, deep.len() as u64, 1].map(u64::to_le_bytes).concat();
        assert!(nested("", &[head, zlib.finish().unwrap()].concat(), COMPRESSED));
    }
}
