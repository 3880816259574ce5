//! A rewritten recording differs where it was told to, and nowhere else.

mod recording;

use std::path::Path;
use std::process::Command;

use recording::{Recording, USER, all_testdata, example, open, records, rewritten, samples};
use skidconv::perfdata::{Patch, PerfFile, Tally, kinds, rewrite_stream};
use skidconv::progress::Silent;

/// Recordings whose walk ends without an error.
fn whole_testdata() -> Vec<(String, PerfFile, Vec<u8>)> {
    let whole = all_testdata().into_iter().filter(|path| !path.to_string_lossy().contains("corrupted"));
    whole
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, PerfFile::open(&path).unwrap(), std::fs::read(path).unwrap())
        })
        .collect()
}

/// All records but the one that announces compression in a stream.
fn plain_records(file: &PerfFile) -> Vec<recording::Plain> {
    let mut all = records(file);
    all.retain(|(kind, bytes, _)| *kind != kinds::HEADER_FEATURE || bytes[8] != 27);
    all
}

fn samples_in(tally: &Tally) -> u64 {
    tally.of_kind(9)
}

#[test]
fn without_patches_a_plain_recording_is_copied_byte_for_byte() {
    let mut plain = 0;
    for (name, file, bytes) in whole_testdata() {
        let (copy, done) = rewritten(&file, |_, _| None);
        if done.tally.compressed == 0 {
            assert!(copy == bytes, "{name}");
            plain += 1;
        }
    }
    assert_eq!(plain, 9);
}

#[test]
fn recordings_made_by_hand_are_copied_byte_for_byte_in_either_byte_order() {
    for big in [false, true] {
        for bytes in [example(big).file(), example(big).pipe()] {
            let (copy, done) = rewritten(&open(&bytes), |_, _| None);
            assert!(copy == bytes);
            assert_eq!(
                (
                    done.tally.records() - done.tally.of_kind(64) - done.tally.of_kind(80),
                    done.tally.unknown()
                ),
                (8, 1)
            );
        }
    }
}

/// Types that have a meaning of their own to the walk: samples, trace data, compressed records, and what describes events.
const READ_OTHERWISE: [u32; 6] = [
    9,
    kinds::HEADER_ATTR,
    kinds::HEADER_TRACING_DATA,
    kinds::AUXTRACE,
    kinds::COMPRESSED,
    kinds::COMPRESSED2,
];

#[test]
fn records_of_every_type_are_carried_through_with_bodies_of_any_sense() {
    for big in [false, true] {
        let mut r = example(big);
        r.features.retain(|&(bit, _)| bit != 18);
        // Namespaces, symbols of the kernel, programs loaded into it, control groups, patched code and what is yet to come.
        let types = (0..64).chain(64..100).chain([200, 0xffff, u32::MAX]);
        r.records = types
            .filter(|kind| !READ_OTHERWISE.contains(kind))
            .flat_map(|kind| [0u8, 1, 0xff].map(|fill| r.record(kind, 2, &[fill; 56])))
            .collect();
        let bytes = r.file();
        let (copy, done) = rewritten(&open(&bytes), |_, _| None);
        assert!(copy == bytes);
        assert_eq!(done.tally.records(), r.records.len() as u64);
        let packed = open(&r.compressed(kinds::COMPRESSED2, 60).file());
        assert!(records(&packed) == records(&open(&bytes)));
        let (copy, _) = rewritten(&packed, |_, _| None);
        assert!(records(&open(&copy)) == records(&open(&bytes)));
    }
}

#[test]
fn events_described_by_structures_of_any_size_are_read_and_copied_alike() {
    let samples_of = |bytes: &[u8]| samples(&open(bytes));
    for big in [false, true] {
        let expected = samples_of(&example(big).file());
        // Linux 2.6.31 to 6.16 (64 to 136 bytes), and sizes of kernels to come.
        for size in [64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 152, 256, 4096] {
            let bytes = Recording { attr_size: Some(size), ..example(big) }.file();
            assert!(samples_of(&bytes) == expected, "{size}");
            let (copy, _) = rewritten(&open(&bytes), |_, _| None);
            assert!(copy == bytes, "{size}");
        }
    }
}

