//! Addresses of a real recording resolve to what `perf script` says. Runs where perf can record; with `SKIDCONV_REQUIRE_PERF`
//! set, its absence fails.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use skidconv::image::{AddressSpaces, FunctionSource, Images, SearchPath, Symbolizer, When, Wholesym};
use skidconv::perfdata::{CpuMode, PerfFile};

/// A program that spends its time in its own functions, in the C library, in a child by fork and in a child by exec.
const PROGRAM: &str = r#"
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
__attribute__((noinline)) unsigned long divide(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 1; i < n; i++) sum += (n * 12345678901ul) / i;
    return sum;
}
static int numbers[100000];
static char text[1 << 20];
static unsigned long work(void) {
    unsigned long sum = divide(30000000);
    for (int i = 0; i < 100000; i++) numbers[i] = i * 7919 % 100003;
    qsort(numbers, 100000, sizeof *numbers, compare);
    for (int i = 0; i < 2000; i++) { memset(text, 'a' + i % 20, sizeof text - 1); sum += strlen(text); }
    return sum;
}
int main(int argc, char **argv) {
    volatile unsigned long sum = work();
    if (argc > 1) return 0;
    pid_t forked = fork();
    if (forked == 0) { sum += work(); _exit(0); }
    pid_t executed = fork();
    if (executed == 0) { execl(argv[0], argv[0], "again", (char *)0); _exit(1); }
    waitpid(forked, 0, 0);
    waitpid(executed, 0, 0);
    return 0;
}
"#;

type Key = (i32, u64, u64);

#[derive(Debug, PartialEq, Eq, Clone)]
struct Place {
    file: String,
    name: Option<String>,
    offset: u64,
}

#[test]
fn addresses_resolve_to_what_perf_script_says() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("perf.data");
    let program = dir.path().join("program");
    compile(dir.path(), &program);
    if let Err(why) = record(&data, &program) {
        assert!(std::env::var_os("SKIDCONV_REQUIRE_PERF").is_none(), "perf is required: {why}");
        eprintln!("skipped, perf cannot record here: {why}");
        return;
    }
    let expected = perf_script(&data);
    let mut compared = Compared::default();
    for (key, ours) in resolve(&data) {
        compared.add(&key, ours, &expected);
    }
    eprintln!("{compared:?}");
    assert!(compared.samples > 500, "too few samples to tell: {compared:?}");
    assert!(compared.named * 10 > compared.samples * 8, "most samples have names: {compared:?}");
    assert_eq!(compared.other_file, Vec::new());
    assert_eq!(compared.other_name, Vec::new());
    let processes = expected.keys().map(|key| key.0).collect::<std::collections::HashSet<_>>();
    assert!(processes.len() >= 3, "the program, its fork and its exec: {processes:?}");
}

#[derive(Debug, Default)]
struct Compared {
    samples: usize,
    named: usize,
    other_file: Vec<(Key, String, String)>,
    other_name: Vec<(Key, Place, Place)>,
}

impl Compared {
    fn add(&mut self, key: &Key, ours: Place, expected: &HashMap<Key, Place>) {
        let theirs = &expected[key];
        self.samples += 1;
        if ours.file != theirs.file {
            self.other_file.push((*key, ours.file.clone(), theirs.file.clone()));
        } else if let (Some(_), Some(_)) = (&ours.name, &theirs.name) {
            self.named += 1;
            if ours != *theirs {
                self.other_name.push((*key, ours, theirs.clone()));
            }
        }
    }
}

fn compile(dir: &Path, program: &Path) {
    let source = dir.join("program.c");
    std::fs::write(&source, PROGRAM).unwrap();
    let status = Command::new("cc").args(["-O1", "-g", "-o"]).arg(program).arg(&source).status();
    assert!(status.expect("cc is required").success());
}

