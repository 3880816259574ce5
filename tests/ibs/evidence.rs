//! Ops that were sampled by counting ops say how often instructions ran, without skid: `fix` corrects late events better
//! beside them.
//!
//! The late samples are those of a case with exact truth; the ops beside them are drawn from that truth, as a processor
//! would have sampled them: a compare and the branch behind it are one op, calls and divisions are two.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use skidconv::code::{Bitness, Kind, decode};
use skidconv::perfdata::PerfFile;

use crate::made::{EXACT, Event, Machine, OP, RAW, Sampled, raw};
use crate::tool::{folder, skidconv, testdata, text};

const EVENTS: [Event; 3] = [
    Event { kind: 0, config: 0, name: "cycles:u" },
    Event { kind: 0, config: 1, name: "instructions:u" },
    Event { kind: OP, config: 1 << 19, name: "ibs_op/cnt_ctl=1/" },
];
/// Sampled ops.
const OPS: u64 = 20_000;

type Counts = BTreeMap<u64, f64>;

/// A program, where it is mapped, and how often each instruction ran.
struct Case {
    binary: PathBuf,
    start: u64,
    len: u64,
    offset: u64,
    ran: BTreeMap<u64, u64>,
}

fn case(name: &str) -> Case {
    let table = std::fs::read_to_string(testdata("cases").join(format!("{name}.truth.tsv"))).unwrap();
    let hex = |word: &str| u64::from_str_radix(word, 16).unwrap();
    let mut found = Case { binary: PathBuf::new(), start: 0, len: 0, offset: 0, ran: BTreeMap::new() };
    for line in table.lines() {
        let words: Vec<&str> = line.split('\t').collect();
        match words[0] {
            "M" if found.len == 0 => {
                (found.start, found.len, found.offset) =
                    (hex(words[1]), hex(words[2]) - hex(words[1]), hex(words[3]));
                found.binary = testdata("cases/symfs").join(words[4].trim_start_matches('/'));
            }
            "I" => {
                found.ran.insert(hex(words[1]), words[3].parse().unwrap());
            }
            _ => {}
        }
    }
    found
}

/// Ops that each instruction ran, by its code.
fn ops(case: &Case) -> Vec<(u64, u64)> {
    let code = std::fs::read(&case.binary).unwrap();
    let mut fused_before = false;
    let mut ops = Vec::new();
    for (&address, &ran) in &case.ran {
        let at = (address - case.start + case.offset) as usize;
        let inst = decode(Bitness::Bits64, address, &code[at..(at + 15).min(code.len())]).unwrap();
        let each = match inst.kind {
            _ if fused_before && inst.is_conditional() => 0,
            Kind::Call | Kind::Divide => 2,
            _ => 1,
        };
        fused_before = inst.fuses || inst.fuses_constant;
        ops.push((address, ran * each));
    }
    ops
}

/// The case's samples as recorded, and beside them `sampled` ops.
fn record(case: &Case, name: &str, path: &Path, sampled: u64) {
    let mut machine = Machine::new("AuthenticAMD,23,113,0", RAW, EVENTS.to_vec());
    machine.map(&case.binary, case.start, case.len, case.offset);
    let file = PerfFile::open(&testdata("cases").join(format!("{name}.perf.data"))).unwrap();
    let mut records = file.records().unwrap();
    while let Some(record) = records.next().unwrap() {
        if let Some(s) = file.sample(&record).unwrap() {
            let late = Sampled { event: s.attr.0 as usize, ip: s.ip, period: s.period, ..Sampled::default() };
            machine.sample(2, &late);
        }
    }
    let ops = ops(case);
    let total: u64 = ops.iter().map(|op| op.1).sum();
    let period = total / OPS.max(1);
    let (mut passed, mut next) = (0, period / 2);
    for (ip, ran) in ops {
        passed += ran;
        while next < passed && sampled > 0 {
            let raw = raw(0x3ff, &[7 << 17, ip, 0, 0, 0, 0, 0, 0]);
            machine.sample(EXACT, &Sampled { event: 2, ip, raw, period, ..Sampled::default() });
            next += period;
        }
    }
    machine.write(path);
}

/// Total variation distance of the shares of instructions between samples of `instructions:u` and the truth.
fn distance(case: &Case, path: &Path) -> f64 {
    let file = PerfFile::open(path).unwrap();
    let (mut counts, mut records) = (Counts::new(), file.records().unwrap());
    while let Some(record) = records.next().unwrap() {
        if let Some(s) = file.sample(&record).unwrap().filter(|s| s.attr.0 == 1) {
            *counts.entry(s.ip).or_default() += s.period as f64;
        }
    }
    let (all, ran): (f64, u64) = (counts.values().sum(), case.ran.values().sum());
    let mut off: Counts = counts.into_iter().map(|(at, n)| (at, n / all)).collect();
    case.ran.iter().for_each(|(&at, &n)| *off.entry(at).or_default() -= n as f64 / ran as f64);
    off.values().map(|d| d.abs()).sum::<f64>() / 2.0
}

#[test]
fn sampled_ops_bring_late_events_nearer_the_truth() {
    let folder = folder("ibs-evidence");
    let mut sums = [0.0; 2];
    for name in ["mcf_like", "nist_fn"] {
        let case = case(name);
        let found = [0, OPS].map(|sampled| {
            let (data, fixed) = (
                folder.join(format!("{name}-{sampled}.data")),
                folder.join(format!("{name}-{sampled}.fixed.data")),
            );
            record(&case, name, &data, sampled);
            let ran = skidconv(&folder, &["fix", text(&data), "-o", text(&fixed), "--force", "--quiet"]);
            assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
            let distances = (distance(&case, &data), distance(&case, &fixed));
            eprintln!("{name}: {sampled} ops beside, {:.4} → {:.4}", distances.0, distances.1);
            distances.1
        });
        sums.iter_mut().zip(found).for_each(|(sum, found)| *sum += found);
    }
    assert!(sums[1] < 0.7 * sums[0], "{} with ops, {} without", sums[1], sums[0]);
}
