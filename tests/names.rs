//! Right names in every output, whatever the language and wherever the symbols are: live recordings of a C++ program with
//! templates inlined into it and a stripped library with separate debug file, of a Rust generic, and of run-time code.
//! Runs where perf can record; with `SKIDCONV_REQUIRE_PERF` set, its absence fails.

mod tool;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use tool::{Ran, folder, has, record, run, skidconv, text};

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
                      let t = 0; const end = Date.now() + 1500; while (Date.now() < end) t += spinHot(20000);";

/// All outputs of one recording, as text or unpacked bytes.
struct Outputs {
    folder: PathBuf,
    terminal: String,
}

impl Outputs {
    fn of(folder: &Path, data: &str, flags: &[&str]) -> Outputs {
        let files = ["--csv", "--pprof", "--firefox", "--folded", "--flamegraph", "--html", "--report-json"];
        let names =
            ["csv", "pb.gz", "json", "folded", "svg", "html", "report.json"].map(|end| format!("out.{end}"));
        let mut words = vec!["fix", data, "--force"];
        words.extend(files.iter().zip(&names).flat_map(|(flag, name)| [*flag, name]));
        words.extend(flags);
        let Ran { code, out, err } = skidconv(folder, &words);
        assert_eq!((code, err.as_str()), (Some(0), ""));
        Outputs { folder: folder.to_owned(), terminal: out }
    }

    fn text(&self, end: &str) -> String {
        let bytes = std::fs::read(self.folder.join(format!("out.{end}"))).unwrap();
        let mut unpacked = Vec::new();
        match bytes.starts_with(&[0x1f, 0x8b]) {
            true => flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut unpacked).map(drop).unwrap(),
            false => unpacked = bytes,
        }
        String::from_utf8_lossy(&unpacked).into_owned()
    }

    /// Every output names the function; those with markup may have it escaped, folded stacks cut arguments.
    fn assert_named(&self, name: &str) {
        let escaped =
            name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\'', "&#39;");
        let cut = name.split('(').next().unwrap();
        for end in ["csv", "pb.gz", "json", "folded", "svg", "html", "report.json"] {
            let text = self.text(end);
            let json = serde_json::to_string(name).unwrap();
            let forms = [name, escaped.as_str(), cut, json.trim_matches('"')];
            let cut_escaped = escaped.split('(').next().unwrap();
            assert!(
                forms.iter().any(|form| text.contains(form)) || text.contains(cut_escaped),
                "{name} in {end}"
            );
        }
        assert!(self.terminal.contains(&cut[..cut.len().min(12)]), "{name} in\n{}", self.terminal);
    }

    /// Samples per symbol.
    fn samples(&self) -> BTreeMap<String, u64> {
        let csv = self.text("csv");
        let mut samples = BTreeMap::new();
        for row in csv::Reader::from_reader(csv.as_bytes()).records().map(Result::unwrap) {
            *samples.entry(row[3].to_owned()).or_default() += row[8].parse::<u64>().unwrap();
        }
        samples
    }
}

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
    for name in ["shapes::spin<double>(unsigned long)", "shapes::spin<long>(unsigned long)"] {
        outputs.assert_named(name);
    }
    outputs.assert_named("helper_of_library");
    // what is inlined is told where lines are told
    for end in ["pb.gz", "json", "html"] {
        assert!(outputs.text(end).contains("fold"), "inlined function in {end}");
    }
    assert!(outputs.text("html").contains("sum += (value * i)"), "the source line itself");
    let csv = outputs.text("csv");
    assert!(csv.contains("main.cpp") && csv.contains("spin.c"), "files of both");
    let listed = skidconv(&folder, &["annotate", "perf.data", "shapes::spin<double>", "--color", "never"]);
    assert!(listed.out.contains("[shapes::") && listed.out.contains("sum += (value * i)"), "{}", listed.out);
    carried_elsewhere(&folder, &data);
}

