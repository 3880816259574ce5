//! Recordings that are cut short, and those that cannot be: one line says why, and nothing stays.

use super::*;
use crate::tool::command;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

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
        (limited("", "-e cpu-clock -t 999999999"), 1, "there is no thread 999999999"),
        (limited("", "-e cpu-clock -C 9999 -- true"), 1, "there is no processor 9999"),
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
