//! All outputs of one run, read by readers that share no code with the writers, and the command line's promises about files.

mod deep;
mod files;
mod firefox;
mod hotspot;
mod leaves;
mod pprof;
mod programs;
mod stacks;
mod terminal;
#[path = "../recording/mod.rs"]
mod recording;
#[path = "../tool/mod.rs"]
mod tool;
mod trips;
mod unwound;
#[path = "../wire/mod.rs"]
mod wire;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::Value;
use tool::{folder, has_perf, perf, testdata, text, with_outputs};

/// Weight per event.
type Totals = BTreeMap<String, u64>;

fn case(name: &str) -> PathBuf {
    testdata(&format!("cases/{name}.perf.data"))
}

/// `fix` or `convert` of branchy, which has callchains, with all outputs under the command's name; `again`, of what was fixed.
fn run(command: &str) -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = folder("outputs");
        let fixed = folder.join("fix.data");
        for (command, input, name) in [
            ("fix", case("branchy"), "fix"),
            ("convert", case("branchy"), "convert"),
            ("fix", fixed, "again"),
        ] {
            let symfs = testdata("cases/symfs");
            let ran = with_outputs(&folder, command, &[text(&input), "--symfs", text(&symfs)], name);
            assert!(ran.out.contains("instructions:u") && ran.out.contains("cycles:u"), "{}", ran.out);
        }
        folder
    });
    assert!(["fix", "convert", "again"].contains(&command));
    FOLDER.get().unwrap()
}

fn bytes(command: &str, extension: &str) -> Vec<u8> {
    std::fs::read(run(command).join(format!("{command}.{extension}"))).unwrap()
}

/// The columns that scripts rely on, by their names.
#[derive(Deserialize)]
struct Row {
    event: String,
    image: String,
    address: String,
    symbol: String,
    file: String,
    line: Option<u32>,
    raw_samples: u64,
    raw_weight: u64,
    fixed_samples: u64,
    fixed_weight: u64,
    low: f64,
    high: f64,
    verdict: String,
}

fn rows(command: &str) -> Vec<Row> {
    let text = String::from_utf8(bytes(command, "csv")).unwrap();
    csv::Reader::from_reader(text.as_bytes()).into_deserialize().map(Result::unwrap).collect()
}

fn sums(rows: &[Row], weight: impl Fn(&Row) -> u64) -> Totals {
    rows.iter().fold(Totals::new(), |mut sums, row| {
        *sums.entry(row.event.clone()).or_default() += weight(row);
        sums
    })
}

/// Sums of the periods in a recording.
fn periods(command: &str) -> Totals {
    let path = run(command).join(format!("{command}.data"));
    let file = skidconv::perfdata::PerfFile::open(&path).unwrap();
    let (mut totals, mut records) = (Totals::new(), file.records().unwrap());
    while let Some(record) = records.next().unwrap() {
        if let Some(s) = file.sample(&record).unwrap() {
            *totals.entry(file.attrs()[s.attr.0 as usize].name.clone()).or_default() += s.period;
        }
    }
    totals
}

#[test]
fn the_table_has_a_row_per_instruction_and_keeps_the_totals() {
    for command in ["fix", "convert"] {
        let rows = rows(command);
        assert_eq!(sums(&rows, |r| r.raw_weight), periods(command));
        assert_eq!(sums(&rows, |r| r.fixed_weight), periods(command));
        assert_eq!(sums(&rows, |r| r.raw_samples), sums(&rows, |r| r.fixed_samples));
        let mut places: Vec<_> = rows.iter().map(|r| (&r.event, &r.image, &r.address)).collect();
        places.sort();
        assert!(places.windows(2).all(|w| w[0] != w[1]), "one row per event and instruction");
        for row in &rows {
            assert!(row.raw_samples + row.fixed_samples > 0 && row.address.starts_with("0x"));
            assert!(row.low <= row.fixed_weight as f64 + 0.1 && row.fixed_weight as f64 <= row.high + 0.1);
            assert!(!row.symbol.is_empty() && !row.verdict.is_empty());
        }
        let of_main = rows.iter().find(|r| r.symbol == "main").unwrap();
        assert!(of_main.file.ends_with("branchy.c") && of_main.line.is_some_and(|line| line > 0));
    }
    let moved = |rows: Vec<Row>| rows.iter().any(|r| r.raw_samples != r.fixed_samples);
    assert!(moved(rows("fix")) && !moved(rows("convert")));
}

#[test]
fn intervals_in_the_table_are_as_the_readme_has_them() {
    let near = |bound: f64, weight: u64| (bound - weight as f64).abs() <= 0.1;
    let unchanged: Vec<Row> = rows("fix").into_iter().filter(|row| row.verdict == "unchanged").collect();
    assert!(!unchanged.is_empty(), "something is in no code that was solved");
    assert!(unchanged.iter().all(|row| row.low == 0.0 && row.high > row.fixed_weight as f64));
    for command in ["convert", "again"] {
        let twice = |row: Row| near(row.low, row.fixed_weight) && near(row.high, row.fixed_weight);
        assert!(rows(command).into_iter().all(twice), "{command}: nothing was corrected");
    }
}

#[test]
fn the_table_has_the_events_that_were_asked_for_and_no_others() {
    let folder = folder("one-event");
    let (input, symfs) = (case("branchy"), testdata("cases/symfs"));
    let words =
        ["convert", text(&input), "--symfs", text(&symfs), "-q", "--event", "instructions", "--csv", "-"];
    let ran = tool::skidconv(&folder, &words);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let all = String::from_utf8(bytes("convert", "csv")).unwrap();
    let of_event = |line: &&str| line.starts_with("event,") || line.starts_with("instructions:u,");
    let expected: Vec<&str> = all.lines().filter(of_event).collect();
    assert!(expected.len() > 50 && expected.len() < all.lines().count());
    assert_eq!(ran.out.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn perf_counts_the_same_weights() {
    if !has_perf() {
        return;
    }
    for command in ["fix", "convert"] {
        let path = run(command).join(format!("{command}.data"));
        let ran = perf(&["script", "-f", "-i", text(&path), "-F", "period,event", "-G"]);
        let mut totals = Totals::new();
        for line in ran.out.lines().filter(|l| !l.trim().is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            *totals.entry(words[1].trim_end_matches(':').to_owned()).or_default() +=
                words[0].parse::<u64>().unwrap();
        }
        assert_eq!(totals, sums(&rows(command), |r| r.fixed_weight));
    }
}

/// Weight of an event per symbol.
fn by_symbol(rows: &[Row], event: &str) -> Totals {
    let of_event = rows.iter().filter(|r| r.event == event && r.fixed_weight > 0);
    of_event.fold(Totals::new(), |mut sums, row| {
        *sums.entry(row.symbol.clone()).or_default() += row.fixed_weight;
        sums
    })
}

#[test]
fn the_report_has_what_scripts_rely_on() {
    for command in ["fix", "convert"] {
        let report: Value = serde_json::from_slice(&bytes(command, "report.json")).unwrap();
        assert!(report["samples"].as_u64().is_some_and(|n| n > 0) && report["lost"] == 0);
        let totals = sums(&rows(command), |r| r.fixed_samples);
        for event in report["events"].as_array().unwrap() {
            assert_eq!(event["samples"], totals[event["name"].as_str().unwrap()]);
            assert!(event["class"].is_string() && event["verdict"].is_string() && event["moved"].is_u64());
            assert_eq!(event["moved"].as_u64() > Some(0), command == "fix");
        }
        assert_eq!(report["events"].as_array().unwrap().len(), totals.len());
    }
}
