//! Names that wholesym must not meet.
//!
//! In: an ELF file. Out: whether a name in it may be one of Scala Native as macOS has them, `__ST` or `__SM` and a length, or one of C++
//! that stands for much more than is written. wholesym demangles all names that it meets: the former with a reader that takes lengths
//! on trust and nests as deep as the name does, so that one that is made up ends the program; the latter to their end, anew for each
//! address. Compilers for Linux make neither, so nothing is lost but made-up files.

use object::elf::{SHT_DYNSYM, SHT_NOBITS, SHT_STRTAB, SHT_SYMTAB};

use super::demangle::exceeds;
use super::elf::{Elf, Section};
use super::expansion::{is_compressed, unpacked};

/// Bytes that are looked at at a time, …
const PIECE: u64 = 4 << 20;
/// … and a name that begins in them, as far as it is looked at.
const NAME: usize = 256 << 10;
/// Two underscores, two letters and a digit.
const START: usize = 5;
/// Names of C++ that get longer are made up: they take longer than all others together. They refer to their parts so often at least.
const LONGEST: usize = 1 << 20;
const REFERENCES: usize = 16;
/// Names that may begin within another.
const WITHIN: usize = 8;
/// Where debug information has its names.
const NAMED: [&str; 4] = [".debug_info", ".debug_types", ".debug_str", ".debug_line_str"];

/// Whether there may be such a name. Sections that overlap without end are not searched: they may have any.
pub fn is_perilous(elf: &Elf) -> bool {
    let sections = elf.sections();
    let table = |section: &&Section| [SHT_SYMTAB, SHT_DYNSYM].contains(&section.kind);
    let linked: Vec<usize> = sections.iter().filter(table).map(|table| table.link).collect();
    let mut left = elf.len();
    sections.iter().enumerate().any(|(ix, section)| {
        let strings = section.kind == SHT_STRTAB || linked.contains(&ix);
        if section.kind == SHT_NOBITS || !(strings || is_debug(section)) {
            return false;
        }
        let Some(rest) = left.checked_sub(section.size) else { return true };
        left = rest;
        let packed = is_compressed(section);
        (packed && unpacked(elf, section).is_none_or(|bytes| has(&bytes)))
            || ((strings || !packed) && has_plain(elf, section))
    })
}

fn is_debug(section: &Section) -> bool {
    let name = section.name.replacen(".zdebug", ".debug", 1);
    name == ".gnu_debugdata" || NAMED.contains(&name.trim_end_matches(".dwo"))
}

fn has_plain(elf: &Elf, section: &Section) -> bool {
    let pieces = (0..section.size).step_by(PIECE as usize);
    pieces.into_iter().any(|at| {
        let len = (section.size - at).min(PIECE + NAME as u64);
        elf.bytes(section.offset.saturating_add(at), len).is_some_and(|bytes| has(&bytes))
    })
}

fn has(bytes: &[u8]) -> bool {
    let start = |bytes: &[u8]| matches!(bytes, [b'_', b'_', b'S', b'T' | b'M', b'0'..=b'9']);
    bytes.windows(START).any(start) || repeats(bytes)
}

/// Whether there is a name of C++ that gets too long, or cannot be told from one.
fn repeats(bytes: &[u8]) -> bool {
    let (mut end, mut within) = (0, 0);
    let starts = bytes.windows(2).enumerate().filter(|(_, start)| start == b"_Z").map(|(at, _)| at);
    starts.into_iter().any(|at| {
        let rest = &bytes[at..bytes.len().min(at + NAME)];
        let name = &rest[..rest.iter().position(|&byte| byte == 0).unwrap_or(rest.len())];
        within = if at < end { within + 1 } else { 0 };
        end = at + name.len();
        let long = || name.len() == NAME || exceeds(&String::from_utf8_lossy(name), LONGEST);
        within > WITHIN || (references(name) >= REFERENCES && long())
    })
}

/// How often a name may refer to a part of it: `S_`, `S0_` …, `T_`, `T0_` … (Itanium C++ ABI, 5.1.10 and 5.1.5.8).
fn references(name: &[u8]) -> usize {
    let refers = |pair: &&[u8]| matches!(pair, [b'S' | b'T', b'_' | b'0'..=b'9' | b'A'..=b'Z']);
    name.windows(2).filter(refers).count()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{COMPRESSED, doubling, elf};
    use super::*;

    fn perilous(name: &str, flags: u64, bytes: &[u8]) -> bool {
        let dir = tempfile::tempdir().unwrap();
        is_perilous(&elf(&dir.path().join("file"), &[(".text", 0, b"code"), (name, flags, bytes)]))
    }

    #[test]
    fn made_up_names_are_seen_where_wholesym_reads_names() {
        for name in [".debug_str", ".debug_info", ".debug_str.dwo", ".debug_line_str"] {
            assert!(perilous(name, 0, b"\0main\0__ST99aa\0"), "{name}");
            assert!(!perilous(name, 0, b"\0main\0__STDC__ 1\0_SM1aD1b\0__S"), "{name}");
        }
        assert!(!perilous(".rodata", 0, b"__ST99aa"), "no names are read from there");
        let across = [vec![0; PIECE as usize - 2], b"__SM1a".to_vec()].concat();
        assert!(perilous(".debug_str", 0, &across));
    }

    #[test]
    fn made_up_names_are_seen_in_compressed_sections() {
        let packed = |names: &[u8]| {
            let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
            std::io::Write::write_all(&mut zlib, names).unwrap();
            let head = [1u64, names.len() as u64, 1].map(u64::to_le_bytes).concat();
            [head, zlib.finish().unwrap()].concat()
        };
        assert!(perilous(".debug_str", COMPRESSED, &packed(b"\0__ST99aa\0")));
        assert!(!perilous(".debug_str", COMPRESSED, &packed(b"\0main\0")));
        assert!(perilous(".debug_str", COMPRESSED, b"what cannot be expanded"));
    }

    #[test]
    fn names_that_repeat_without_end_are_seen() {
        let of = format!("40{}", "a".repeat(40));
        let doubling = |levels| format!("\0{}\0", doubling(&of, levels));
        for section in [".debug_str", ".debug_info"] {
            assert!(perilous(section, 0, doubling(17).as_bytes()), "{section}");
            assert!(!perilous(section, 0, doubling(9).as_bytes()), "{section}");
        }
        let (within, beside) = ("_Zx".repeat(WITHIN + 2), "_Z1fv\0".repeat(100));
        assert!(perilous(".debug_str", 0, within.as_bytes()), "names within names");
        assert!(!perilous(".debug_str", 0, beside.as_bytes()));
    }
}
