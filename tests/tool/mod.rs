//! Running the program under test, perf and the compiler.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::Value;

/// How a program ended.
#[derive(Debug)]
pub struct Ran {
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// That a quiet run succeeded and told nothing but what was lost and warnings that its report has too, a line each.
    pub fn assert_tells_of_damage_alone(&self, report: &Value, what: &str) {
        assert_eq!((self.code, self.out.as_str()), (Some(0), ""), "{what}: {}", self.err);
        let lost = report["lost"].as_u64().filter(|lost| *lost > 0);
        let warned = report["warnings"].as_array().unwrap().iter().filter_map(Value::as_str);
        let mut lines = self.err.lines().map(|line| line.strip_prefix("skidconv: warning: ").unwrap());
        if lost.is_some() {
            assert!(lines.next().unwrap().contains("lost while recording"), "{what}: {}", self.err);
        }
        let warned: Vec<&str> = warned.collect();
        assert!(lines.all(|line| warned.contains(&line)), "{what}: {}", self.err);
    }

    fn of(output: Output) -> Ran {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ran { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

/// Runs skidconv in `folder`.
pub fn skidconv(folder: &Path, args: &[&str]) -> Ran {
    Ran::of(command(folder, args).output().unwrap())
}

/// skidconv in `folder`, which is also where it keeps its data: what was measured of this machine changes no test.
pub fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skidconv"));
    command.current_dir(folder).args(args).env("XDG_DATA_HOME", folder);
    command
}

/// Every output of `fix` and `convert`: its flag, and the end of its name.
pub const OUTPUTS: &[(&str, &str)] = &[
    ("-o", "data"),
    ("--csv", "csv"),
    ("--pprof", "pb.gz"),
    ("--firefox", "json"),
    ("--firefox-diff", "diff.json"),
    ("--folded", "folded"),
    ("--flamegraph", "svg"),
    ("--flamegraph-diff", "diff.svg"),
    ("--html", "html"),
    ("--report-json", "report.json"),
    #[cfg(feature = "parquet")]
    ("--parquet", "parquet"),
    #[cfg(feature = "parquet")]
    ("--parquet-samples", "samples.parquet"),
];

/// Runs `fix` or `convert` with those of [`OUTPUTS`] that it has, all called `name`.
pub fn with_outputs(folder: &Path, command: &str, words: &[&str], name: &str) -> Ran {
    let has = |(flag, _): &&(&str, &str)| command == "fix" || !flag.ends_with("-diff");
    let outputs = OUTPUTS.iter().filter(has).map(|(flag, end)| (*flag, format!("{name}.{end}")));
    let outputs: Vec<(&str, String)> = outputs.collect();
    let flags = outputs.iter().flat_map(|(flag, name)| [*flag, name.as_str()]);
    let args: Vec<&str> = [command].into_iter().chain(words.iter().copied()).chain(flags).collect();
    let ran = skidconv(folder, &args);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    ran
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Whether perf is there. With `SKIDCONV_REQUIRE_PERF` set it has to be.
pub fn has_perf() -> bool {
    static THERE: OnceLock<bool> = OnceLock::new();
    *THERE.get_or_init(|| {
        let there = Command::new("perf").arg("--version").output().is_ok_and(|o| o.status.success());
        assert!(there || !perf_is_required(), "perf is required and was not found");
        there
    })
}

pub fn perf_is_required() -> bool {
    std::env::var_os("SKIDCONV_REQUIRE_PERF").is_some()
}

/// Whether a program is there that outputs are opened in. With `SKIDCONV_REQUIRE_TOOLS` set it has to be.
pub fn has(program: &str) -> bool {
    let there = Command::new("sh").args(["-c", "command -v \"$0\"", program]).output();
    let there = there.is_ok_and(|output| output.status.success());
    let required = std::env::var_os("SKIDCONV_REQUIRE_TOOLS").is_some();
    assert!(there || !required, "{program} is required and was not found");
    if !there {
        eprintln!("skipped: {program} is not there");
    }
    there
}

/// Runs `perf` with a home of its own, so that no one's configuration or cache matters. `-f` reads files of any owner.
pub fn perf(args: &[&str]) -> Ran {
    let home = env!("CARGO_TARGET_TMPDIR");
    let mut command = Command::new("perf");
    command.args(args).env("HOME", home).env("PERF_CONFIG", "/dev/null").env("PAGER", "cat");
    Ran::of(command.output().expect("perf is there"))
}

/// Runs `perf record` with `args`, the name of the recording aside. `None`, with a word of why, where perf cannot record;
/// with `SKIDCONV_REQUIRE_PERF` set that is a failure.
pub fn record(data: &Path, args: &[&str]) -> Option<()> {
    if !has_perf() {
        eprintln!("skipped: perf is not there");
        return None;
    }
    let ran = perf(&[&["record", "-q", "-o", text(data)], args].concat());
    if ran.code == Some(0) {
        return Some(());
    }
    assert!(!perf_is_required(), "perf cannot record here: {}", ran.err);
    eprintln!("skipped: perf cannot record here: {}", ran.err);
    None
}

/// Runs a tool that has to work.
pub fn run(tool: &str, args: &[&str]) -> String {
    let output = Command::new(tool).args(args).output();
    let ran = Ran::of(output.unwrap_or_else(|error| panic!("{tool} is required: {error}")));
    assert_eq!(ran.code, Some(0), "{tool} {args:?}: {}", ran.err);
    ran.out
}

/// Compiles C, or assembly if it begins with a dot, to `folder/name`.
pub fn compile(folder: &Path, name: &str, source: &str, args: &[&str]) -> PathBuf {
    let extension = if source.trim_start().starts_with('.') { "s" } else { "c" };
    let file = folder.join(format!("{name}.{extension}"));
    std::fs::write(&file, source).unwrap();
    let program = folder.join(name);
    run("cc", &[args, &["-o", text(&program), text(&file)]].concat());
    program
}

/// Where a program or library has a symbol.
pub fn address(program: &Path, name: &str) -> u64 {
    let symbols = run("nm", &[text(program)]);
    let line = symbols.lines().find(|l| l.ends_with(&format!(" {name}"))).unwrap();
    u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap()
}

/// A folder of its own for the files of one test, empty, which stays there to look at.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A file or folder of testdata.
pub fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}
