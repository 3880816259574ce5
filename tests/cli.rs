//! The command line's promises that need no recording: exit codes, refusals, messages.

use assert_cmd::Command;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

fn skidconv(folder: &Path, words: &str) -> Ran {
    let mut command = Command::cargo_bin("skidconv").unwrap();
    let output = command.current_dir(folder).args(words.split_whitespace()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// A folder with a file `perf.data` that is no recording.
fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("perf.data");
    fs::write(&input, "not a recording").unwrap();
    (folder, input)
}

/// Refused in one line that says all of `words`, before anything was written.
fn assert_refused(folder: &Path, arguments: &str, words: &[&str]) {
    let mut before: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let ran = skidconv(folder, arguments);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.err.starts_with("skidconv: ") && ran.err.lines().count() == 1, "{}", ran.err);
    for word in words {
        assert!(ran.err.contains(word), "{word:?} is not in {}", ran.err);
    }
    let mut after: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    before.sort();
    after.sort();
    assert_eq!(before, after);
}

#[test]
fn usage_errors_exit_2() {
    let (folder, _) = folder();
    for words in [
        "",
        "fix",
        "mend perf.data",
        "fix perf.data --solver magic",
        "fix perf.data --skid -3",
        "fix perf.data --threads 0",
        "fix perf.data --folded - --csv -",
        "convert perf.data",
        "convert perf.data --seed 1",
        "convert perf.data --csv out.csv --flamegraph-diff out.svg",
        "convert perf.data --firefox-diff out.json",
        "diff - -",
        "report perf.data --html -",
        "stat perf.data --csv - --html -",
        "stat perf.data --pool - --csv -",
        "variance calls.jsonl --csv - --svg -",
        "man -",
    ] {
        let ran = skidconv(folder.path(), words);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{words}: {}", ran.err);
        assert!(ran.err.contains("--help") || words.is_empty(), "{words}: {}", ran.err);
    }
}

#[test]
fn what_correction_changed_is_asked_of_fix() {
    let (folder, _) = folder();
    for option in ["--flamegraph-diff", "--firefox-diff"] {
        let ran = skidconv(folder.path(), &format!("convert perf.data {option} out"));
        assert!(ran.code == Some(2) && ran.err.contains("are for fix"), "{}", ran.err);
        assert!(skidconv(folder.path(), "fix --help").out.contains(option));
        assert!(!skidconv(folder.path(), "convert --help").out.contains(option));
    }
}

#[test]
fn help_shows_a_worked_example() {
    let (folder, _) = folder();
    for (words, example) in [
        ("--help", "skidconv fix perf.data"),
        ("fix --help", "skidconv fix perf.data --csv"),
        ("fix -h", "skidconv fix perf.data --csv"),
        ("convert --help", "skidconv convert perf.data --flamegraph"),
        ("report --help", "skidconv report perf.data --missing"),
        ("annotate --help", "skidconv annotate perf.data main"),
        ("diff --help", "skidconv diff before.data after.data"),
    ] {
        let ran = skidconv(folder.path(), words);
        assert_eq!(ran.code, Some(0));
        assert!(ran.out.contains("Example:") && ran.out.contains(example), "{words}: {}", ran.out);
    }
    assert_eq!(skidconv(folder.path(), "--version").code, Some(0));
}

#[test]
fn a_missing_input_is_named() {
    let (folder, _) = folder();
    assert_refused(folder.path(), "fix nowhere/perf.data", &["nowhere/perf.data", "No such file"]);
    assert_refused(folder.path(), "convert nowhere.data --csv out.csv", &["nowhere.data"]);
}

#[test]
fn a_folder_without_a_recording_is_no_input() {
    let (folder, _) = folder();
    assert_refused(folder.path(), "fix .. -o out.data", &["..", "no recording", "a file called data"]);
}

#[test]
fn what_binaries_and_symbols_are_looked_for_in_has_to_be_there() {
    let (folder, input) = folder();
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/perf/lpd-sleep.data"), &input).unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    for command in ["fix perf.data", "report perf.data", "stat perf.data", "ibs perf.data"] {
        let refused = |words: &str, what: &[&str]| {
            assert_refused(folder.path(), &format!("{command} {words}"), what);
        };
        refused("--symfs folder --symfs nowhere", &["--symfs: nowhere", "name the one that has"]);
        refused("--symfs perf.data", &["--symfs: perf.data"]);
        refused("--kallsyms nowhere", &["nowhere", "No such file"]);
        refused("--kallsyms folder", &["folder", "irectory"]);
        for (name, text) in [("empty", ""), ("zeros", "0000000000000000 T _text\n0000000000000000 T f\n")] {
            fs::write(folder.path().join(name), text).unwrap();
            refused(&format!("--kallsyms {name}"), &[name, "/proc/kallsyms made as root"]);
        }
        refused("--archive nowhere", &["nowhere", "No such file"]);
    }
}

#[test]
fn the_input_is_never_an_output() {
    let (folder, input) = folder();
    symlink("perf.data", folder.path().join("link.data")).unwrap();
    fs::hard_link(&input, folder.path().join("same.data")).unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    for output in ["perf.data", "./perf.data", "sub/../perf.data", "link.data", "same.data"] {
        for words in [
            format!("fix perf.data --force -o {output}"),
            format!("convert perf.data --force -o {output}"),
            format!("fix perf.data --force --csv {output}"),
            format!("convert perf.data --report-json {output}"),
        ] {
            assert_refused(folder.path(), &words, &["output is the input", output]);
        }
    }
    assert_eq!(fs::read_to_string(&input).unwrap(), "not a recording");
}

