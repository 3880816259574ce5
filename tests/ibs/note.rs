//! The tables of AMD's note, row for row, from a recording with the note's own counts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::made::{EXACT, Event, FETCH, Machine, OP, RAW, Sampled, raw};
use crate::tool::{folder, skidconv, testdata, text};

/// A family 10h processor: fetch and op sampling, counting of ops.
const BARCELONA: (&str, u32) = ("AuthenticAMD,16,2,3", 0x1f);
const FUNCTION: &str = "multiply_matrices";
const FMUL: u64 = 0x40_11c2;
/// "The data cache miss latency for the culprit instruction was 92,465 cycles", section 4.2.
const LATENCY: u64 = 92_465;

const EVENTS: [Event; 6] = [
    Event { kind: FETCH, config: 0, name: "ibs_fetch//" },
    Event { kind: OP, config: 0, name: "ibs_op//" },
    Event { kind: 0, config: 1, name: "Ret inst" },
    Event { kind: 4, config: 0x40, name: "DC accesses" },
    Event { kind: 4, config: 0x41, name: "DC misses" },
    Event { kind: 4, config: 0x46, name: "DTLB L1M L2M" },
];

/// Rows of numbers, of which the first `hex` are addresses.
fn table(name: &str, hex: usize) -> Vec<Vec<u64>> {
    let text = std::fs::read_to_string(testdata("amd").join(name)).unwrap();
    let number = |(n, word): (usize, &str)| u64::from_str_radix(word, if n < hex { 16 } else { 10 }).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| line.split('\t').enumerate().map(number).collect()).collect()
}

/// Registers of fetches as section 4.1 counts them at one address.
fn fetches(row: &[u64]) -> impl Iterator<Item = [u64; 3]> + '_ {
    let (address, all, killed, completed, missed) = (row[0], row[2], row[3], row[5], row[7]);
    (0..all).map(move |n| {
        let attempt = n >= killed;
        let complete = attempt && n < killed + completed;
        let miss = attempt && n < killed + missed;
        let flags = [(complete, 50), (miss, 51), (attempt, 52)];
        let control = 3 << 48 | 0x100 | if attempt { 20 << 32 } else { 0 };
        [flags.iter().fold(control, |word, &(is, bit)| word | u64::from(is) << bit), address, address]
    })
}

/// Registers of ops as appendix D and section 4.2 count them at one address.
fn ops(row: &[u64]) -> impl Iterator<Item = [u64; 7]> + '_ {
    let [address, all, branches, mispredicted, accesses, loads, _, missed, untranslated] =
        row.try_into().unwrap();
    (0..all).map(move |n| {
        let flag = |is: bool, bit: u32| u64::from(is) << bit;
        let data = 20 << 16 | flag(n < branches, 37) | flag(n < mispredicted, 36);
        // accesses from the last op backwards, so that few are branches, too
        let access = all - 1 - n;
        let (is, load) = (access < accesses, access < loads);
        let latency = match access < missed {
            true if address == FMUL => LATENCY / missed + u64::from(access < LATENCY % missed),
            true => 20,
            false => 0,
        };
        let data3 =
            flag(load, 0) | flag(is && !load, 1) | flag(is, 17) | flag(access < missed, 7) | latency << 32;
        let data3 = if access < untranslated { data3 | 3 << 2 } else { data3 };
        [3 << 17 | 0x1000, address, data, 0, data3, address, 0]
    })
}

fn record(path: &Path) {
    let (cpu_id, capabilities) = BARCELONA;
    let mut machine = Machine::new(cpu_id, RAW, EVENTS.to_vec());
    machine.map(&testdata("amd/multiply_matrices"), 0x40_1000, 0x1000, 0);
    let mut add = |misc, event, ip, registers: &[u64]| {
        let raw = if registers.is_empty() { Vec::new() } else { raw(capabilities, registers) };
        machine.sample(misc, &Sampled { event, ip, raw, ..Sampled::default() });
    };
    for row in table("fetches.tsv", 2) {
        fetches(&row).for_each(|registers| add(EXACT, 0, row[0], &registers));
    }
    for row in table("ops.tsv", 1) {
        ops(&row).for_each(|registers| add(EXACT, 1, row[0], &registers));
    }
    for row in table("counters.tsv", 1) {
        for (event, &samples) in (2..).zip(&row[1..]) {
            (0..samples).for_each(|_| add(2, event, row[0], &[]));
        }
    }
    machine.write(path);
}

