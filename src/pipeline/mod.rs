//! The stages, called in order: two walks over the recording, and the solving between them.

mod aliasing;
mod audience;
mod callbacks;
mod callers;
mod classify;
mod correct;
mod decoding;
mod equal;
mod evidence;
mod finish;
mod fit;
mod fold;
pub mod ibs;
mod idle;
mod input;
mod intervals;
mod jitted;
pub mod linking;
mod links;
mod listings;
mod located;
mod loops;
mod machine;
mod memo;
mod misfit;
mod moves;
mod objects;
mod rest;
pub mod runs;
mod second;
mod stacks;
pub mod stat;
mod summary;
pub mod survey;
mod tally;
#[cfg(test)]
mod testing;
mod transfers;
mod unseen;
mod unwinding;
mod unverified;
mod verdicts;

pub use crate::options::{Options, Solver};

use std::path::{Path, PathBuf};

use audience::{Audience, Move};
use finish::{Finish, exporters};
use input::{Binaries, Input};
use second::Second;

use crate::code::Program;
use crate::export::{self, Existing, Output, write_recording};
use crate::image::Images;
use crate::options;
use crate::perfdata::{self, Deferred, PerfFile};
use crate::progress::{Progress, Stage};
use crate::report::Report;
use crate::report::diff::InstructionShare;
use crate::report::listing::Listing;
use crate::solve::Solved;

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It did not start.
    #[error(transparent)]
    Options(#[from] options::Error),
    /// The recording cannot be read.
    #[error("{}", path.display())]
    Read {
        /// The recording.
        path: std::path::PathBuf,
        /// Where and why.
        source: perfdata::Error,
    },
    /// The recording is damaged, and that was not to be tolerated.
    #[error("damaged recording: {}: {damage}", path.display())]
    Damaged {
        /// The recording.
        path: std::path::PathBuf,
        /// What is wrong and where.
        damage: String,
    },
    /// A file with symbols or binaries cannot be read.
    #[error("cannot read {}", path.display())]
    Symbols {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Binaries are to be looked for where there is no folder.
    #[error("no folder for --symfs: {}: name the one that has the recorded machine's binaries", .0.display())]
    NoFolder(PathBuf),
    /// What should list the kernel's symbols does not.
    #[error(
        "no addresses of a kernel's symbols in {}: name its vmlinux, or a copy of /proc/kallsyms made as root",
        .0.display()
    )]
    NotOfKernel(PathBuf),
    /// Servers are to be asked, but none are known.
    #[error("no debuginfod server is known: name them in DEBUGINFOD_URLS")]
    NoServers,
    /// An output cannot be written.
    #[error(transparent)]
    Export(#[from] export::Error),
    /// No event has the name asked for.
    #[error("no event is called {name}: the recording has {known}")]
    NoSuchEvent {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The system gives no threads or no event queue.
    #[error("cannot start")]
    System(#[from] std::io::Error),
}

/// What a run did, and the functions that were to be listed.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// What it did.
    pub report: Report,
    /// Functions instruction by instruction, hottest first.
    pub listings: Vec<Listing>,
    /// Shares of single instructions, where those were asked for.
    pub instructions: Vec<InstructionShare>,
    /// Whether the recording is in pipe mode, before and after.
    pub is_stream: bool,
}

/// Runs `options`: reads, corrects and writes, and tells what was done. Outputs appear together, at the end, or not at all.
pub fn run(options: &Options, progress: &dyn Progress) -> Result<Done, Error> {
    run_watched(options, progress, &mut |_, _, _| {})
}

/// As [`run`]; `watch` is shown what was solved, if anything was, and in which binaries, before samples are moved by it.
pub fn run_watched(
    options: &Options,
    progress: &dyn Progress,
    watch: &mut (dyn FnMut(&Images, &Program, &Solved) + Send),
) -> Result<Done, Error> {
    let recording = options.check()?;
    let input = Input::open(options)?;
    let (file, exported) = (&input.file, input.wanted.clone());
    let binaries = Binaries::of(options)?;
    let (paths, exporters): (Vec<_>, Vec<_>) = exporters(options, file.attrs()).into_iter().unzip();
    let mut audience = Audience::new(exporters, exported);
    // Where nothing moves, and nobody asks for times or for what only single samples show, the first walk is enough.
    let once = !options.correct && audience.folds() && !audience.sees_copies(file.attrs());
    let survey = input.survey(&binaries, progress, |survey, group| {
        if once {
            let at = survey.place(group.record, group.sample);
            let how = Move { from: at, to: at, ..Move::default() };
            audience.show(survey, (group.record, group.sample), group.samples, how);
        }
    })?;
    let correction = match options.correct {
        true => {
            threads(options.threads)?.install(|| correct::correct(file, &survey, options, progress, watch))
        }
        false => correct::nothing(file, &survey),
    };
    let mut second = Second::new((file, &survey), &correction, options.seed, audience);
    let mut outputs = Vec::new();
    match &recording {
        Some(to) if once => outputs.push(copy(file, options, to, progress, |_, _| None)?),
        Some(to) => outputs.push(copy(file, options, to, progress, |r, s| second.decide(file, r, s))?),
        None if once => {}
        None => show(file, progress, &mut second).map_err(|source| input.unreadable(source))?,
    }
    let (survey, correction) = (&survey, &correction);
    Finish { file, options, recording: recording.as_deref(), survey, correction }
        .finish(second, paths, outputs)
}

fn threads(wanted: Option<usize>) -> Result<rayon::ThreadPool, Error> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(wanted.unwrap_or(0));
    pool.build().map_err(|e| Error::System(std::io::Error::other(e)))
}

/// Copies the recording with the moves made.
fn copy(
    file: &PerfFile,
    options: &Options,
    to: &Path,
    progress: &dyn Progress,
    decide: impl FnMut(&perfdata::Record<'_>, &perfdata::Sample<'_>) -> Option<perfdata::Patch>,
) -> Result<Output, Error> {
    let existing = if options.force { Existing::Replace } else { Existing::Refuse };
    Ok(write_recording((file, &options.input), (to, existing), progress, decide)?.0)
}

/// Shows the samples to the exporters without writing a recording.
fn show(file: &PerfFile, progress: &dyn Progress, second: &mut Second<'_>) -> Result<(), perfdata::Error> {
    progress.start(Stage::Write, file.data_len());
    let (mut records, mut deferred) = (file.records()?, Deferred::new(file));
    let (mut shown, mut count) = (0, 0u32);
    while let Some(record) = records.next()? {
        if let Some(sample) = file.sample(&record).ok().flatten() {
            let whole = deferred.join(&record, &sample);
            let joined = whole.as_ref().and_then(|whole| Some((whole, file.sample(whole).ok()??)));
            let (record, sample) = joined.unwrap_or((&record, sample));
            second.decide(file, record, &sample);
        }
        count = count.wrapping_add(1);
        if count.is_multiple_of(4096) {
            let position = records.position();
            progress.advance(Stage::Write, position - shown);
            shown = position;
        }
    }
    progress.finish(Stage::Write);
    Ok(())
}
