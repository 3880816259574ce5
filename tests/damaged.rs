//! Whatever is wrong with a file: no panic, no hang, and a word about where.

mod drive;
mod recording;
mod tool;

use std::fs::File;

use recording::{Recording, example, open, records, rewritten, testdata};
use skidconv::perfdata::{PerfFile, Warning, kinds};

fn temporary(bytes: &[u8]) -> File {
    recording::temporary(bytes)
}

#[test]
fn a_file_cut_inside_its_sections_keeps_all_samples() {
    let bytes = std::fs::read(testdata("lpd-sleep.data")).unwrap();
    let data_end = 0x180 + 1480;
    for len in [data_end, data_end + 1, bytes.len() - 1] {
        let outcome = drive::recording(&bytes[..len]);
        assert_eq!((outcome.samples, outcome.undecodable), (7, 0));
        assert!(!outcome.complaints.is_empty());
    }
}

fn put(bytes: &mut [u8], at: usize, new: &[u8]) {
    let end = bytes.len().min(at + new.len());
    bytes[at..end].copy_from_slice(&new[..end - at]);
}

#[test]
fn sections_that_state_huge_sizes_do_not_ask_for_memory() {
    let bytes = example(false).file();
    let attrs_at = 24;
    for (at, size) in [(attrs_at + 8, u64::MAX), (48, u64::MAX), (attrs_at + 8, 1 << 40), (16, 1 << 40)] {
        let mut bad = bytes.clone();
        put(&mut bad, at, &size.to_le_bytes());
        let outcome = drive::recording(&bad);
        assert!(!outcome.complaints.is_empty());
    }
}

#[test]
fn events_that_all_claim_the_same_ids_do_not_ask_for_memory() {
    let mut r = example(false);
    r.events = vec![(0..100).collect(); 50];
    let mut bytes = r.file();
    for event in 0..50 {
        let at = 104 + 50 * 800 + 152 * event + 136;
        put(&mut bytes, at, &0u64.to_le_bytes());
        put(&mut bytes, at + 8, &40_000u64.to_le_bytes());
    }
    let outcome = drive::recording(&bytes);
    assert!(outcome.complaints[0].contains("the ids of an event at 0x0"), "{:?}", outcome.complaints);
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

#[test]
fn a_long_name_that_many_events_share_is_cut() {
    let mut r = Recording { events: vec![vec![5]; 400], ..Recording::default() };
    let mut described = [&r.half(1)[..], &r.half(136), &r.attr(136), &r.half(1)].concat();
    described.extend([&r.half(1 << 20)[..], "n".repeat(1 << 20).as_bytes(), &r.word(5)].concat());
    r.features = vec![(12, described)];
    r.records = vec![r.sample(5, 0x401000, 100, &[])];
    let file = open(&r.file());
    assert!(file.attrs().iter().all(|attr| attr.name.starts_with("nnnn")));
    assert!(file.attrs().iter().map(|attr| attr.name.len()).sum::<usize>() < 1 << 20);
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
    let open = |bytes: &[u8]| drive::told(&PerfFile::from_file(temporary(bytes)).unwrap_err());
    assert!(open(b"PERFFILE\x68\0\0\0\0\0\0\0").contains("not a perf.data"), "cut short");
    assert!(open(b"\x7fELF\x02\x01\x01\0").contains("not a perf.data"));
    assert!(open(b"").contains("not a perf.data"));
    let dir = tempfile::tempdir().unwrap();
    let error = PerfFile::open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("no recording"), "{error}");
    let error = PerfFile::open(&dir.path().join("none")).unwrap_err().to_string();
    assert!(error.contains("none"), "{error}");
}

/// What a walk found wrong.
fn warnings(file: &PerfFile) -> Vec<Warning> {
    let mut walk = file.records().unwrap();
    while walk.next().unwrap().is_some() {}
    file.warnings().iter().chain(walk.warnings()).cloned().collect()
}

#[test]
fn damage_in_the_middle_keeps_all_before_it_and_the_copy_is_whole() {
    let whole = example(false).file();
    let data = 104 + 3 * 8 + 2 * 152;
    // The third record's size.
    let third = data + example(false).records[..2].iter().map(Vec::len).sum::<usize>();
    let mut bytes = whole.clone();
    put(&mut bytes, third + 6, &3u16.to_le_bytes());
    let file = open(&bytes);
    let left = example(false).records[2..].iter().map(Vec::len).sum::<usize>() as u64;
    assert_eq!(warnings(&file), [Warning::RecordSize { offset: third as u64, size: 3, left }]);
    assert_eq!(records(&file).len(), 2);
    let (copy, _) = rewritten(&file, |_, _| None);
    let copy = open(&copy);
    assert!(warnings(&copy).is_empty() && records(&copy).len() == 2);
    assert_eq!(copy.features(), file.features());
}