/// Rows of a listing: the address, and the numbers behind the instruction by the headings above them.
fn rows(out: &str) -> BTreeMap<u64, BTreeMap<String, String>> {
    let mut lines = out.lines().skip_while(|line| !line.trim_start().starts_with("address "));
    let head = lines.next().expect("a listing");
    // headings are set apart by two blanks, and stand over the ends of their columns
    let names: Vec<&str> = head.split("  ").map(str::trim).filter(|name| !name.is_empty()).skip(2).collect();
    let ends: Vec<usize> = names
        .iter()
        .scan(0, |from, name| {
            *from = head[*from..].find(&format!(" {name}")).unwrap() + *from + 1 + name.len();
            Some(*from)
        })
        .collect();
    let mut rows = BTreeMap::new();
    for line in lines.take_while(|line| !line.is_empty()) {
        let Ok(address) = u64::from_str_radix(line.split_whitespace().next().unwrap(), 16) else { continue };
        let cell = |&end: &usize| {
            line.get(..end.min(line.len())).unwrap().rsplit(' ').next().unwrap().replace(',', "")
        };
        let cells = ends.iter().zip(&names).map(|(end, name)| (name.to_string(), cell(end))).collect();
        rows.insert(address, cells);
    }
    rows
}

fn listing(folder: &Path, data: &Path, event: &[&str]) -> BTreeMap<u64, BTreeMap<String, String>> {
    let events: Vec<&str> = event.iter().flat_map(|name| ["--event", name]).collect();
    let ran = skidconv(folder, &[&["ibs", text(data), FUNCTION], &events[..]].concat());
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    rows(&ran.out)
}

/// Compares a listing with a table of the note: every instruction has its row, and nothing else has one.
fn compare(found: &BTreeMap<u64, BTreeMap<String, String>>, expected: &[(u64, Vec<u64>)], columns: &[&str]) {
    assert_eq!(
        found.keys().copied().collect::<Vec<_>>(),
        expected.iter().map(|row| row.0).collect::<Vec<_>>()
    );
    for (address, numbers) in expected {
        for (column, number) in columns.iter().zip(numbers) {
            assert_eq!(found[address][*column], number.to_string(), "{address:x} {column}");
        }
    }
}

fn recorded() -> (PathBuf, PathBuf) {
    static MADE: std::sync::OnceLock<(PathBuf, PathBuf)> = std::sync::OnceLock::new();
    let made = MADE.get_or_init(|| {
        let folder = folder("ibs-note");
        let data = folder.join("perf.data");
        record(&data);
        (folder, data)
    });
    made.clone()
}

#[test]
fn appendix_b_samples_of_counters() {
    let (folder, data) = recorded();
    let names: Vec<&str> = EVENTS[2..].iter().map(|event| event.name).collect();
    let expected: Vec<_> =
        table("counters.tsv", 1).into_iter().map(|row| (row[0], row[1..].to_vec())).collect();
    compare(&listing(&folder, &data, &names), &expected, &names);
}

#[test]
fn appendix_c_fetches() {
    let (folder, data) = recorded();
    let given: BTreeMap<u64, Vec<u64>> =
        table("fetches.tsv", 2).into_iter().map(|row| (row[1], row[2..].to_vec())).collect();
    let instructions = table("counters.tsv", 1).into_iter().map(|row| row[0]);
    let expected: Vec<_> =
        instructions.map(|at| (at, given.get(&at).cloned().unwrap_or(vec![0; 6]))).collect();
    let columns = ["All", "Killed", "Attempted", "Completed", "Aborted", "IC miss"];
    let found = listing(&folder, &data, &["ibs_fetch//"]);
    compare(&found, &expected, &columns);
    assert_eq!(given.len(), 6);
}

#[test]
fn appendix_d_ops() {
    let (folder, data) = recorded();
    let expected: Vec<_> = table("ops.tsv", 1).into_iter().map(|row| (row[0], row[1..].to_vec())).collect();
    let columns = ["All ops", "BR", "Misp", "Load/store", "Load", "Store", "DC miss", "DTLB L1M L2M"];
    let found = listing(&folder, &data, &["ibs_op//"]);
    compare(&found, &expected, &columns);
    assert_eq!(found[&FMUL]["Miss latency"], "103.66", "as section 4.2 says");
}

#[test]
fn the_functions_and_the_page_add_up() {
    let (folder, data) = recorded();
    let page = folder.join("page.html");
    let ran =
        skidconv(&folder, &["ibs", text(&data), "--html", text(&page), "--functions-csv", "functions.csv"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert!(ran.out.contains("ibs_fetch// · 12,033 samples of fetches"), "{}", ran.out);
    assert!(ran.out.contains("This is no profile of instructions"), "{}", ran.out);
    let csv = std::fs::read_to_string(folder.join("functions.csv")).unwrap();
    let ops: Vec<Vec<u64>> = table("ops.tsv", 1);
    let total: u64 = ops.iter().map(|row| row[1]).sum();
    let op = csv.lines().find(|line| line.starts_with("op,")).unwrap();
    assert!(op.contains(&format!(",{FUNCTION},{total},")), "{op}");
    assert_eq!(csv.lines().count(), 1 + EVENTS.len(), "{csv}");
    let html = std::fs::read_to_string(&page).unwrap();
    for shown in ["fmul", "103.66", "<td class=n data-v=\"3141\">3,141</td>", "ibs_fetch//"] {
        assert!(html.contains(shown), "{shown}");
    }
}
