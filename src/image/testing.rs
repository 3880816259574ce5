//! Binaries by hand, for the tests of this folder.

use std::path::{Path, PathBuf};

use super::elf::Elf;

/// `SHF_COMPRESSED`
pub const COMPRESSED: u64 = 1 << 11;

/// Writes an ELF file of 64 bits with nothing but sections, of these names, flags and bytes.
pub fn elf(path: &Path, sections: &[(&str, u64, &[u8])]) -> Elf {
    let names: String = std::iter::once("\0").chain(sections.iter().flat_map(|s| [s.0, "\0"])).collect();
    let all = sections.iter().copied().chain([("", 0, names.as_bytes())]);
    let (mut bytes, mut headers, mut name_at) = (vec![0; 64], vec![0; 64], 1u32);
    for (ix, (name, flags, content)) in all.enumerate() {
        // SHT_NOTE, SHT_PROGBITS, and the names last: SHT_STRTAB
        let kind = if name.starts_with(".note") { 7u32 } else { 1 + 2 * u32::from(ix == sections.len()) };
        headers.extend([if name.is_empty() { 0 } else { name_at }, kind].map(u32::to_le_bytes).concat());
        let words = [flags, 0, bytes.len() as u64, content.len() as u64, 0, 4, 0];
        headers.extend(words.map(u64::to_le_bytes).concat());
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        name_at += name.len() as u32 + 1;
    }
    let headers_at = bytes.len() as u64;
    bytes.extend(headers);
    let count = sections.len() as u16 + 2;
    bytes[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0");
    bytes[20] = 1;
    bytes[40..48].copy_from_slice(&headers_at.to_le_bytes());
    for (at, half) in [(52, 64u16), (54, 56), (58, 64), (60, count), (62, count - 1)] {
        bytes[at..at + 2].copy_from_slice(&half.to_le_bytes());
    }
    std::fs::write(path, bytes).unwrap();
    Elf::open(path).unwrap()
}

/// A binary with nothing but a build-id.
pub fn build(path: PathBuf, id: &[u8]) -> PathBuf {
    let head = [4u32, id.len() as u32, 3].map(u32::to_le_bytes).concat();
    let note = [&head[..], b"GNU\0", id].concat();
    assert_eq!(elf(&path, &[(".note.gnu.build-id", 0, &note)]).build_id(), Some(id));
    path
}

/// A function of pairs of pairs of what is mangled as `of`, `levels` deep: each level repeats what is before it.
pub fn doubling(of: &str, levels: usize) -> String {
    let digit = |of: usize| char::from_digit(of as u32, 36).unwrap().to_ascii_uppercase();
    let level = |level| format!("1pIS{0}_S{0}_E", digit(2 * level + 1));
    format!("_Z1f1pI{of}E{}", (0..levels).map(level).collect::<String>())
}
