//! The uncertainty of self times: recordings in, tables of functions and findings out.
//!
//! Each recording is read and examined on its own; what is kept of it is what its functions and places hold. Then runs of
//! one event are put together, compared, projected, and pooled.

mod assemble;
mod branches;
mod collect;
mod functions;
mod pool;
mod table;

pub use collect::{Name, Run, collect};
pub use pool::pool;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::export::{self, Existing, Output};
use crate::options::{Files, Options};
use crate::pipeline::input::{Binaries, workers};
use crate::progress::Progress;
use crate::report::uncertainty::{Uncertainty, csv, html, svg};
use crate::stat::{Asked, Refusal};

/// One run of `stat`.
#[derive(Clone, Debug, Default)]
pub struct StatOptions {
    /// How recordings are read; its `input` is not used.
    pub reading: Options,
    /// Recordings of the same program, in the order in which they were made.
    pub runs: Vec<PathBuf>,
    /// Recordings to compare those with.
    pub against: Vec<PathBuf>,
    /// How often functions are called: a table `function,calls`, or a recording of calls.
    pub calls: Option<PathBuf>,
    /// A table of expected proportions: `function,expected`.
    pub expect: Option<PathBuf>,
    /// Functions told apart; the others are taken together.
    pub functions: usize,
    /// Confidence, resamples and seed.
    pub asked: Asked,
    /// Whether values are shares even where all runs have one fixed period.
    pub shares: bool,
    /// The tables, one row per function.
    pub csv: Option<PathBuf>,
    /// A page for a browser.
    pub html: Option<PathBuf>,
    /// A folder for plots.
    pub svg: Option<PathBuf>,
    /// Where the pooled recording goes.
    pub pooled: Option<PathBuf>,
    /// Whether to pool although the bias test refuses, and to replace an existing file.
    pub force: bool,
}

impl StatOptions {
    /// The files to write; plots have a folder.
    pub fn outputs(&self) -> impl Iterator<Item = &Path> {
        [&self.csv, &self.html, &self.pooled].into_iter().filter_map(|path| path.as_deref())
    }

    /// Refuses, before any work, what could only fail or destroy something after it.
    fn check(&self) -> Result<(), super::Error> {
        let (tables, side) = ([&self.calls, &self.expect], [&self.csv, &self.html]);
        let mut read = self.reading.read();
        read.extend(tables.into_iter().flatten().map(PathBuf::as_path));
        let files = Files {
            inputs: self.runs.iter().chain(&self.against).map(PathBuf::as_path).collect(),
            read,
            recording: self.pooled.as_deref(),
            written: side.into_iter().flatten().map(PathBuf::as_path).collect(),
            folders: self.svg.iter().map(PathBuf::as_path).collect(),
            force: self.force,
        };
        Ok(files.check()?)
    }
}

/// Why `stat` failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A recording cannot be read.
    #[error(transparent)]
    Pipeline(#[from] super::Error),
    /// A table is not what it should be.
    #[error("{}", path.display())]
    Table {
        /// The table.
        path: PathBuf,
        /// Why.
        source: csv_crate::Error,
    },
    /// A table has a number that makes no sense.
    #[error("{}: line {line}: {what}", path.display())]
    Value {
        /// The table.
        path: PathBuf,
        /// Where.
        line: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// A recording of calls cannot be read.
    #[error(transparent)]
    Calls(#[from] crate::variance::Error),
    /// An output cannot be written.
    #[error(transparent)]
    Export(#[from] export::Error),
    /// Runs are not to be pooled.
    #[error("not pooled: {reasons}; --force pools all the same")]
    Refused {
        /// Why.
        reasons: String,
    },
    /// Recordings do not fit into one.
    #[error("cannot pool {}", path.display())]
    Unlike {
        /// The recording.
        path: PathBuf,
        /// In what it differs from the others.
        source: crate::perfdata::Unlike,
    },
}

use ::csv as csv_crate;

/// Examines, compares, and writes what was asked for.
pub fn stat(options: &StatOptions, progress: &dyn Progress) -> Result<Uncertainty, Error> {
    options.check()?;
    let known = table::Known::read(options.calls.as_deref(), options.expect.as_deref())?;
    let binaries = Binaries::of(&options.reading).map_err(Error::Pipeline)?;
    let all = |paths| collect_all(paths, &binaries, options, &known, progress);
    let (runs, against) = super::threads(options.reading.threads)
        .map_err(Error::Pipeline)?
        .install(|| Ok::<_, Error>((all(&options.runs)?, all(&options.against)?)))?;
    let told = assemble::assemble(&runs, &against, &known, options);
    let mut outputs = pooled(&told, options)?;
    outputs.extend(tables(&told, options)?);
    Output::commit_all(outputs)?;
    Ok(told)
}

/// All runs as one, if that is wanted and nothing speaks against it.
fn pooled(told: &Uncertainty, options: &StatOptions) -> Result<Vec<Output>, Error> {
    let Some(to) = &options.pooled else { return Ok(Vec::new()) };
    let refusals: Vec<&Refusal> = told.events.iter().flat_map(|event| &event.refusals).collect();
    if !refusals.is_empty() && !options.force {
        let reasons: Vec<String> = refusals.iter().map(ToString::to_string).collect();
        return Err(Error::Refused { reasons: reasons.join("; ") });
    }
    let existing = if options.force { Existing::Replace } else { Existing::Refuse };
    Ok(vec![pool(&options.runs, (to, existing))?])
}

fn collect_all(
    paths: &[PathBuf],
    binaries: &Binaries,
    options: &StatOptions,
    known: &table::Known,
    progress: &dyn Progress,
) -> Result<Vec<Run>, Error> {
    // recordings are read side by side
    let threads = Some((workers(&options.reading) / paths.len().max(1)).max(1));
    let one = |path: &PathBuf| {
        let reading = Options { input: path.clone(), threads, ..options.reading.clone() };
        Ok(collect(&reading, binaries, options, known, progress)?)
    };
    paths.par_iter().map(one).collect()
}

fn tables(told: &Uncertainty, options: &StatOptions) -> Result<Vec<Output>, Error> {
    let mut outputs = Vec::new();
    if let Some(path) = &options.csv {
        outputs.push(Output::staged(path, Existing::Replace, |out| csv::write(told, out))?);
    }
    if let Some(path) = &options.html {
        outputs.push(Output::staged(path, Existing::Replace, |out| Ok(html::write(told, out)?))?);
    }
    if let Some(folder) = &options.svg {
        let failed = |source| export::Error::Write { path: folder.clone(), source };
        std::fs::create_dir_all(folder).map_err(failed)?;
        for (name, plot) in svg::files(told) {
            let path = folder.join(name);
            outputs.push(Output::staged(
                &path,
                Existing::Replace,
                |out| Ok(out.write_all(plot.as_bytes())?),
            )?);
        }
    }
    Ok(outputs)
}
