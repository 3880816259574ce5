//! The stages, called in order: two walks over the recording, and the solving between them.

mod audience;
mod classify;
mod correct;
mod equal;
mod fold;
pub mod linking;
mod second;
mod summary;
pub mod survey;
mod tally;

pub use crate::options::{Options, Solver};

use std::path::Path;

use audience::{Audience, Move};
use correct::Correction;
use second::Second;
use survey::Survey;

use crate::code::Program;
use crate::export::{
    self, Context, Existing, Exporter, Firefox, Folded, ImageNames, Output, Pprof, write_csv,
    write_recording, write_sidecar,
};
use crate::image::{SearchPath, Wholesym};
use crate::options;
use crate::perfdata::{self, AttrIx, PerfFile};
use crate::progress::{Progress, Stage};
use crate::report::Report;
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

/// Runs `options`: reads, corrects and writes, and tells what was done. Outputs appear together, at the end, or not at all.
pub fn run(options: &Options, progress: &dyn Progress) -> Result<Report, Error> {
    run_watched(options, progress, &mut |_, _| {})
}

/// As [`run`]; `watch` is shown what was solved, if anything was, before samples are moved by it.
pub fn run_watched(
    options: &Options,
    progress: &dyn Progress,
    watch: &mut (dyn FnMut(&Program, &Solved) + Send),
) -> Result<Report, Error> {
    let recording = options.check()?;
    let read = |source| Error::Read { path: options.input.clone(), source };
    let file = PerfFile::open(&options.input).map_err(read)?;
    let exported = events(&file, &options.events)?;
    let search = SearchPath::system(options.symfs.clone());
    let mut audience = Audience::new(exporters(options, &exported), exported);
    // Where nothing moves and nobody asks for times, the first walk is enough.
    let once = !options.correct && audience.folds();
    let survey = Survey::take_and_show(&file, search, workers(options), progress, |survey, group| {
        if once {
            let at = survey.place(group.record, group.sample);
            let how = Move { from: at, to: at, patch: None };
            audience.show(survey, (group.record, group.sample), group.samples, how);
        }
    });
    let survey = survey.map_err(read)?;
    check_damage(options, &survey)?;
    let correction = match options.correct {
        true => {
            threads(options.threads)?.install(|| correct::correct(&file, &survey, options, progress, watch))
        }
        false => correct::nothing(&file, &survey),
    };
    let mut second = Second::new(&survey, &correction, options.seed, audience);
    let mut outputs = Vec::new();
    match &recording {
        Some(to) if once => outputs.push(copy(&file, options, to, progress, |_, _| None)?),
        Some(to) => outputs.push(copy(&file, options, to, progress, |r, s| second.decide(&file, r, s))?),
        None if once => {}
        None => show(&file, progress, &mut second).map_err(read)?,
    }
    finish(&file, options, recording.as_deref(), &survey, &correction, second, outputs)
}

/// Which events are asked for, by name with or without its modifiers; all if none is named.
fn events(file: &PerfFile, names: &[String]) -> Result<Vec<bool>, Error> {
    let is = |attr: &perfdata::Attr, name: &String| {
        attr.name == *name || attr.name.split(':').next() == Some(name)
    };
    for name in names {
        if !file.attrs().iter().any(|a| is(a, name)) {
            let known = file.attrs().iter().map(|a| a.name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(Error::NoSuchEvent { name: name.clone(), known });
        }
    }
    Ok(file.attrs().iter().map(|a| names.is_empty() || names.iter().any(|n| is(a, n))).collect())
}

/// With `--strict`, damage is an error.
fn check_damage(options: &Options, survey: &Survey) -> Result<(), Error> {
    let found = survey.warnings.iter().filter(|w| w.is_damage()).map(ToString::to_string);
    let damage: Vec<String> = found.chain(survey.losses.passed()).collect();
    match damage.is_empty() || !options.strict {
        true => Ok(()),
        false => Err(Error::Damaged { path: options.input.clone(), damage: damage.join("; ") }),
    }
}

/// Threads to read with.
fn workers(options: &Options) -> usize {
    options.threads.or_else(|| Some(std::thread::available_parallelism().ok()?.get())).unwrap_or(1)
}

fn threads(wanted: Option<usize>) -> Result<rayon::ThreadPool, Error> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(wanted.unwrap_or(0));
    pool.build().map_err(|e| Error::System(std::io::Error::other(e)))
}

fn exporters(options: &Options, exported: &[bool]) -> Vec<Box<dyn Exporter>> {
    let mut exporters: Vec<Box<dyn Exporter>> = Vec::new();
    if options.pprof.is_some() {
        exporters.push(Box::new(Pprof::default()));
    }
    if let Some(path) = &options.firefox {
        exporters.push(Box::new(Firefox::new(path.extension().is_some_and(|e| e == "gz"))));
    }
    if options.folded.is_some() {
        let first = exported.iter().position(|e| *e).map(|ix| AttrIx(ix as u32));
        exporters.push(Box::new(Folded::new(first.filter(|_| !options.events.is_empty()))));
    }
    exporters
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
    let mut records = file.records()?;
    let (mut shown, mut count) = (0, 0u32);
    while let Some(record) = records.next()? {
        if let Some(sample) = file.sample(&record).ok().flatten() {
            second.decide(file, &record, &sample);
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

/// Writes the formats and the report, and lets everything appear.
fn finish(
    file: &PerfFile,
    options: &Options,
    recording: Option<&Path>,
    survey: &Survey,
    correction: &Correction,
    mut second: Second<'_>,
    mut outputs: Vec<Output>,
) -> Result<Report, Error> {
    let mut symbolizer = Wholesym::new()?;
    let mut names = ImageNames::new(&survey.images, &mut symbolizer);
    let mut context = Context { attrs: file.attrs(), features: file.features(), names: &mut names };
    if let Some(path) = &options.csv {
        let rows = summary::rows(&second.audience.tally, correction);
        outputs.push(Output::staged(path, Existing::Replace, |out| write_csv(rows, &mut context, out))?);
    }
    let paths = [&options.pprof, &options.firefox, &options.folded].into_iter().flatten();
    for (path, exporter) in paths.zip(std::mem::take(&mut second.audience.exporters)) {
        outputs.push(Output::staged(path, Existing::Replace, |out| exporter.finish(&mut context, out))?);
    }
    let report = summary::report(options, recording, survey, correction, &second, &mut context);
    if let Some(path) = &options.report_json {
        outputs.push(Output::staged(path, Existing::Replace, |out| Ok(report.write_json(out)?))?);
    }
    if let Some(path) = recording.filter(|_| options.correct) {
        outputs.extend(write_sidecar(&report, path)?);
    }
    outputs.into_iter().try_for_each(Output::commit)?;
    Ok(report)
}
