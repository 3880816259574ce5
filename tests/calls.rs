//! Calls that the recorder measures are calls that happened: programs that write down every call of theirs say so.

mod tool;

use serde_json::Value;
use skidconv::variance::{Moments, Recording, Summary};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tool::{Ran, compile, folder, perf_is_required, skidconv, testdata, text};

/// A line of testdata/calls/log.h.
struct Event {
    time: u64,
    slot: u64,
    call: u64,
    count: u64,
    /// Empty where a call ends.
    name: String,
}

/// What each thread wrote down, in order.
type Log = HashMap<u32, Vec<Event>>;

fn log(folder: &Path) -> Log {
    let mut log = Log::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let Some(tid) = name.strip_prefix("log.").and_then(|tid| tid.parse().ok()) else { continue };
        let bytes = std::fs::read(&path).unwrap();
        let events = bytes.chunks_exact(48).map(|bytes| {
            let word = |ix: usize| u64::from_le_bytes(bytes[8 * ix..8 * ix + 8].try_into().unwrap());
            let name = String::from_utf8_lossy(&bytes[32..]).trim_end_matches('\0').to_owned();
            Event { time: word(0), slot: word(1), call: word(2), count: word(3), name }
        });
        log.insert(tid, events.collect());
    }
    log
}

/// Records a program of testdata/calls with its calls written down; `None`, with a word of why, where the kernel does not let
/// us. With `SKIDCONV_REQUIRE_PERF` set that is a failure.
fn record(folder: &Path, source: &str, rate: &str, args: &[&str]) -> Option<(Recording, Log)> {
    let program = logging(folder, source);
    let words =
        [&["record", "--variance", "--rate", rate, "--seed", "1", "--", text(&program)], args].concat();
    let ran = skidconv(folder, &words);
    measured(&ran)?;
    assert!(!ran.err.contains("not watched"), "{}", ran.err);
    Some((Recording::open(&folder.join("calls.jsonl")).unwrap(), log(folder)))
}

/// A program of testdata/calls that writes its calls down.
fn logging(folder: &Path, source: &str) -> PathBuf {
    let code = std::fs::read_to_string(testdata(&format!("calls/{source}.c"))).unwrap();
    let include = format!("-I{}", text(&testdata("calls")));
    let flags = ["-O2", "-g", "-fno-omit-frame-pointer", "-pthread", "-DLOG", &include];
    compile(folder, source, &code, &flags)
}

fn measured(ran: &Ran) -> Option<()> {
    if ran.code != Some(0) {
        assert!(!perf_is_required(), "calls cannot be measured here: {}", ran.err);
        eprintln!("skipped: calls cannot be measured here: {}", ran.err);
        return None;
    }
    Some(())
}

/// The logged call that a measured one is, by its times: the first event behind its beginning enters it, the last before its
/// end leaves it. Else what is wrong. `None` for functions that write nothing down.
fn logged<'a>(
    recording: &Recording,
    log: &'a Log,
    call: &skidconv::variance::lines::Call,
) -> Option<Result<&'a Event, String>> {
    let name = &recording.functions[call.function as usize].name;
    let events = log.get(&call.tid)?;
    if !["down", "even", "odd", "inner", "outer", "retry", "search"].contains(&name.as_str()) {
        return None;
    }
    let first = events.get(events.partition_point(|event| event.time <= call.start))?;
    let last = &events[events.partition_point(|event| event.time < call.end) - 1];
    let begins = first.name == *name && first.slot == call.slot;
    let ends = last.name.is_empty() && last.call == first.call && last.slot == call.slot;
    Some(match begins && ends {
        true => Ok(last),
        false => Err(format!(
            "{name}: begins as call {} of {}, ends as call {}",
            first.call, first.name, last.call
        )),
    })
}

