//! What was taken by its path alone is told; what was changed after the recording is so only where the user points.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::fixed::Fixed;
use crate::recording::{Recording, USER};
use crate::tool::{Ran, compile, folder, skidconv, text};

const BASE: u64 = 0x40_0000;

/// A program with the build-id 0x07070707, and three samples in it; `told` says whether the recording has the id.
fn recorded(folder: &Path, told: bool) -> PathBuf {
    let source = "int _start(void) { for (;;); }\n";
    let program = compile(folder, "program", source, &["-nostdlib", "-static", "-Wl,--build-id=0x07070707"]);
    let mut recording = Recording { events: vec![vec![7]], ..Recording::default() };
    let samples = (0..3).map(|n| recording.sample(7, BASE + 0x1000, 2 + n, &[USER, BASE + 0x1000]));
    let samples: Vec<Vec<u8>> = samples.collect();
    recording.records = vec![recording.mmap(&program, BASE, 0x10000, 0)];
    recording.records.extend(samples);
    if told {
        let mut body = [&recording.half(u32::MAX)[..], &[7; 4], &[0; 16], &recording.half(0)].concat();
        body.extend(text(&program).as_bytes());
        body.resize((body.len() + 1).next_multiple_of(8) + 4, 0);
        recording.features = vec![(2, recording.record(67, 2, &body))];
    }
    fs::write(folder.join("perf.data"), recording.file()).unwrap();
    program
}

/// What is said, and the report.
fn converted(folder: &Path, options: &[&str]) -> (String, Value) {
    let ran: Ran =
        skidconv(folder, &[&["convert", "perf.data", "--report-json", "report.json"], options].concat());
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let report = serde_json::from_slice(&fs::read(folder.join("report.json")).unwrap()).unwrap();
    (ran.out.split_whitespace().collect::<Vec<_>>().join(" "), report)
}

#[test]
fn samples_in_binaries_of_unknown_build_are_told_with_what_was_changed_since() {
    let folder = folder("unverified");
    let program = recorded(&folder, false);
    let written = fs::metadata(folder.join("perf.data")).unwrap().modified().unwrap();
    let change = |to: SystemTime| File::open(&program).unwrap().set_modified(to).unwrap();
    change(written - Duration::from_secs(9));
    let (said, report) = converted(&folder, &[]);
    let told = |changed: bool| {
        let path = text(&program);
        serde_json::json!([{ "path": path, "file": path, "samples": 3, "changed_since": changed }])
    };
    assert_eq!(report["unverified"], told(false));
    assert!(said.contains("3 samples in a binary whose build the recording does not tell"), "{said}");
    assert!(said.contains("program") && !said.contains("changed after"), "{said}");
    change(written + Duration::from_secs(9));
    let (said, report) = converted(&folder, &[]);
    assert_eq!(report["unverified"], serde_json::json!([]), "it is another");
    assert_eq!(report["missing"][0]["samples"], 3);
    assert!(said.contains("was changed after the recording") && said.contains("--symfs /"), "{said}");
    let (said, report) = converted(&folder, &["--symfs", "/"]);
    assert_eq!(report["unverified"], told(true));
    assert!(said.contains("(changed after the recording)"), "{said}");
}

#[test]
fn binaries_of_a_known_build_are_not_told_as_taken_by_path() {
    let folder = folder("verified");
    let program = recorded(&folder, true);
    let later = SystemTime::now() + Duration::from_secs(99);
    File::open(&program).unwrap().set_modified(later).unwrap();
    let (said, report) = converted(&folder, &[]);
    assert_eq!(report["unverified"], serde_json::json!([]));
    assert!(!said.contains("taken by"), "{said}");
}

/// A loop of long instructions.
const LONG: &str = "
.text
.globl _start
.type _start, @function
_start:
    movabs $0x1122334455667788, %rax
    movabs $0x1122334455667788, %rcx
    movabs $0x1122334455667788, %rdx
    jmp _start
.size _start, . - _start
";

#[test]
fn samples_in_a_binary_that_is_not_what_was_recorded_stay() {
    let folder = folder("misfit");
    let program = compile(&folder, "long", LONG, &["-nostdlib", "-static", "-no-pie"]);
    // (how far behind the start of an instruction every other sample stands, whether that is amid it)
    for (off, amid) in [(0, false), (4, true)] {
        let mut recording = Recording { events: vec![vec![7]], ..Recording::default() };
        recording.records = vec![recording.mmap(&program, BASE, 0x10000, 0)];
        for n in 0..1000 {
            let at = BASE + 0x1000 + [10, 20 + off][n as usize % 2];
            recording.records.push(recording.sample(7, at, 2 + n, &[USER, at]));
        }
        let data = folder.join("long.data");
        fs::write(&data, recording.file()).unwrap();
        let fixed = Fixed::new("misfit", &folder, &data, None, &[]);
        let warnings = fixed.report["warnings"].to_string();
        let told = "is not what was recorded: 500 of 1000 samples stand amid its instructions";
        assert_eq!(warnings.contains(told), amid, "{warnings}");
        assert_eq!(fixed.samples().iter().all(|(before, after)| before.ip == after.ip), amid);
    }
}