#[test]
fn compressed_recordings_come_out_plain_with_the_same_records_and_sections() {
    for (name, file, _) in whole_testdata() {
        let (copy, done) = rewritten(&file, |_, _| None);
        if done.tally.compressed > 0 {
            let copy = open(&copy);
            assert_eq!(copy.warnings(), [], "{name}");
            assert!(plain_records(&copy) == plain_records(&file), "{name}");
            let mut features = file.features().clone();
            features.compressed = None;
            assert_eq!(copy.features(), &features, "{name}");
            assert_eq!(copy.attrs(), file.attrs(), "{name}");
        }
    }
}

#[test]
fn records_split_over_compressed_records_come_out_whole() {
    for big in [false, true] {
        let mut plain = example(big);
        plain.records.retain(|r| r.len() < 300 && !(r[..4] == [71, 0, 0, 0] || r[..4] == [0, 0, 0, 71]));
        plain.features.retain(|&(bit, _)| bit != 18);
        for (kind, chunk) in [(kinds::COMPRESSED, 7), (kinds::COMPRESSED2, 13), (kinds::COMPRESSED2, 1)] {
            let packed = plain.compressed(kind, chunk);
            let (copy, _) = rewritten(&open(&packed.file()), |_, _| None);
            assert!(copy == plain.file(), "{kind} in pieces of {chunk}");
            let (copy, _) = rewritten(&open(&packed.pipe()), |_, _| None);
            assert!(copy == plain.pipe(), "{kind} in pieces of {chunk}");
        }
    }
}

#[test]
fn a_patched_address_changes_its_own_bytes_only() {
    for (name, file, bytes) in whole_testdata() {
        let mut expected = bytes.clone();
        let (copy, done) = rewritten(&file, |record, sample| {
            if record.compressed {
                return None;
            }
            expected[record.offset as usize + sample.layout.ip.unwrap()] ^= 0xff;
            Some(Patch { ip: sample.ip ^ 0xff, ..Patch::default() })
        });
        if done.tally.compressed == 0 {
            assert!(copy == expected, "{name}");
            assert_eq!(done.patched, samples_in(&done.tally), "{name}");
        }
    }
}

#[test]
fn compressed_samples_are_patched_too() {
    for (name, file, _) in whole_testdata() {
        let (copy, _) =
            rewritten(&file, |_, s| Some(Patch { ip: s.ip + 1, exact: true, ..Patch::default() }));
        let (before, after) = (samples(&file), samples(&open(&copy)));
        assert_eq!(before.len(), after.len(), "{name}");
        for ((ip, chain, rest), (new_ip, new_chain, new_rest)) in before.iter().zip(&after) {
            assert_eq!((ip + 1, chain, rest), (*new_ip, new_chain, new_rest), "{name}");
        }
    }
}

/// Replaces the leaf of every chain by `push` and checks all that should be the same.
fn change_chains(file: &PerfFile, push: &[u64]) -> Vec<u8> {
    let patch = Patch { ip: 0xabc, drop: 1, push: push.to_vec(), exact: true, ..Patch::default() };
    let (copy, done) = rewritten(file, |_, _| Some(patch.clone()));
    assert_eq!((done.refused, done.chains_kept), (0, 0));
    let new = open(&copy);
    assert_eq!(new.warnings(), []);
    assert_eq!((new.features(), new.attrs()), (file.features(), file.attrs()));
    let (before, after) = (samples(file), samples(&new));
    assert_eq!(before.len(), after.len());
    for ((_, chain, rest), (new_ip, new_chain, new_rest)) in before.iter().zip(&after) {
        // Where the chain begins with a marker, the part of the sample's mode comes next in these recordings.
        let (head, tail) =
            if chain[0] >= -4095i64 as u64 { (&chain[..1], &chain[2..]) } else { (&[][..], &chain[1..]) };
        assert_eq!(new_chain, &[head, push, tail].concat());
        assert_eq!((0xabc, rest), (*new_ip, new_rest));
    }
    let others = |file| records(file).into_iter().filter(|r| r.0 != 9).collect::<Vec<_>>();
    assert!(others(&new) == others(file));
    copy
}