#[test]
fn damage_in_compressed_data_keeps_all_before_it() {
    let mut r = example(false);
    r.features.clear();
    r.records = (0..50).map(|n| r.sample(5, 0x401000 + n, n, &[])).collect();
    let plain = r.records.concat();
    let stream = unended(&plain[..plain.len() / 2]);
    let compressed = |bytes: &[u8]| {
        let body = [&r.word(bytes.len() as u64)[..], bytes].concat();
        r.record(kinds::COMPRESSED2, 0, &body)
    };
    let mut damaged = r.clone();
    damaged.records = vec![compressed(&stream), compressed(b"no zstd at all, this"), r.records[0].clone()];
    let file = open(&damaged.file());
    assert_eq!(recording::samples(&file).len(), 25);
    let [Warning::Compressed { offset, left, .. }] = &warnings(&file)[..] else {
        panic!("{:?}", warnings(&file));
    };
    let sizes: Vec<u64> = damaged.records.iter().map(|r| r.len() as u64).collect();
    assert_eq!((*offset, *left), (104 + 24 + 304 + sizes[0], sizes[2]));
}

#[test]
fn compressed_data_that_end_inside_a_record_keep_those_before_it_and_tell_where_they_end() {
    let mut r = example(false);
    r.features.clear();
    r.records = (0..50).map(|n| r.sample(5, 0x401000 + n, n, &[])).collect();
    let plain = r.records.concat();
    let stream = unended(&plain[..plain.len() / 2 + 20]);
    let body = [&r.word(stream.len() as u64)[..], &stream].concat();
    r.records = vec![r.record(kinds::COMPRESSED2, 0, &body)];
    let file = open(&r.file());
    assert_eq!(recording::samples(&file).len(), 25);
    let offset = 104 + 24 + 304 + r.records[0].len() as u64;
    assert_eq!(warnings(&file), [Warning::CompressedCut { offset, have: 20 }]);
    assert!(warnings(&file)[0].to_string().contains(&format!("{offset:#x}")));
}

#[test]
fn events_whose_section_is_damaged_come_from_their_description() {
    let mut r = example(false);
    let mut described = [&r.half(2)[..], &r.half(136)].concat();
    for (ids, name) in r.events.iter().zip(["first", "second"]) {
        described.extend([&r.attr(136)[..], &r.half(ids.len() as u32), &r.string(name)].concat());
        described.extend(ids.iter().flat_map(|&id| r.word(id)));
    }
    r.features.insert(2, (12, described));
    let whole = r.file();
    let mut bytes = whole.clone();
    put(&mut bytes, 24, &u64::MAX.to_le_bytes());
    let file = open(&bytes);
    assert!(matches!(warnings(&file)[..], [Warning::EventsLost { .. }]));
    assert_eq!(file.attrs(), open(&whole).attrs());
    assert_eq!(recording::samples(&file), recording::samples(&open(&whole)));
}

#[test]
fn ids_outside_the_file_are_those_of_the_description_or_none() {
    let mut bytes = example(false).file();
    put(&mut bytes, 104 + 24 + 136, &(1u64 << 40).to_le_bytes());
    let file = open(&bytes);
    assert_eq!(warnings(&file), [Warning::IdsLost { offset: 1 << 40, size: 16 }]);
    // Those of the other event are still found, and the copy no longer names what is not there.
    assert_eq!(recording::samples(&file).len(), 1);
    let (copy, _) = rewritten(&file, |_, _| None);
    assert!(warnings(&open(&copy)).is_empty());
}

#[test]
fn who_wants_no_report_is_told_of_damage_and_losses_all_the_same() {
    let folder = tool::folder("damaged-quiet");
    let whole = std::fs::read(testdata("lpd-sleep.data")).unwrap();
    std::fs::write(folder.join("cut.data"), &whole[..0x180 + 1000]).unwrap();
    let quiet = |input: &str| {
        let ran = tool::skidconv(&folder, &["convert", input, "-q", "--folded", "out"]);
        assert!(ran.code == Some(0) && ran.out.is_empty(), "{ran:?}");
        ran.err
    };
    let cut = quiet("cut.data");
    assert!(cut.contains("the file is cut") && cut.contains("inside a record"), "{cut}");
    assert!(cut.lines().all(|line| line.starts_with("skidconv: warning: ")), "{cut}");
    let lost = quiet(tool::text(&testdata("quipper-lost_samples-4.4.data")));
    assert!(lost.contains("lost while recording: ") && lost.lines().count() == 1, "{lost}");
    assert_eq!(quiet(tool::text(&testdata("lpd-sleep.data"))), "");
}