#[test]
fn nothing_that_stat_or_variance_reads_is_an_output() {
    let (folder, input) = folder();
    for name in ["b.data", "calls.csv", "expected.csv", "kallsyms"] {
        fs::write(folder.path().join(name), "precious").unwrap();
    }
    symlink("perf.data", folder.path().join("link.data")).unwrap();
    for (words, output) in [
        ("stat perf.data --csv perf.data", "perf.data"),
        ("stat perf.data --html ./perf.data --force", "./perf.data"),
        ("stat perf.data --pool link.data --force", "link.data"),
        ("stat perf.data --csv b.data --against b.data", "b.data"),
        ("stat perf.data --calls calls.csv --csv calls.csv", "calls.csv"),
        ("stat perf.data --expect expected.csv --html expected.csv", "expected.csv"),
        ("stat perf.data --kallsyms kallsyms --csv kallsyms", "kallsyms"),
        ("fix perf.data --kallsyms kallsyms --csv kallsyms", "kallsyms"),
        ("variance perf.data --svg perf.data", "perf.data"),
    ] {
        assert_refused(folder.path(), words, &["output is the input", output]);
    }
    assert_eq!(fs::read_to_string(&input).unwrap(), "not a recording");
    for name in ["b.data", "calls.csv", "expected.csv", "kallsyms"] {
        assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), "precious");
    }
}

#[test]
fn outputs_of_stat_are_refused_before_any_work() {
    let (folder, _) = folder();
    let refused = |words, what: &[&str]| assert_refused(folder.path(), words, what);
    fs::write(folder.path().join("pooled.data"), "precious").unwrap();
    refused("stat perf.data --pool pooled.data", &["output exists", "pooled.data", "--force"]);
    refused("stat perf.data --pool out --csv ./out", &["two outputs", "./out"]);
    refused("stat perf.data --html missing/a.html", &["cannot create output", "missing/a.html"]);
    refused("stat perf.data --svg perf.data/plots", &["cannot create output", "perf.data/plots"]);
    refused("stat perf.data --svg plots", &["not a perf.data"]);
    refused("stat nowhere.data", &["cannot open recording", "nowhere.data"]);
}

#[test]
fn an_existing_output_is_refused_without_force() {
    let (folder, _) = folder();
    let output = folder.path().join("perf.fixed.data");
    fs::write(&output, "precious").unwrap();
    assert_refused(folder.path(), "fix perf.data", &["output exists", "perf.fixed.data", "--force"]);
    assert_refused(folder.path(), "convert perf.data -o perf.fixed.data", &["output exists"]);
    let forced = skidconv(folder.path(), "fix perf.data --force");
    assert!(!forced.err.contains("output exists"), "{}", forced.err);
    assert_eq!(fs::read_to_string(&output).unwrap(), "precious", "the input is no recording");
}

#[test]
fn a_dangling_link_is_an_existing_output() {
    let (folder, _) = folder();
    symlink("gone", folder.path().join("out.data")).unwrap();
    assert_refused(folder.path(), "fix perf.data -o out.data", &["output exists"]);
}

#[test]
fn what_was_done_is_told_in_a_file_of_its_own() {
    let (folder, _) = folder();
    let told = "out.data.skidconv.json";
    fs::write(folder.path().join(told), "not a recording").unwrap();
    assert_refused(folder.path(), &format!("fix {told} -o out.data"), &["output is the input", told]);
    assert_refused(
        folder.path(),
        &format!("fix perf.data -o out.data --csv ./{told}"),
        &["two outputs", told],
    );
    let input = "perf.fixed.data.skidconv.json";
    assert_refused(folder.path(), &format!("fix perf.data --report-json {input}"), &["two outputs", input]);
    // nothing is told of a copy
    assert_refused(folder.path(), &format!("convert {told} -o out.data"), &["not a perf.data"]);
}

#[test]
fn two_outputs_are_two_files() {
    let (folder, _) = folder();
    assert_refused(folder.path(), "fix perf.data --csv out --folded ./out", &["two outputs", "./out"]);
    assert_refused(folder.path(), "fix perf.data --csv perf.fixed.data", &["two outputs"]);
}

#[test]
fn an_input_that_is_no_recording_exits_1_and_leaves_nothing() {
    let (folder, _) = folder();
    let ran = skidconv(folder.path(), "fix perf.data --csv out.csv --quiet");
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn no_table_takes_the_place_of_a_recording() {
    let (folder, _) = folder();
    let other = folder.path().join("other.data");
    fs::write(&other, "PERFILE2 and what follows").unwrap();
    for option in ["--csv", "--html", "--folded", "--flamegraph", "--pprof", "--firefox", "--report-json"] {
        let arguments = format!("convert perf.data {option} other.data");
        assert_refused(folder.path(), &arguments, &["output exists: other.data", "--force"]);
    }
    assert_refused(folder.path(), "stat perf.data --csv other.data", &["output exists: other.data"]);
    assert!(fs::read(&other).unwrap().starts_with(b"PERFILE2"));
}
