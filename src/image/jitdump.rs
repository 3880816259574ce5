//! What a program says of the code that it makes at run time, in a jitdump.
//!
//! In: a file as `tools/perf/Documentation/jitdump-specification.txt` of Linux describes it. Out: addresses and names of
//! functions. The reader of linux-perf-data trusts the sizes that a file states, so those are looked at before it may.

use std::collections::HashMap;
use std::io::Read;
use std::ops::Range;

use linux_perf_data::jitdump::{JitDumpReader, JitDumpRecord, JitDumpRecordHeader, JitDumpRecordType};

/// What the header of a file takes, up to its size.
const HEAD: usize = 12;
/// No header may be longer. It has 40 bytes; the reader panics of one that fills what it reads at first, 4 KiB.
const LONGEST: u32 = 1 << 10;

/// Functions in the order in which they were made, or moved; none if the file is no dump. What follows damage is left out.
pub fn functions(mut file: impl Read) -> Vec<(Range<u64>, String)> {
    let mut head = [0; HEAD];
    if file.read_exact(&mut head).is_err() || !is_sound(&head) {
        return Vec::new();
    }
    JitDumpReader::new(head.chain(file)).map_or_else(|_| Vec::new(), read)
}

/// `u32 magic, version, total_size`
fn is_sound(head: &[u8; HEAD]) -> bool {
    let [magic @ .., _, _, _, _, _, _, _, _] = *head;
    let [.., a, b, c, d] = *head;
    match &magic {
        b"JiTD" => u32::from_be_bytes([a, b, c, d]) <= LONGEST,
        _ => u32::from_le_bytes([a, b, c, d]) <= LONGEST,
    }
}

fn read(mut dump: JitDumpReader<impl Read>) -> Vec<(Range<u64>, String)> {
    let mut functions: Vec<(Range<u64>, String)> = Vec::new();
    let mut latest: HashMap<u64, usize> = HashMap::new();
    while let Ok(Some(header)) = dump.next_record_header() {
        if (header.total_size as usize) < JitDumpRecordHeader::SIZE {
            break;
        }
        let wanted = [JitDumpRecordType::JIT_CODE_LOAD, JitDumpRecordType::JIT_CODE_MOVE];
        let Ok(Some(raw)) = dump.next_record() else { break };
        // the others may state any number of entries, for which the reader makes room
        if !wanted.contains(&header.record_type) {
            continue;
        }
        let made = match raw.parse() {
            Ok(JitDumpRecord::CodeLoad(code)) => {
                let name = String::from_utf8_lossy(&code.function_name.as_slice()).into_owned();
                let end = code.code_addr.saturating_add(code.code_bytes.len() as u64);
                Some((code.code_addr..end, name))
            }
            Ok(JitDumpRecord::CodeMove(code)) => {
                let end = code.new_code_addr.saturating_add(code.code_size);
                let moved = latest.get(&code.old_code_addr).and_then(|&ix| functions.get(ix));
                moved.map(|(_, name)| (code.new_code_addr..end, name.clone()))
            }
            Ok(_) => None,
            Err(_) => break,
        };
        if let Some((range, name)) = made {
            latest.insert(range.start, functions.len());
            functions.push((range, name));
        }
    }
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dump(header_size: u32, records: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = [&b"DTiJ"[..], &1u32.to_le_bytes(), &header_size.to_le_bytes()].concat();
        bytes.resize(header_size.max(40) as usize, 0);
        bytes.extend(records.concat());
        bytes
    }

    fn record(kind: u32, size: u32, words: &[u64], rest: &[u8]) -> Vec<u8> {
        let head = [kind, size, 0, 0].map(u32::to_le_bytes).concat();
        let body: Vec<u8> =
            words.iter().flat_map(|word| word.to_le_bytes()).chain(rest.iter().copied()).collect();
        let stated = if size == 0 { 16 + body.len() as u32 } else { size };
        let mut bytes = [head, body].concat();
        bytes[4..8].copy_from_slice(&stated.to_le_bytes());
        bytes
    }

    fn load(at: u64, name: &str) -> Vec<u8> {
        record(0, 0, &[0, at, at, 4, 0], format!("{name}\0code").as_bytes())
    }

    fn moved(from: u64, to: u64) -> Vec<u8> {
        record(1, 0, &[0, to, from, to, 4, 0], b"")
    }

    fn named(file: &[u8]) -> Vec<(u64, String)> {
        functions(file).into_iter().map(|(range, name)| (range.start, name)).collect()
    }

    #[test]
    fn what_moves_is_what_was_there_last() {
        let file = dump(40, &[load(16, "old"), load(16, "new"), moved(16, 64), moved(64, 96), moved(7, 8)]);
        let expected = [(16, "old"), (16, "new"), (64, "new"), (96, "new")];
        assert_eq!(named(&file), expected.map(|(at, name)| (at, name.to_owned())));
    }

    #[test]
    fn sizes_that_cannot_be_true_end_a_dump() {
        for size in [1025, 4095, 4096, 1 << 20] {
            assert!(named(&dump(size, &[load(16, "f")])).is_empty(), "{size}");
        }
        let short = |size| dump(40, &[load(16, "f"), record(0, size, &[], b""), load(32, "g")]);
        for size in [1, 15] {
            assert_eq!(named(&short(size)), [(16, "f".to_owned())], "{size}");
        }
        assert!(named(b"DTiJ").is_empty() && named(b"").is_empty());
    }

    #[test]
    fn lines_of_a_dump_are_not_counted_on() {
        let lines = record(2, 0, &[16, u64::MAX], b"");
        assert_eq!(named(&dump(40, &[lines, load(16, "f")])), [(16, "f".to_owned())]);
    }

    #[test]
    fn a_hundred_thousand_moves_are_followed_at_once() {
        let made = (0..100_000).map(|ix| load(ix * 8 + 8, "f"));
        let file = dump(40, &made.chain((0..100_000).map(|_| moved(8, 8))).collect::<Vec<_>>());
        assert_eq!(named(&file).len(), 200_000);
    }
}
