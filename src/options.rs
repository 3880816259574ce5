//! What the user asked for, as plain values, and where the outputs go.

mod files;

use crate::export::{Error as OutputError, beside};
use files::is_device;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use crate::solve::Solver;
pub use files::{Files, is_stdout};

/// One run. For a path of an output, `-` is the standard output.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The recording: a file, a folder in directory format, or `-` for the standard input.
    pub input: PathBuf,
    /// The corrected recording; `None` for the default name, or for none at all when `correct` is false.
    pub output: Option<PathBuf>,
    /// Folders that stand for `/` when binaries are looked for, first hit wins.
    pub symfs: Vec<PathBuf>,
    /// Tarballs of `perf archive` to look for binaries in.
    pub archives: Vec<PathBuf>,
    /// The recorded kernel's symbols: a list as `/proc/kallsyms` has them, or its image.
    pub kallsyms: Option<PathBuf>,
    /// Whether servers may be asked for binaries and debug files.
    pub debuginfod: bool,
    /// One row per instruction.
    pub csv: Option<PathBuf>,
    /// One row per function, of the tables of sampled fetches, ops and accesses.
    pub functions_csv: Option<PathBuf>,
    /// pprof's profile.proto, gzipped.
    pub pprof: Option<PathBuf>,
    /// Firefox Profiler's processed profile.
    pub firefox: Option<PathBuf>,
    /// The same, of what correction changed.
    pub firefox_diff: Option<PathBuf>,
    /// Folded stacks.
    pub folded: Option<PathBuf>,
    /// Parquet, one row per instruction.
    pub parquet: Option<PathBuf>,
    /// Parquet, one row per sample.
    pub parquet_samples: Option<PathBuf>,
    /// Flame graph, an SVG.
    pub flamegraph: Option<PathBuf>,
    /// Flame graph of what correction changed.
    pub flamegraph_diff: Option<PathBuf>,
    /// The report as a page for a browser.
    pub html: Option<PathBuf>,
    /// The report as JSON.
    pub report_json: Option<PathBuf>,
    /// Names of the events to correct and to export; empty for all.
    pub events: Vec<String>,
    /// How to solve.
    pub solver: Solver,
    /// Mean skid in cycles, ≥ 0; `None` to estimate it.
    pub skid: Option<f64>,
    /// Folder of calibrations, one per kind of processor; `None` to use none.
    pub calibrations: Option<PathBuf>,
    /// Equal seeds give equal bytes.
    pub seed: u64,
    /// Threads to solve with, ≥ 1; `None` for one per processor.
    pub threads: Option<usize>,
    /// Whether the corrected recording may replace an existing file.
    pub force: bool,
    /// Whether damage of the input, read around by default, is an error.
    pub strict: bool,
    /// Which functions to list instruction by instruction, beside those of the page; `None` for none.
    pub annotate: Option<Annotate>,
    /// Whether the shares of single instructions are wanted, to compare them.
    pub instructions: bool,
    /// Whether `fix` writes no recording unless one is named: what it would do is only shown.
    pub dry: bool,
    /// `fix`, or with false `convert`: the same outputs from the samples as recorded.
    pub correct: bool,
}

/// Which functions to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Annotate {
    /// Those with the largest shares.
    Hottest,
    /// Those of this name.
    Function(String),
}

