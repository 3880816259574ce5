//! Names of what is not on this machine any more, or never was a file: packed by `perf archive`, on a debuginfod server, shared
//! by dwz, 32 bits wide, in the kernel's own library.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::Command;

use super::outputs::Outputs;
use super::tool::{compile, folder, has, record, run, skidconv, text};
use super::{EVERY, program};

/// What `perf archive` packs has the names where nothing of the recorded machine is left.
pub fn carried(folder: &Path, data: &Path) {
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

/// A server of these files on a port of this machine; one with a file of no name knows nothing but errors.
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
                None if files.contains_key("") => ("500 Internal Server Error", &[][..]),
                None => ("404 Not Found", &[][..]),
            };
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        }
    });
    (url, count)
}

#[test]
fn a_server_that_fails_is_told_of_and_asked_no_more() {
    let folder = folder("debuginfod-fails");
    let program = compile(&folder, "spin", SPIN, &["-O1", "-Wl,--build-id"]);
    if record(&folder.join("perf.data"), &[&EVERY[..], &[text(&program)]].concat()).is_none() {
        return;
    }
    std::fs::remove_file(&program).unwrap();
    // a port that nobody listens to any more, and a server that answers nothing but errors
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (broken, _) = serve(BTreeMap::from([(String::new(), Vec::new())]));
    for (url, reason) in [(format!("http://{closed}"), "cannot be reached"), (broken, "it answers 500")] {
        for command in [&["report", "--missing"][..], &["report"], &["convert", "--csv", "x"]] {
            let output = Command::new(env!("CARGO_BIN_EXE_skidconv"))
                .current_dir(&folder)
                .args([command, &["perf.data", "--debuginfod"]].concat())
                .envs([("DEBUGINFOD_URLS", url.as_str()), ("DEBUGINFOD_CACHE_PATH", text(&folder))])
                .output()
                .unwrap();
            let told = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "the rest is done: {output:?}");
            let lines: Vec<&str> = told.lines().filter(|line| line.contains("debuginfod: http")).collect();
            assert_eq!(lines.len(), 1, "{told}");
            assert!(lines[0].starts_with("warning:") && lines[0].contains(reason), "{told}");
        }
    }
}

/// Divides for a while.
const SPIN: &str = "
    static volatile unsigned long sink, most = 300000;
    __attribute__((noinline)) unsigned long spin_here(unsigned long n) {
        unsigned long sum = 1;
        for (unsigned long i = 1; i < n; i++) sum += sum / (i | 1);
        return sum;
    }
    int main(void) { for (int i = 0; i < 60; i++) sink += spin_here(most); return 0; }";

#[test]
fn what_dwz_moved_to_a_shared_file_is_found() {
    if !has("dwz") {
        return;
    }
    let folder = folder("dwz");
    let inlined = "static inline __attribute__((always_inline)) unsigned long twice(unsigned long n) {
        struct { unsigned long low, high; } both = {n, n / 3};
        for (int i = 1; i < 20; i++) both.low += both.high / (both.low | 1);
        return both.low;
    }";
    std::fs::write(folder.join("twice.h"), inlined).unwrap();
    let build = |name: &str| {
        let source = SPIN.replace("sum / (i | 1)", "twice(i)").replace("300000", "15000");
        compile(&folder, name, &format!("#include \"twice.h\"\n{source}"), &["-g", "-O1", "-Wl,--build-id"])
    };
    let (one, two) = (build("one"), build("two"));
    if record(&folder.join("perf.data"), &[&EVERY[..], &[text(&one)]].concat()).is_none() {
        return;
    }
    let before = Outputs::of(&folder, "perf.data", &[]);
    let (names, profile) = (before.text("csv"), before.text("json"));
    run("sh", &["-c", "cd \"$0\" && dwz -m shared.debug one two", text(&folder)]);
    assert!(folder.join("shared.debug").exists() && two.exists(), "dwz found something to share");
    let after = Outputs::of(&folder, "perf.data", &[]);
    after.assert_named("spin_here");
    assert_eq!(after.text("csv"), names);
    assert!(profile.contains("\"twice\"") && after.text("json") == profile, "inlined functions");
    // it is from there that they come
    std::fs::remove_file(folder.join("shared.debug")).unwrap();
    assert!(!Outputs::of(&folder, "perf.data", &[]).text("json").contains("\"twice\""));
}

#[test]
fn a_program_of_32_bits_has_its_names() {
    let folder = folder("bits32");
    // no library of that width is needed
    let source = "
        static volatile unsigned sink, most = 300000;
        __attribute__((noinline)) unsigned spin_narrow(unsigned n) {
            unsigned sum = 1;
            for (unsigned i = 1; i < n; i++) sum += (sum ^ i) / (i | 1);
            return sum;
        }
        void _start(void) {
            for (int i = 0; i < 120; i++) sink += spin_narrow(most);
            __asm__ volatile(\"int $0x80\" :: \"a\"(1), \"b\"(0));
        }";
    let flags = ["-m32", "-g", "-O1", "-ffreestanding", "-nostdlib", "-static", "-fno-pie", "-no-pie"];
    let program = compile(&folder, "narrow", source, &[&flags[..], &["-fno-stack-protector"]].concat());
    if Command::new(&program).status().is_err() {
        eprintln!("skipped: this kernel runs nothing of 32 bits");
        return;
    }
    if record(&folder.join("perf.data"), &[&EVERY[..], &[text(&program)]].concat()).is_none() {
        return;
    }
    let outputs = Outputs::of(&folder, "perf.data", &[]);
    outputs.assert_named("spin_narrow");
    outputs.assert_named_by_perf("spin_narrow");
    let listed = outputs.annotated("spin_narrow");
    assert!(listed.starts_with("spin_narrow  narrow\n") && listed.contains("div "), "{listed}");
    // the division is what takes the time
    let division = listed.lines().find(|line| line.contains("div ")).unwrap_or_default();
    let share = division.split('%').next().and_then(|share| share.trim().parse::<f64>().ok());
    assert!(share.is_some_and(|share| share > 60.0), "{listed}");
}

#[test]
fn the_kernel_s_library_in_every_process_has_its_names() {
    let folder = folder("vdso");
    let source = "
        #include <time.h>
        int main(void) {
            struct timespec now;
            unsigned long sum = 0;
            for (int i = 0; i < 12000000; i++) {
                clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
                sum += now.tv_nsec;
            }
            return sum == 42;
        }";
    let program = compile(&folder, "clock", source, &["-O1"]);
    if record(&folder.join("perf.data"), &[&EVERY[..], &[text(&program)]].concat()).is_none() {
        return;
    }
    // perf record keeps a copy of it in its cache, which here is that of perf's home
    let output = Command::new(env!("CARGO_BIN_EXE_skidconv"))
        .current_dir(&folder)
        .args(["convert", "perf.data", "--quiet", "--csv", "-"])
        .env("HOME", env!("CARGO_TARGET_TMPDIR"))
        .output()
        .unwrap();
    let table = String::from_utf8_lossy(&output.stdout);
    let inside: Vec<&str> = table.lines().filter(|line| line.contains(",[vdso],")).collect();
    assert!(!inside.is_empty(), "{table}");
    let named = inside.iter().filter(|line| line.contains(",__vdso_clock_gettime,")).count();
    assert!(named * 2 > inside.len(), "{inside:?}");
}
