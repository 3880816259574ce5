//! Right names in every output, whatever the language and wherever the symbols are: live recordings of a C++ program with
//! templates inlined into it and a stripped library with separate debug file, of a Rust generic, and of run-time code.
//! Runs where perf can record; with `SKIDCONV_REQUIRE_PERF` set, its absence fails.

mod elsewhere;
mod outputs;
mod rebuilt;
#[path = "../tool/mod.rs"]
mod tool;
#[path = "../wire/mod.rs"]
mod wire;

use std::path::{Path, PathBuf};

use outputs::Outputs;
use tool::{folder, has, record, run, text};

const MAIN: &str = r#"
extern "C" unsigned long in_library(unsigned long n);
namespace shapes {
template <typename T> struct Folder {
    T sum{};
    inline __attribute__((always_inline)) void fold(T value) {
        for (int i = 1; i < 40; i++) sum += (value * i) / (T)(i + 3);
    }
};
template <typename T> __attribute__((noinline)) T spin(unsigned long n) {
    Folder<T> folder;
    for (unsigned long i = 0; i < n; i++) folder.fold((T)i);
    return folder.sum;
}
}
int main() {
    unsigned long sum = 0;
    for (int round = 0; round < 60; round++)
        sum += (unsigned long)shapes::spin<double>(30000) + shapes::spin<long>(30000) + in_library(900000);
    return sum == 42;
}
"#;

const LIBRARY: &str = r#"
static __attribute__((noinline)) unsigned long helper_of_library(unsigned long n) {
    unsigned long sum = 1;
    for (unsigned long i = 1; i < n; i++) sum += sum / i;
    return sum;
}
unsigned long in_library(unsigned long n) { return helper_of_library(n) + 1; }
"#;

const RUST: &str = r#"
trait Step { fn step(self, by: u64) -> u64; }
impl Step for u32 { fn step(self, by: u64) -> u64 { by / (self as u64 | 1) + 1 } }
impl Step for u64 { fn step(self, by: u64) -> u64 { by % (self | 3) + 7 } }
#[inline(never)]
fn generic_walk<T: Step + Copy>(value: T, n: u64) -> u64 {
    (1..n).fold(9, |sum, i| sum.wrapping_add(value.step(std::hint::black_box(i))))
}
fn main() {
    let n = 60_000_000;
    println!("{}", generic_walk(7u32, n) ^ generic_walk(9u64, n));
}
"#;

const SCRIPT: &str = "function spinHot(n) { let s = 0; for (let i = 1; i < n; i++) { s += (s / i) % 7; } return s; } \
                      let t = 0; const end = Date.now() + 900; while (Date.now() < end) t += spinHot(20000);";

fn source(folder: &Path, name: &str, text: &str) -> String {
    std::fs::write(folder.join(name), text).unwrap();
    self::text(&folder.join(name)).to_owned()
}

/// The C++ program, whose library has its symbols in a file of their own.
fn program(folder: &Path) -> PathBuf {
    let library = folder.join("libspin.so");
    let (c, cpp) = (source(folder, "spin.c", LIBRARY), source(folder, "main.cpp", MAIN));
    run("cc", &["-g", "-O1", "-fPIC", "-shared", "-Wl,--build-id", "-o", text(&library), &c]);
    let debug = folder.join("libspin.so.debug");
    run("objcopy", &["--only-keep-debug", text(&library), text(&debug)]);
    let link = format!("--add-gnu-debuglink={}", text(&debug));
    run("objcopy", &["--strip-all", &link, text(&library)]);
    let program = folder.join("shapes");
    let (path, at) = (format!("-L{}", text(folder)), format!("-Wl,-rpath,{}", text(folder)));
    run(
        "g++",
        &[
            "-g",
            "-O2",
            "-fno-unroll-loops",
            "-fno-tree-vectorize",
            "-o",
            text(&program),
            &cpp,
            &path,
            "-lspin",
            &at,
        ],
    );
    program
}

const EVERY: [&str; 6] = ["-e", "cpu-clock", "-F", "1500", "-g", "--"];

