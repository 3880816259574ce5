//! Whatever is wrong with a file: no panic, no hang, and a word about where.

mod recording;

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;

use recording::{all_testdata, example, testdata};
use skidconv::perfdata::{Error, Patch, PerfFile, Warning, kinds, rewrite};
use skidconv::progress::Silent;

/// What came of reading as much as possible.
#[derive(Debug, Default)]
struct Outcome {
    samples: u64,
    undecodable: u64,
    complaints: Vec<String>,
}

/// Opens, walks, decodes and rewrites.
fn read(file: &File) -> Outcome {
    let mut outcome = Outcome::default();
    let opened = match PerfFile::from_file(file.try_clone().unwrap()) {
        Ok(opened) => opened,
        Err(error) => {
            return Outcome { complaints: vec![told(&error)], ..outcome };
        }
    };
    let mut records = opened.records().unwrap();
    let error = loop {
        let record = match records.next() {
            Ok(Some(record)) => record,
            Ok(None) => break None,
            Err(error) => break Some(error),
        };
        match opened.sample(&record) {
            Ok(Some(sample)) => {
                outcome.samples += 1;
                let parts = (sample.callchain.iter().count(), sample.branches.iter().count());
                assert!(8 * parts.0 + 24 * parts.1 <= record.bytes.len());
                assert!(sample.callchain.part(sample.mode).is_none_or(|p| p.end <= parts.0));
            }
            Ok(None) => drop(opened.sideband(&record)),
            Err(error) => {
                told(&error);
                outcome.undecodable += 1;
            }
        }
    };
    assert!(records.position() <= opened.data_len());
    let warnings = opened.warnings().iter().chain(records.warnings());
    outcome.complaints.extend(warnings.map(Warning::to_string));
    let failed = error.is_some();
    outcome.complaints.extend(error.map(|error| told(&error)));
    copy(&opened, failed);
    outcome
}

/// An error about a place in the file must name the place.
fn told(error: &Error) -> String {
    let text = error.to_string();
    let has_no_place = matches!(
        error,
        Error::Magic { .. }
            | Error::TooShort { .. }
            | Error::NoEvents
            | Error::Version1
            | Error::HeaderSize { .. }
    );
    assert!(has_no_place || text.contains("0x"), "no place in: {text}");
    text
}

/// A copy fails where reading fails, and else has no more samples than the input.
fn copy(input: &PerfFile, failed: bool) {
    let mut n = 0;
    let mut out = std::io::Cursor::new(Vec::new());
    let done = rewrite(input, &mut out, &Silent, |_, s| {
        n += 1;
        Some(Patch { ip: s.ip ^ 1, drop: 1, push: vec![n, n], exact: true, user_regs_ip: Some(n) })
    });
    assert_eq!(done.is_err(), failed);
    if let Ok(done) = done {
        assert_eq!(done.patched + done.refused, n);
    }
}

fn temporary(bytes: &[u8]) -> File {
    recording::temporary(bytes)
}

#[test]
fn a_file_cut_at_any_length_gives_what_is_there_or_an_error() {
    for name in ["lpd-sleep.data", "quipper-piped.header_features_aligned-6.12.data"] {
        let bytes = std::fs::read(testdata(name)).unwrap();
        let file = temporary(&bytes);
        let whole = read(&file).samples;
        let mut before = whole;
        for len in (0..bytes.len()).rev() {
            file.set_len(len as u64).unwrap();
            let outcome = read(&file);
            assert!(outcome.samples <= before, "{name} cut to {len} has more samples than cut less");
            // Only the end of a stream can be where a record ends.
            let silent = outcome.complaints.is_empty();
            assert!(!silent || name.contains("piped"), "{name} cut to {len} without a word");
            before = outcome.samples;
        }
        assert_eq!(before, 0);
    }
}

#[test]
fn a_file_cut_inside_its_sections_keeps_all_samples() {
    let bytes = std::fs::read(testdata("lpd-sleep.data")).unwrap();
    let data_end = 0x180 + 1480;
    for len in [data_end, data_end + 1, bytes.len() - 1] {
        let outcome = read(&temporary(&bytes[..len]));
        assert_eq!((outcome.samples, outcome.undecodable), (7, 0));
        assert!(!outcome.complaints.is_empty());
    }
}

/// A small generator, so that the same damage is done everywhere.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 16) as usize % n.max(1)
    }
}

const NASTY: [u64; 12] =
    [0, 1, 7, 8, 16, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 32, 1 << 61, i64::MAX as u64, u64::MAX];

/// Changes up to six places, half of them in the header and what directly follows it.
fn damage(bytes: &mut [u8], dice: &mut Dice) {
    for _ in 0..=dice.below(6) {
        let range = if dice.below(2) == 0 { bytes.len().min(600) } else { bytes.len() };
        let at = dice.below(range);
        match dice.below(4) {
            0 => bytes[at] ^= 1 << dice.below(8),
            1 => bytes[at] = dice.next() as u8,
            2 => put(bytes, at & !7, &NASTY[dice.below(NASTY.len())].to_le_bytes()),
            _ => put(bytes, at & !1, &(NASTY[dice.below(NASTY.len())] as u16).to_le_bytes()),
        }
    }
}

fn put(bytes: &mut [u8], at: usize, new: &[u8]) {
    let end = bytes.len().min(at + new.len());
    bytes[at..end].copy_from_slice(&new[..end - at]);
}

fn damaged_variants(bytes: &[u8], n: usize, seed: u64) -> (usize, u64) {
    let mut dice = Dice(seed);
    let file = temporary(bytes);
    let (mut complained, mut samples) = (0, 0);
    for _ in 0..n {
        let mut variant = bytes.to_vec();
        damage(&mut variant, &mut dice);
        file.write_all_at(&variant, 0).unwrap();
        let outcome = read(&file);
        complained += usize::from(!outcome.complaints.is_empty() || outcome.undecodable > 0);
        samples += outcome.samples;
    }
    (complained, samples)
}

