//! What stays: number, order, times, threads, periods, totals, and every byte but those of addresses.

use std::collections::BTreeMap;
use std::path::Path;

use skidconv::perfdata::{Attr, PerfFile, kinds};

use crate::bytes::{EXACT, Parts, SAMPLE, parts};
use crate::fixed::{Fixed, Seen, all, cases, samples};

fn every() -> impl Iterator<Item = &'static Fixed> {
    cases().iter().chain(all())
}

#[test]
fn one_sample_comes_out_for_each_that_went_in_with_its_order_time_thread_and_period() {
    for fixed in every() {
        for (n, (before, after)) in fixed.samples().into_iter().enumerate() {
            let same = |s: &Seen| (s.attr, s.pid, s.tid, s.time, s.period);
            assert_eq!(same(&before), same(&after), "{}, sample {n}", fixed.name);
        }
    }
}

#[test]
fn totals_per_event_and_per_thread_are_kept_exactly() {
    let totals = |path: &Path| {
        let mut totals: BTreeMap<(u32, i32, i32), (u64, u128)> = BTreeMap::new();
        for s in samples(path) {
            let total = totals.entry((s.attr, s.pid, s.tid)).or_default();
            *total = (total.0 + 1, total.1 + u128::from(s.period));
        }
        totals
    };
    for fixed in every() {
        assert_eq!(totals(&fixed.before), totals(&fixed.after), "{}", fixed.name);
    }
}

#[test]
fn the_cases_are_corrected_at_all() {
    for fixed in cases() {
        let moved = fixed.samples().iter().filter(|(before, after)| before.ip != after.ip).count();
        let told: u64 =
            fixed.report["events"].as_array().unwrap().iter().map(|e| e["moved"].as_u64().unwrap()).sum();
        assert_eq!(moved as u64, told, "{}", fixed.name);
        assert!(moved > 10_000, "{}: {moved} moved", fixed.name);
    }
}

/// A record that says that what follows is compressed, which in a corrected recording nothing is.
fn tells_compression(kind: u32, bytes: &[u8]) -> bool {
    kind == kinds::HEADER_FEATURE && bytes[8..16] == 27u64.to_le_bytes()
}

/// All records with the attributes that say how samples are laid out.
fn records(path: &Path) -> (Vec<Attr>, Vec<(u32, Vec<u8>)>) {
    let file = PerfFile::open(path).unwrap();
    let mut walk = file.records().unwrap();
    let mut found = vec![];
    while let Some(record) = walk.next().unwrap() {
        if !tells_compression(record.kind, record.bytes) {
            found.push((record.kind, record.bytes.to_vec()));
        }
    }
    (file.attrs().to_vec(), found)
}

/// What of a sample must be the same.
fn fixed_part(parts: &Parts) -> (u16, &[u8]) {
    (parts.misc & !EXACT, &parts.rest)
}

/// Nothing but addresses, chains and the mark differs between the records before and after.
pub fn assert_only_addresses_differ(fixed: &Fixed) {
    let (attrs, before) = records(&fixed.before);
    let (_, after) = records(&fixed.after);
    assert_eq!(before.len(), after.len(), "{}", fixed.name);
    for ((kind, before), (kind_after, after)) in before.iter().zip(&after) {
        assert_eq!(kind, kind_after, "{}", fixed.name);
        if before == after {
            continue;
        }
        assert_eq!(*kind, SAMPLE, "{}: a record that is no sample changed", fixed.name);
        let (before, after) = (parts(&attrs, before), parts(&attrs, after));
        assert_eq!(fixed_part(&before), fixed_part(&after), "{}", fixed.name);
        assert!(after.misc & EXACT != 0, "{}: a changed sample is marked", fixed.name);
    }
}

#[test]
fn only_addresses_callchains_and_the_mark_of_exactness_differ() {
    every().for_each(assert_only_addresses_differ);
}

#[test]
fn there_are_no_new_types_of_records() {
    let kinds = |path: &Path| {
        let mut kinds: BTreeMap<u32, usize> = BTreeMap::new();
        records(path).1.iter().for_each(|r| *kinds.entry(r.0).or_default() += 1);
        kinds
    };
    for fixed in every() {
        assert_eq!(kinds(&fixed.before), kinds(&fixed.after), "{}", fixed.name);
    }
}

/// Attributes and header sections of a file on disk: the magic, what stands between the header and the data, and each
/// section by its bit.
fn header(path: &Path) -> (Vec<u8>, Vec<u8>, BTreeMap<usize, Vec<u8>>) {
    let bytes = std::fs::read(path).unwrap();
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let (attrs, attrs_len, data, data_len) = (word(24), word(32), word(40), word(48));
    let bits = (0..256).filter(|bit| word(72 + bit / 64 * 8) >> (bit % 64) & 1 == 1);
    let section = |(n, bit): (usize, usize)| {
        let at = data + data_len + 16 * n;
        (bit, bytes[word(at)..word(at) + word(at + 8)].to_vec())
    };
    (bytes[..8].to_vec(), bytes[attrs..attrs + attrs_len].to_vec(), bits.enumerate().map(section).collect())
}

#[test]
fn events_and_header_sections_are_kept_byte_for_byte() {
    for fixed in cases() {
        let (before, after) = (header(&fixed.before), header(&fixed.after));
        assert!(before.2.len() > 5, "{}: sections are found", fixed.name);
        assert_eq!(before, after, "{}", fixed.name);
    }
}

#[test]
fn what_was_done_stands_beside_the_recording() {
    for fixed in every() {
        let name = format!("{}.skidconv.json", fixed.after.display());
        let sidecar: serde_json::Value = serde_json::from_slice(&std::fs::read(name).unwrap()).unwrap();
        assert_eq!(sidecar, fixed.report, "{}", fixed.name);
        assert!(sidecar["version"].is_string() && sidecar["seed"].is_u64() && sidecar["solver"].is_string());
        assert!(sidecar["events"].as_array().is_some_and(|events| !events.is_empty()), "{}", fixed.name);
        for event in sidecar["events"].as_array().unwrap() {
            assert!(!event["reason"].as_str().unwrap().is_empty(), "{}: says why", fixed.name);
        }
    }
}