/// What `perf archive` packs has the names where nothing of the recorded machine is left.
fn carried_elsewhere(folder: &Path, data: &Path) {
    let moved = folder.join("moved");
    std::fs::create_dir_all(&moved).unwrap();
    let file = skidconv::perfdata::PerfFile::open(data).unwrap();
    let cache = folder.join("cache");
    for id in &file.features().build_ids {
        let name = String::from_utf8_lossy(&id.filename).into_owned();
        if !name.starts_with(text(folder)) {
            continue;
        }
        let hex = skidconv::image::hex(&id.bytes);
        let entry = cache.join(".build-id").join(&hex[..2]).join(hex[2..].trim_end_matches("00000000"));
        std::fs::create_dir_all(&entry).unwrap();
        std::fs::copy(&name, entry.join("elf")).unwrap();
        let debug = format!("{name}.debug");
        if Path::new(&debug).exists() {
            std::fs::copy(&debug, entry.join("debug")).unwrap();
        }
    }
    run("tar", &["cjf", text(&folder.join("perf.data.tar.bz2")), "-C", text(&cache), ".build-id"]);
    for name in ["shapes", "libspin.so", "libspin.so.debug"] {
        std::fs::rename(folder.join(name), moved.join(name)).unwrap();
    }
    let missing = skidconv(folder, &["report", "perf.data", "--missing", "--raw"]);
    assert!(missing.out.contains("shapes") && missing.out.contains("perf archive"), "{}", missing.out);
    let outputs = Outputs::of(folder, "perf.data", &["--archive", "perf.data.tar.bz2"]);
    outputs.assert_named("shapes::spin<double>(unsigned long)");
    outputs.assert_named("helper_of_library");
    for name in ["shapes", "libspin.so", "libspin.so.debug"] {
        std::fs::rename(moved.join(name), folder.join(name)).unwrap();
    }
}

#[test]
fn a_rust_generic_has_its_name() {
    let folder = folder("rust-names");
    let program = folder.join("walk");
    run("rustc", &["-g", "-O", "-o", text(&program), &source(&folder, "walk.rs", RUST)]);
    if record(&folder.join("perf.data"), &[&EVERY[..], &[text(&program)]].concat()).is_none() {
        return;
    }
    let outputs = Outputs::of(&folder, "perf.data", &[]);
    outputs.assert_named("walk::generic_walk");
    let samples = outputs.samples();
    let walk: u64 =
        samples.iter().filter(|(name, _)| name.starts_with("walk::generic_walk")).map(|(_, n)| n).sum();
    assert!(walk * 2 > samples.values().sum::<u64>(), "{samples:?}");
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
    node("--perf-prof", "dump.data").unwrap();
    let outputs = Outputs::of(&folder, "dump.data", &[]);
    outputs.assert_named(&spin(&outputs));
}

/// The binary and debug file of a program on a server, asked for by build-id, where neither is on this machine any more.
#[test]
fn a_debuginfod_server_is_asked_only_if_wanted() {
    let folder = folder("debuginfod");
    let program = program(&folder);
    if record(&folder.join("perf.data"), &[&EVERY[..], &[text(&program)]].concat()).is_none() {
        return;
    }
    let file = skidconv::perfdata::PerfFile::open(&folder.join("perf.data")).unwrap();
    let mut served = BTreeMap::new();
    for id in &file.features().build_ids {
        let name = String::from_utf8_lossy(&id.filename).into_owned();
        if name.starts_with(text(&folder)) {
            let hex = skidconv::image::hex(&id.bytes);
            served.insert(format!("/buildid/{hex}/executable"), std::fs::read(&name).unwrap());
            if let Ok(debug) = std::fs::read(format!("{name}.debug")) {
                served.insert(format!("/buildid/{hex}/debuginfo"), debug);
            }
        }
    }
    for name in ["shapes", "libspin.so", "libspin.so.debug"] {
        std::fs::remove_file(folder.join(name)).unwrap();
    }
    let (url, asked) = serve(served);
    let names = |flags: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_skidconv"))
            .current_dir(&folder)
            .args([&["convert", "perf.data", "--quiet", "--csv", "-"], flags].concat())
            .env("DEBUGINFOD_URLS", &url)
            .env("DEBUGINFOD_CACHE_PATH", folder.join("cache"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(!names(&[]).contains("shapes::spin"));
    assert_eq!(*asked.lock().unwrap(), 0, "nobody was asked");
    let found = names(&["--debuginfod"]);
    assert!(found.contains("shapes::spin<double>") && found.contains("helper_of_library"), "{found}");
    let once = *asked.lock().unwrap();
    assert!(once >= 3 && names(&["--debuginfod"]).contains("helper_of_library"));
    let none = skidconv(&folder, &["convert", "perf.data", "--csv", "x", "--debuginfod"]);
    let unset = std::env::var_os("DEBUGINFOD_URLS").is_none();
    assert!(!unset || (none.code == Some(1) && none.err.contains("DEBUGINFOD_URLS")), "{}", none.err);
}

type Count = std::sync::Arc<std::sync::Mutex<usize>>;

/// A server of these files on a port of this machine.
fn serve(files: BTreeMap<String, Vec<u8>>) -> (String, Count) {
    use std::io::Write;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count = Count::default();
    let counted = count.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut request = [0; 4096];
            let len = stream.read(&mut request).unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..len]).into_owned();
            let path = request.split(' ').nth(1).unwrap_or_default();
            *counted.lock().unwrap() += 1;
            let (status, body) = match files.get(path) {
                Some(body) => ("200 OK", &body[..]),
                None => ("404 Not Found", &[][..]),
            };
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        }
    });
    (url, count)
}
