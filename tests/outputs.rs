//! All outputs of one run, read by readers that share no code with the writers, and the command line's promises about files.

mod tool;

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use prost::Message;
use serde::Deserialize;
use serde_json::Value;
use tool::{folder, has_perf, perf, skidconv, testdata, text};

/// Weight per event.
type Totals = BTreeMap<String, u64>;

fn case(name: &str) -> PathBuf {
    testdata(&format!("cases/{name}.perf.data"))
}

/// `fix` or `convert` of branchy, which has callchains, with all outputs under the command's name.
fn run(command: &str) -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = folder("outputs");
        for command in ["fix", "convert"] {
            let name = |extension: &str| format!("{command}.{extension}");
            let names = ["data", "csv", "pb.gz", "json", "folded", "report.json"].map(name);
            let flags = ["-o", "--csv", "--pprof", "--firefox", "--folded", "--report-json"];
            let (input, symfs) = (case("branchy"), testdata("cases/symfs"));
            let mut words = vec![command, text(&input), "--symfs", text(&symfs)];
            words.extend(flags.iter().zip(&names).flat_map(|(flag, name)| [*flag, name.as_str()]));
            let ran = skidconv(&folder, &words);
            assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
            assert!(ran.out.contains("instructions:u") && ran.out.contains("cycles:u"), "{}", ran.out);
        }
        folder
    });
    assert!(["fix", "convert"].contains(&command));
    FOLDER.get().unwrap()
}

fn bytes(command: &str, extension: &str) -> Vec<u8> {
    std::fs::read(run(command).join(format!("{command}.{extension}"))).unwrap()
}

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

#[derive(Deserialize)]
struct Profile {
    meta: Value,
    libs: Vec<Value>,
    threads: Vec<Thread>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread {
    name: String,
    samples: Samples,
    stack_table: StackTable,
    frame_table: FrameTable,
    func_table: FuncTable,
    string_array: Vec<String>,
}

#[derive(Deserialize)]
struct Samples {
    length: usize,
    stack: Vec<Option<usize>>,
    weight: Vec<u64>,
}

#[derive(Deserialize)]
struct StackTable {
    prefix: Vec<Option<usize>>,
    frame: Vec<usize>,
}

#[derive(Deserialize)]
struct FrameTable {
    func: Vec<usize>,
}

#[derive(Deserialize)]
struct FuncTable {
    name: Vec<usize>,
}

impl Thread {
    /// The event, and how many of it a weight of 1 stands for, which the thread's name tells: `program (event ×unit)`.
    fn event(&self) -> (&str, u64) {
        let told = self.name.rsplit_once('(').unwrap().1.trim_end_matches(')');
        match told.split_once(" ×") {
            Some((event, unit)) => (event, unit.replace([',', '\u{202f}', ' '], "").parse().unwrap()),
            None => (told, 1),
        }
    }

    fn leaf(&self, sample: usize) -> &str {
        let frame = self.stack_table.frame[self.samples.stack[sample].unwrap()];
        &self.string_array[self.func_table.name[self.frame_table.func[frame]]]
    }

