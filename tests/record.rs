//! Recordings made here: what is in them, and what happens where there can be none.
#![cfg(target_os = "linux")]

mod tool;

use skidconv::perfdata::PerfFile;
use skidconv_recorder::records::kinds;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tool::{Ran, command, compile, folder, has_perf, perf, perf_is_required, run, skidconv, text};

/// Spins for so many milliseconds; then so in four threads, then so in three children that run it anew.
const SPIN: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static long left;
__attribute__((noinline)) static void *spin(void *unused) {
    struct timespec now;
    long until;
    clock_gettime(CLOCK_MONOTONIC, &now);
    until = now.tv_sec * 1000 + now.tv_nsec / 1000000 + left;
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < until);
    return unused;
}
int main(int count, char **words) {
    left = atol(words[1]);
    spin(0);
    if (count > 2) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++) pthread_create(threads + i, 0, spin, 0);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
        for (int i = 0; i < 3; i++)
            if (!fork()) execl(words[0], words[0], words[1], (char *)0);
        while (wait(0) > 0) {}
    }
    return count > 2 ? 3 : 0;
}
"#;

/// Writes one word from eight places in turn, 60,000 times.
const WRITES: u64 = 60_000;
const WRITER: &str = r#"
volatile unsigned long written;
static void rest(void) { for (int i = 0; i < 20; i++) __builtin_ia32_pause(); }
int main(void) {
    for (int i = 0; i < 7500; i++) {
        written = 1; rest(); written = 2; rest(); written = 3; rest(); written = 4; rest();
        written = 5; rest(); written = 6; rest(); written = 7; rest(); written = 8; rest();
    }
    return 0;
}
"#;

/// Records, where the kernel allows it; with `SKIDCONV_REQUIRE_PERF` set it has to.
fn record(folder: &Path, args: &[&str]) -> Option<Ran> {
    let ran = skidconv(folder, &[&["record"], args].concat());
    let refused = ["perf_event_paranoid is", "cannot open "].iter().any(|why| ran.err.contains(why));
    if ran.code == Some(1) && refused {
        assert!(!perf_is_required(), "skidconv cannot record here: {}", ran.err);
        eprintln!("skipped: skidconv cannot record here: {}", ran.err);
        return None;
    }
    Some(ran)
}

/// Samples as skidconv's reader has them: address and period.
fn samples(data: &Path) -> Vec<(u64, u64)> {
    let file = PerfFile::open(data).unwrap();
    let mut walk = file.records().unwrap();
    let mut found = vec![];
    while let Some(record) = walk.next().unwrap() {
        found.extend(file.sample(&record).unwrap().map(|sample| (sample.ip, sample.period)));
    }
    found
}

/// Samples as perf has them; `None` without perf.
fn by_perf(data: &Path) -> Option<usize> {
    let script = || perf(&["script", "-f", "-i", text(data), "-F", "tid"]);
    has_perf().then(|| script().out.lines().filter(|line| !line.trim().is_empty()).count())
}

