//! Every way in which a recording can come: as a file, a stream, compressed, in a folder; and what comes out again.

mod recording;
mod tool;

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use recording::{Recording, USER, example, open, records, samples};
use serde_json::Value;
use skidconv::perfdata::{PerfFile, Reads, Warning, kinds};
use tool::{Ran, folder, has_perf, perf, record, skidconv, text};

/// What `perf script` says, without its complaints.
fn script(data: &Path) -> String {
    let ran = perf(&["script", "-f", "--no-inline", "-i", text(data)]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran.out
}

/// `convert` of `input` to a recording, with nothing corrected.
fn converted(folder: &Path, input: &Path) -> PathBuf {
    let out = folder.join("copy.data");
    let ran = skidconv(folder, &["convert", text(input), "-q", "--force", "-o", "copy.data"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    out
}

fn report(folder: &Path, args: &[&str]) -> Value {
    let ran = skidconv(folder, &[args, &["-q", "--report-json", "report.json"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    serde_json::from_slice(&fs::read(folder.join("report.json")).unwrap()).unwrap()
}

/// A program that computes, and touches new memory all the time.
const WORK: [&str; 3] =
    ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; ls -R /usr/share/doc >/dev/null"];

#[test]
fn perf_says_the_same_of_a_converted_file_stream_and_compressed_file() {
    let folder = folder("formats-round-trip");
    let data = folder.join("perf.data");
    for args in [&["-g"][..], &["-z"], &["--call-graph", "dwarf,1024", "-z"]] {
        let all = [&["-e", "cpu-clock", "-F", "999"], args, &["--"], &WORK].concat();
        let Some(()) = record(&data, &all) else { return };
        let before = script(&data);
        assert!(before.lines().count() > 10);
        assert!(script(&converted(&folder, &data)) == before, "{args:?}");
        // the same as a stream: perf itself makes one of a file
        let stream = folder.join("stream.data");
        let piped = format!("perf inject -f -i {} -o - > {}", text(&data), text(&stream));
        let ran = Command::new("sh").args(["-c", &piped]).stderr(Stdio::null()).status().unwrap();
        if ran.success() && PerfFile::open(&stream).is_ok_and(|file| file.is_pipe()) {
            assert!(script(&converted(&folder, &stream)) == script(&stream), "{args:?} as a stream");
        }
    }
}

#[test]
fn a_stream_recorded_by_perf_is_converted_without_a_difference() {
    let folder = folder("formats-stream");
    if !has_perf() {
        return;
    }
    for compress in ["", "-z"] {
        let line = format!(
            "perf record -q -e cpu-clock -F 999 -g {compress} -o - -- \
             sh -c 'ls -R /usr/share/doc > /dev/null' > stream.data"
        );
        let ran = Command::new("sh").args(["-c", &line]).current_dir(&folder).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let stream = folder.join("stream.data");
        assert!(PerfFile::open(&stream).unwrap().is_pipe());
        assert!(script(&converted(&folder, &stream)) == script(&stream), "stream {compress}");
    }
}

/// Runs skidconv with `input` on its standard input.
fn fed(folder: &Path, args: &[&str], input: &Path) -> Ran {
    let child = Command::new(env!("CARGO_BIN_EXE_skidconv"))
        .current_dir(folder)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.unwrap();
    let bytes = fs::read(input).unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let feeding = std::thread::spawn(move || pipe.write_all(&bytes));
    let output = child.wait_with_output().unwrap();
    feeding.join().unwrap().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

#[test]
fn the_standard_input_is_read_like_a_file_of_the_same_bytes() {
    let folder = folder("formats-stdin");
    for name in [
        "quipper-piped.header_features_aligned-6.12.data",
        "lpd-sleep.compressed.pipe.data",
        "lpd-sleep.data",
    ] {
        let input = recording::testdata(name);
        for command in ["fix", "convert"] {
            let args = [command, "-", "-q", "--force", "-o", "fed.data", "--folded", "fed.folded"];
            let ran = fed(&folder, &args, &input);
            assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{name}");
            let args =
                [command, text(&input), "-q", "--force", "-o", "named.data", "--folded", "named.folded"];
            assert_eq!(skidconv(&folder, &args).code, Some(0));
            for (fed, named) in [("fed.data", "named.data"), ("fed.folded", "named.folded")] {
                assert!(
                    fs::read(folder.join(fed)).unwrap() == fs::read(folder.join(named)).unwrap(),
                    "{name}"
                );
            }
        }
    }
    let ran = fed(&folder, &["fix", "-", "-q"], &recording::testdata("lpd-sleep.data"));
    assert_eq!((ran.code, folder.join("perf.fixed.data").is_file()), (Some(0), true), "{}", ran.err);
    let ran = fed(&folder, &["convert", "-", "-q", "--folded", "-"], &folder.join("fed.folded"));
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("not a perf.data") && ran.err.lines().count() == 1, "{}", ran.err);
}

/// A recording in directory format, made by hand: descriptions and one sample in `data`, the others in two more files, the
/// second compressed.
fn folder_of_files(name: &str) -> (PathBuf, Recording) {
    let folder = folder(name).join("perf.data");
    fs::create_dir(&folder).unwrap();
    let mut whole = example(false);
    whole.features.retain(|&(bit, _)| bit != 18);
    whole.records.retain(|record| record[..4] != [71, 0, 0, 0]);
    let mut main = whole.clone();
    main.records.truncate(2);
    main.features.insert(2, (24, main.word(1).to_vec()));
    fs::write(folder.join("data"), main.file()).unwrap();
    fs::write(folder.join("data.0"), whole.records[2..3].concat()).unwrap();
    fs::write(folder.join("data.1"), b"").unwrap();
    let mut packed = whole.clone();
    packed.records.drain(..3);
    let packed = packed.compressed(kinds::COMPRESSED2, 20);
    fs::write(folder.join("data.10"), packed.records.concat()).unwrap();
    (folder, whole)
}

#[test]
fn a_folder_has_the_records_of_all_its_files_and_becomes_one_file() {
    let (path, whole) = folder_of_files("formats-directory");
    let file = PerfFile::open(&path).unwrap();
    assert_eq!(file.warnings(), []);
    let expected = open(&whole.file());
    assert!(samples(&file) == samples(&expected) && records(&file) == records(&expected));
    let above = path.parent().unwrap();
    let told = report(above, &["fix", "perf.data"]);
    assert_eq!((&told["samples"], &told["warnings"]), (&3.into(), &Value::Array(vec![])));
    let copy = PerfFile::open(&above.join("perf.fixed.data")).unwrap();
    assert_eq!(copy.warnings(), []);
    assert!(samples(&copy) == samples(&expected));
    // All but the end of a round, which would not be true of files behind each other.
    let mut others = records(&expected);
    others.retain(|(kind, ..)| *kind != kinds::FINISHED_ROUND);
    assert!(records(&copy) == others);
    assert_eq!(copy.features(), expected.features());
}

#[test]
fn one_file_of_a_folder_alone_is_read_with_a_warning_and_its_folder_is_not_overwritten() {
    let (path, _) = folder_of_files("formats-directory-part");
    let above = path.parent().unwrap();
    let alone = above.join("lonely.data");
    fs::copy(path.join("data"), &alone).unwrap();
    let file = PerfFile::open(&alone).unwrap();
    assert_eq!((file.warnings(), samples(&file).len()), (&[Warning::PartsMissing][..], 1));
    assert_eq!(samples(&PerfFile::open(&path.join("data")).unwrap()).len(), 3);
    let ran = skidconv(above, &["convert", "perf.data", "--force", "-o", "perf.data/data.0"]);
    assert!(ran.code == Some(1) && ran.err.contains("output is the input"), "{}", ran.err);
}

#[test]
fn a_folder_recorded_by_perf_has_the_samples_that_perf_finds() {
    let folder = folder("formats-threads");
    let data = folder.join("perf.data");
    let args = [
        "--threads",
        "-a",
        "-e",
        "cpu-clock",
        "-F",
        "999",
        "--",
        "sh",
        "-c",
        "ls -R /usr/share/doc >/dev/null",
    ];
    let Some(()) = record(&data, &args) else { return };
    assert!(data.is_dir());
    // perf may interleave samples of one time, so the lines are compared, not their order.
    let sorted = |data: &Path| {
        let mut lines: Vec<String> = script(data).lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let before = sorted(&data);
    assert!(before.len() > 20);
    assert!(sorted(&converted(&folder, &data)) == before);
    let samples = report(&folder, &["convert", "perf.data"])["samples"].as_u64().unwrap();
    assert_eq!(samples as usize, before.len());
}

#[test]
fn members_of_a_group_that_is_read_have_the_samples_that_perf_gives_them() {
    let folder = folder("formats-group");
    let data = folder.join("perf.data");
    let events = "{cpu-clock,page-faults,context-switches}:S";
    let args = ["-e", events, "-F", "1999", "--", "ls", "-lR", "/usr/share/doc", "/usr/lib"];
    let Some(()) = record(&data, &args) else { return };
    let lines = perf(&["script", "-f", "-F", "event,period", "-i", text(&data)]).out;
    let told = report(&folder, &["convert", "perf.data"]);
    for event in told["events"].as_array().unwrap() {
        let name = event["name"].as_str().unwrap();
        let of = lines.lines().filter_map(|line| {
            let (period, event) = line.trim().split_once(' ')?;
            (event.trim().trim_end_matches(':') == name).then(|| period.parse::<u64>().unwrap())
        });
        let periods: Vec<u64> = of.collect();
        let (samples, weight) = (event["samples"].as_u64().unwrap(), event["weight"].as_u64().unwrap());
        assert_eq!((samples as usize, weight), (periods.len(), periods.iter().sum()), "{name}");
    }
    assert!(told["events"][1]["samples"].as_u64() > Some(0));
    assert!(told["events"][1]["reason"].as_str().unwrap().contains("convert"));
    let fixed = report(&folder, &["fix", "perf.data"]);
    assert!(fixed["events"][1]["reason"].as_str().unwrap().contains("leader"), "{}", fixed["events"][1]);
}

#[test]
fn values_read_with_a_sample_are_differences_to_those_before() {
    let mut r = Recording { events: vec![vec![5], vec![7]], ..Recording::default() };
    let value = |a: u64, b: u64| [2, a, 5, b, 7];
    for (n, values) in [value(100, 3), value(250, 3), value(300, 10), value(20, 11)].iter().enumerate() {
        let words = [&[5, 0x401000, 42 << 32 | 41, n as u64, 1000][..], values, &[0]].concat();
        let body: Vec<u8> = words.iter().flat_map(|&w| r.word(w)).collect();
        r.records.push(r.record(9, 2, &body));
    }
    let mut bytes = r.file();
    for event in 0..2 {
        let attr = 104 + 2 * 8 + 152 * event;
        let fields = recording::FIELDS | 1 << 4;
        bytes[attr + 24..attr + 32].copy_from_slice(&fields.to_le_bytes());
        // GROUP and ID
        bytes[attr + 32..attr + 40].copy_from_slice(&12u64.to_le_bytes());
    }
    let file = open(&bytes);
    let (mut reads, mut found) = (Reads::default(), vec![]);
    let mut walk = file.records().unwrap();
    while let Some(record) = walk.next().unwrap() {
        if let Some(sample) = file.sample(&record).unwrap() {
            reads.split(&file, &sample, |attr, period| found.push((attr.0, period)));
        }
    }
    assert_eq!(found, [(0, 100), (1, 3), (0, 150), (0, 50), (1, 7), (0, 20), (1, 1)]);
}

#[test]
fn damage_is_told_in_a_line_or_with_strict_refused() {
    let folder = folder("formats-strict");
    let whole = fs::read(recording::testdata("lpd-sleep.data")).unwrap();
    let file = PerfFile::open(&recording::testdata("lpd-sleep.data")).unwrap();
    let (mut walk, mut at) = (file.records().unwrap(), vec![]);
    while let Some(record) = walk.next().unwrap() {
        at.extend((record.kind == 9).then_some(record.offset as usize));
    }
    let cut = at[3] + 16;
    fs::write(folder.join("cut.data"), &whole[..cut]).unwrap();
    let told = report(&folder, &["convert", "cut.data"]);
    assert_eq!(told["samples"], 3);
    let warnings: Vec<&str> =
        told["warnings"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
    let end = format!("it ends at {cut:#x}");
    assert!(warnings.iter().any(|w| w.contains("the file is cut") && w.contains(&end)), "{warnings:?}");
    assert!(warnings.iter().any(|w| w.contains("inside a record at 0x")), "{warnings:?}");
    let ran = skidconv(&folder, &["convert", "cut.data", "--strict", "--folded", "out"]);
    assert_eq!((ran.code, ran.err.lines().count(), folder.join("out").exists()), (Some(1), 1, false));
    assert!(ran.err.contains("damaged recording: cut.data") && ran.err.contains(&end), "{}", ran.err);
    // A sample whose callchain says that it is longer than the sample, and one of an unknown event.
    let mut r = example(false);
    let at = (104 + 3 * 8 + 2 * 152 + r.records[0].len()) as u64;
    r.records[1][48..56].copy_from_slice(&1000u64.to_le_bytes());
    r.records[3][8..16].copy_from_slice(&99u64.to_le_bytes());
    fs::write(folder.join("odd.data"), r.file()).unwrap();
    let told = report(&folder, &["convert", "odd.data"]);
    let warnings = told["warnings"].as_array().unwrap();
    assert_eq!((&told["samples"], warnings.len()), (&1.into(), 2));
    assert!(
        warnings[0]
            .as_str()
            .unwrap()
            .contains(&format!("1 samples could not be decoded (the first at {at:#x})"))
    );
    assert!(warnings[1].as_str().unwrap().contains("does not describe (the first at 0x"));
    let ran = skidconv(&folder, &["convert", "odd.data", "--strict", "--folded", "out"]);
    assert!(ran.code == Some(1) && ran.err.contains("could not be decoded"), "{}", ran.err);
    fs::write(folder.join("whole.data"), &whole).unwrap();
    assert_eq!(skidconv(&folder, &["convert", "whole.data", "--strict", "--folded", "out"]).code, Some(0));
}

#[test]
fn names_of_a_recording_do_not_reach_the_terminal_with_control_characters() {
    const HOSTILE: &str = "a\u{1b}]0;owned\u{7}\u{1b}[2Jb\u{9b}31m\r\n\u{202e}c";
    let folder = folder("formats-hostile");
    let mut r = example(false);
    let comm = [&r.half(41)[..], &r.half(42), HOSTILE.as_bytes()].concat();
    let padded = comm.len().next_multiple_of(8);
    let comm = [&comm[..], &vec![0; padded - comm.len() + 8], &r.word(42 << 32 | 41), &r.word(1), &r.word(5)]
        .concat();
    r.records[0] = r.record(3, 0, &comm);
    r.records.insert(1, r.mmap(Path::new(&format!("/opt/{HOSTILE}")), 0x401000, 0x1000, 0));
    let mut described = [&r.half(2)[..], &r.half(136)].concat();
    for (ids, name) in r.events.iter().zip([HOSTILE, "second"]) {
        described.extend([&r.attr(136)[..], &r.half(ids.len() as u32), &r.string(name)].concat());
        described.extend(ids.iter().flat_map(|&id| r.word(id)));
    }
    r.features.retain(|&(bit, _)| bit != 18);
    r.features[0].1 = r.string(HOSTILE);
    r.features.insert(2, (12, described));
    fs::write(folder.join("perf.data"), r.file()).unwrap();
    let runs: [&[&str]; 5] = [
        &["fix", "perf.data"],
        &["convert", "perf.data", "--folded", "-"],
        &["convert", "perf.data", "--csv", "-"],
        &["convert", "perf.data", "--event", "none", "--csv", "-"],
        &["convert", "perf.data", "--strict", "--report-json", "/dev/null"],
    ];
    for args in runs {
        let ran = skidconv(&folder, args);
        for text in [&ran.out, &ran.err] {
            let bad = text.chars().find(|&c| c.is_control() && c != '\n' || c == '\u{202e}');
            assert!(bad.is_none(), "{args:?}: {text:?}");
        }
        assert!(!ran.out.is_empty() || !ran.err.is_empty(), "{args:?}");
    }
}

#[test]
fn a_file_ten_times_larger_than_the_memory_is_read() {
    const RECORD: usize = 65528;
    const LIMIT_KIB: usize = 100 << 10;
    let folder = folder("formats-large");
    let mut r = example(false);
    r.features.clear();
    let sample = r.sample(5, 0x401000, 7, &[USER, 0x401000, 0x402000]);
    r.records = vec![];
    let head = r.file();
    let path = folder.join("large.data");
    let mut file = File::create(&path).unwrap();
    file.write_all(&head).unwrap();
    // Records of zeros between the samples: holes in the file, so that it is only long.
    let filler = [&70u32.to_le_bytes()[..], &0u16.to_le_bytes(), &(RECORD as u16).to_le_bytes()].concat();
    let rounds = 10 * 1024 * LIMIT_KIB / RECORD + 1;
    for _ in 0..rounds {
        file.write_all(&[&sample[..], &filler].concat()).unwrap();
        file.seek(SeekFrom::Current(RECORD as i64 - 8)).unwrap();
    }
    let len = file.stream_position().unwrap();
    file.set_len(len).unwrap();
    drop(file);
    assert!(len > 10 * 1024 * LIMIT_KIB as u64);
    let limited = format!(
        "ulimit -v {LIMIT_KIB} && exec {} convert large.data -q --threads 1 --folded out.folded",
        env!("CARGO_BIN_EXE_skidconv")
    );
    let ran =
        Command::new("sh").args(["-c", &limited]).env("MALLOC_ARENA_MAX", "1").current_dir(&folder).output();
    let ran = ran.unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let folded = fs::read_to_string(folder.join("out.folded")).unwrap();
    let weight: usize = folded.trim().rsplit(' ').next().unwrap().parse().unwrap();
    assert_eq!(weight, 1000 * rounds, "{folded}");
    fs::remove_file(path).unwrap();
}
