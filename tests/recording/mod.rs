//! Recordings for tests: those in testdata, and others made by hand in either byte order.
#![allow(dead_code)]

use std::fs::File;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use skidconv::perfdata::{Patch, PerfFile, Record, Rewritten, Sample, kinds, rewrite};
use skidconv::progress::Silent;

/// `PERF_CONTEXT_USER`
pub const USER: u64 = -512i64 as u64;
/// Size of `struct perf_event_attr` in Linux 6.3.
const ATTR: usize = 136;
/// `PERF_SAMPLE_BRANCH_STACK`, and of it `PERF_SAMPLE_BRANCH_ANY`
const STACK: u64 = 0x800;
const ANY: u64 = 1 << 3;
/// A branch that was taken: from where, to where, and cycles since the one before.
pub type Branch = (u64, u64, u64);
/// `PERF_SAMPLE_IP | TID | TIME | CALLCHAIN | PERIOD | IDENTIFIER`
pub const FIELDS: u64 = 1 | 2 | 4 | 0x20 | 0x100 | 0x1_0000;

/// A file of testdata/perf.
pub fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/perf").join(name)
}

/// All recordings of testdata/perf, in the order of their names.
pub fn all_testdata() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(testdata("")).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = entries.filter(|path| path.extension().is_some_and(|e| e == "data")).collect();
    paths.sort();
    assert!(paths.len() > 10, "testdata is missing");
    paths
}