/// What the recorder says it recorded.
fn told(ran: &Ran) -> usize {
    let line = ran.err.lines().find(|line| line.contains(" samples, ")).expect(&ran.err);
    line.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn recordings_of_every_kind_have_as_many_samples_for_every_reader() {
    let folder = folder("record-kinds");
    let spin = compile(&folder, "spin", SPIN, &["-O1", "-pthread"]);
    let spin = text(&spin);
    let mut other = Command::new(spin).arg("600000").spawn().unwrap();
    let pid = other.id().to_string();
    let kinds: [(&str, &[&str], Option<i32>); 6] = [
        ("single", &["--", spin, "100"], Some(0)),
        ("threads", &["-F", "1000", "--", spin, "50", "all"], Some(3)),
        ("random", &["--randomize", "-c", "1000003", "--", spin, "50", "all"], Some(3)),
        (
            "groups",
            &["-e", "{cpu-clock,page-faults}", "--call-graph", "fp", "--", spin, "50", "all"],
            Some(3),
        ),
        ("process", &["-p", &pid, "--duration", "0.2"], Some(0)),
        ("machine", &["-a", "--call-graph", "dwarf,256", "--", spin, "100"], Some(0)),
    ];
    for (name, args, code) in kinds {
        let name = format!("{name}.data");
        let args = [&["-e", "cpu-clock", "-o", &name][..], args].concat();
        let args = if args.contains(&"{cpu-clock,page-faults}") { &args[2..] } else { &args[..] };
        let Some(ran) = record(&folder, args) else { break };
        assert_eq!(ran.code, code, "{name}: {}", ran.err);
        let data = folder.join(&name);
        let ours = samples(&data).len();
        assert!(ours > 10, "{name}: {ours}");
        let told: usize = if name == "groups.data" { ours } else { told(&ran) };
        assert_eq!(told, ours, "{name}");
        assert!(by_perf(&data).is_none_or(|theirs| theirs == ours), "{name}");
    }
    other.kill().unwrap();
    other.wait().unwrap();
}

/// As perf and this reader have it from the pipe, and the program's own output beside it.
#[test]
fn a_recording_goes_down_a_pipe() {
    let folder = folder("record-pipe");
    let script = "echo printed; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; page=$(ls /)";
    let events = ["-e", "cpu-clock", "-e", "page-faults"];
    let mut all = command(&folder, &[&["record", "-o", "-"], &events[..], &["sh", "-c", script]].concat());
    let output = all.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        assert!(!perf_is_required(), "skidconv cannot record here: {told}");
        eprintln!("skipped: skidconv cannot record here: {told}");
        return;
    }
    assert!(told.contains("printed"), "{told}");
    let data = folder.join("piped");
    std::fs::write(&data, &output.stdout).unwrap();
    let file = PerfFile::open(&data).unwrap();
    assert!(file.warnings().is_empty(), "{:?}", file.warnings());
    let names: Vec<_> = file.attrs().iter().map(|attr| attr.name.as_str()).collect();
    assert_eq!(names, ["cpu-clock", "page-faults"]);
    let features = file.features();
    assert!(features.cpu_id.is_some() && features.clock.is_some() && !features.build_ids.is_empty());
    let ours = samples(&data).len();
    let counts = told.lines().find(|line| line.contains(" cpu-clock")).unwrap_or(&told).to_owned();
    let numbers = counts.split(' ').filter_map(|word| word.parse::<usize>().ok());
    assert!(ours > 10 && numbers.sum::<usize>() == ours, "{ours}: {told}");
    assert!(by_perf(&data).is_none_or(|theirs| theirs == ours));
    let pipe = format!("{} convert --csv c.csv - < piped", env!("CARGO_BIN_EXE_skidconv"));
    let ran = Command::new("sh").args(["-c", &pipe]).current_dir(&folder).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// Every switch of the scheduler, with the fields that perf prints of it; and counts of a whole group at each sample.
#[test]
fn tracepoints_and_counts_of_groups_are_as_perf_reads_them() {
    let folder = folder("record-traced");
    let spin = compile(&folder, "spin", SPIN, &["-O1", "-pthread"]);
    let Some(ran) = record(&folder, &["-e", "{cpu-clock,page-faults}:S", "--", text(&spin), "100"]) else {
        return;
    };
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let data = folder.join("perf.data");
    let ours = samples(&data).len();
    assert!(ours > 10, "{ours}");
    if has_perf() {
        let script = perf(&["script", "-f", "-i", text(&data), "-F", "event"]).out;
        let count = |name| script.lines().filter(|line| line.contains(name)).count();
        assert!(count("cpu-clock") == ours && count("page-faults") > 0, "{ours}: {script}");
    }

    let traced = ["-e", "sched:sched_process_fork,sched:sched_process_exit", "-o", "traced.data", "--"];
    let ran = skidconv(&folder, &[&["record"], &traced[..], &[text(&spin), "1", "all"]].concat());
    if ran.code != Some(3) {
        assert!(ran.code != Some(0) && ran.err.contains("/sys/kernel/tracing"), "{}", ran.err);
        eprintln!("skipped: {}", ran.err);
        return;
    }
    // four threads and three children, and the program itself
    let data = folder.join("traced.data");
    assert_eq!(samples(&data).len(), 7 + 8);
    if has_perf() {
        let script = perf(&["script", "-f", "-i", text(&data)]).out;
        assert_eq!(script.lines().filter(|line| line.contains("child_comm=spin")).count(), 7, "{script}");
        assert_eq!(script.lines().filter(|line| line.contains("sched_process_exit: comm=spin")).count(), 8);
    }
    let ran = skidconv(&folder, &["record", "-e", "sched:no_such", "--", "true"]);
    assert!(ran.code == Some(2) && ran.err.contains("there is no event sched:no_such"), "{}", ran.err);
}

#[test]
fn a_recording_tells_of_its_machine_and_its_binaries() {
    let folder = folder("record-header");
    let spin = compile(&folder, "spin", SPIN, &["-O1", "-pthread", "-Wl,--build-id=0x1234567890abcdef"]);
    if record(&folder, &["-e", "{cpu-clock,page-faults}", "--", text(&spin), "50"]).is_none() {
        return;
    }
    let file = PerfFile::open(&folder.join("perf.data")).unwrap();
    assert!(file.warnings().is_empty(), "{:?}", file.warnings());
    let features = file.features();
    assert!(features.cmdline.iter().any(|word| word == "{cpu-clock,page-faults}"));
    let ids = &features.build_ids;
    let id = ids.iter().find(|id| id.filename == text(&spin).as_bytes()).expect("the program's build-id");
    assert_eq!(id.bytes, 0x1234_5678_90ab_cdef_u64.to_be_bytes());
    let names: Vec<_> = file.attrs().iter().map(|attr| attr.name.as_str()).collect();
    assert_eq!(names, ["cpu-clock", "page-faults"]);
    let (first, last) = features.sample_time.unwrap();
    assert!(0 < first && first <= last);
    assert!(features.clock.is_some() && features.nr_cpus.is_some());
    if has_perf() {
        let header = perf(&["report", "-f", "--header-only", "-i", text(&folder.join("perf.data"))]).out;
        for fact in ["# hostname :", "# cpuid :", "# group: {cpu-clock,page-faults}", "clockid = 1"] {
            assert!(header.contains(fact), "{fact}: {header}");
        }
        let report =
            perf(&["report", "-f", "--stdio", "-s", "symbol", "-i", text(&folder.join("perf.data"))]);
        assert!(report.out.contains("spin"), "{}", report.out);
    }
}

#[test]
fn what_has_no_room_in_memory_is_told_as_lost() {
    let folder = folder("record-lost");
    let (writer, event) = writer(&folder);
    // each write a sample, and room for a hundred of them; on an idle machine the recorder would keep up even so
    let arguments = ["-e", &event, "-c", "1", "-m", "1", "--", text(&writer)];
    let Some(ran) = on_a_busy_machine(|| record(&folder, &arguments)) else { return };
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let file = PerfFile::open(&folder.join("perf.data")).unwrap();
    let mut walk = file.records().unwrap();
    let (mut seen, mut lost) = (0, 0);
    while let Some(record) = walk.next().unwrap() {
        match record.kind {
            kinds::SAMPLE => seen += 1,
            kinds::LOST => lost += u64::from_ne_bytes(record.bytes[16..24].try_into().unwrap()),
            _ => {}
        }
    }
    assert!(lost > 0, "{seen} samples and none lost");
    // what is lost may be records of mappings as well
    assert!((WRITES..WRITES + 50).contains(&(seen + lost)), "{seen} samples, {lost} lost");
    assert!(ran.err.contains("were lost"), "{}", ran.err);
}

/// What `what` gives while every processor has more to do than it can.
fn on_a_busy_machine<T>(what: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..4 * processors {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(what));
        done.store(true, Ordering::Relaxed);
        found.unwrap_or_else(|cause| std::panic::resume_unwind(cause))
    })
}

