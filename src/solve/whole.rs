//! The whole file, group by group.

use rayon::prelude::*;

use super::answer::{Answer, Evidence, Method, Settings, Solved};
use super::group::{Group, prepare};
use super::levenberg::Mode;
use super::pool;
use super::posterior::Trust;
use super::settle::{Bench, baseline, flow};
use crate::code::Program;
use crate::progress::{Progress, Stage};
use crate::skid::{Skid, reporting};

/// How strongly each kind of evidence speaks.
pub const TRUST: Trust = Trust { dispersion: 4.0, spread: 0.4, prior: 1.0 };
/// Groups with fewer samples keep their flow: they tell nothing about skid.
const LEAST_SAMPLES: f64 = 200.0;
/// Groups with more free parameters keep their flow.
const MOST_FREEDOM: usize = 150;

const UNWORTHY: &str = "asked for, or too few samples or too many branches to tell skid from flow";

/// Finds which address is reported, makes the groups and solves them.
pub fn solve(program: &Program, evidence: &Evidence, settings: &Settings, progress: &dyn Progress) -> Solved {
    let events: Vec<_> = evidence.retired.iter().chain(&evidence.time).collect();
    let reporting = reporting::decide(program, evidence.time.as_ref(), &events);
    let groups = prepare(program, evidence, reporting);
    // time alone tells where cycles went; how often anything ran is only wanted to share them out where ways meet
    let method = if evidence.retired.is_empty() { Method::Flow } else { settings.method };
    let (skid, answers) = solve_all(&groups, &Settings { method, ..*settings }, progress);
    Solved { answers, skid, reporting }
}

/// The skid, pooled, and an answer for each of `groups`.
pub fn solve_all(groups: &[Group], settings: &Settings, progress: &dyn Progress) -> (Skid, Vec<Answer>) {
    progress.start(Stage::Solve, groups.len() as u64);
    let skids = pool::candidates(settings.skid);
    let search = |group: &Group| {
        let modes = worth(group, settings).then(|| pool::modes(group, &skids, TRUST));
        progress.advance(Stage::Solve, 1);
        modes
    };
    let modes: Vec<Option<Vec<Option<Mode>>>> = groups.par_iter().map(search).collect();
    let found: Vec<_> = modes.iter().flatten().cloned().collect();
    let weights = pool::weigh(&skids, &found);
    let skid = pool::mixed(&skids, &weights);
    let bench = Bench { settings, skid: &skid, trust: TRUST, samples: groups.iter().map(samples).sum() };
    let answer = |ix: usize| match &modes[ix] {
        Some(modes) => bench.settle(ix, &groups[ix], &ranked(modes, &weights)),
        None => baseline(&groups[ix], settings.method)
            .unwrap_or_else(|| flow(&groups[ix], UNWORTHY.into(), settings.seed)),
    };
    let answers = (0..groups.len()).into_par_iter().map(answer).collect();
    progress.finish(Stage::Solve);
    (skid, answers)
}

/// Modes under the likelier skids of the file, likeliest first.
fn ranked(modes: &[Option<Mode>], weights: &[f64]) -> Vec<Mode> {
    let mut known: Vec<(f64, &Mode)> =
        weights.iter().zip(modes).filter_map(|(w, m)| Some((*w, m.as_ref()?))).collect();
    known.sort_by(|a, b| b.0.total_cmp(&a.0));
    let least = known.first().map_or(0.0, |k| 0.05 * k.0);
    known.into_iter().filter(|(w, _)| *w >= least).map(|(_, m)| m.clone()).collect()
}

fn samples(group: &Group) -> f64 {
    group.model.events.iter().map(|e| e.total()).sum()
}

fn worth(group: &Group, settings: &Settings) -> bool {
    !settings.method.ignores_skid()
        && samples(group) >= LEAST_SAMPLES
        && group.model.region.freedom() <= MOST_FREEDOM
}
