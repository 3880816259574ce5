//! The profile by performance counters in AMD's note on instruction-based sampling: a matrix product of which every column is
//! spread over instructions that did not cause it. The note also has the answer, by precise samples.

mod recording;
mod tool;

use std::collections::BTreeMap;
use std::path::Path;

use recording::Recording;
use skidconv::perfdata::PerfFile;
use tool::{folder, skidconv, testdata, text};

/// `PERF_TYPE_HARDWARE` instructions, `PERF_TYPE_HW_CACHE` misses of loads in the first level and the data TLB.
const EVENTS: [(u32, u64); 3] = [(0, 1), (3, 0x10000), (3, 0x10003)];
/// The columns of `counters.tsv` that count the same, the address being column 0.
const COLUMNS: [usize; 3] = [1, 3, 4];
/// The inner loop, and the instruction in it that walks down the columns of a matrix.
const LOOP: std::ops::RangeInclusive<u64> = 0x401191..=0x4011cf;
const LOOP_LENGTH: usize = 16;
const FMUL: u64 = 0x4011c2;

type Samples = BTreeMap<u64, usize>;

/// Samples of each of [`EVENTS`] as the note has them.
fn counted() -> Vec<Samples> {
    let table = std::fs::read_to_string(testdata("amd/counters.tsv")).unwrap();
    let lines: Vec<Vec<&str>> =
        table.lines().filter(|l| !l.starts_with('#')).map(|l| l.split('\t').collect()).collect();
    let column = |&c: &usize| {
        lines.iter().map(|l| (u64::from_str_radix(l[0], 16).unwrap(), l[c].parse().unwrap())).collect()
    };
    COLUMNS.iter().map(column).collect()
}

/// Writes them as a recording.
fn record(path: &Path, columns: &[Samples]) {
    let mut recording = Recording { events: vec![vec![1], vec![2], vec![3]], ..Recording::default() };
    let binary = testdata("amd/multiply_matrices");
    recording.records.push(recording.mmap(&binary, 0x40_1000, 0x1000, 0));
    let mut time = 2;
    for (id, column) in (1..).zip(columns) {
        for (&address, &samples) in column {
            for _ in 0..samples {
                time += 1;
                recording.records.push(recording.sample(id, address, time, &[]));
            }
        }
    }
    let mut bytes = recording.file();
    let attrs_at = u64::from_le_bytes(bytes[24..32].try_into().unwrap()) as usize;
    for (n, (kind, config)) in EVENTS.iter().enumerate() {
        let at = attrs_at + n * (136 + 16);
        bytes[at..at + 4].copy_from_slice(&kind.to_le_bytes());
        bytes[at + 8..at + 16].copy_from_slice(&config.to_le_bytes());
    }
    std::fs::write(path, bytes).unwrap();
}

fn read(path: &Path) -> Vec<Samples> {
    let file = PerfFile::open(path).unwrap();
    let mut events = vec![Samples::new(); EVENTS.len()];
    let mut records = file.records().unwrap();
    while let Some(record) = records.next().unwrap() {
        if let Some(sample) = file.sample(&record).unwrap() {
            *events[sample.attr.0 as usize].entry(sample.ip).or_default() += 1;
        }
    }
    events
}

fn share(samples: &Samples, at: u64) -> f64 {
    let total: usize = samples.values().sum();
    samples.get(&at).copied().unwrap_or(0) as f64 / total as f64
}

#[test]
fn the_loop_runs_evenly_and_its_misses_are_the_multiplication_s() {
    let folder = folder("amd");
    let (data, fixed) = (folder.join("perf.data"), folder.join("fixed.data"));
    let counted = counted();
    record(&data, &counted);
    let ran = skidconv(&folder, &["fix", text(&data), "-o", text(&fixed), "--force", "--quiet"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let after = read(&fixed);
    for (before, after) in counted.iter().zip(&after) {
        assert_eq!(before.values().sum::<usize>(), after.values().sum::<usize>());
    }
    let ran: Vec<usize> = after[0].range(LOOP).map(|(_, &n)| n).collect();
    assert_eq!(ran.len(), LOOP_LENGTH);
    let (least, most) = (ran.iter().min().unwrap(), ran.iter().max().unwrap());
    assert!(*most as f64 <= 1.01 * *least as f64, "{least} to {most} executions");
    for (event, before) in [(1, 0.02), (2, 0.1)] {
        let (raw, found) = (share(&counted[event], FMUL), share(&after[event], FMUL));
        eprintln!("event {event}: {raw:.3} → {found:.3} of the misses are the multiplication's");
        assert!(raw < before, "the note's misses stand elsewhere: {raw}");
        assert!(found >= 0.8, "{found}");
    }
}