/// Why a run does not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input cannot be opened.
    #[error("cannot open recording: {}", path.display())]
    Input {
        /// The recording.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The input has no name to derive an output's from.
    #[error("no name for the output: {}: name it with -o", .0.display())]
    Nameless(PathBuf),
    /// An output is the input.
    #[error("output is the input: {}: choose another name; what is read is never overwritten", .0.display())]
    IsInput(PathBuf),
    /// Two outputs are one file.
    #[error("two outputs in one file: {}: give each its own", .0.display())]
    Twice(PathBuf),
    /// An output exists, or cannot be created.
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl Options {
    /// Where the corrected recording goes: `-o`, else for `fix` the input's name with `.fixed` before its extension; for the
    /// standard input that of `perf.data`, which is what perf calls a recording that has no name.
    pub fn recording(&self) -> Result<Option<PathBuf>, Error> {
        match &self.output {
            Some(path) => Ok(Some(path.clone())),
            None if !self.correct || self.dry => Ok(None),
            None => default_output(&self.input).map(Some),
        }
    }

    /// The outputs beside the recording, in the order they are written.
    pub fn side_outputs(&self) -> impl Iterator<Item = &Path> {
        let tables = [&self.csv, &self.functions_csv, &self.parquet, &self.parquet_samples];
        let samples = [
            &self.pprof,
            &self.firefox,
            &self.firefox_diff,
            &self.folded,
            &self.flamegraph,
            &self.flamegraph_diff,
        ];
        let paths = tables.into_iter().chain(samples).chain([&self.html, &self.report_json]);
        paths.filter_map(|path| path.as_deref())
    }

    /// Whether an output goes to the standard output, which then is not free for the report.
    pub fn uses_stdout(&self) -> bool {
        self.output.iter().map(PathBuf::as_path).chain(self.side_outputs()).any(is_stdout)
    }

    /// Whether an output is wanted of what correction changed, and of nothing else.
    pub fn shows_change(&self) -> bool {
        self.firefox_diff.is_some() || self.flamegraph_diff.is_some()
    }

    /// Refuses, before any work, what could only fail or destroy something after it. Returns [`Options::recording`].
    pub fn check(&self) -> Result<Option<PathBuf>, Error> {
        let recording = self.recording()?;
        let sidecar = recording.as_deref().filter(|_| self.correct).and_then(beside);
        let files = Files {
            inputs: vec![&self.input],
            read: self.read(),
            recording: recording.as_deref(),
            written: self.side_outputs().chain(sidecar.as_deref()).collect(),
            folders: Vec::new(),
            force: self.force,
        };
        files.check()?;
        Ok(recording)
    }

    /// Whether an event is asked for; all are if none is named.
    pub fn wants(&self, event: &str) -> bool {
        self.events.is_empty() || self.events.iter().any(|name| is_called(event, name))
    }

    /// Files that are read beside the recording.
    pub fn read(&self) -> Vec<&Path> {
        self.archives.iter().chain(&self.kallsyms).map(PathBuf::as_path).collect()
    }
}

/// Whether this is the name of an event, with or without its modifiers.
pub fn is_called(event: &str, name: &str) -> bool {
    event == name || event.split(':').next() == Some(name)
}

/// `perf.data` → `perf.fixed.data`, `recording` → `recording.fixed`.
fn default_output(input: &Path) -> Result<PathBuf, Error> {
    if is_stdout(input) {
        return default_output(Path::new("perf.data"));
    }
    let stem = input.file_stem().ok_or_else(|| Error::Nameless(input.to_owned()))?;
    if fs::metadata(input).is_ok_and(|meta| is_device(&meta)) {
        return Err(Error::Nameless(input.to_owned()));
    }
    let mut name = OsString::from(stem);
    name.push(".fixed");
    if let Some(extension) = input.extension() {
        name.push(".");
        name.push(extension);
    }
    Ok(input.with_file_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(input: &str) -> PathBuf {
        default_output(Path::new(input)).unwrap()
    }

    #[test]
    fn the_default_name_has_fixed_before_its_extension() {
        assert_eq!(named("perf.data"), Path::new("perf.fixed.data"));
        assert_eq!(named("/tmp/a.b/perf.data.old"), Path::new("/tmp/a.b/perf.data.fixed.old"));
        assert_eq!(named("runs.d/recording"), Path::new("runs.d/recording.fixed"));
        assert_eq!(named(".data"), Path::new(".data.fixed"));
        assert_eq!(named("-"), Path::new("perf.fixed.data"));
    }

    #[test]
    fn a_pipe_has_no_name_to_derive_from() {
        assert!(matches!(default_output(Path::new("/dev/null")), Err(Error::Nameless(_))));
        assert!(matches!(default_output(Path::new("..")), Err(Error::Nameless(_))));
    }

    #[test]
    fn converting_writes_no_recording_unless_asked() {
        let options = Options { input: "perf.data".into(), ..Options::default() };
        assert_eq!(options.recording().unwrap(), None);
        assert_eq!(
            Options { correct: true, ..options.clone() }.recording().unwrap(),
            Some("perf.fixed.data".into())
        );
        let named = Options { output: Some("x".into()), ..options };
        assert_eq!(named.recording().unwrap(), Some("x".into()));
    }

    #[test]
    fn an_output_that_cannot_be_made_is_refused_before_any_work_and_one_that_can_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let input = folder.path().join("perf.data");
        fs::write(&input, "").unwrap();
        let options = |csv: &str| Options {
            input: input.clone(),
            output: Some(folder.path().join("fixed")),
            csv: Some(folder.path().join(csv)),
            ..Options::default()
        };
        let refused = options("missing/out.csv").check();
        assert!(matches!(refused, Err(Error::Output(OutputError::Create { .. }))), "{refused:?}");
        assert!(options("out.csv").check().is_ok());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the input alone");
    }

    #[test]
    fn streams_may_be_named_twice() {
        let input = tempfile::NamedTempFile::new().unwrap();
        let null = Some(PathBuf::from("/dev/null"));
        let (csv, folded) = (null.clone(), null.clone());
        let options = Options { input: input.path().into(), output: null, csv, folded, ..Options::default() };
        assert_eq!(options.check().unwrap(), Some("/dev/null".into()));
    }
}