/// The program, and the event of its writes.
fn writer(folder: &Path) -> (std::path::PathBuf, String) {
    let writer = compile(folder, "writer", WRITER, &["-O1", "-no-pie"]);
    let symbols = run("nm", &[text(&writer)]);
    let line = symbols.lines().find(|line| line.ends_with(" written")).unwrap();
    (writer, format!("mem:0x{}/8:w", line.split(' ').next().unwrap()))
}

/// Two of eight places in step with the period, all eight if intervals are random; and these are as even as they should be.
#[test]
fn random_intervals_are_uniform_and_break_the_step_that_a_fixed_one_keeps() {
    const MEAN: u64 = 400;
    let folder = folder("record-random");
    let (writer, event) = writer(&folder);
    let mean = MEAN.to_string();
    let args = ["-e", &event, "-c", &mean, "-o", "fixed.data", "--", text(&writer)];
    if record(&folder, &args).is_none() {
        return;
    }
    let fixed = samples(&folder.join("fixed.data"));
    // a breakpoint that is missed while the thread moves from one processor to another changes the step
    let (share, places) = most(&fixed);
    assert!(share > 0.5 && places < 8, "the fixed period keeps step: {share} {places}");
    let args = [&["--randomize", "--seed", "7"], &args[..]].concat();
    let args: Vec<&str> = args.iter().map(|a| if *a == "fixed.data" { "random.data" } else { *a }).collect();
    record(&folder, &args).unwrap();
    let random = samples(&folder.join("random.data"));
    let (share, places) = most(&random);
    assert!(share < 0.35 && places == 8, "random intervals do not: {share} {places}");
    // those that the recorder came too late for are longer than any that is drawn
    let mut intervals: Vec<u64> = random.iter().map(|sample| sample.1).collect();
    intervals.sort();
    let drawn = intervals.partition_point(|&interval| interval < MEAN * 3 / 2);
    assert!(drawn * 10 >= intervals.len() * 9, "{} of {} in range", drawn, intervals.len());
    // Kolmogorov–Smirnov: √n D beyond 2.2 has a probability of 0.0001
    let n = drawn as f64;
    let uniform = |interval: u64| (interval.max(MEAN / 2) - MEAN / 2) as f64 / MEAN as f64;
    let distance = |(at, &interval): (usize, &u64)| (uniform(interval) - (at as f64 + 0.5) / n).abs();
    let distance = intervals[..drawn].iter().enumerate().map(distance).fold(0.0, f64::max);
    assert!(distance * n.sqrt() < 2.2, "intervals are uniform: {distance} of {n}");
}