pub fn temporary(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

pub fn open(bytes: &[u8]) -> PerfFile {
    PerfFile::from_file(temporary(bytes)).unwrap()
}

pub fn rewritten(
    file: &PerfFile,
    decide: impl FnMut(&Record<'_>, &Sample<'_>) -> Option<Patch>,
) -> (Vec<u8>, Rewritten) {
    let mut out = Cursor::new(Vec::new());
    let done = rewrite(file, &mut out, &Silent, decide).unwrap();
    assert_eq!((done.bytes, out.position()), (out.get_ref().len() as u64, done.bytes));
    (out.into_inner(), done)
}

/// A record without what depends on its place: type, bytes, and how much follows it.
pub type Plain = (u32, Vec<u8>, u64);

/// All records up to the end or to an error.
pub fn records(file: &PerfFile) -> Vec<Plain> {
    let mut walk = file.records().unwrap();
    let mut found = vec![];
    while let Ok(Some(record)) = walk.next() {
        found.push((record.kind, record.bytes.to_vec(), record.payload));
    }
    found
}

/// What a sample says apart from its address and its callers.
#[derive(Clone, Debug, PartialEq)]
pub struct Rest(u32, i32, i32, Option<u64>, u64, Vec<u8>, Vec<(u64, u64)>, bool);

/// Address, callchain and the rest of each sample.
pub fn samples(file: &PerfFile) -> Vec<(u64, Vec<u64>, Rest)> {
    let mut walk = file.records().unwrap();
    let mut found = vec![];
    while let Some(record) = walk.next().unwrap() {
        if let Some(s) = file.sample(&record).unwrap() {
            let branches = s.branches.iter().map(|b| (b.from, b.to)).collect();
            let raw = s.raw.to_vec();
            let rest = Rest(s.attr.0, s.pid, s.tid, s.time, s.period, raw, branches, s.has_user_stack);
            found.push((s.ip, s.callchain.iter().collect(), rest));
        }
    }
    found
}

/// A recording made by hand.
#[derive(Clone, Default)]
pub struct Recording {
    pub big: bool,
    /// Ids of each event; all have [`FIELDS`].
    pub events: Vec<Vec<u64>>,
    /// Records, with what follows them.
    pub records: Vec<Vec<u8>>,
    /// Header sections by their bit. For bit 18, the index of trace data, offsets count from the start of the data.
    pub features: Vec<(u32, Vec<u8>)>,
    /// Size of the attribute structures, if not that of the latest Linux: an older perf refuses larger ones than its own.
    pub attr_size: Option<usize>,
    /// The process of samples and mappings, if not 41.
    pub pid: Option<u32>,
}

impl Recording {
    pub fn word(&self, word: u64) -> [u8; 8] {
        if self.big { word.to_be_bytes() } else { word.to_le_bytes() }
    }

    pub fn half(&self, half: u32) -> [u8; 4] {
        if self.big { half.to_be_bytes() } else { half.to_le_bytes() }
    }

    pub fn record(&self, kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
        let size = 8 + body.len() as u16;
        let shorts = [misc, size].map(|s| if self.big { s.to_be_bytes() } else { s.to_le_bytes() });
        [&self.half(kind)[..], &shorts[0], &shorts[1], body].concat()
    }

    /// Process and thread.
    fn task(&self) -> Vec<u8> {
        [self.half(self.pid.unwrap_or(41)), self.half(42)].concat()
    }

    /// A sample in user mode of the event with `id`.
    pub fn sample(&self, id: u64, ip: u64, time: u64, chain: &[u64]) -> Vec<u8> {
        let ids = self.task();
        let head: Vec<u8> = [id, ip].iter().flat_map(|&w| self.word(w)).collect();
        let words = [&[time, 1000, chain.len() as u64][..], chain].concat();
        let tail: Vec<u8> = words.iter().flat_map(|&w| self.word(w)).collect();
        self.record(9, 2, &[head, ids, tail].concat())
    }

    /// A sample in user mode for [`Recording::file_of_stacks`]: id, address, process and thread, time, period, and the branches
    /// taken before, the latest first.
    pub fn stacked(&self, [id, ip, tids, time, period]: [u64; 5], taken: &[Branch]) -> Vec<u8> {
        let head = [id, ip, tids, time, period, 0, taken.len() as u64];
        let entries = taken.iter().flat_map(|&(from, to, cycles)| [from, to, cycles << 4]);
        let body: Vec<u8> = head.into_iter().chain(entries).flat_map(|word| self.word(word)).collect();
        self.record(9, 2, &body)
    }

    /// In file mode, with events of these kinds and configurations, whose samples have branch stacks.
    pub fn file_of_stacks(&self, events: &[(u32, u64)]) -> Vec<u8> {
        let mut bytes = self.file();
        let size = self.attr_size.unwrap_or(ATTR);
        let attrs = 104 + self.events.iter().map(|ids| 8 * ids.len()).sum::<usize>();
        for (ix, &(kind, config)) in events.iter().enumerate() {
            let at = attrs + ix * (size + 16);
            bytes[at..at + 4].copy_from_slice(&self.half(kind));
            for (field, word) in [(8, config), (24, FIELDS | STACK), (72, ANY)] {
                bytes[at + field..][..8].copy_from_slice(&self.word(word));
            }
        }
        bytes
    }

    /// A mapping of `path` into the process of the samples, at time 1.
    pub fn mmap(&self, path: &Path, start: u64, len: u64, pgoff: u64) -> Vec<u8> {
        let mut body = self.task();
        body.extend([start, len, pgoff].iter().flat_map(|&w| self.word(w)));
        body.extend(path.to_str().unwrap().as_bytes());
        body.resize((body.len() + 1).next_multiple_of(8), 0);
        body.extend(self.task());
        let id = self.events[0][0];
        body.extend([1, id].iter().flat_map(|&w| self.word(w)));
        self.record(1, 2, &body)
    }

    /// A trace data record with its data.
    pub fn trace(&self, data: &[u8]) -> Vec<u8> {
        let body = [&self.word(data.len() as u64)[..], &[0; 32]].concat();
        [&self.record(kinds::AUXTRACE, 0, &body)[..], data].concat()
    }

    /// The attribute structure of an event: `instructions:u` by count.
    pub fn attr(&self, size: usize) -> Vec<u8> {
        let mut attr = [self.half(0), self.half(size as u32)].concat();
        for word in [1, 1000, FIELDS, 0] {
            attr.extend(self.word(word));
        }
        // exclude_kernel, exclude_hv, sample_id_all
        let flags = 1u64 << 5 | 1 << 6 | 1 << 18;
        attr.extend(self.word(if self.big { flags.reverse_bits() } else { flags }));
        attr.resize(size, 0);
        attr
    }

    pub fn string(&self, text: &str) -> Vec<u8> {
        let mut bytes = self.half(64).to_vec();
        bytes.extend(text.as_bytes());
        bytes.resize(68, 0);
        bytes
    }

    /// In file mode.
    pub fn file(&self) -> Vec<u8> {
        let attr_size = self.attr_size.unwrap_or(ATTR);
        let ids: usize = self.events.iter().map(|ids| 8 * ids.len()).sum();
        let attrs_at = 104 + ids;
        let data_at = attrs_at + (attr_size + 16) * self.events.len();
        let data = self.records.concat();
        let mut header = if self.big { b"2ELIFREP" } else { b"PERFILE2" }.to_vec();
        let places = [104, attr_size + 16, attrs_at, data_at - attrs_at, data_at, data.len(), 0, 0];
        header.extend(places.iter().flat_map(|&w| self.word(w as u64)));
        let mut bits = [0u64; 4];
        for (bit, _) in &self.features {
            bits[*bit as usize / 64] |= 1 << (bit % 64);
        }
        header.extend(bits.iter().flat_map(|&w| self.word(w)));
        let mut bytes = header;
        bytes.extend(self.events.iter().flatten().flat_map(|&id| self.word(id)));
        let mut at = 104;
        for ids in &self.events {
            bytes.extend(self.attr(attr_size));
            bytes.extend(self.word(at));
            bytes.extend(self.word(8 * ids.len() as u64));
            at += 8 * ids.len() as u64;
        }
        bytes.extend(&data);
        self.add_features(&mut bytes, data_at as u64);
        bytes
    }

    fn add_features(&self, bytes: &mut Vec<u8>, data_at: u64) {
        let mut at = bytes.len() + 16 * self.features.len();
        for (_, payload) in &self.features {
            bytes.extend(self.word(at as u64));
            bytes.extend(self.word(payload.len() as u64));
            at += payload.len();
        }
        for (bit, payload) in &self.features {
            if *bit == 18 {
                bytes.extend(&payload[..8]);
                for entry in payload[8..].chunks(16) {
                    let offset = u64::from_ne_bytes(entry[..8].try_into().unwrap());
                    bytes.extend(self.word(offset + data_at));
                    bytes.extend(&entry[8..]);
                }
            } else {
                bytes.extend(payload);
            }
        }
    }

    /// In pipe mode.
    pub fn pipe(&self) -> Vec<u8> {
        let mut bytes = if self.big { b"2ELIFREP" } else { b"PERFILE2" }.to_vec();
        bytes.extend(self.word(16));
        for ids in &self.events {
            let ids = ids.iter().flat_map(|&id| self.word(id));
            let body: Vec<u8> = self.attr(112).into_iter().chain(ids).collect();
            bytes.extend(self.record(kinds::HEADER_ATTR, 0, &body));
        }
        for (bit, payload) in &self.features {
            let body = [&self.word(u64::from(*bit))[..], payload].concat();
            bytes.extend(self.record(kinds::HEADER_FEATURE, 0, &body));
        }
        bytes.extend(self.records.concat());
        bytes
    }

    /// The same with its records compressed as one stream, cut into records of type `kind` with `chunk` bytes each.
    pub fn compressed(&self, kind: u32, chunk: usize) -> Recording {
        let plain = self.records.concat();
        let mut stream = vec![0; zstd_safe::compress_bound(plain.len())];
        let n = zstd_safe::compress(&mut stream[..], &plain, 3).unwrap();
        let wrap = |piece: &[u8]| match kind {
            kinds::COMPRESSED2 => {
                let mut body = [&self.word(piece.len() as u64)[..], piece].concat();
                body.resize(body.len().next_multiple_of(8), 0);
                self.record(kind, 0, &body)
            }
            _ => self.record(kind, 0, piece),
        };
        let records = stream[..n].chunks(chunk).map(wrap).collect();
        let mut features = self.features.clone();
        let info = [1u32, 1, 3, 2, 1 << 20].iter().flat_map(|&h| self.half(h)).collect();
        features.push((27, info));
        features.sort_by_key(|&(bit, _)| bit);
        Recording { records, features, ..self.clone() }
    }
}

/// Two events, three samples with chains, a record of an unknown type and trace data, and header sections, one unknown.
pub fn example(big: bool) -> Recording {
    let mut r = Recording { big, events: vec![vec![5, 6], vec![7]], ..Recording::default() };
    let comm = [&r.half(41)[..], &r.half(42), b"prog\0\0\0\0"].concat();
    let trailer: Vec<u8> = [42 << 32 | 41, 1, 5].iter().flat_map(|&w| r.word(w)).collect();
    r.records = vec![
        r.record(3, 0, &[comm, trailer].concat()),
        r.sample(5, 0x401000, 100, &[USER, 0x401000, 0x402000]),
        r.trace(b"sixteen bytes..."),
        r.sample(7, 0x401010, 200, &[USER, 0x401010]),
        r.record(999, 3, b"whatever"),
        r.trace(b"eight by"),
        r.sample(6, 0x401020, 300, &[0x401020, 0x403000]),
        r.record(kinds::FINISHED_ROUND, 0, &[]),
    ];
    let offset = |n: usize| r.records[..n].iter().map(Vec::len).sum::<usize>() as u64;
    let mut index = r.word(2).to_vec();
    for (n, size) in [(2, 16u64), (5, 8)] {
        index.extend(offset(n).to_ne_bytes());
        index.extend(r.word(size));
    }
    r.features = vec![
        (3, r.string("machine")),
        (6, r.string("x86_64")),
        (18, index),
        (200, b"a section of the future".to_vec()),
    ];
    r
}
