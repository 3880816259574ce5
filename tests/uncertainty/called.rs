//! How often functions are called, where no table says it: by branch stacks, and by a recording of calls.

use std::collections::{HashMap, VecDeque};
use std::path::Path;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use skidconv::variance::lines::{Call, Function, Header, Line, Metric, VERSION};

use crate::command::{ran, rows};
use crate::recording::{Branch, Recording};
use crate::tool::{folder, testdata, text};

/// Rounds of `nist_fn`'s loop in `main`, each with 2 calls of `fn1` and 8 of `fn2`.
const ROUNDS: usize = 20_000;

/// The taken branches of `nist_fn`: the second half of its run takes ten times as many turns in its inner loops, so that calls
/// come at another rate. Some turns of `fn1` begin at its first instruction, which makes them no calls.
fn trace() -> Vec<Branch> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut branches: Vec<Branch> = Vec::new();
    for round in 0..ROUNDS {
        let turns = if round < ROUNDS / 2 { 2 } else { 20 };
        for site in 0..10 {
            let (call, start) = (0x40_1516 + 5 * site, if site < 2 { 0x40_16e0 } else { 0x40_1710 });
            let mut add = |from, to| branches.push((from, to, rng.random_range(1..9)));
            add(call, start);
            (0..turns).for_each(|_| add(start + 0x20, start + 0x10));
            if site < 2 {
                add(start + 0x20, start);
            }
            add(start + 0x28, call + 5);
        }
        branches.push((0x40_154b, 0x40_1510, 3));
    }
    branches
}

/// Every `period` branches, or cycles, a sample with the last 16 of them.
fn write_recording(path: &Path, cycles: bool, period: u64) {
    let mut r = Recording { events: vec![vec![5]], ..Recording::default() };
    r.records.push(r.mmap(Path::new("/opt/cases/nist_fn/nist_fn"), 0x40_1000, 0x7_8000, 0x1000));
    let (mut stack, mut counted, mut time) = (VecDeque::new(), 0, 1000);
    for branch in trace() {
        stack.push_front(branch);
        stack.truncate(16);
        counted += if cycles { branch.2 } else { 1 };
        time += branch.2;
        if counted >= period {
            counted -= period;
            let sample = [5, branch.1, 42 << 32 | 41, time, period];
            r.records.push(r.stacked(sample, stack.make_contiguous()));
        }
    }
    // near_taken is a raw event
    let event = if cycles { (0, 0) } else { (4, 0x20c4) };
    std::fs::write(path, r.file_of_stacks(&[event])).unwrap();
}

fn calls(folder: &Path, words: &[&str]) -> (String, HashMap<String, String>) {
    let symfs = testdata("cases/symfs");
    let all = [&["stat", "a.data", "--symfs", text(&symfs), "--csv", "a.csv"], words].concat();
    let out = ran(folder, &all);
    let column = |row: &HashMap<String, String>| (row["function"].clone(), row["calls"].clone());
    (out, rows(&folder.join("a.csv")).iter().map(column).collect())
}

#[test]
fn branch_stacks_tell_how_often_functions_were_called() {
    let folder = folder("stat-stacks");
    for (cycles, period) in [(false, 1009), (true, 5003)] {
        write_recording(&folder.join("a.data"), cycles, period);
        let (out, calls) = calls(&folder, &["--html", "a.html"]);
        for (function, truth) in [("fn1", 2 * ROUNDS), ("fn2", 8 * ROUNDS)] {
            let ratio = calls[function].parse::<f64>().unwrap() / truth as f64;
            assert!((ratio - 1.0).abs() < 0.1, "{function}, cycles: {cycles}: {ratio}");
        }
        assert_eq!(calls["main"], "", "nothing is seen to call it");
        assert!(out.contains("self-time fragmentation: fn2") && out.contains("branch stacks saw"), "{out}");
        let page = std::fs::read_to_string(folder.join("a.html")).unwrap();
        assert!(page.contains("that branch stacks saw") && page.contains("its bound"));
    }
}

#[test]
fn a_recording_of_calls_stands_for_a_table_of_them() {
    let folder = folder("stat-recorded");
    write_recording(&folder.join("a.data"), false, 5003);
    let header = Header {
        version: VERSION,
        metrics: vec![Metric { name: "wall".into(), unit: "ns".into() }],
        cost: vec![0.0],
        cost_sd: vec![0.0],
        ..Header::default()
    };
    let function = |id, name: &str| {
        Line::Function(Function {
            id,
            name: name.into(),
            image: "/opt/cases/nist_fn/nist_fn".into(),
            address: 0,
        })
    };
    let call = |function, weight| {
        Line::Call(Call {
            tid: 42,
            function,
            context: None,
            start: 1,
            end: 2,
            slot: 0,
            weight,
            stops: 0,
            values: vec![Some(1)],
        })
    };
    let mut lines = vec![Line::Header(header), function(0, "fn1"), function(1, "_dl_start")];
    lines.extend([call(0, 30.5), call(0, 11.0), call(1, 1.0)]);
    let lines: Vec<String> = lines.iter().map(|line| serde_json::to_string(line).unwrap()).collect();
    std::fs::write(folder.join("calls.jsonl"), lines.join("\n")).unwrap();
    let (out, calls) = calls(&folder, &["--calls", "calls.jsonl"]);
    assert_eq!(calls["fn1"], "42", "what measured calls stand for");
    assert!(calls["fn2"].parse::<u64>().unwrap() > 0, "the rest is from branch stacks");
    assert!(!out.contains("warning"), "functions that were not sampled are no mistake: {out}");
}
