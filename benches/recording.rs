//! What recording costs: the processor time of programs alone and recorded, beside that under `perf record`.
//!
//! `cargo bench --bench recording [-- ROUNDS HZ]` compiles two programs of about two seconds. One computes; it runs alone,
//! under `perf record` and under `skidconv record`, both with `cpu-clock` at the same rate (4000 Hz, as perf has it). The
//! other calls small functions; it runs alone and under `skidconv record --variance`. They take turns, and of each the
//! median of its turns counts, with all the processor time of the recorder in it; what a stop costs is measured before the
//! second program begins, which takes the same time however long that runs. The machine's load stands beside the times:
//! where it is more than the processors can take, a few per cent mean nothing.

#[allow(dead_code)] // not all of it is needed here
#[path = "reading/timed.rs"]
mod timed;
#[path = "../tests/tool/mod.rs"]
mod tool;

use std::path::Path;

use skidconv::perfdata::PerfFile;
use timed::run;
use tool::{compile, folder, text};

/// Rounds of the small loop, and of the calls.
const WORK: [&str; 2] = ["1000000000", "160000000"];

/// A way to run a program, and what it writes.
struct Way<'a> {
    name: &'static str,
    words: Vec<&'a str>,
    recording: Option<&'a Path>,
}

fn main() {
    let numbers: Vec<usize> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let number = |ix: usize, default| numbers.get(ix).copied().unwrap_or(default);
    let (rounds, hz) = (number(0, 7).max(1), number(1, 4000).to_string());
    let folder = folder("recording_costs");
    let make = |name, code| compile(&folder, name, code, &["-O2", "-g"]);
    let sums = make("sums", include_str!("recording/sums.c"));
    let calls = make("calls", include_str!("recording/calls.c"));
    let (theirs, ours) = (folder.join("perf.data"), folder.join("ours.data"));
    let lines = folder.join("calls.jsonl");

    let plain = [text(&sums), WORK[0]];
    let record = |program, out| {
        [&[program, "record", "-e", "cpu-clock", "-F", &hz, "-o", out, "--"], &plain[..]].concat()
    };
    let skidconv = env!("CARGO_BIN_EXE_skidconv");
    println!("{rounds} rounds, cpu-clock at {hz} Hz");
    compare(
        rounds,
        &[
            Way { name: "computing, alone", words: plain.to_vec(), recording: None },
            Way {
                name: "computing, perf record",
                words: record("perf", text(&theirs)),
                recording: Some(&theirs),
            },
            Way {
                name: "computing, skidconv record",
                words: record(skidconv, text(&ours)),
                recording: Some(&ours),
            },
        ],
    );

    let variance = [skidconv, "record", "--variance", "--seed", "1", "-o", text(&lines), "--", text(&calls)];
    let called = |name, rounds| Way { name, words: [&variance[..], &[rounds]].concat(), recording: None };
    compare(
        rounds,
        &[
            Way { name: "calling, alone", words: vec![text(&calls), WORK[1]], recording: None },
            called("calling, skidconv record --variance", WORK[1]),
            called("of that, before the program begins", "0"),
        ],
    );
}

/// Prints the times of the ways, which take turns, beside the first's.
fn compare(rounds: usize, ways: &[Way]) {
    let before = load();
    let mut seconds: Vec<Vec<f64>> = ways.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (way, seconds) in ways.iter().zip(&mut seconds) {
            let words: Vec<String> = way.words.iter().map(|word| (*word).to_owned()).collect();
            seconds.extend(run(&words).map(|run| run.processor));
        }
    }
    let alone = median(&mut seconds[0]);
    for (way, seconds) in ways.iter().zip(&mut seconds) {
        let Some(middle) = median(seconds) else {
            println!("{:<40} left out: {} is not here, or fails", way.name, way.words[0]);
            continue;
        };
        let (least, most) = (seconds[0], seconds[seconds.len() - 1]);
        let ratio = alone.map_or(f64::NAN, |alone| middle / alone);
        let samples = way.recording.and_then(samples).map(|n| format!(", {n} samples"));
        println!(
            "{:<40} {middle:6.2} s of processors ({least:.2} to {most:.2}), {ratio:.3} times the first{}",
            way.name,
            samples.unwrap_or_default()
        );
    }
    println!("load of the last minute {before} before, {} after", load());
}

/// Sorts them.
fn median(seconds: &mut [f64]) -> Option<f64> {
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied()
}

/// How many there are in a recording, if it can be read.
fn samples(path: &Path) -> Option<u64> {
    let file = PerfFile::open(path).ok()?;
    let mut records = file.records().ok()?;
    let mut samples = 0;
    while let Some(record) = records.next().ok()? {
        samples += u64::from(file.sample(&record).ok()?.is_some());
    }
    Some(samples)
}

fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}