#[test]
fn a_grown_or_shrunk_callchain_leaves_all_else_as_it_was() {
    let raw = PerfFile::open(&recording::testdata("quipper-raw_callgraph_branch-3.4.data")).unwrap();
    let mut files = vec![raw];
    for big in [false, true] {
        files.extend([open(&example(big).file()), open(&example(big).pipe())]);
    }
    for file in files {
        for push in [&[][..], &[0xabc], &[0xabc, 0xdef, 0x123]] {
            change_chains(&file, push);
        }
    }
}

#[test]
fn the_index_of_trace_data_and_unknown_sections_follow_the_records() {
    for big in [false, true] {
        let r = example(big);
        let copy = change_chains(&open(&r.file()), &[0xabc, 0xdef]);
        let word = |at: usize| {
            let raw = copy[at..at + 8].try_into().unwrap();
            if big { u64::from_be_bytes(raw) } else { u64::from_le_bytes(raw) }
        };
        let table = (word(40) + word(48)) as usize;
        let section = |row: usize| (word(table + 16 * row) as usize, word(table + 16 * row + 8) as usize);
        let (index, size) = section(2);
        assert_eq!((word(index), size), (2, 40));
        for (entry, data) in [(index + 8, &b"sixteen bytes..."[..]), (index + 24, b"eight by")] {
            let record = word(entry) as usize;
            let kind = copy[record..record + 4].iter().copied().max();
            assert_eq!((kind, &copy[record + 48..record + 48 + data.len()]), (Some(71), data));
        }
        let (at, size) = section(3);
        assert_eq!(&copy[at..at + size], b"a section of the future");
        assert_eq!(at + size, copy.len());
    }
}

#[test]
fn descriptions_of_events_that_stand_behind_the_data_are_found_again() {
    let mut bytes = example(false).file();
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let (attrs, ids) = (word(24)..word(24) + word(32), 104..104 + 3 * 8);
    let end = bytes.len();
    let moved = [&bytes[attrs.clone()], &bytes[ids.clone()]].concat();
    bytes[ids.start..attrs.end].fill(0xee);
    bytes.extend(moved);
    bytes[24..32].copy_from_slice(&(end as u64).to_le_bytes());
    for (event, id) in [(0, 0), (1, 2)] {
        let at = end + event * 152 + 136;
        let new = (end + attrs.len() + 8 * id) as u64;
        bytes[at..at + 8].copy_from_slice(&new.to_le_bytes());
    }
    let file = open(&bytes);
    assert_eq!(file.attrs(), open(&example(false).file()).attrs());
    change_chains(&file, &[0xabc, 0xdef, 0x123]);
}

#[test]
fn growth_beyond_the_largest_record_is_refused_and_foretold() {
    let file = open(&example(false).file());
    let patch = Patch { ip: 1, drop: 1, push: vec![2; 9000], ..Patch::default() };
    let (copy, done) = rewritten(&file, |record, sample| {
        assert!(!patch.fits(record, sample));
        Some(patch.clone())
    });
    assert!(copy == example(false).file());
    assert_eq!((done.patched, done.refused), (0, 3));
}

#[test]
fn an_unfinished_recording_is_finished() {
    let r = example(false);
    let mut bytes = r.file();
    bytes.truncate(bytes.len() - 300);
    bytes[48..56].fill(0);
    let file = open(&bytes);
    assert_eq!(file.warnings().len(), 1);
    let (copy, _) = rewritten(&file, |_, _| None);
    let copy = open(&copy);
    assert_eq!(copy.warnings(), []);
    assert!(!records(&copy).is_empty() && records(&copy) == records(&file));
}

