//! What the command line promises about files.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::case;
use super::tool::{folder, run, skidconv, testdata, text};

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
    for flag in ["-o", "--csv", "--pprof", "--firefox", "--folded", "--flamegraph", "--report-json"] {
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

/// Runs skidconv where no file may grow beyond `bytes`: as on a full disk, what is too long cannot be written.
fn without_room(folder: &Path, bytes: u64, words: &[&str]) -> (Option<i32>, String) {
    let limited = format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" \"$@\"", bytes / 512);
    let mut command = Command::new("sh");
    command.args(["-c", &limited, env!("CARGO_BIN_EXE_skidconv")]).args(words).current_dir(folder);
    let output = command.output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn where_one_output_has_no_room_none_appears_and_that_one_is_named_once() {
    let folder = small("no-room");
    let before = names(&folder);
    for (bytes, words, named) in [
        (8192, &["convert", "perf.data", "--csv", "out.csv", "--html", "out.html"][..], "output: out.html: "),
        (1024, &["fix", "perf.data", "-o", "out.data", "--folded", "out.folded"], "recording: to out.data: "),
        (1024, &["stat", "perf.data", "--pool", "out.data", "--csv", "out.csv"], "output: out.data: "),
        (4096, &["stat", "perf.data", "--csv", "out.csv", "--html", "out.html"], "output: out.html: "),
    ] {
        let (code, told) = without_room(&folder, bytes, words);
        assert_eq!((code, names(&folder)), (Some(1), before.clone()), "{words:?}: {told}");
        let last = told.lines().last().unwrap();
        assert!(last.contains(named) && last.matches("os error").count() == 1, "{told}");
    }
}

#[test]
fn whoever_pipes_a_file_to_a_reader_of_streams_is_told() {
    let folder = small("piped");
    let stream = testdata("perf/quipper-piped.header_features_aligned-6.12.data");
    std::fs::copy(stream, folder.join("stream.data")).unwrap();
    let hint = |ran: &str| ran.lines().filter(|line| line.contains("not a stream")).count();
    for (words, hints) in [
        (&["fix", "perf.data", "-o", "-"][..], 1),
        (&["fix", "stream.data", "-o", "-"], 0),
        (&["fix", "perf.data", "-o", "-", "-q"], 0),
        (&["convert", "perf.data", "--csv", "-"], 0),
    ] {
        let ran = skidconv(&folder, words);
        assert_eq!((ran.code, hint(&ran.err)), (Some(0), hints), "{words:?}: {}", ran.err);
    }
    let redirected = format!("{} fix perf.data -o - > out.data", env!("CARGO_BIN_EXE_skidconv"));
    let mut command = Command::new("sh");
    let output = command.args(["-c", &redirected]).current_dir(&folder).output().unwrap();
    assert_eq!(hint(&String::from_utf8(output.stderr).unwrap()), 0);
    assert!(std::fs::read(folder.join("out.data")).unwrap().starts_with(b"PERFILE2"));
}

/// A run that has unpacked an archive and written two outputs, and waits for somebody to read the third from `pipe`.
fn waiting(folder: &Path, through: &str) -> Child {
    run("mkfifo", &[text(&folder.join("pipe"))]);
    std::fs::create_dir(folder.join("temporary")).unwrap();
    run("tar", &["-cf", text(&folder.join("archive.tar")), "-C", text(folder), "perf.data"]);
    let mut command = Command::new("sh");
    command.args(["-c", through, env!("CARGO_BIN_EXE_skidconv"), "fix", "perf.data", "-q"]);
    command.args(["--archive", "archive.tar", "--html", "out.html", "--csv", "pipe"]);
    let child = command.current_dir(folder).env("TMPDIR", folder.join("temporary")).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let begun = || names(folder).iter().filter(|name| name.starts_with(".skidconv-")).count();
    while begun() < 3 || names(&folder.join("temporary")).len() < 2 {
        assert!(Instant::now() < deadline, "{:?}", names(folder));
        std::thread::sleep(Duration::from_millis(10));
    }
    child
}

#[test]
fn a_run_that_is_interrupted_leaves_nothing_behind() {
    // what runs the tests may have this process ignore some, and those that it starts
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
    let heard = |(_, number): &(&str, i32)| ignored >> (number - 1) & 1 == 0;
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)].into_iter().filter(heard) {
        let folder = small(&format!("interrupted-{signal}"));
        let mut child = waiting(&folder, "exec \"$0\" \"$@\"");
        run("kill", &[&format!("-{signal}"), &child.id().to_string()]);
        assert_eq!(child.wait().unwrap().signal(), Some(number), "as if nobody had taken it");
        assert_eq!(names(&folder), ["archive.tar", "perf.data", "pipe", "temporary"]);
        assert!(names(&folder.join("temporary")).is_empty());
    }
}

#[test]
fn a_run_that_is_not_to_hear_that_its_terminal_is_gone_goes_on() {
    let folder = small("nohup");
    let mut child = waiting(&folder, "trap '' HUP; exec \"$0\" \"$@\"");
    run("kill", &["-HUP", &child.id().to_string()]);
    let rows = std::fs::read_to_string(folder.join("pipe")).unwrap();
    assert!(rows.starts_with("event,image,"), "{rows}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(names(&folder).contains(&"out.html".into()) && names(&folder.join("temporary")).is_empty());
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