    fn depth(&self, sample: usize) -> usize {
        std::iter::successors(self.samples.stack[sample], |stack| self.stack_table.prefix[*stack]).count()
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
fn firefox_s_profile_says_the_same() {
    for command in ["fix", "convert"] {
        let profile: Profile = serde_json::from_slice(&bytes(command, "json")).unwrap();
        let meta = |key: &str| &profile.meta[key];
        assert!(meta("interval").is_number() && meta("startTime").is_number() && meta("product").is_string());
        assert!(meta("version").is_u64() && meta("preprocessedProfileVersion").is_u64());
        assert!(meta("categories").as_array().is_some_and(|categories| !categories.is_empty()));
        assert!(profile.libs.iter().any(|lib| lib["name"] == "branchy"));
        let rows = rows(command);
        let mut totals = Totals::new();
        for thread in &profile.threads {
            let (event, unit) = thread.event();
            assert_eq!(
                (thread.samples.stack.len(), thread.samples.weight.len()),
                (thread.samples.length, thread.samples.length)
            );
            *totals.entry(event.into()).or_default() += unit * thread.samples.weight.iter().sum::<u64>();
            let mut leaves = Totals::new();
            for n in 0..thread.samples.length {
                *leaves.entry(thread.leaf(n).into()).or_default() += unit * thread.samples.weight[n];
            }
            assert_eq!(leaves, by_symbol(&rows, event), "{command}, {event}");
            assert!((0..thread.samples.length).any(|n| thread.depth(n) >= 3), "callers are there");
        }
        assert_eq!(totals, sums(&rows, |r| r.fixed_weight), "{command}");
    }
}

/// The parts of <https://github.com/google/pprof/blob/main/proto/profile.proto> that are looked at.
mod pprof {
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Profile {
        #[prost(message, repeated, tag = "1")]
        pub sample_type: Vec<ValueType>,
        #[prost(message, repeated, tag = "2")]
        pub sample: Vec<Sample>,
        #[prost(message, repeated, tag = "3")]
        pub mapping: Vec<Mapping>,
        #[prost(message, repeated, tag = "4")]
        pub location: Vec<Location>,
        #[prost(message, repeated, tag = "5")]
        pub function: Vec<Function>,
        #[prost(string, repeated, tag = "6")]
        pub string_table: Vec<String>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ValueType {
        #[prost(int64, tag = "1")]
        pub kind: i64,
        #[prost(int64, tag = "2")]
        pub unit: i64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Sample {
        #[prost(uint64, repeated, tag = "1")]
        pub location: Vec<u64>,
        #[prost(int64, repeated, tag = "2")]
        pub value: Vec<i64>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Mapping {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(uint64, tag = "2")]
        pub start: u64,
        #[prost(uint64, tag = "3")]
        pub limit: u64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Location {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(uint64, tag = "2")]
        pub mapping: u64,
        #[prost(uint64, tag = "3")]
        pub address: u64,
        #[prost(message, repeated, tag = "4")]
        pub line: Vec<Line>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Line {
        #[prost(uint64, tag = "1")]
        pub function: u64,
        #[prost(int64, tag = "2")]
        pub line: i64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Function {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(int64, tag = "2")]
        pub name: i64,
    }
}

#[test]
fn pprof_s_profile_says_the_same() {
    for command in ["fix", "convert"] {
        let mut plain = vec![];
        flate2::read::GzDecoder::new(&*bytes(command, "pb.gz")).read_to_end(&mut plain).unwrap();
        let profile = pprof::Profile::decode(&*plain).unwrap();
        let text = |ix: i64| profile.string_table[ix as usize].as_str();
        assert_eq!(text(0), "");
        let locations: BTreeMap<u64, &pprof::Location> = profile.location.iter().map(|l| (l.id, l)).collect();
        let functions: BTreeMap<u64, &str> = profile.function.iter().map(|f| (f.id, text(f.name))).collect();
        let rows = rows(command);
        let is_weight = |kind: &pprof::ValueType| !text(kind.kind).ends_with("_samples");
        for (n, kind) in profile.sample_type.iter().enumerate().filter(|(_, kind)| is_weight(kind)) {
            let event = text(kind.kind);
            let mut leaves = Totals::new();
            for sample in profile.sample.iter().filter(|s| s.value[n] > 0) {
                assert_eq!(sample.value.len(), profile.sample_type.len());
                let leaf = locations[&sample.location[0]];
                let mapping = profile.mapping.iter().find(|m| m.id == leaf.mapping).unwrap();
                assert!((mapping.start..mapping.limit).contains(&leaf.address));
                let function = functions[&leaf.line.last().unwrap().function];
                *leaves.entry(function.into()).or_default() += sample.value[n] as u64;
            }
            assert_eq!(leaves, by_symbol(&rows, event), "{command}, {event}");
        }
        let events: Vec<&str> = profile.sample_type.iter().map(|kind| text(kind.kind)).collect();
        assert!(events.contains(&"cycles:u") && events.contains(&"instructions:u"), "{events:?}");
        assert!(profile.sample.iter().any(|s| s.location.len() >= 3), "callers are there");
    }
}

#[test]
fn folded_stacks_sum_to_the_event() {
    for command in ["fix", "convert"] {
        let text = String::from_utf8(bytes(command, "folded")).unwrap();
        let lines: Vec<(&str, u64)> = text
            .lines()
            .map(|l| l.rsplit_once(' ').unwrap())
            .map(|(stack, weight)| (stack, weight.parse().unwrap()))
            .collect();
        assert!(lines.iter().all(|(stack, _)| stack.starts_with("branchy;")));
        let mut leaves = Totals::new();
        for (stack, weight) in &lines {
            *leaves.entry(stack.rsplit(';').next().unwrap().into()).or_default() += weight;
        }
        assert_eq!(leaves, by_symbol(&rows(command), "cycles:u"), "of the first event");
        assert_eq!(leaves.values().sum::<u64>(), periods(command)["cycles:u"]);
    }
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

/// A folder with a small recording called `perf.data`.
fn small(name: &str) -> PathBuf {
    let folder = folder(name);
    std::fs::copy(testdata("perf/lpd-sleep.data"), folder.join("perf.data")).unwrap();
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_fixed_recording_stands_beside_the_input_under_its_name() {
    let folder = small("beside");
    let before = std::fs::read(folder.join("perf.data")).unwrap();
    assert_eq!(skidconv(&folder, &["fix", "perf.data"]).code, Some(0));
    assert_eq!(names(&folder), ["perf.data", "perf.fixed.data", "perf.fixed.data.skidconv.json"]);
    assert_eq!(std::fs::read(folder.join("perf.data")).unwrap(), before, "the input is as it was");
    std::fs::create_dir(folder.join("elsewhere")).unwrap();
    assert_eq!(skidconv(&folder.join("elsewhere"), &["fix", "../perf.data", "--force"]).code, Some(0));
    assert!(names(&folder.join("elsewhere")).is_empty(), "beside the input, not where it was called");
}

#[test]
fn an_existing_recording_is_refused_without_force() {
    let folder = small("existing");
    std::fs::write(folder.join("perf.fixed.data"), "precious").unwrap();
    let ran = skidconv(&folder, &["fix", "perf.data"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("perf.fixed.data") && ran.err.contains("--force"), "{}", ran.err);
    assert_eq!(std::fs::read(folder.join("perf.fixed.data")).unwrap(), b"precious");
    assert_eq!(skidconv(&folder, &["fix", "perf.data", "--force"]).code, Some(0));
    assert!(std::fs::read(folder.join("perf.fixed.data")).unwrap().starts_with(b"PERFILE2"));
}

#[test]
fn the_input_is_never_an_output() {
    let folder = small("input");
    let before = std::fs::read(folder.join("perf.data")).unwrap();
    for flag in ["-o", "--csv", "--pprof", "--firefox", "--folded", "--report-json"] {
        let ran = skidconv(&folder, &["fix", "perf.data", "--force", flag, "./perf.data"]);
        assert_eq!(ran.code, Some(1), "{flag}");
        assert!(ran.err.contains("output is the input"), "{}", ran.err);
    }
    assert_eq!(std::fs::read(folder.join("perf.data")).unwrap(), before);
    assert_eq!(names(&folder), ["perf.data"]);
}

#[test]
fn a_failed_run_leaves_nothing_behind() {
    let folder = small("failed");
    // the last output cannot be written: what was written before it does not appear
    let ran =
        skidconv(&folder, &["fix", "perf.data", "--csv", "out.csv", "--report-json", "missing/report.json"]);
    assert_eq!((ran.code, names(&folder)), (Some(1), vec!["perf.data".into()]), "{}", ran.err);
    assert!(ran.err.contains("missing/report.json"), "{}", ran.err);
    let ran = skidconv(&folder, &["fix", "perf.data", "--event", "no-such-event"]);
    assert_eq!((ran.code, names(&folder)), (Some(1), vec!["perf.data".into()]), "{}", ran.err);
    assert!(ran.err.contains("no-such-event") && ran.err.contains("cycles"), "{}", ran.err);
}

#[test]
fn a_full_device_is_an_error_and_leaves_nothing_behind() {
    let folder = small("full");
    let ran = skidconv(&folder, &["fix", "perf.data", "-o", "/dev/full", "--csv", "/dev/full"]);
    assert_eq!((ran.code, names(&folder)), (Some(1), vec!["perf.data".into()]), "{}", ran.err);
    assert!(ran.err.contains("/dev/full") && ran.err.lines().count() == 1, "{}", ran.err);
}

#[test]
fn a_folder_that_may_not_be_written_to_is_named() {
    let folder = small("locked");
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o555)).unwrap();
    let ran = skidconv(&folder, &["fix", "perf.data"]);
    // permissions mean nothing to root
    let written = names(&folder).len() > 1;
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).unwrap();
    if written {
        assert_eq!(ran.code, Some(0));
    } else {
        assert_eq!(ran.code, Some(1));
        assert!(ran.err.contains("perf.fixed.data") && ran.err.lines().count() == 1, "{}", ran.err);
    }
    let ran = skidconv(&folder, &["fix", "perf.data", "-o", "/proc/perf.fixed.data"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("/proc/perf.fixed.data"), "{}", ran.err);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let input = case("mcf_like");
    for words in [["--csv", "-"], ["--folded", "-"], ["--firefox", "-"]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_skidconv"))
            .args(["convert", text(&input)])
            .args(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut first = [0; 8];
        let mut pipe = child.stdout.take().unwrap();
        pipe.read_exact(&mut first).unwrap();
        drop(pipe);
        assert_eq!(child.wait().unwrap().code(), Some(0), "{words:?}");
    }
}

#[test]
fn standard_output_takes_one_output_and_the_report_gives_way() {
    let folder = small("stdout");
    let ran = skidconv(&folder, &["convert", "perf.data", "--csv", "-"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.out.starts_with("event,image,address,symbol,file,line,raw_samples,"), "{}", ran.out);
    assert!(ran.err.contains("7 samples"), "{}", ran.err);
    let quiet = skidconv(&folder, &["convert", "perf.data", "--csv", "-", "--quiet"]);
    assert_eq!((quiet.out, quiet.err.as_str()), (ran.out, ""));
    assert_eq!(skidconv(&folder, &["convert", "perf.data", "--csv", "-", "--folded", "-"]).code, Some(2));
    assert_eq!(skidconv(&folder, &["convert", "perf.data"]).code, Some(2), "nothing to write");
    assert_eq!(names(&folder), ["perf.data"]);
}