#[test]
fn no_call_is_paired_with_the_return_of_another() {
    let folder = folder("calls-deep");
    let Some((recording, log)) = record(&folder, "deep", "600", &["1500"]) else { return };
    let seen = paired(&recording, &log);
    // recursion through one place and several, and functions that longjmp left and that were called again
    for names in [&["down", "even", "odd"][..], &["inner", "outer", "retry"]] {
        let calls: u32 = names.iter().filter_map(|name| seen.get(name)).sum();
        assert!(calls >= 10, "{names:?} were hardly measured: {seen:?}");
    }
    let mut threads: BTreeMap<u32, u32> = log.keys().map(|tid| (*tid, 0)).collect();
    recording.calls.iter().for_each(|call| *threads.entry(call.tid).or_default() += 1);
    assert!(threads.len() == 3 && threads.values().all(|calls| *calls > 0), "calls by thread: {threads:?}");
    assert!(!recording.lost.is_empty(), "longjmp leaves calls without return");
    assert_eq!((recording.damaged, recording.end.map(|end| end.exit)), (0, Some(Some(0))));
}

/// How many calls of each function there are, all of which happened so.
fn paired<'a>(recording: &'a Recording, log: &Log) -> BTreeMap<&'a str, u32> {
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for call in &recording.calls {
        match logged(recording, log, call) {
            Some(Ok(_)) => *seen.entry(&recording.functions[call.function as usize].name).or_default() += 1,
            Some(Err(wrong)) => panic!("{wrong}: {call:?}"),
            None => {}
        }
    }
    seen
}

/// Whether nobody traces or stops the process of this /proc/PID/status.
fn goes_on(status: &str) -> bool {
    let is = |line: &str| status.lines().any(|it| it.starts_with(line));
    is("TracerPid:\t0") && (is("State:\tR") || is("State:\tS"))
}

/// Once left alone while it goes on, and once followed to its end.
#[test]
fn a_process_that_runs_is_measured_and_left_as_it_was() {
    let folder = folder("calls-running");
    let program = logging(&folder, "deep");
    let mut running =
        Command::new(&program).arg("2500").current_dir(&folder).stdout(Stdio::null()).spawn().unwrap();
    let pid = running.id().to_string();
    let record = |more: &[&str]| {
        let words = ["record", "--variance", "--rate", "600", "--seed", "1", "-p", &pid];
        skidconv(&folder, &[&words[..], more].concat())
    };
    let first = measured(&record(&["--duration", "0.3", "-o", "first.jsonl"]));
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    assert!(goes_on(&status), "{status}");
    let second = first.and_then(|()| measured(&record(&[])));
    assert_eq!(running.wait().unwrap().code(), Some(0));
    if second.is_none() {
        return;
    }
    let log = log(&folder);
    let mut threads = BTreeSet::new();
    for (name, is_whole) in [("first.jsonl", false), ("calls.jsonl", true)] {
        let recording = Recording::open(&folder.join(name)).unwrap();
        let seen: u32 = paired(&recording, &log).values().sum();
        assert!(seen >= 10, "{name}: {seen} calls");
        threads.extend(recording.calls.iter().map(|call| call.tid));
        assert_eq!(recording.end.map(|end| end.exit), Some(is_whole.then_some(0)));
        assert!(recording.header.command.ends_with(&["2500".to_owned()]), "{:?}", recording.header.command);
    }
    assert_eq!(threads.len(), 3, "those that ran before the recorder came as well");
}

/// Four breakpoints of its own; then it waits.
const BUSY: &str = r#"
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
static long words[4];
int main(void) {
    for (int i = 0; i < 4; i++) {
        struct perf_event_attr attr = {.type = PERF_TYPE_BREAKPOINT, .size = sizeof attr, .exclude_kernel = 1};
        attr.bp_type = HW_BREAKPOINT_W;
        attr.bp_addr = (unsigned long)&words[i];
        attr.bp_len = 8;
        if (syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) < 0) return 1;
    }
    puts("ready");
    fflush(stdout);
    sleep(60);
    return 0;
}
"#;

/// Runs a program without perf_event_open, as a container does.
const FILTERED: &str = r#"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char **words) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof code / sizeof *code, code};
    if (count < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 3;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) return 3;
    execv(words[1], words + 1);
    return 3;
}
"#;