#[test]
fn templates_inlined_code_and_a_stripped_library_have_their_names() {
    let folder = folder("names");
    let program = program(&folder);
    let data = folder.join("perf.data");
    if record(&data, &[&EVERY[..], &[text(&program)]].concat()).is_none() {
        return;
    }
    let outputs = Outputs::of(&folder, "perf.data", &[]);
    for name in ["shapes::spin<double>", "shapes::spin<long>"] {
        outputs.assert_named(&format!("{name}(unsigned long)"));
        outputs.assert_named_by_perf(name);
        let listed = outputs.annotated(name);
        assert!(listed.starts_with(&format!("{name}(unsigned long)  shapes\n")), "{listed}");
        assert!(listed.contains("[shapes::") && listed.contains("sum += (value * i)"), "{listed}");
    }
    outputs.assert_named("helper_of_library");
    outputs.assert_named_by_perf("helper_of_library");
    assert!(outputs.annotated("helper_of_library").starts_with("helper_of_library  libspin.so\n"));
    // what is inlined is told where lines are told
    for end in ["pb.gz", "json", "html"] {
        assert!(outputs.text(end).contains("fold"), "inlined function in {end}");
    }
    assert!(outputs.text("html").contains("sum += (value * i)"), "the source line itself");
    let csv = outputs.text("csv");
    assert!(csv.contains("main.cpp") && csv.contains("spin.c"), "files of both");
    elsewhere::carried(&folder, &data);
}

#[test]
fn a_rust_generic_has_its_name() {
    // the newer of two ways in which Rust mangles names keeps the types; perf 6.1 does not know it
    let newer = ["walk::generic_walk::<u32>", "walk::generic_walk::<u64>"];
    for (name, flags) in [("rust", &[][..]), ("rust-v0", &["-C", "symbol-mangling-version=v0"])] {
        let folder = folder(name);
        let program = folder.join("walk");
        let file = source(&folder, "walk.rs", RUST);
        run("rustc", &[&["-g", "-O", "-o", text(&program), &file], flags].concat());
        if record(&folder.join("perf.data"), &[&EVERY[..], &[text(&program)]].concat()).is_none() {
            return;
        }
        let outputs = Outputs::of(&folder, "perf.data", &[]);
        let mut samples = outputs.samples();
        let all = samples.values().sum::<u64>();
        samples.retain(|name, _| name.starts_with("walk::generic_walk"));
        assert!(samples.values().sum::<u64>() * 2 > all, "{samples:?}");
        assert!(flags.is_empty() || newer.iter().all(|name| samples.contains_key(*name)), "{samples:?}");
        for name in samples.keys() {
            outputs.assert_named(name);
            assert!(outputs.annotated(name).starts_with(&format!("{name}  walk\n")));
        }
        if samples.contains_key("walk::generic_walk") {
            outputs.assert_named_by_perf("walk::generic_walk");
        }
    }
}

#[test]
fn run_time_code_has_the_names_of_its_map_and_of_its_dump() {
    if !has("node") {
        return;
    }
    let folder = folder("jit-names");
    // what it writes of itself, it writes where it runs
    let node = |flag: &str, data: &str| {
        let script = format!("cd '{}' && exec node {flag} -e \"$0\"", text(&folder));
        let args = [&EVERY[..4], &["-k", "mono", "--", "sh", "-c", &script, SCRIPT]].concat();
        record(&folder.join(data), &args)
    };
    if node("--perf-basic-prof", "map.data").is_none() {
        return;
    }
    let outputs = Outputs::of(&folder, "map.data", &[]);
    let spin = |outputs: &Outputs| {
        let samples = outputs.samples();
        let (name, n) =
            samples.iter().filter(|(name, _)| name.contains("spinHot")).max_by_key(|(_, n)| **n).unwrap();
        assert!(n * 3 > samples.values().sum::<u64>(), "{samples:?}");
        name.clone()
    };
    outputs.assert_named(&spin(&outputs));
    outputs.assert_named_by_perf(&spin(&outputs));
    assert!(outputs.text("report.json").contains("perf inject --jit"), "what would help");
    node("--perf-prof", "dump.data").unwrap();
    let outputs = Outputs::of(&folder, "dump.data", &[]);
    outputs.assert_named(&spin(&outputs));
    assert!(!outputs.moved().contains(&spin(&outputs)), "its code is in no file");
    let [from, to] = ["dump.data", "injected.data"].map(|data| folder.join(data));
    let cache = folder.join("cache");
    let inject = ["--buildid-dir", text(&cache), "inject", "--jit", "-i", text(&from), "-o", text(&to)];
    let injected = tool::perf(&inject);
    assert_eq!(injected.code, Some(0), "{}", injected.err);
    let outputs = Outputs::of(&folder, "injected.data", &[]);
    outputs.assert_named(&spin(&outputs));
    assert!(outputs.moved().contains(&spin(&outputs)), "now it is in one");
}