#[test]
fn thousands_of_damaged_recordings_are_read_or_refused() {
    let (mut n, mut complained, mut samples) = (0, 0, 0);
    for (i, path) in all_testdata().into_iter().enumerate() {
        let bytes = std::fs::read(path).unwrap();
        let times = if bytes.len() < 100_000 { 400 } else { 60 };
        let found = damaged_variants(&bytes, times, 0x9e37_79b9_7f4a_7c15 + i as u64);
        (n, complained, samples) = (n + times, complained + found.0, samples + found.1);
    }
    assert!(n > 4000 && complained > n / 10 && samples > 0, "{complained} of {n}, {samples} samples");
}

#[test]
fn thousands_of_damaged_recordings_made_by_hand_are_read_or_refused() {
    for big in [false, true] {
        let r = example(big);
        let mut flat = r.clone();
        flat.records.retain(|record| record.len() < 120 && !record[..4].contains(&71));
        for bytes in [r.file(), r.pipe(), flat.compressed(kinds::COMPRESSED, 9).pipe()] {
            damaged_variants(&bytes, 1000, 77);
        }
    }
}

#[test]
fn sections_that_state_huge_sizes_do_not_ask_for_memory() {
    let bytes = example(false).file();
    let attrs_at = 24;
    for (at, size) in [(attrs_at + 8, u64::MAX), (48, u64::MAX), (attrs_at + 8, 1 << 40), (16, 1 << 40)] {
        let mut bad = bytes.clone();
        put(&mut bad, at, &size.to_le_bytes());
        let outcome = read(&temporary(&bad));
        assert!(!outcome.complaints.is_empty());
    }
}

#[test]
fn events_that_all_claim_the_same_ids_are_refused() {
    let mut r = example(false);
    r.events = vec![(0..100).collect(); 50];
    let mut bytes = r.file();
    for event in 0..50 {
        let at = 104 + 50 * 800 + 152 * event + 136;
        put(&mut bytes, at, &0u64.to_le_bytes());
        put(&mut bytes, at + 8, &40_000u64.to_le_bytes());
    }
    let outcome = read(&temporary(&bytes));
    assert!(outcome.complaints[0].contains("more ids than"), "{:?}", outcome.complaints);
}

#[test]
fn compressed_data_that_expand_without_end_are_read_in_bounded_pieces() {
    let mut r = example(false);
    let filler = r.record(70, 0, &vec![0; 65_000]);
    r.features.clear();
    r.records = vec![filler; 2000];
    let bytes = r.compressed(kinds::COMPRESSED2, 60_000).file();
    assert!(bytes.len() < 100_000);
    let file = PerfFile::from_file(temporary(&bytes)).unwrap();
    let mut records = file.records().unwrap();
    while records.next().unwrap().is_some() {}
    assert_eq!(records.tally().of_kind(70), 2000);
}

/// Compressed as perf does it: flushed, but the frame is never ended.
fn unended(plain: &[u8]) -> Vec<u8> {
    let mut stream = zstd_safe::CCtx::create();
    stream.init(1).unwrap();
    let mut bytes = vec![0; zstd_safe::compress_bound(plain.len())];
    let mut out = zstd_safe::OutBuffer::around(&mut bytes[..]);
    let mut input = zstd_safe::InBuffer::around(plain);
    while input.pos < plain.len() {
        stream.compress_stream(&mut out, &mut input).unwrap();
    }
    while stream.flush_stream(&mut out).unwrap() > 0 {}
    let n = out.pos();
    bytes.truncate(n);
    bytes
}

#[test]
fn the_last_record_of_compressed_data_comes_out_however_much_they_expand() {
    let mut r = example(false);
    r.features.clear();
    for last in (8..16_000).step_by(328).chain([8440]) {
        r.records = vec![r.record(70, 0, &[1; 65_000]); 16];
        r.records.push(r.record(72, 0, &vec![2; last]));
        let stream = unended(&r.records.concat());
        assert!(stream.len() < 60_000);
        let body = [&r.word(stream.len() as u64)[..], &stream].concat();
        r.records = vec![r.record(kinds::COMPRESSED2, 0, &body)];
        let file = PerfFile::from_file(temporary(&r.file())).unwrap();
        let mut records = file.records().unwrap();
        while records.next().unwrap().is_some() {}
        assert_eq!(records.tally().of_kind(72), 1, "{last}");
        assert_eq!(records.warnings(), []);
    }
}

#[test]
fn other_formats_are_refused_by_name() {
    let open = |bytes: &[u8]| PerfFile::from_file(temporary(bytes)).unwrap_err().to_string();
    assert!(open(b"PERFFILE\x68\0\0\0\0\0\0\0").contains("first version"));
    assert!(open(b"\x7fELF\x02\x01\x01\0").contains("not a perf.data"));
    assert!(open(b"").contains("not a perf.data"));
    let dir = tempfile::tempdir().unwrap();
    let error = PerfFile::open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("directory format"), "{error}");
    let mut file = File::create(dir.path().join("data")).unwrap();
    let mut r = example(false);
    r.features.insert(2, (24, vec![1; 8]));
    r.features.retain(|&(bit, _)| bit != 18);
    file.write_all(&r.file()).unwrap();
    let error = PerfFile::open(&dir.path().join("data")).unwrap_err().to_string();
    assert!(error.contains("directory format"), "{error}");
    let error = PerfFile::open(&dir.path().join("none")).unwrap_err().to_string();
    assert!(error.contains("none"), "{error}");
}
