//! How fast recordings are read, beside the programs that people would use instead.
//!
//! `cargo bench --bench reading [-- SAMPLES [TURNS]]` makes a recording of five million samples, about 400 MB, and one four
//! times as large, in the target folder, and prints wall times, processor times, peak memory and ratios of one run on this
//! machine. The programs take turns, three unless told otherwise, and of each the median of its turns counts. Before each
//! the recording is read once, so that none waits for the disk in another's stead. `perf` and `samply` take part where they
//! are installed; `SAMPLY` may name the latter.

#[path = "reading/made.rs"]
mod made;
#[path = "reading/timed.rs"]
mod timed;

use std::fs::File;
use std::path::Path;

use skidconv::perfdata::PerfFile;
use timed::{Run, median, processor_seconds, run};

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|arg| arg.parse().ok());
    let samples = numbers.next().unwrap_or(5_000_000);
    let turns = numbers.next().unwrap_or(3).max(1) as usize;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reading");
    std::fs::create_dir_all(&folder).unwrap();
    let (small, large) = (folder.join("small.data"), folder.join("large.data"));
    for (path, samples) in [(&small, samples), (&large, 4 * samples)] {
        made::recording(path, samples).unwrap();
        let megabytes = std::fs::metadata(path).unwrap().len() / 1_000_000;
        println!("{} has {samples} samples in {megabytes} MB", path.display());
    }
    println!("load of this machine before: {}", load());
    alone(&small, turns);
    let programs = programs(&small, &folder);
    let mut runs: Vec<Vec<Run>> = programs.iter().map(|_| Vec::new()).collect();
    for _ in 0..turns {
        for ((_, command), runs) in programs.iter().zip(&mut runs) {
            warm(&small);
            runs.extend(run(command));
        }
    }
    let ours = median(&runs[0]);
    for ((name, _), runs) in programs.iter().zip(&runs) {
        print(name, &median(runs), ours.as_ref());
    }
    warm(&large);
    print("convert --folded, four times as many samples", &run(&convert(&large, &folder)), ours.as_ref());
    limited(&large, &folder);
    println!("load of this machine after: {}", load());
}

/// Reads `path` to its end, so that it is in memory.
fn warm(path: &Path) {
    std::io::copy(&mut File::open(path).unwrap(), &mut std::io::sink()).unwrap();
}

/// Processes that ran or waited for a processor, on average over the last minute.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

/// Walks and decodes in this thread, and does nothing else.
fn alone(path: &Path, turns: usize) {
    let rate = || {
        let begun = processor_seconds();
        let file = PerfFile::open(path).unwrap();
        let mut records = file.records().unwrap();
        let (mut samples, mut sum) = (0u64, 0u64);
        while let Some(record) = records.next().unwrap() {
            if let Some(sample) = file.sample(&record).unwrap() {
                samples += 1;
                sum = sum.wrapping_add(sample.ip ^ sample.callchain.len() as u64);
            }
        }
        std::hint::black_box(sum);
        samples as f64 / (processor_seconds() - begun)
    };
    let mut rates: Vec<f64> = (0..turns).map(|_| rate()).collect();
    rates.sort_by(f64::total_cmp);
    println!("{:<50} {:6.1} million samples a second of one core", "reading alone", rates[turns / 2] / 1e6);
}

/// Ours first.
fn programs(input: &Path, folder: &Path) -> Vec<(&'static str, Vec<String>)> {
    let samply = std::env::var("SAMPLY").unwrap_or_else(|_| "samply".into());
    let (input, program) = (text(input), env!("CARGO_BIN_EXE_skidconv"));
    let out = |name: &str| text(&folder.join(name)).to_owned();
    let ours = |command: &str, args: &[&str]| words(&[&[program, command, input, "--quiet"], args].concat());
    vec![
        ("convert --folded", convert(Path::new(input), folder)),
        (
            "perf report --stdio -g none",
            words(&["perf", "report", "-f", "--stdio", "-g", "none", "-i", input]),
        ),
        (
            "samply import --save-only",
            words(&[&samply, "import", "--save-only", "-o", &out("samply.json"), input]),
        ),
        ("convert -o", ours("convert", &["--force", "-o", &out("out.data")])),
        ("convert --pprof", ours("convert", &["--pprof", &out("out.pb.gz")])),
        ("convert --firefox", ours("convert", &["--firefox", &out("out.json")])),
        ("fix --solver flow", ours("fix", &["--solver", "flow", "--force", "-o", &out("out.data")])),
    ]
}

fn convert(input: &Path, folder: &Path) -> Vec<String> {
    let out = folder.join("out.folded");
    words(&[env!("CARGO_BIN_EXE_skidconv"), "convert", text(input), "--quiet", "--folded", text(&out)])
}

/// The same where the file is ten times larger than the memory that may be had.
fn limited(input: &Path, folder: &Path) {
    let kilobytes = std::fs::metadata(input).unwrap().len() / 1024 / 10;
    let command = convert(input, folder).join(" ");
    let limited = format!("ulimit -v {kilobytes}; MALLOC_ARENA_MAX=1 exec {command} --threads 1");
    print(&format!("the same, under ulimit -v {kilobytes}"), &run(&words(&["sh", "-c", &limited])), None);
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

fn print(name: &str, run: &Option<Run>, ours: Option<&Run>) {
    let Some(run) = run else {
        println!("{name:<50} does not run here");
        return;
    };
    let ratio = ours.map(|ours| format!(", {:.2} times the first", run.seconds / ours.seconds));
    let Run { seconds, processor, megabytes } = run;
    println!(
        "{name:<50} {seconds:6.2} s, {processor:6.2} s of processors, {megabytes:5.0} MB at most{}",
        ratio.unwrap_or_default()
    );
}
