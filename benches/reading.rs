//! How fast recordings are read, beside the programs that people would use instead.
//!
//! `cargo bench --bench reading [-- SAMPLES]` makes a recording of five million samples, about 400 MB, and one four times as
//! large, in the target folder, and prints wall times, peak memory and ratios of one run on this machine. `perf` and
//! `samply` take part where they are installed; `SAMPLY` may name the latter.

#[path = "reading/made.rs"]
mod made;
#[path = "reading/timed.rs"]
mod timed;

use std::path::Path;
use std::time::Instant;

use skidconv::perfdata::PerfFile;
use timed::{Run, run};

/// Runs of each program, of which the fastest counts.
const TIMES: usize = 3;

fn main() {
    let samples = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(5_000_000);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reading");
    std::fs::create_dir_all(&folder).unwrap();
    let (small, large) = (folder.join("small.data"), folder.join("large.data"));
    for (path, samples) in [(&small, samples), (&large, 4 * samples)] {
        made::recording(path, samples).unwrap();
        let megabytes = std::fs::metadata(path).unwrap().len() / 1_000_000;
        println!("{} has {samples} samples in {megabytes} MB", path.display());
    }
    alone(&small);
    let ours = best(&skidconv(&small, &folder));
    print("skidconv convert --folded", &ours, None);
    print("skidconv convert --folded, four times as many", &best(&skidconv(&large, &folder)), None);
    print("skidconv convert -o", &best(&copied(&small, &folder)), None);
    let report = ["perf", "report", "-f", "--stdio", "-g", "none", "-i", text(&small)];
    against("perf report --stdio -g none", &report, &ours);
    let samply = std::env::var("SAMPLY").unwrap_or_else(|_| "samply".into());
    let profile = folder.join("samply.json");
    let import = [samply.as_str(), "import", "--save-only", "-o", text(&profile), text(&small)];
    against("samply import --save-only", &import, &ours);
}

/// Walks and decodes in this thread, and does nothing else.
fn alone(path: &Path) {
    let rate = || {
        let begun = Instant::now();
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
        samples as f64 / begun.elapsed().as_secs_f64()
    };
    let rate = (0..TIMES).map(|_| rate()).fold(0.0, f64::max);
    println!("{:<50} {:6.1} million samples a second on one core", "reading alone", rate / 1e6);
}

fn skidconv(input: &Path, folder: &Path) -> Vec<String> {
    let out = folder.join("out.folded");
    words(&[env!("CARGO_BIN_EXE_skidconv"), "convert", text(input), "--quiet", "--folded", text(&out)])
}

fn copied(input: &Path, folder: &Path) -> Vec<String> {
    let out = folder.join("out.data");
    let program = env!("CARGO_BIN_EXE_skidconv");
    words(&[program, "convert", text(input), "--quiet", "--force", "-o", text(&out)])
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

fn best(command: &[String]) -> Option<Run> {
    let runs = (0..TIMES).map_while(|_| run(command));
    runs.min_by(|a, b| a.seconds.total_cmp(&b.seconds))
}

fn against(name: &str, command: &[&str], ours: &Option<Run>) {
    print(name, &best(&words(command)), ours.as_ref());
}

fn print(name: &str, run: &Option<Run>, ours: Option<&Run>) {
    let Some(run) = run else {
        println!("{name:<50} does not run here");
        return;
    };
    let ratio = ours.map(|ours| format!(", {:.1} times ours", run.seconds / ours.seconds));
    let Run { seconds, megabytes } = run;
    println!("{name:<50} {seconds:6.2} s, {megabytes:5.0} MB at most{}", ratio.unwrap_or_default());
}
