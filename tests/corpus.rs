//! Recordings that other people made on other machines: each is processed, or refused in one clear line. More of them can be
//! tried by naming a folder in `SKIDCONV_RECORDINGS`.

mod tool;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use tool::{Ran, folder, skidconv, testdata, text};

/// No recording of a few megabytes may take longer.
const LONGEST: Duration = Duration::from_secs(30);

fn recordings() -> Vec<PathBuf> {
    let more = std::env::var_os("SKIDCONV_RECORDINGS").map(PathBuf::from);
    let folders = [testdata("perf")].into_iter().chain(more);
    let files = |folder: PathBuf| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> =
        folders.flat_map(files).filter(|p| p.extension().is_some_and(|e| e == "data")).collect();
    found.sort();
    assert!(found.len() > 10, "testdata is missing");
    found
}

/// Runs a command on a recording with all outputs, into `folder`.
fn try_out(folder: &Path, command: &str, recording: &Path) -> Ran {
    let symfs = recording.with_file_name("symfs");
    let mut words = vec![command, text(recording), "--force", "--quiet", "-o", "out.data"];
    words.extend([
        "--csv",
        "out.csv",
        "--pprof",
        "out.pb.gz",
        "--firefox",
        "out.json",
        "--folded",
        "out.folded",
    ]);
    words.extend(["--report-json", "report.json"]);
    if symfs.is_dir() {
        words.extend(["--symfs", text(&symfs)]);
    }
    skidconv(folder, &words)
}

fn outputs(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn each_recording_is_processed_or_refused_in_one_line() {
    let (mut processed, mut refused) = (0, 0);
    for recording in recordings() {
        for command in ["fix", "convert"] {
            let folder = folder("corpus");
            let begun = Instant::now();
            let ran = try_out(&folder, command, &recording);
            let told = format!("{command} {}: {ran:?}", recording.display());
            assert!(begun.elapsed() < LONGEST, "{told} took {:?}", begun.elapsed());
            match ran.code {
                Some(0) => {
                    ran.assert_tells_of_damage_alone(&report(&folder), &told);
                    // the report beside the corrected recording is one more
                    assert_eq!(outputs(&folder), if command == "fix" { 7 } else { 6 }, "{told}");
                    assert_totals(&folder, &told);
                    processed += 1;
                }
                Some(1) => {
                    assert_clear(&ran, &recording);
                    assert_eq!(outputs(&folder), 0, "{told}");
                    refused += 1;
                }
                _ => panic!("{told}"),
            }
        }
    }
    eprintln!("{processed} processed, {refused} refused");
    assert!(processed >= 30 && processed > refused, "{processed} {refused}");
}

/// One line that names the program, the file, and where in it something is wrong or what to do.
fn assert_clear(ran: &Ran, recording: &Path) {
    let line = ran.err.strip_suffix('\n').unwrap();
    assert!(
        !line.contains('\n') && line.starts_with("skidconv: ") && line.contains(text(recording)),
        "{line}"
    );
    assert!(line.contains("0x") || line.matches(':').count() >= 2, "{line}");
}

fn report(folder: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join("report.json")).unwrap()).unwrap()
}

/// Samples that were read are those of the events.
fn assert_totals(folder: &Path, told: &str) {
    let report = report(folder);
    let of_events: u64 =
        report["events"].as_array().unwrap().iter().map(|e| e["samples"].as_u64().unwrap()).sum();
    assert_eq!(report["samples"], of_events, "{told}");
    for event in report["events"].as_array().unwrap() {
        let is_text = |key: &str| event[key].as_str().is_some_and(|text| !text.is_empty());
        assert!(
            is_text("name") && is_text("class") && is_text("verdict") && is_text("reason"),
            "{told}: {event}"
        );
    }
}