#[test]
fn a_program_that_uses_all_debug_registers_is_left_alone() {
    let folder = folder("calls-busy");
    let program = compile(&folder, "busy", BUSY, &["-O1"]);
    let mut running = Command::new(&program).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let _ = BufReader::new(running.stdout.take().unwrap()).read_line(&mut said);
    let ran =
        skidconv(&folder, &["record", "--variance", "-p", &running.id().to_string(), "--duration", "1"]);
    let status = std::fs::read_to_string(format!("/proc/{}/status", running.id())).unwrap();
    let _ = running.kill();
    running.wait().unwrap();
    if said.is_empty() {
        assert!(!perf_is_required(), "a program cannot set breakpoints here");
        eprintln!("skipped: a program cannot set breakpoints here");
        return;
    }
    assert_eq!((ran.code, ran.err.lines().count()), (Some(1), 1), "{}", ran.err);
    assert!(ran.err.contains("no debug register is free"), "{}", ran.err);
    assert!(goes_on(&status), "{status}");
    assert!(!folder.join("calls.jsonl").exists());
}

#[test]
fn where_events_are_forbidden_one_line_says_so_and_nothing_stays() {
    let folder = folder("calls-forbidden");
    let filtered = compile(&folder, "filtered", FILTERED, &["-O1"]);
    let recorder = env!("CARGO_BIN_EXE_skidconv");
    let spin = compile(&folder, "spin", "int main(void) { for (;;); }", &["-O1"]);
    let mut running = Command::new(&spin).spawn().unwrap();
    let pid = running.id().to_string();
    for whom in [&["--", text(&spin)][..], &["-p", &pid]] {
        let mut command = Command::new(&filtered);
        command.args([recorder, "record", "--variance"]).args(whom).current_dir(&folder);
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), told.lines().count()), (Some(1), 1), "{told}");
        let names = ["kernel.perf_event_paranoid is ", "CAP_PERFMON", "perf_event_open"];
        assert!(names.iter().all(|name| told.contains(name)), "{told}");
        assert!(!folder.join("calls.jsonl").exists());
    }
    assert!(running.try_wait().unwrap().is_none(), "the process goes on");
    let _ = running.kill();
    running.wait().unwrap();
}

fn moments(values: impl Iterator<Item = (f64, f64)>) -> Moments {
    let mut moments = Moments::default();
    values.for_each(|(value, weight)| moments.push(value, weight));
    moments
}

/// Of the steps that each call counted itself, so that no noise of the machine is in it.
#[test]
fn long_and_short_calls_have_the_same_chance() {
    let folder = folder("calls-search");
    let Some((recording, log)) = record(&folder, "search", "300", &["12000", "64"]) else { return };
    let sampled = recording
        .calls
        .iter()
        .filter_map(|call| Some((logged(&recording, &log, call)?.unwrap().count as f64, call.weight)));
    let sampled = moments(sampled);
    let ends = log.values().flatten().filter(|event| event.name.is_empty());
    let truth = moments(ends.map(|event| (event.count as f64, 1.0)));
    assert!(sampled.n() >= 60, "{} calls", sampled.n());
    assert!((sampled.mean() / truth.mean() - 1.0).abs() < 0.1, "{} for {}", sampled.mean(), truth.mean());
    assert!((sampled.cv() / truth.cv() - 1.0).abs() < 0.1, "{} for {}", sampled.cv(), truth.cv());

    let summary = Summary::new(&recording, None);
    let (_, contexts) = summary.functions.iter().find(|(f, _)| summary.name(f.function) == "search").unwrap();
    let paths: Vec<String> = contexts.iter().map(|context| summary.path(context.context)).collect();
    assert!(paths.iter().any(|path| path.ends_with("main")), "{paths:?}");
    assert!(paths.iter().any(|path| path.ends_with("main → propagate")), "{paths:?}");

    let outputs = ["variance", "calls.jsonl", "--csv", "c.csv", "--svg", "c.svg", "--html", "c.html"];
    let ran = skidconv(&folder, &outputs);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("search") && ran.out.contains("main → propagate"), "{}", ran.out);
    let csv = std::fs::read_to_string(folder.join("c.csv")).unwrap();
    assert!(csv.starts_with("function,context,thread,metric,unit,calls,mean,sd,cv,"), "{csv}");
    let row = csv.lines().find(|row| row.starts_with("search,") && row.contains(",all,task-clock,ns,"));
    assert!(row.is_some(), "{csv}");
    let dots = std::fs::read_to_string(folder.join("c.svg")).unwrap().matches("<circle").count();
    assert!(dots >= 60, "{dots} calls in the chart");
    assert!(std::fs::read_to_string(folder.join("c.html")).unwrap().contains("<circle"));
}

