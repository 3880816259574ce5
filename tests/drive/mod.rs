//! Bytes of any kind into each part that meets what strangers made: shared by the tests here and the targets in `fuzz/`.
//!
//! Each function panics where a promise is broken, and otherwise says what came of it.
#![allow(dead_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Cursor;
use std::os::unix::fs::FileExt;

use skidconv::code::{Bitness, Function, Linker, Place, Program, Source, Taken, Told, discover, explore};
use skidconv::image::{AddressSpaces, Eras, When};
use skidconv::perfdata::{Comm, CpuMode, Error, Mmap, Patch, PerfFile, Sideband, Task, Warning, rewrite};
use skidconv::progress::Silent;

/// What came of reading as much as possible.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Samples that were decoded.
    pub samples: u64,
    /// Samples that could not be.
    pub undecodable: u64,
    /// Errors and warnings, each with its place.
    pub complaints: Vec<String>,
}

thread_local! {
    /// One file for all attempts of a thread.
    static FILE: File = tempfile::tempfile().unwrap();
}

/// `bytes` as a file, which the next call on this thread overwrites.
pub fn file(bytes: &[u8]) -> File {
    FILE.with(|file| {
        file.set_len(bytes.len() as u64).unwrap();
        file.write_all_at(bytes, 0).unwrap();
        file.try_clone().unwrap()
    })
}

/// Opens, walks, decodes and rewrites.
pub fn recording(bytes: &[u8]) -> Outcome {
    let mut outcome = Outcome::default();
    let Some(opened) = walk(bytes, &mut outcome) else {
        return outcome;
    };
    let again = copy(&opened, outcome.samples);
    // Where sections overlap, changing samples changes more than them, so that the copy may be anything but a danger.
    walk(&again, &mut Outcome::default());
    outcome
}

/// Opens, walks and decodes. `None` if the file cannot be opened.
pub fn walk(bytes: &[u8], outcome: &mut Outcome) -> Option<PerfFile> {
    let opened = match PerfFile::from_file(file(bytes)) {
        Ok(opened) => opened,
        Err(error) => {
            outcome.complaints.push(told(&error));
            return None;
        }
    };
    let mut records = opened.records().unwrap();
    while let Some(record) = records.next().unwrap() {
        match opened.sample(&record) {
            Ok(Some(sample)) => {
                outcome.samples += 1;
                let parts = (sample.callchain.iter().count(), sample.branches.iter().count());
                assert!(8 * parts.0 + 24 * parts.1 <= record.bytes.len());
                assert!(sample.callchain.part(sample.mode).is_none_or(|p| p.end <= parts.0));
                if let Some(glance) = opened.glance(&record) {
                    assert_eq!((glance.ip, glance.period), (sample.ip, sample.period));
                    assert_eq!(glance.callchain.bytes(), sample.callchain.bytes());
                }
            }
            Ok(None) => drop(opened.sideband(&record)),
            Err(error) => {
                assert!(opened.glance(&record).is_none());
                told(&error);
                outcome.undecodable += 1;
            }
        }
    }
    assert_eq!(records.position(), opened.data_len());
    let warnings = opened.warnings().iter().chain(records.warnings());
    outcome.complaints.extend(warnings.map(Warning::to_string));
    drop(records);
    Some(opened)
}

/// An error about a place in the file must name the place.
pub fn told(error: &Error) -> String {
    let text = error.to_string();
    let has_no_place = matches!(
        error,
        Error::Magic { .. } | Error::TooShort { .. } | Error::NoEvents | Error::HeaderSize { .. }
    );
    assert!(has_no_place || text.contains("0x"), "no place in: {text}");
    text
}

/// A copy with every sample changed.
fn copy(input: &PerfFile, samples: u64) -> Vec<u8> {
    let mut n = 0;
    let mut out = Cursor::new(Vec::new());
    let done = rewrite(input, &mut out, &Silent, |_, s| {
        n += 1;
        Some(Patch { ip: s.ip ^ 1, drop: 1, push: vec![n, n], exact: true, user_regs_ip: Some(n) })
    })
    .unwrap();
    assert_eq!((done.patched + done.refused, n), (samples, samples));
    out.into_inner()
}

/// Reads numbers off the front of bytes; zeros when there are none left.
struct Tape<'a>(&'a [u8]);

impl Tape<'_> {
    fn byte(&mut self) -> u8 {
        let (byte, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *byte
    }

    /// Mostly small, so that things meet; sometimes large.
    fn number(&mut self) -> u64 {
        match self.byte() {
            255 => u64::from_le_bytes(std::array::from_fn(|_| self.byte())),
            254 => u64::MAX - u64::from(self.byte()),
            small => u64::from(small) << (self.byte() % 14),
        }
    }

    fn time(&mut self) -> Option<u64> {
        match self.byte() {
            0..=20 => None,
            time => Some(u64::from(time)),
        }
    }

    fn id(&mut self) -> i32 {
        i32::from(self.byte() % 6) - 1
    }
}

fn task(tape: &mut Tape<'_>, time: Option<u64>, pid: i32, tid: i32) -> Task {
    let (ppid, ptid) = (tape.id(), tape.id());
    Task { time, pid, ppid, tid, ptid, made_up: ptid < 0 }
}