/// The share of the place with the most samples, and how many places there are.
fn most(samples: &[(u64, u64)]) -> (f64, usize) {
    let mut counts = std::collections::BTreeMap::<u64, u64>::new();
    samples.iter().for_each(|sample| *counts.entry(sample.0).or_default() += 1);
    let most = counts.values().max().copied().unwrap_or(0);
    (most as f64 / samples.len() as f64, counts.len())
}

/// A recorder of a program that spins for a minute, once it has recorded.
fn running(folder: &Path, args: &[&str]) -> Option<Child> {
    let spin = compile(folder, "spin", SPIN, &["-O1", "-pthread"]);
    record(folder, &["-o", "probe.data", "--", text(&spin), "1"])?;
    let all = [&["record"], args, &["--", text(&spin), "60000"]].concat();
    let recorder = command(folder, &all).stderr(Stdio::piped()).spawn().unwrap();
    let data = folder.join("perf.data");
    let deadline = Instant::now() + Duration::from_secs(30);
    // more than the header and what is told of the kernel
    while std::fs::metadata(&data).map_or(0, |data| data.len()) < 4000 {
        assert!(Instant::now() < deadline, "nothing is recorded");
        std::thread::sleep(Duration::from_millis(20));
    }
    Some(recorder)
}

#[test]
fn ctrl_c_finishes_the_recording_and_a_killed_recorder_leaves_one_to_recover() {
    let folder = folder("record-stopped");
    let Some(mut recorder) = running(&folder, &["-F", "2000"]) else { return };
    run("kill", &["-INT", &recorder.id().to_string()]);
    assert_eq!(recorder.wait().unwrap().code(), Some(128 + 15), "the program was asked to end");
    let data = folder.join("perf.data");
    let file = PerfFile::open(&data).unwrap();
    assert!(file.warnings().is_empty(), "{:?}", file.warnings());
    let ours = samples(&data).len();
    assert!(ours > 10 && by_perf(&data).is_none_or(|theirs| theirs == ours));

    std::fs::remove_file(&data).unwrap();
    let mut recorder = running(&folder, &["-F", "2000"]).unwrap();
    let children = format!("/proc/{0}/task/{0}/children", recorder.id());
    let children = std::fs::read_to_string(children).unwrap_or_default();
    recorder.kill().unwrap();
    assert_eq!(recorder.wait().unwrap().signal(), Some(9));
    for child in children.split_whitespace() {
        run("kill", &[child]);
    }
    let file = PerfFile::open(&data).unwrap();
    assert_eq!(file.warnings().len(), 1, "unfinished: {:?}", file.warnings());
    assert!(samples(&data).len() > 10);
    let report = skidconv(&folder, &["report", "perf.data"]);
    assert!(report.code == Some(0) && report.out.contains("spin"), "{report:?}");
}