#[test]
fn what_cannot_be_recorded_leaves_nothing_behind() {
    let folder = folder("calls-none");
    let ran = skidconv(&folder, &["record", "--variance", "--", "./no-such-program"]);
    if ran.code == Some(1) {
        eprintln!("skipped: calls cannot be measured here: {}", ran.err);
        return;
    }
    assert_eq!((ran.code, ran.err.lines().count()), (Some(127), 1), "{}", ran.err);
    assert!(ran.err.contains("no-such-program"), "{}", ran.err);
    let ran = skidconv(&folder, &["record", "--variance", "-o", "none/calls", "--", "sleep", "5"]);
    assert_eq!((ran.code, ran.err.lines().count()), (Some(1), 1), "{}", ran.err);
    let ran = skidconv(&folder, &["record", "--variance", "-o", "/dev/full", "--", "true"]);
    assert_eq!((ran.code, ran.err.lines().count()), (Some(1), 1), "{}", ran.err);
    let ran = skidconv(&folder, &["record", "--variance", "-p", "999999999"]);
    assert_eq!((ran.code, ran.err.lines().count()), (Some(1), 1), "{}", ran.err);
    assert!(ran.err.contains("there is no process 999999999"), "{}", ran.err);
    assert_eq!(skidconv(&folder, &["record", "--variance"]).code, Some(2));
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    let ran = skidconv(&folder, &["record", "--variance", "--", "sh", "-c", "exit 7"]);
    assert_eq!(ran.code, Some(7), "{}", ran.err);
}

#[test]
fn a_recording_whose_recorder_was_killed_can_be_read() {
    let folder = folder("calls-killed");
    let code = "int main(void) { for (volatile long i = 0; i < 20000000000; i++); }";
    let program = compile(&folder, "spin", code, &["-O1"]);
    let mut recorder = Command::new(env!("CARGO_BIN_EXE_skidconv"));
    recorder.current_dir(&folder).args(["record", "--variance", "--", text(&program)]).stderr(Stdio::null());
    let mut recorder = recorder.spawn().unwrap();
    let mut program = None;
    // the program goes on: perf does the same
    let children = format!("/proc/{0}/task/{0}/children", recorder.id());
    for _ in 0..100 {
        std::thread::sleep(Duration::from_millis(20));
        let is_there = std::fs::metadata(folder.join("calls.jsonl")).is_ok_and(|meta| meta.len() > 0);
        program = std::fs::read_to_string(&children).ok().and_then(|text| text.trim().parse::<u32>().ok());
        if is_there || recorder.try_wait().unwrap().is_some() {
            break;
        }
    }
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    let Some(program) = program else {
        eprintln!("skipped: calls cannot be measured here");
        return;
    };
    let status = std::fs::read_to_string(format!("/proc/{program}/status")).unwrap_or_default();
    let _ = Command::new("kill").args(["-9", &program.to_string()]).status();
    assert!(status.contains("State:\tR"), "the program does not go on: {status}");
    let ran = skidconv(&folder, &["variance", "calls.jsonl"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("the recording has no end"), "{}", ran.out);
}

#[test]
fn other_files_are_refused_in_one_line() {
    let folder = folder("calls-foreign");
    std::fs::write(folder.join("x"), "PERFILE2 and more").unwrap();
    let newer: Value = serde_json::json!({ "skidconv-variance": { "version": 99 } });
    std::fs::write(folder.join("newer"), newer.to_string()).unwrap();
    for (file, word) in
        [("x", "not a recording of calls"), ("newer", "version 99"), ("missing", "cannot read")]
    {
        let ran = skidconv(&folder, &["variance", file]);
        assert_eq!((ran.code, ran.err.lines().count()), (Some(1), 1), "{}", ran.err);
        assert!(ran.err.contains(word), "{}", ran.err);
    }
}
