//! Interrupts that let the instruction waited for finish only after long waits are told from others, and their time put right.

#[path = "../benches/accuracy/score.rs"]
#[allow(dead_code)]
mod score;
mod tool;
#[path = "../benches/accuracy/truth.rs"]
#[allow(dead_code)]
mod truth;

use std::path::Path;

use score::distance;
use skidconv_simulator::grid::Case;
use skidconv_simulator::program::Source;
use skidconv_simulator::trace::Trace;
use tool::{folder, has, skidconv};
use truth::{Profile, Truth};

/// A row of the table of instructions.
#[derive(serde::Deserialize)]
struct Row {
    event: String,
    address: String,
    raw_samples: f64,
    fixed_samples: f64,
}

/// Of `cycles` in such a table: the samples before and after, by address.
fn profiles(table: &Path) -> [Profile; 2] {
    let rows = csv::Reader::from_path(table).unwrap().into_deserialize::<Row>().map(Result::unwrap);
    let mut profiles = [Profile::new(), Profile::new()];
    for row in rows.filter(|row| row.event.starts_with("cycles")) {
        let at = u64::from_str_radix(row.address.trim_start_matches("0x"), 16).unwrap();
        for (profile, samples) in profiles.iter_mut().zip([row.raw_samples, row.fixed_samples]) {
            *profile.entry(at).or_default() += samples;
        }
    }
    profiles
}

#[test]
fn time_after_long_waits_comes_to_its_place() {
    if !has("cc") || !has("valgrind") {
        return;
    }
    let folder = folder("patience");
    let case = Case::named("trips-wide4-lognormal60").unwrap();
    let trace = Trace::record(Source::named(case.program).unwrap().compile(&folder.join("symfs")).unwrap());
    case.write(&trace.unwrap(), &folder).unwrap();
    let recording = format!("{}.perf.data", case.name);
    let ran =
        skidconv(&folder, &["fix", &recording, "--symfs", "symfs", "-o", "fixed", "--csv", "fixed.csv"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let report = std::fs::read_to_string(folder.join("fixed.skidconv.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["model"]["after_long_waits"], true, "{}", report["model"]);
    let truth = Truth::read(&folder.join(format!("{}.truth.tsv", case.name)), &folder.join("symfs")).unwrap();
    let [raw, fixed] = profiles(&folder.join("fixed.csv")).map(|p| distance(&p, &truth.heads).unwrap());
    assert!(fixed < 0.12 && fixed < 0.6 * raw, "{raw} {fixed}");
}
