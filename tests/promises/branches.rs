//! Branch stacks show how often code ran: `fix` comes nearer the truth where samples have them.
//!
//! The samples are those of a case with exact truth. Their stacks are those of walks through the program, begun
//! where it ran, in which every branch goes each way as often as the truth says.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::accuracy::score;
use crate::fixed::{Fixed, case, each_record, symfs};
use crate::recording::{Branch, Recording};
use crate::tool::{folder, testdata};

/// Size of `struct perf_event_attr` in Linux 6.1, which reads no larger one.
const ATTR: usize = 128;
/// Entries of a stack, and instructions that fill it.
const DEPTH: usize = 16;
const FILLING: usize = 300;

/// A program that runs as its truth says.
struct Running {
    /// Instructions executed up to each, and its address.
    ran: Vec<(u64, u64)>,
    /// Where control goes behind each branch, and how often.
    ways: HashMap<u64, Vec<(u64, u64)>>,
    lengths: HashMap<u64, u64>,
    random: u64,
}

impl Running {
    fn of(name: &str) -> Running {
        let table = std::fs::read_to_string(testdata("cases").join(format!("{name}.truth.tsv"))).unwrap();
        let hex = |word: &str| u64::from_str_radix(word, 16).unwrap();
        let mut running = Running { ran: vec![], ways: HashMap::new(), lengths: HashMap::new(), random: 1 };
        let mut sum = 0;
        for line in table.lines() {
            let words: Vec<&str> = line.split('\t').collect();
            match words[0] {
                "I" => {
                    running.lengths.insert(hex(words[1]), words[2].parse().unwrap());
                    sum += words[3].parse::<u64>().unwrap();
                    running.ran.push((sum, hex(words[1])));
                }
                "E" => {
                    let way = (hex(words[2]), words[3].parse().unwrap());
                    running.ways.entry(hex(words[1])).or_default().push(way);
                }
                _ => {}
            }
        }
        running
    }

    /// A number below `n`.
    fn draw(&mut self, n: u64) -> u64 {
        let next = self.random.wrapping_mul(6_364_136_223_846_793_005);
        self.random = next.wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.random) * u128::from(n)) >> 64) as u64
    }

    /// Where control goes behind the instruction at `at`, and whether that is behind it in memory.
    fn step(&mut self, at: u64) -> (u64, bool) {
        let behind = at + self.lengths[&at];
        let Some(ways) = self.ways.get(&at).cloned() else { return (behind, true) };
        let mut left = self.draw(ways.iter().map(|way| way.1).sum());
        for (to, n) in ways {
            if left < n {
                return (to, to == behind);
            }
            left -= n;
        }
        unreachable!("a number below the sum")
    }

    /// The stack of a sample, the latest first, at an instruction that is drawn as often as it ran.
    fn stack(&mut self) -> Vec<Branch> {
        let drawn = self.draw(self.ran.last().unwrap().0);
        let mut at = self.ran[self.ran.partition_point(|(sum, _)| *sum <= drawn)].1;
        let mut taken = Vec::new();
        for _ in 0..FILLING {
            let (next, straight) = self.step(at);
            if !straight {
                taken.push((at, next, 0));
            }
            // the program ends, or calls the kernel
            if !self.lengths.contains_key(&next) {
                break;
            }
            at = next;
        }
        taken.into_iter().rev().take(DEPTH).collect()
    }
}

/// The case's samples as recorded, those of instructions with stacks.
fn record(name: &str, path: &Path) {
    let mut r = Recording { events: vec![vec![1], vec![2]], attr_size: Some(ATTR), ..Recording::default() };
    let mut running = Running::of(name);
    each_record(&case(name), |_, record, sample| {
        if let Some(s) = sample {
            let stack = if s.attr.0 == 1 { running.stack() } else { Vec::new() };
            let tids = u64::from(s.pid as u32) | u64::from(s.tid as u32) << 32;
            let head = [u64::from(s.attr.0) + 1, s.ip, tids, s.time.unwrap_or(0), s.period];
            r.records.push(r.stacked(head, &stack));
        } else if matches!(record.kind, 1 | 10) {
            r.records.push(record.bytes.to_vec());
        }
    });
    std::fs::write(path, r.file_of_stacks(&[(0, 0), (0, 1)])).unwrap();
}

#[test]
fn branch_stacks_bring_samples_to_where_code_ran() {
    let name = "mcf_like";
    let folder = folder("branch-stacks");
    let data: PathBuf = folder.join("perf.data");
    record(name, &data);
    let fixed = Fixed::new(name, &folder, &data, Some(&symfs()), &[]);
    let [before, after] = score(&fixed).instructions;
    eprintln!("{name} with stacks: instructions {before:.3} → {after:.3}");
    assert!(before > 0.5 && after < 0.05, "{before} → {after}");
}