fn record(data: &Path, program: &Path) -> Result<(), String> {
    let mut perf = Command::new("perf");
    perf.args(["record", "-q", "-e", "cpu-clock:u", "-c", "100003", "-g", "-o"])
        .arg(data)
        .arg("--")
        .arg(program);
    let output = perf.output().map_err(|error| error.to_string())?;
    match output.status.success() && data.exists() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// `tid time: ip name+0xoffset (file)`.
fn perf_script(data: &Path) -> HashMap<Key, Place> {
    let fields =
        ["script", "-G", "--ns", "--no-demangle", "--no-inline", "-F", "tid,time,ip,sym,symoff,dso", "-i"];
    let output = Command::new("perf").args(fields).arg(data).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| parse(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

fn parse(line: &str) -> Option<(Key, Place)> {
    let (head, file) = line.trim().strip_suffix(')')?.rsplit_once(" (")?;
    let mut words = head.split_whitespace();
    let tid = words.next()?.parse().ok()?;
    let (seconds, nanos) = words.next()?.strip_suffix(':')?.split_once('.')?;
    let time = seconds.parse::<u64>().ok()? * 1_000_000_000 + nanos.parse::<u64>().ok()?;
    let ip = u64::from_str_radix(words.next()?, 16).ok()?;
    let symbol = words.next()?;
    let (name, offset) = match symbol.rsplit_once("+0x") {
        // A stub that jumps to what a resolver chose has no name there.
        Some((name, offset)) if name != "@plt" => {
            let name = if name.ends_with("@plt") { name } else { name.split('@').next()? };
            (Some(name.to_owned()), u64::from_str_radix(offset, 16).ok()?)
        }
        _ => (None, 0),
    };
    Some(((tid, time, ip), Place { file: file.to_owned(), name, offset }))
}

fn resolve(data: &Path) -> Vec<(Key, Place)> {
    let file = PerfFile::open(data).unwrap();
    let mut spaces = AddressSpaces::new();
    let mut records = file.records().unwrap();
    while let Some(record) = records.next().unwrap() {
        if let Some(sideband) = file.sideband(&record) {
            spaces.record(record.ordinal, &sideband);
        }
    }
    spaces.seal();
    let search = SearchPath::system(Vec::new());
    let images = Images::new(&spaces, &file.features().build_ids, search);
    let mut names = Wholesym::new().unwrap();
    let mut places = Vec::new();
    let mut records = file.records().unwrap();
    while let Some(record) = records.next().unwrap() {
        let Some(sample) = file.sample(&record).unwrap() else {
            continue;
        };
        if sample.mode != CpuMode::User {
            continue;
        }
        let at = When { time: sample.time, ordinal: record.ordinal };
        let key = (sample.tid, sample.time.unwrap(), sample.ip);
        places.push((key, place(&spaces, &images, &mut names, sample.pid, at, sample.ip)));
    }
    places
}

fn place(
    spaces: &AddressSpaces,
    images: &Images,
    names: &mut Wholesym,
    pid: i32,
    at: When,
    ip: u64,
) -> Place {
    let unknown = Place { file: "[unknown]".into(), name: None, offset: 0 };
    let Some(mapped) = spaces.resolve(CpuMode::User, pid, at, ip) else {
        return unknown;
    };
    let image = images.get(mapped.image());
    let Some(location) = images.location(&mapped) else {
        return unknown;
    };
    assert_eq!(images.address(&mapped.mapping, location.svma), Some(ip), "there and back again");
    assert_eq!(images.address_in(spaces, CpuMode::User, pid, at, location), Some(ip));
    // Where the unwind table alone tells of a function, wholesym makes a name up and perf has none.
    let function = image.function_at(location.svma);
    let known = function.is_some_and(|function| function.source != FunctionSource::EhFrame);
    let symbol = names.lookup(images, location).filter(|_| known);
    Place {
        file: image.path.clone(),
        offset: symbol.as_ref().map_or(0, |symbol| location.svma.0 - symbol.start.0),
        name: symbol.map(|symbol| symbol.mangled.clone().unwrap_or_else(|| symbol.name.clone())),
    }
}
