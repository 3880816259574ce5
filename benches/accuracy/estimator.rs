//! The estimators, each run as a user would run it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use skidconv::options::{Options, Solver};
use skidconv::perfdata::PerfFile;
use skidconv::pipeline::run_watched;
use skidconv::progress::Silent;

use super::cases::Case;
use super::coverage;
use super::score::{PARTS, Scores, distance, levels, mean};
use super::transfers::{Code, Edges, transfers};
use super::truth::{Profile, Truth};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimator {
    /// The samples as recorded.
    Raw,
    /// `fix --solver` with this.
    Fix(Solver),
}

/// All of them.
pub const ALL: [Estimator; 10] = [
    Estimator::Raw,
    Estimator::Fix(Solver::Mean),
    Estimator::Fix(Solver::Flow),
    Estimator::Fix(Solver::Timed),
    Estimator::Fix(Solver::Profi),
    Estimator::Fix(Solver::Bolt),
    Estimator::Fix(Solver::Mcf),
    Estimator::Fix(Solver::Ics),
    Estimator::Fix(Solver::Argmin),
    Estimator::Fix(Solver::Gibbs),
];

impl Estimator {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Estimator::Raw => "raw",
            Estimator::Fix(Solver::Gibbs) => "gibbs",
            Estimator::Fix(Solver::Argmin) => "argmin",
            Estimator::Fix(Solver::Flow) => "flow",
            Estimator::Fix(Solver::Timed) => "timed",
            Estimator::Fix(Solver::Ics) => "ics",
            Estimator::Fix(Solver::Mean) => "mean",
            Estimator::Fix(Solver::Profi) => "profi",
            Estimator::Fix(Solver::Bolt) => "bolt",
            Estimator::Fix(Solver::Mcf) => "mcf",
        }
    }

    /// Runs it on a case and scores what comes out.
    pub fn run(self, case: &Case, truth: &Truth) -> Result<Scores> {
        let Estimator::Fix(solver) = self else { return scored(&case.recording(), truth) };
        let folder = tempfile::tempdir()?;
        let (output, csv) = (folder.path().join("fixed.data"), folder.path().join("rows.csv"));
        let options = Options {
            input: case.recording(),
            output: Some(output.clone()),
            csv: Some(csv.clone()),
            symfs: vec![case.symfs()],
            solver,
            seed: 1,
            correct: true,
            ..Options::default()
        };
        let (mut edges, mut covered_edges) = (Edges::new(), None);
        let started = Instant::now();
        let done = run_watched(&options, &Silent, &mut |images, program, solved| {
            let code = Code::new(images, program, truth);
            edges = transfers(&code, solved);
            covered_edges = coverage::edges(&code, solved, truth);
        })
        .with_context(|| case.name.clone())?;
        let seconds = Some(started.elapsed().as_secs_f64());
        let mut scores = Scores { seconds, ..scored(&output, truth)? };
        if solver != Solver::Mean {
            scores.edge = distance(&edges, &truth.edges);
        }
        if matches!(solver, Solver::Gibbs | Solver::Argmin | Solver::Flow | Solver::Timed) {
            (scores.covered, scores.covered_weighted) = coverage::instructions(&csv, truth)?;
            scores.covered_functions = coverage::functions(&done.report, truth);
            scores.covered_edges = covered_edges;
        }
        Ok(scores)
    }
}

/// Distances of the samples of a recording.
fn scored(recording: &Path, truth: &Truth) -> Result<Scores> {
    let samples = Samples::read(recording)?;
    let at = |event: &str, truth: &Profile| distance(&samples.of(event).0, truth);
    let [function, block, instruction] = levels(truth, &samples.of("instructions").0);
    Ok(Scores {
        retired: mean(PARTS.iter().zip(&truth.retired).filter_map(|(event, truth)| at(event, truth))),
        function,
        block,
        instruction,
        cycles: at("cycles", &truth.heads),
        loads: at("L1-dcache-load-misses", &truth.loads),
        branches: at("branch-misses", &truth.branches),
        ..Scores::default()
    })
}

/// Weights by address, and the number of samples, by the names of events.
pub struct Samples(BTreeMap<String, (Profile, usize)>);

impl Samples {
    /// Reads those of a recording.
    pub fn read(recording: &Path) -> Result<Samples> {
        let file = PerfFile::open(recording)?;
        let mut records = file.records()?;
        let mut samples = Samples(BTreeMap::new());
        while let Some(record) = records.next()? {
            if let Some(sample) = file.sample(&record)? {
                let name = &file.attrs()[sample.attr.0 as usize].name;
                let (profile, count) = samples.0.entry(name.clone()).or_default();
                *profile.entry(sample.ip).or_default() += sample.period as f64;
                *count += 1;
            }
        }
        Ok(samples)
    }

    /// Those of the events whose names begin so.
    pub fn of(&self, event: &str) -> (Profile, usize) {
        let (mut sums, mut count) = (Profile::new(), 0);
        for (_, (profile, n)) in self.0.iter().filter(|(name, _)| name.starts_with(event)) {
            profile.iter().for_each(|(&at, weight)| *sums.entry(at).or_default() += weight);
            count += n;
        }
        (sums, count)
    }
}