#[test]
fn sections_that_were_cut_off_are_no_longer_announced() {
    let bytes = example(true).file();
    for missing in [10, 200, 300] {
        let file = open(&bytes[..bytes.len() - missing]);
        assert!(!file.warnings().is_empty());
        let (copy, _) = rewritten(&file, |_, _| None);
        let copy = open(&copy);
        assert_eq!(copy.warnings(), []);
        assert_eq!(copy.features(), file.features());
        assert!(records(&copy) == records(&file));
    }
}

#[test]
fn a_stream_can_go_to_where_one_cannot_seek() {
    let mut out = Vec::new();
    let bytes = example(false).pipe();
    rewrite_stream(&open(&bytes), &mut out, &Silent, |_, _| None).unwrap();
    assert!(out == bytes);
    let file = open(&example(false).file());
    assert!(rewrite_stream(&file, &mut out, &Silent, |_, _| None).is_err());
}

#[test]
fn a_chain_changed_back_gives_the_first_file_again() {
    for big in [false, true] {
        let first = example(big).file();
        let grow = Patch { ip: 0xabc, drop: 1, push: vec![0xabc, 0xdef], ..Patch::default() };
        let (grown, _) = rewritten(&open(&first), |_, _| Some(grow.clone()));
        assert_eq!(grown.len(), first.len() + 3 * 8);
        let mut old = samples(&open(&first)).into_iter();
        let (back, _) = rewritten(&open(&grown), |_, _| {
            let (ip, chain, _) = old.next().unwrap();
            let leaf = chain[usize::from(chain[0] == USER)];
            Some(Patch { ip, drop: 2, push: vec![leaf], ..Patch::default() })
        });
        assert!(back == first);
    }
}

/// `perf script` on a file, or `None` if there is no perf; that is an error if `SKIDCONV_REQUIRE_PERF` is set.
fn perf_script(path: &Path) -> Option<(bool, Vec<u8>)> {
    let run = Command::new("perf").args(["script", "--no-inline", "--no-itrace", "-i"]).arg(path).output();
    match run {
        Ok(output) => Some((output.status.success(), output.stdout)),
        Err(error) => {
            assert!(std::env::var_os("SKIDCONV_REQUIRE_PERF").is_none(), "perf does not run: {error}");
            eprintln!("skipped: perf does not run: {error}");
            None
        }
    }
}

#[test]
fn perf_says_the_same_of_a_copy() {
    let dir = tempfile::tempdir().unwrap();
    let mut said = 0;
    for path in all_testdata().into_iter().filter(|p| !p.to_string_lossy().contains("corrupted")) {
        let file = PerfFile::open(&path).unwrap();
        let (copy, _) = rewritten(&file, |_, _| None);
        let copy_path = dir.path().join("copy.data");
        std::fs::write(&copy_path, copy).unwrap();
        let Some((understood, text)) = perf_script(&path) else {
            return;
        };
        // A perf older than the recording may refuse it, but then for the same reason or for its compressed records.
        if understood {
            let (copy_understood, copy_text) = perf_script(&copy_path).unwrap();
            assert!(copy_understood && copy_text == text, "{}", path.display());
            said += usize::from(!text.is_empty());
        }
    }
    assert!(said >= 5, "perf read only {said} recordings");
}

#[test]
fn perf_reads_what_has_grown() {
    let dir = tempfile::tempdir().unwrap();
    let path = recording::testdata("quipper-raw_callgraph_branch-3.4.data");
    let grown = change_chains(&PerfFile::open(&path).unwrap(), &[0xabc, 0xdef]);
    let grown_path = dir.path().join("grown.data");
    std::fs::write(&grown_path, grown).unwrap();
    let Some((understood, text)) = perf_script(&grown_path) else {
        return;
    };
    let text = String::from_utf8_lossy(&text);
    assert!(understood);
    assert_eq!(text.lines().filter(|line| line.trim().starts_with("def ")).count(), 513);
}