fn event(tape: &mut Tape<'_>) -> Sideband {
    let (what, time, pid, tid) = (tape.byte() % 5, tape.time(), tape.id(), tape.id());
    match what {
        0 => Sideband::Comm(Comm {
            time,
            pid,
            tid,
            name: vec![tape.byte()],
            exec: tape.byte().is_multiple_of(2),
        }),
        1 => Sideband::Fork(task(tape, time, pid, tid)),
        2 => Sideband::Exit(task(tape, time, pid, tid)),
        _ => Sideband::Mmap(Mmap {
            time,
            pid,
            tid,
            start: tape.number(),
            len: tape.number(),
            pgoff: tape.number(),
            filename: [&b"/"[..], &[tape.byte()]].concat(),
            build_id: None,
            inode: None,
            mode: CpuMode::of(u16::from(tape.byte() % 6)),
            executable: true,
        }),
    }
}

/// Maps, forks, executes and ends, and asks what is where. Returns how many questions had an answer.
pub fn space(bytes: &[u8]) -> usize {
    let mut tape = Tape(bytes);
    let mut spaces = AddressSpaces::new();
    for ordinal in 0..u64::from(tape.byte()) {
        let event = event(&mut tape);
        spaces.record(ordinal, &event);
    }
    spaces.seal();
    let mut eras = Eras::new(&spaces);
    let mut seen = std::collections::HashMap::new();
    let mut found = 0;
    for _ in 0..64 {
        let (pid, tid, address) = (tape.id(), tape.id(), tape.number());
        let (at, mode) =
            (When { time: tape.time(), ordinal: tape.number() }, CpuMode::of(u16::from(tape.byte() % 6)));
        let mapped = spaces.resolve(mode, pid, at, address);
        if let Some(mapped) = mapped {
            found += 1;
            assert!((mapped.mapping.start..mapped.mapping.end).contains(&address));
            let shown = spaces.address_of(mode, pid, at, mapped.image(), mapped.file_offset());
            assert!(shown.is_some() || mode == CpuMode::Unknown);
        }
        // In one era, equal questions have equal answers.
        let answer = (mapped, spaces.comm(pid, tid, at).map(str::to_owned));
        let (era, _) = eras.of(pid, tid, at);
        let before = seen.entry((pid, mode, address, era)).or_insert_with(|| answer.clone());
        assert_eq!(*before, answer);
    }
    found
}

/// Code and nothing else, at [`BASE`].
struct Code<'a>(&'a [u8], Bitness);

const BASE: u64 = 0x1000;

impl Source for Code<'_> {
    fn bitness(&self) -> Bitness {
        self.1
    }

    fn read(&self, address: u64, len: usize) -> Vec<u8> {
        let start = address.checked_sub(BASE).and_then(|at| usize::try_from(at).ok());
        let rest = start.and_then(|at| self.0.get(at..)).unwrap_or_default();
        rest[..len.min(rest.len())].to_vec()
    }
}

/// Everything is in one binary and nothing is imported.
struct Alone;

impl Linker for Alone {
    fn stub(&self, _: Place) -> Option<Place> {
        None
    }

    fn cell(&self, _: Place) -> Option<Place> {
        None
    }

    fn initial(&self, _: Place) -> Option<Place> {
        None
    }

    fn taken(&self, functions: &BTreeSet<Place>) -> BTreeMap<Place, Taken> {
        functions.iter().map(|&at| (at, Taken { by_code: true, ..Taken::default() })).collect()
    }

    fn begins(&self, _: Place) -> bool {
        false
    }
}

/// Decodes, finds blocks, dominators and loops, and links. Returns the number of instructions.
pub fn code(bytes: &[u8]) -> usize {
    let (&first, bytes) = bytes.split_first().unwrap_or((&0, &[]));
    let bitness = if first.is_multiple_of(2) { Bitness::Bits64 } else { Bitness::Bits32 };
    let (source, end) = (Code(bytes, bitness), BASE + bytes.len() as u64);
    let known: Vec<u64> = (0..4).map(|n| BASE + u64::from(first) * n).collect();
    let middle = BASE + bytes.len() as u64 / 2;
    let functions = vec![
        explore(&source, BASE..middle, &known),
        discover(&source, middle..end, &[middle, middle + 7, middle + u64::from(first)]),
    ];
    for function in &functions {
        check(function);
    }
    let insts = functions.iter().map(|function| function.insts.len()).sum();
    let numbered = functions.into_iter().map(|function| (0, function)).collect();
    Program::link(numbered, &Alone, &Told::default());
    insts
}

fn check(function: &Function) {
    let (insts, cfg) = (&function.insts, &function.cfg);
    assert!(insts.windows(2).all(|pair| pair[0].address < pair[1].address));
    let mut covered = 0;
    for (ix, block) in cfg.blocks.iter().enumerate() {
        assert!(block.first < block.end && block.end <= insts.len());
        covered += block.end - block.first;
        for inst in block.first..block.end {
            assert_eq!(cfg.block_of(inst), ix);
        }
        for edge in cfg.successors(ix) {
            assert!(edge.from == ix && edge.to < cfg.blocks.len());
        }
        assert!(function.dominators.dominates(ix, ix));
    }
    assert_eq!(covered, insts.len());
}
