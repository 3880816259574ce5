//! The README says what is so: its listing is what the program makes of the recording it names, and its commands work.

mod tool;

use std::collections::BTreeMap;
use std::path::Path;

use skidconv::perfdata::PerfFile;
use tool::{folder, skidconv, testdata, text};

/// Percentage points by which a number may differ from the listing's.
const NEAR: f64 = 1.0;

fn readme() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap()
}

/// The commands of its own that the README shows for a fresh checkout.
fn commands() -> Vec<String> {
    let readme = readme();
    let lines = readme.lines().filter_map(|l| l.strip_prefix("    cargo "));
    lines.map(|l| l.replacen("run --release -- ", "", 1)).collect()
}

/// Runs the README's `fix`, with its output elsewhere, and returns the corrected recording.
fn fixed() -> std::path::PathBuf {
    let folder = folder("readme");
    let command = &commands()[0];
    let words: Vec<&str> = command.split(' ').collect();
    let out = folder.join(words.last().unwrap());
    let mut words = words[..words.len() - 1].to_vec();
    words.push(text(&out));
    let ran = skidconv(Path::new(env!("CARGO_MANIFEST_DIR")), &words);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{words:?}");
    out
}

/// Percentages of a function's `instructions:u` samples per address.
fn shares(path: &Path, function: std::ops::Range<u64>) -> BTreeMap<u64, f64> {
    let file = PerfFile::open(path).unwrap();
    let (mut weights, mut records) = (BTreeMap::new(), file.records().unwrap());
    while let Some(record) = records.next().unwrap() {
        if let Some(s) = file.sample(&record).unwrap()
            && file.attrs()[s.attr.0 as usize].name == "instructions:u"
            && function.contains(&s.ip)
        {
            *weights.entry(s.ip).or_default() += s.period as f64;
        }
    }
    percentages(weights)
}

fn percentages(mut weights: BTreeMap<u64, f64>) -> BTreeMap<u64, f64> {
    let total: f64 = weights.values().sum();
    weights.values_mut().for_each(|w| *w *= 100.0 / total);
    weights
}

/// Percentages of the executions of a function's instructions.
fn exact(function: std::ops::Range<u64>) -> BTreeMap<u64, f64> {
    let table = std::fs::read_to_string(testdata("cases/nist_fn.truth.tsv")).unwrap();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let address = u64::from_str_radix(fields[1], 16).ok().filter(|_| fields[0] == "I")?;
        Some((address, fields[3].parse().unwrap()))
    };
    percentages(table.lines().filter_map(row).filter(|(at, _)| function.contains(at)).collect())
}

#[test]
fn its_examples_write_what_they_name() {
    let folder = folder("readme-examples");
    std::fs::copy(testdata("perf/lpd-sleep.data"), folder.join("perf.data")).unwrap();
    let readme = readme();
    // those that record need what the machine may not allow: `tests/record` runs their like
    let examples = readme.lines().filter_map(|line| line.strip_prefix("    skidconv "));
    let examples: Vec<&str> = examples.filter(|line| line.contains("perf.data")).collect();
    assert!(examples.len() >= 2, "{examples:?}");
    for example in examples {
        let words: Vec<&str> = example.split_whitespace().collect();
        let ran = skidconv(&folder, &[&words[..], &["--force"]].concat());
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{example}");
        let written = words.windows(2).filter(|pair| pair[0].starts_with("--")).map(|pair| pair[1]);
        assert!(written.chain(["perf.fixed.data"]).all(|file| folder.join(file).exists()), "{example}");
    }
}

#[test]
fn it_tells_of_every_column_of_the_table() {
    let input = testdata("perf/lpd-sleep.data");
    let ran = skidconv(&folder("readme-columns"), &["convert", text(&input), "-q", "--csv", "-"]);
    let (readme, columns) = (readme(), ran.out.lines().next().unwrap().to_owned());
    let untold: Vec<&str> =
        columns.split(',').filter(|column| !readme.contains(&format!("`{column}`"))).collect();
    assert!(untold.is_empty() && columns.contains("low,high"), "{untold:?}");
}

#[test]
fn the_listing_is_what_the_program_makes_of_the_recording() {
    let readme = readme();
    let row = |line: &str| {
        let (numbers, _) = line.split_once(": ")?;
        let words: Vec<&str> = numbers.split_whitespace().collect();
        let &[before, after, exact, address] = words.as_slice() else { return None };
        let numbers = [before.parse().ok()?, after.parse().ok()?, exact.parse().ok()?];
        Some((u64::from_str_radix(address, 16).ok()?, numbers))
    };
    let rows: Vec<(u64, [f64; 3])> = readme.lines().filter_map(row).collect();
    assert_eq!(rows.len(), 12, "the function has so many instructions");
    let function = rows[0].0..rows[11].0 + 1;
    let before = shares(&testdata("cases/nist_fn.perf.data"), function.clone());
    let after = shares(&fixed(), function.clone());
    let exact = exact(function);
    for (address, numbers) in rows {
        for (told, is) in numbers.iter().zip([&before, &after, &exact]) {
            let is = is.get(&address).copied().unwrap_or(0.0);
            assert!((told - is).abs() < NEAR, "{address:#x}: {is:.2} where the README has {told}");
        }
    }
}

#[test]
fn ci_runs_the_readme_s_test_command() {
    let ci = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/run")).unwrap();
    let test = format!("cargo {}", commands()[1]);
    assert!(test.starts_with("cargo test "), "{test}");
    assert!(ci.lines().any(|line| line == test), "{test}");
    assert!(ci.contains("SKIDCONV_REQUIRE_PERF=1"));
}

/// Rows of the table between the markers, its heading first, in cells.
fn table() -> Vec<Vec<String>> {
    let readme = readme();
    let lines: Vec<&str> = readme.lines().collect();
    let only = |marker: &str| {
        let at: Vec<usize> = (0..lines.len()).filter(|&n| lines[n].starts_with(marker)).collect();
        assert_eq!(at.len(), 1, "{marker}");
        at[0]
    };
    let (begin, end) = (only("<!-- accuracy:"), only("<!-- /accuracy -->"));
    assert!(begin < end && lines[begin].ends_with("-->"));
    assert!(lines[begin].contains("cargo bench --bench accuracy -- --write-readme"));
    let cells = |line: &&str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|c| c.trim().to_owned()).collect()
    };
    lines[begin + 1..end].iter().filter(|l| l.starts_with('|') && !l.starts_with("|-")).map(cells).collect()
}

#[test]
fn the_table_of_accuracy_has_every_solver_and_every_case() {
    let table = table();
    let mut cases: Vec<String> = std::fs::read_dir(testdata("cases"))
        .unwrap()
        .filter_map(|f| Some(f.unwrap().file_name().to_str()?.strip_suffix(".truth.tsv")?.to_owned()))
        .collect();
    cases.sort();
    assert_eq!(table[0][1..=cases.len()], cases);
    assert!(table[0][cases.len() + 1].ends_with("generated"));
    let mut names: Vec<&str> = table[1..].iter().map(|row| row[0].as_str()).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        ["argmin", "bolt", "flow", "gibbs", "ics", "mcf", "mean", "noise", "profi", "raw", "timed"],
        "a row for each"
    );
    for row in &table[1..] {
        assert_eq!(row.len(), table[0].len());
        for number in row[1..].iter().flat_map(|cell| cell.split(" / ")) {
            assert!((0.0..=1.0).contains(&number.parse::<f64>().unwrap()), "{number}");
        }
    }
}
