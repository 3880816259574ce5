//! How sure self times are, as plain data, and its outputs: [`text`], [`csv`], [`svg`] and [`html`].

pub mod csv;
pub mod html;
mod number;
pub mod svg;
pub mod text;

use crate::stat::{Bias, Difference, Finding, Group, Kind, Point, Projection, Refusal, Single, Table};

/// What `stat` found.
#[derive(Clone, Debug, Default)]
pub struct Uncertainty {
    /// The recordings.
    pub runs: Vec<String>,
    /// Those that they are compared with.
    pub against: Vec<String>,
    /// Confidence of all intervals.
    pub confidence: f64,
    /// Resamples of the bootstrap.
    pub replicates: usize,
    /// One for each event.
    pub events: Vec<EventUncertainty>,
    /// What was tolerated, and tables that fit nothing.
    pub warnings: Vec<String>,
}

/// One event.
#[derive(Clone, Debug)]
pub struct EventUncertainty {
    /// Its name.
    pub event: String,
    /// The sampling period, if there is only one and it is fixed.
    pub period: Option<u64>,
    /// Samples of all runs.
    pub samples: u64,
    /// Calls that branch stacks saw, which counts of calls are from.
    pub calls_seen: u64,
    /// Binary and function, in the order of the tables.
    pub names: Vec<(String, String)>,
    /// Of one recording.
    pub single: Option<Single>,
    /// Of several recordings, their values and what these say.
    pub runs: Option<(Group, Table)>,
    /// Findings in single runs: the kind, in how many runs, how many false alarms make more than that in one set of a
    /// thousand, and the first.
    pub in_runs: Vec<InRuns>,
    /// Differences to the other group.
    pub differences: Option<Compared>,
    /// What proportions that were given say of each function.
    pub projections: Vec<Projected>,
    /// Whether runs are repetitions.
    pub bias: Option<Bias>,
    /// Why they should not be pooled.
    pub refusals: Vec<Refusal>,
}

/// A finding that single runs have.
#[derive(Clone, Debug)]
pub struct InRuns {
    /// Of what kind.
    pub kind: Kind,
    /// In how many runs.
    pub runs: usize,
    /// The first of them: the function and the finding.
    pub example: (Option<String>, Finding),
}

/// Two groups.
#[derive(Clone, Debug)]
pub struct Compared {
    /// Runs in each.
    pub runs: (usize, usize),
    /// Whether values are shares rather than samples.
    pub shares: bool,
    /// By function, largest first.
    pub functions: Vec<Difference>,
}

/// A function and what the others say of it.
#[derive(Clone, Debug)]
pub struct Projected {
    /// The function.
    pub function: String,
    /// What was given and what was measured.
    pub point: Point,
    /// What the others project.
    pub projection: Projection,
    /// Probability of as large a distance by chance, adjusted for all functions.
    pub probability: f64,
}

impl EventUncertainty {
    /// A function's name; where it has none, that of its binary as well.
    pub fn name(&self, ix: usize) -> String {
        match self.names.get(ix) {
            Some((image, function)) if function.starts_with('[') && !image.is_empty() => {
                format!("{function} in {image}")
            }
            Some((_, function)) => function.clone(),
            None => String::new(),
        }
    }

    /// Findings of the only run, or of the set of runs.
    pub fn findings(&self) -> &[Finding] {
        match (&self.single, &self.runs) {
            (Some(single), _) => &single.findings,
            (None, Some((_, table))) => &table.findings,
            (None, None) => &[],
        }
    }
}