#[test]
fn where_there_can_be_no_recording_one_line_says_why_and_nothing_stays() {
    let folder = folder("record-refused");
    std::fs::write(folder.join("text"), "no program").unwrap();
    // an earlier recording stays where it is
    std::fs::write(folder.join("perf.data"), "earlier").unwrap();
    let limited = |limit: &str, args: &str| {
        let program = env!("CARGO_BIN_EXE_skidconv");
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{limit} exec {program} record {args}")]).current_dir(&folder);
        let output = shell.output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    if record(&folder, &["-e", "cpu-clock", "-o", "probe", "--", "true"]).is_none() {
        return;
    }
    let mut cases = vec![
        (limited("", "-e cpu-clock -- /no/such/program"), 127, "cannot run /no/such/program: No such file"),
        (limited("", "-e cpu-clock -- ./text"), 126, "cannot run ./text: Permission denied"),
        (limited("", "-e cpu-clock -o /dev/full -- true"), 1, "cannot write /dev/full: No space left"),
        (
            limited("ulimit -f 1;", "-e cpu-clock -F 20000 -- sh -c 'while :; do :; done'"),
            1,
            "cannot write perf.data: File too large",
        ),
        (limited("", "-e cpu-clock -o no/folder -- true"), 1, "cannot write no/folder: No such file"),
        (limited("", "-e cpu-clock -p 999999999"), 1, "there is no process 999999999"),
        (limited("", "-e magic -- true"), 2, "there is no event magic"),
        (limited("", ""), 2, "nothing to record"),
    ];
    if !skidconv_recorder::has_counters() {
        cases.push((limited("", "--require-pmu -- true"), 1, "needs a hardware counter"));
        cases.push((limited("", "-e instructions -- true"), 1, "needs a hardware counter"));
        cases.push((limited("", "-e cpu-clock -b -- true"), 1, "cannot record branches"));
    } else {
        eprintln!("skipped: what is said without hardware counters, for there are some");
    }
    for ((code, told), expected, why) in cases {
        assert!(code == Some(expected) && told.contains(why), "{why}: {code:?} {told}");
        let said = told.lines().filter(|line| !line.contains("recording cpu-clock instead")).count();
        assert!(said == 1 || expected == 2, "{told}");
    }
    assert_eq!(std::fs::read(folder.join("perf.data")).unwrap(), b"earlier");
    let mut left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["perf.data", "probe", "text"]);
}

#[test]
fn without_permission_the_setting_and_the_capability_are_named() {
    let folder = folder("record-permission");
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let paranoid: i32 = paranoid.trim().parse().unwrap_or(0);
    let user = run("id", &["-u"]);
    if paranoid < 1 || user.trim() != "0" {
        eprintln!(
            "skipped: needs root, to become someone who may not record, and perf_event_paranoid of 1 or more"
        );
        return;
    }
    // where nobody may look for it, nobody may run it
    let program = std::env::temp_dir().join(format!("skidconv-{}", std::process::id()));
    std::fs::copy(env!("CARGO_BIN_EXE_skidconv"), &program).unwrap();
    let args = ["--reuid=65534", "--regid=65534", "--clear-groups", text(&program)];
    let args = [&args[..], &["record", "-e", "cpu-clock", "-o", "/dev/null", "-a", "--", "true"]].concat();
    let output = Command::new("setpriv").args(args).current_dir("/").output().unwrap();
    std::fs::remove_file(&program).unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), told.lines().count()), (Some(1), 1), "{told}");
    let setting = format!("kernel.perf_event_paranoid is {paranoid}");
    assert!(told.contains(&setting) && told.contains("CAP_PERFMON"), "{told}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_skid_of_this_machine_is_measured_stored_and_used() {
    let folder = folder("record-calibrate");
    let spin = compile(&folder, "spin", SPIN, &["-O1", "-pthread"]);
    if record(&folder, &["-e", "cpu-clock", "-F", "4000", "--", text(&spin), "200"]).is_none() {
        return;
    }
    let ran = skidconv(&folder, &["calibrate", "--duration", "0.3"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let event = if skidconv_recorder::has_counters() { "cycles" } else { "cpu-clock" };
    let file = PerfFile::open(&folder.join("perf.data")).unwrap();
    let cpuid = file.features().cpu_id.clone().unwrap();
    let stored = folder.join("skidconv/calibrations");
    let skid = skidconv::skid::Calibration::load(&stored, &cpuid).expect("the recording is from here");
    let divides = &skid.event(event).unwrap().behind["divides"];
    // a loop that does nothing but divide: all samples are on the divide or close behind it
    assert!(divides[..3].iter().sum::<f64>() > 0.9, "{divides:?}");
    let measured = "measured on such a processor";
    if event == "cpu-clock" {
        assert!(skidconv(&folder, &["report", "perf.data"]).out.replace("\n ", "").contains("on such a"));
        let plain = skidconv(&folder, &["report", "--no-calibration", "perf.data"]);
        assert!(plain.code == Some(0) && !plain.out.contains(measured));
    }
}
