//! The compressed parts of a binary: how large they get, and what is in them.
//!
//! In: an ELF file. Out: whether what it says of their sizes can be true, and their bytes. Whoever expands them asks for as much
//! memory as they state, or as it takes.

use std::borrow::Cow;

use object::read::{CompressedData, CompressionFormat};

use super::elf::{Elf, Section};
use super::packed::{LARGEST, expand};

/// Debug information shrinks to a fifth or so; nothing that is meant to be read shrinks more than this.
const MOST: u64 = 128;
/// What is smaller need not be asked.
const SMALL: u64 = 1 << 20;

/// Whether no part expands beyond measure.
pub fn is_bounded(elf: &Elf) -> bool {
    elf.sections().iter().all(|section| {
        let bounded = |size: u64| size <= SMALL.max(section.size.saturating_mul(MOST));
        !is_compressed(section) || expanded(elf, section).is_some_and(bounded)
    })
}

/// Whether what a section holds is to be expanded.
pub fn is_compressed(section: &Section) -> bool {
    section.compressed || section.name.starts_with(".zdebug_") || section.name == ".gnu_debugdata"
}

/// The size that is stated, in `Elf32_Chdr { u32 type, size, align }` or `Elf64_Chdr { u32 type, reserved; u64 size, align }`,
/// or behind the magic of the form before that.
pub fn expanded(elf: &Elf, section: &Section) -> Option<u64> {
    if section.name == ".gnu_debugdata" {
        return xz(&elf.section_bytes(section)?);
    }
    let head = elf.bytes(section.offset, section.size.min(16))?;
    match section.compressed {
        true if elf.is_64 => elf.u64(&head, 8),
        true => elf.u32(&head, 4).map(u64::from),
        false => head.strip_prefix(b"ZLIB")?.first_chunk().map(|size| u64::from_be_bytes(*size)),
    }
}

/// What wholesym reads of a compressed section, whose size is known to be bounded.
pub fn unpacked(elf: &Elf, section: &Section) -> Option<Vec<u8>> {
    let bytes = elf.section_bytes(section)?;
    if section.name == ".gnu_debugdata" {
        return expand(&bytes, LARGEST)?.ok();
    }
    let head = if section.compressed && elf.is_64 { 24 } else { 12 };
    let format = match elf.u32(&bytes, 0)? {
        2 if section.compressed => CompressionFormat::Zstandard,
        _ => CompressionFormat::Zlib,
    };
    let uncompressed_size = expanded(elf, section)?;
    let data = bytes.get(head..)?;
    CompressedData { format, data, uncompressed_size }.decompress().ok().map(Cow::into_owned)
}

/// What an xz file expands to (<https://tukaani.org/xz/xz-file-format.txt>): the sum over its chunks of LZMA2, each of which
/// states its size and has no more. Only the form that is used for symbols: one filter.
pub fn xz(file: &[u8]) -> Option<u64> {
    let check = match file.strip_prefix(b"\xfd7zXZ\0")?.get(1)? & 15 {
        0 => 0,
        kind => 4 << ((kind - 1) / 3),
    };
    let (mut at, mut sum) = (12, 0u64);
    loop {
        // a block, or the index behind the last
        let head = match file.get(at)? {
            0 => return Some(sum),
            words => 4 * (usize::from(*words) + 1),
        };
        at += head;
        loop {
            let chunk = file.get(at..)?;
            let word = |at: usize| Some(usize::from(u16::from_be_bytes(*chunk.get(at..)?.first_chunk()?)));
            let (size, len) = match chunk.first()? {
                0 => break,
                1 | 2 => (word(1)? + 1, 3 + word(1)? + 1),
                control @ 0x80.. => {
                    let high = usize::from(control & 31) << 16;
                    (high + word(1)? + 1, 5 + usize::from(*control >= 0xc0) + word(3)? + 1)
                }
                _ => return None,
            };
            sum += size as u64;
            at += len;
        }
        at = (at + 1).next_multiple_of(4) + check;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{COMPRESSED, elf};
    use super::*;

    /// `printf hello-hello-hello-hello | xz --check=crc32`
    const HELLO: [u8; 68] = [
        0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x01, 0x69, 0x22, 0xde, 0x36, 0x02, 0x00, 0x21, 0x01, 0x16,
        0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0xe0, 0x00, 0x16, 0x00, 0x0b, 0x5d, 0x00, 0x34, 0x19, 0x49,
        0xee, 0x8d, 0xf0, 0x6e, 0x62, 0xb5, 0xe0, 0x00, 0x00, 0x00, 0x38, 0x8c, 0xa7, 0x5c, 0x00, 0x01, 0x23,
        0x17, 0x8d, 0x47, 0xfc, 0x1d, 0x90, 0x42, 0x99, 0x0d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x01, 0x59, 0x5a,
    ];

    fn bounded(name: &str, flags: u64, bytes: &[u8]) -> bool {
        let dir = tempfile::tempdir().unwrap();
        is_bounded(&elf(&dir.path().join("file"), &[(".text", 0, b"code"), (name, flags, bytes)]))
    }

    /// `Elf64_Chdr` of zlib, and some bytes.
    fn compressed(size: u64) -> Vec<u8> {
        [&1u64.to_le_bytes()[..], &size.to_le_bytes(), &[1; 48 << 10]].concat()
    }

    #[test]
    fn sections_state_a_size_that_can_be_true() {
        assert!(bounded(".debug_info", COMPRESSED, &compressed(1 << 20)));
        assert!(bounded(".debug_info", COMPRESSED, &compressed(4 << 20)));
        assert!(!bounded(".debug_info", COMPRESSED, &compressed(1 << 24)));
        assert!(!bounded(".debug_info", COMPRESSED, &compressed(u64::MAX)));
        assert!(!bounded(".debug_info", COMPRESSED, b"cut"));
        assert!(bounded(".debug_info", 0, &compressed(u64::MAX)), "it is not compressed");
        let old = |size: u64| [&b"ZLIB"[..], &size.to_be_bytes(), &[1; 1000]].concat();
        assert!(bounded(".zdebug_info", 0, &old(1 << 20)) && !bounded(".zdebug_info", 0, &old(1 << 40)));
    }

    #[test]
    fn chunks_of_symbols_add_up() {
        assert_eq!(xz(&HELLO), Some(23));
        // the chunk again and again, each of two MiB now
        let mut chunk = HELLO[24..42].to_vec();
        (chunk[0], chunk[1], chunk[2]) = (0xff, 0xff, 0xff);
        let many = [&HELLO[..24], &chunk.repeat(1000), &HELLO[42..]].concat();
        let whole = many[..24 + 18 * 1000].iter().chain(&[0; 64]).copied().collect::<Vec<u8>>();
        assert_eq!(xz(&whole), Some(1000 << 21));
        assert!(bounded(".gnu_debugdata", 0, &HELLO) && !bounded(".gnu_debugdata", 0, &whole));
        for cut in 0..HELLO.len() - 28 {
            assert_eq!(xz(&HELLO[..cut]), None, "{cut}");
        }
    }
}
