//! The whole file, group by group.

use rayon::prelude::*;

use super::answer::{Answer, Evidence, Method, Settings, Solved};
use super::gate;
use super::group::{Group, prepare};
use super::levenberg::Mode;
use super::pool;
use super::posterior::{Posterior, Trust};
use crate::code::Program;
use crate::progress::{Progress, Stage};
use crate::skid::{Holds, Rates, Skid, reporting};

/// How strongly each kind of evidence speaks.
pub const TRUST: Trust = Trust { dispersion: 4.0, spread: 0.4, prior: 1.0 };
/// Groups with fewer samples keep their flow: they tell nothing about skid.
const LEAST_SAMPLES: f64 = 200.0;
/// Groups with more free parameters keep their flow.
const MOST_FREEDOM: usize = 150;

/// Finds which address is reported, makes the groups and solves them.
pub fn solve(program: &Program, evidence: &Evidence, settings: &Settings, progress: &dyn Progress) -> Solved {
    let events: Vec<_> = evidence.retired.iter().chain(&evidence.time).collect();
    let reporting = reporting::decide(program, evidence.time.as_ref(), &events);
    let groups = prepare(program, evidence, reporting);
    let (skid, answers) = solve_all(&groups, settings, progress);
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
    let answer = |(group, modes): (&Group, &Option<Vec<Option<Mode>>>)| match modes {
        Some(modes) => averaged(group, &skids, &weights, modes),
        None => flow(group, "too few samples, or too many branches, to tell skid from flow".into()),
    };
    let answers = groups.par_iter().zip(&modes).map(answer).collect();
    progress.finish(Stage::Solve);
    (skid, answers)
}

fn worth(group: &Group, settings: &Settings) -> bool {
    let samples: f64 = group.model.events.iter().map(|e| e.total()).sum();
    settings.method != Method::Flow
        && samples >= LEAST_SAMPLES
        && group.model.region.freedom() <= MOST_FREEDOM
}

/// The mean of the modes under all skids, as the file weighs them.
fn averaged(group: &Group, skids: &[Skid], weights: &[f64], modes: &[Option<Mode>]) -> Answer {
    let model = &group.model;
    let mut blocks = vec![0.0; model.region.blocks.len()];
    let mut best: Option<(f64, Rates)> = None;
    let mut refused = None;
    for ((skid, &weight), mode) in skids.iter().zip(weights).zip(modes) {
        let Some(mode) = mode.as_ref().filter(|_| weight > 1e-3) else { continue };
        let mut posterior = Posterior::new(model, &group.flow, skid.clone(), TRUST);
        let Some(prediction) = posterior.predict(&mode.z) else { continue };
        blocks.iter_mut().zip(&prediction.rates.blocks).for_each(|(sum, e)| *sum += weight * e);
        if best.as_ref().is_none_or(|b| weight > b.0) {
            refused = gate::refuse(model, &prediction, skid);
            best = Some((weight, prediction.rates));
        }
    }
    match (best, refused) {
        (None, _) => flow(group, "no flow explains the samples".into()),
        (_, Some(reason)) => flow(group, reason),
        (Some((_, mut rates)), None) => {
            rates.blocks = blocks;
            answer(group, rates, Method::Argmin, "the skid model explains the samples".into())
        }
    }
}

fn flow(group: &Group, reason: String) -> Answer {
    answer(group, group.rates.clone(), Method::Flow, reason)
}

fn answer(group: &Group, rates: Rates, method: Method, reason: String) -> Answer {
    let model = group.model.clone();
    let holds = Holds::measure(&model.region, &rates, model.time.as_ref(), model.reporting);
    let low = rates.blocks.iter().map(|b| b * 0.7).collect();
    let high = rates.blocks.iter().map(|b| b * 1.4).collect();
    Answer { model, rates, holds, low, high, draws: Vec::new(), method, reason, r_hat: None, ess: None }
}
