//! Arguments that several commands share: the recording, what it becomes, how it is solved.

use clap::Args;
use skidconv::options::{Options, Solver, is_stdout};
use std::path::{Path, PathBuf};

/// The recording, and where its binaries are.
#[derive(Args)]
pub struct Input {
    /// The recording, as `perf record` wrote it: a file, a folder (--threads), or "-" for standard input
    input: PathBuf,
    #[command(flatten)]
    how: Reading,
}

/// How a recording is read.
#[derive(Args)]
pub struct Reading {
    /// Folder with the recorded machine's binaries under their own paths, as in perf; the first hit wins
    #[arg(long, value_name = "DIR")]
    symfs: Vec<PathBuf>,
    /// Tarball that `perf archive` made on the recorded machine; may be repeated
    #[arg(long, value_name = "F")]
    archive: Vec<PathBuf>,
    /// Copy of the recorded machine's /proc/kallsyms, or its vmlinux
    #[arg(long, value_name = "F")]
    kallsyms: Option<PathBuf>,
    /// Ask the servers of DEBUGINFOD_URLS for missing binaries and symbols
    #[arg(long)]
    debuginfod: bool,
    /// Refuse a damaged recording, instead of reading what is whole and saying what is not
    #[arg(long)]
    strict: bool,
    /// Only this event, as `perf script` names it; may be repeated
    #[arg(long, value_name = "NAME")]
    event: Vec<String>,
    /// Threads to work with [one per processor]
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<usize>,
}

/// The files to write.
#[derive(Args)]
pub struct Outputs {
    /// The recording to write [fix: INPUT with .fixed before its extension]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// One row per instruction: counts before and after, interval (from 0 where nothing was solved), verdict ("-" is standard
    /// output, as below)
    #[arg(long, value_name = "F")]
    csv: Option<PathBuf>,
    /// The rows of --csv as Parquet
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "F")]
    parquet: Option<PathBuf>,
    /// One row per sample, as Parquet
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "F")]
    parquet_samples: Option<PathBuf>,
    /// pprof's profile.proto, gzipped
    #[arg(long, value_name = "F")]
    pprof: Option<PathBuf>,
    /// A profile for profiler.firefox.com; gzipped if F ends in .gz
    #[arg(long, value_name = "F")]
    firefox: Option<PathBuf>,
    /// Before, after and the change for profiler.firefox.com; the change is seen in the inverted call tree
    #[arg(long, value_name = "F")]
    firefox_diff: Option<PathBuf>,
    /// Folded stacks weighed by period, of the first event or the first --event
    #[arg(long, value_name = "F")]
    folded: Option<PathBuf>,
    /// Flame graph of the event of --folded, a self-contained SVG
    #[arg(long, value_name = "F")]
    flamegraph: Option<PathBuf>,
    /// Flame graph of what correction changed, by source line, in --event or the first event of which something moved
    #[arg(long, value_name = "F")]
    flamegraph_diff: Option<PathBuf>,
    /// A page for a browser: functions before and after, and the code of the hottest with loops and source lines
    #[arg(long, value_name = "F")]
    html: Option<PathBuf>,
    /// What was done, as JSON
    #[arg(long, value_name = "F")]
    report_json: Option<PathBuf>,
    /// Replace an existing recording
    #[arg(long)]
    force: bool,
}

/// How hot code is solved.
#[derive(Args)]
pub struct Solving {
    /// How hot code is solved
    #[arg(long, value_enum, default_value_t = Solver::Gibbs)]
    solver: Solver,
    /// Mean skid, instead of estimating it
    #[arg(long, value_name = "CYCLES", value_parser = cycles)]
    skid: Option<f64>,
    /// Use no measurements of `skidconv calibrate`
    #[arg(long)]
    no_calibration: bool,
    /// Equal seeds give equal bytes, on any number of threads
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

impl Input {
    /// Options of a run on the recording.
    pub fn into_options(self) -> Options {
        self.how.options(self.input)
    }
}

impl Reading {
    /// Options of a run on `input`.
    pub fn options(self, input: PathBuf) -> Options {
        Options {
            input,
            symfs: self.symfs,
            archives: self.archive,
            kallsyms: self.kallsyms,
            debuginfod: self.debuginfod,
            events: self.event,
            threads: self.threads,
            strict: self.strict,
            ..Options::default()
        }
    }
}

impl Outputs {
    /// Names the files in `options`.
    pub fn apply(self, options: &mut Options) {
        options.output = self.output;
        options.csv = self.csv;
        #[cfg(feature = "parquet")]
        {
            options.parquet = self.parquet;
            options.parquet_samples = self.parquet_samples;
        }
        options.pprof = self.pprof;
        options.firefox = self.firefox;
        options.firefox_diff = self.firefox_diff;
        options.folded = self.folded;
        options.flamegraph = self.flamegraph;
        options.flamegraph_diff = self.flamegraph_diff;
        options.html = self.html;
        options.report_json = self.report_json;
        options.force = self.force;
    }
}

impl Solving {
    /// Makes a run of `options` correct.
    pub fn apply(&self, options: &mut Options) {
        options.correct = true;
        options.solver = self.solver;
        (options.skid, options.seed) = (self.skid, self.seed);
        options.calibrations = if self.no_calibration { None } else { calibrations() };
    }
}

/// Refuses more than one output on the standard output.
pub fn one_on_stdout<'a>(outputs: impl Iterator<Item = &'a Path>) -> Result<(), &'static str> {
    match outputs.filter(|path| is_stdout(path)).count() {
        0 | 1 => Ok(()),
        _ => Err("standard output cannot take two outputs: give all but one of them a file"),
    }
}

/// Where measurements of processors are kept, as the XDG Base Directory Specification has it.
pub fn calibrations() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local/share")))?;
    Some(data.join("skidconv/calibrations"))
}

fn cycles(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(cycles) if (0.0..=1000.0).contains(&cycles) => Ok(cycles),
        _ => Err("give cycles from 0 to 1000".into()),
    }
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads) if (1..=4096).contains(&threads) => Ok(threads),
        _ => Err("give 1 to 4096 threads".into()),
    }
}
