//! The whole file, group by group.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::answer::{Answer, Evidence, Settings, Solved};
use super::floor::{baseline, flow, timed, ways};
use super::group::Group;
use super::posterior::Trust;
use super::settle::Bench;
use super::solver::Solver;
use super::telling::{of_core, telling};
use super::totals::unsure;
use super::workshop::Workshop;
use super::{pool, prior};
use crate::code::Program;
use crate::progress::{Progress, Stage, each};
use crate::skid::hold::Reporting;
use crate::skid::landed;
use crate::skid::reporting::{self, Certainty, Verdict};
use crate::skid::{Model, Skid};

/// How strongly each kind of evidence speaks. What other errors of the kernel give stands in `docs/refuted.md`.
pub const TRUST: Trust = Trust { dispersion: 4.0, error: 0.1, spread: 0.4, prior: 1.0 };
/// Groups with fewer samples keep their flow: they tell nothing about skid.
const LEAST_SAMPLES: f64 = 200.0;
/// The model of skid is not believed unless nine in ten skids are within so many times as long as the shortest of them: a wider
/// distribution is hardly narrower than what is thought before anything is seen, and what explains samples by it bends paths. Of the
/// five, the 44 and the 37 argmin moves 10 by more than .001 of block distance where the skid is told, by −.0069 on average, and 18
/// where it is not, by +.0026; of five recordings of libraries where the model was believed, of none of which it was told, three
/// were further off (by .045, .019 and .006) and two nearer (by .027 and .019).
const WIDEST: f64 = 5.0;

/// Addresses are taken to be late after long waits only if that strains time less than so many times as much as the others do, for more
/// can be explained by it. Where places speak for both, as in ten of 14 recordings of such, it strains .48 to .91 times as much in
/// nine of these, and .94 times at least in 27 others …
const PATIENT_IF_DOUBTFUL: f64 = 0.92;
/// … and where they speak against lateness, .73 times in two of four, and .895 times at least in 23 others.
const PATIENT_IF_CLEAR: f64 = 0.85;

/// Finds which address is reported, makes the groups and solves them.
pub fn solve(program: &Program, evidence: &Evidence, settings: &Settings, progress: &dyn Progress) -> Solved {
    let events: Vec<_> = evidence.retired.iter().filter(|event| !event.exact).chain(&evidence.time).collect();
    let alone = evidence.time.is_none() && settings.solver.uses_time();
    let stand_in = if alone { landed::stand_in(program, &evidence.retired) } else { None };
    // exact samples of time do not show which address a late one has; those of instructions stand where time goes as well
    let late = match &evidence.time {
        Some(time) if time.exact => evidence.retired.iter().find(|event| !event.exact),
        Some(time) => Some(time),
        None => stand_in,
    };
    let seems = reporting::decide(program, late, &events, settings.known.late);
    if evidence.retired.is_empty() {
        let known = settings.known.late;
        let certainty = if known.is_some() { Certainty::Clear } else { seems.certainty };
        return Solved { certainty, ..share_out(program, evidence, seems.likely(known), settings, progress) };
    }
    let workshop = Workshop::new(program, evidence, settings.solver).taking(stand_in);
    let (reporting, groups) = fitting(&workshop, seems, progress);
    let (skid, answers) = solve_all(&groups, settings, progress);
    // a core that issues in order, and one that is late after long waits only, are told by their pace alone
    let told = reporting.shape.in_order || reporting.patient;
    let late = if told { reporting.late } else { seems.reporting.late };
    Solved { answers, skid, reporting, shown: Reporting { late, ..reporting }, certainty: Certainty::Clear }
}

/// The answer to time alone, which tells where cycles went: how often anything ran is only wanted to share them out where ways
/// meet.
pub fn share_out(
    program: &Program,
    evidence: &Evidence,
    reporting: Reporting,
    settings: &Settings,
    progress: &dyn Progress,
) -> Solved {
    let groups = Workshop::new(program, evidence, Solver::Flow).groups(reporting, progress);
    let (skid, _) = pool::pool(&[], settings.skid, settings.known.cycles, TRUST, progress);
    let answers = groups.into_par_iter().map(|group| ways(&group)).collect();
    Solved { answers, skid, reporting, shown: reporting, certainty: Certainty::Clear }
}

/// The groups, under the reporting that it `seems` to be; or of those that it may be as well, and then of the cores that may
/// be behind it, under that which strains time least.
///
/// Over 49 recordings the strain tells whether addresses are late on all cores but one that issues in order. Four
/// that had been decided otherwise: block distance .136 → .094 and .164 → .067; .173 → .236 where only long waits are late,
/// so that neither is right; .086 → .179 with 500 samples, whose time now comes to its place (.66 → .22). It tells as well which
/// cores issue in order: 11 of 11 recordings of such, and none of 74 others. The width that strains least, of 4, 6 and 8, or of
/// 1 and 2, instead of 4: block distance of flow and time .0443 → .0397 over 44 recordings, .1211 → .1139 over 20 of libraries,
/// .0236 → .0217 over five programs; the best width for each of the 49 would be .0359 (`docs/refuted.md`).
///
/// Reports of time move as the places say where they stand, or as the pace does of such as are late only after long waits, of which
/// places say the one or the other.
fn fitting(workshop: &Workshop<'_>, seems: Verdict, progress: &dyn Progress) -> (Reporting, Vec<Group>) {
    if !workshop.times() {
        return (seems.reporting, workshop.enlarged(Vec::new(), seems.reporting, progress));
    }
    let under = |reporting| (reporting, workshop.groups(reporting, progress));
    let patient = if seems.certainty == Certainty::Clear { PATIENT_IF_CLEAR } else { PATIENT_IF_DOUBTFUL };
    let others = seems.others().into_iter().map(under);
    let (reporting, groups) = least_strained(patient, under(seems.reporting), others);
    let tells = of_core(&groups);
    let on = |shape| {
        let anew = |(ix, group): (usize, &Group)| group.clone().on(shape, tells.contains(&ix));
        let groups = each(progress, Stage::Flow, groups.par_iter().enumerate(), anew);
        (Reporting { shape, ..reporting }, groups)
    };
    let others: Vec<_> = reporting.shape.others().map(on).collect();
    let (reporting, groups) = least_strained(patient, (reporting, groups), others.into_iter());
    let width = width(&groups, progress);
    let groups = workshop.enlarged(groups, reporting, progress);
    let tells = of_core(&groups);
    let settled = |(ix, group): (usize, Group)| group.settled(width, tells.contains(&ix));
    (reporting, each(progress, Stage::Flow, groups.into_par_iter().enumerate(), settled))
}

/// How wide the prior of branches is for `groups`, by those that tell.
fn width(groups: &[Group], progress: &dyn Progress) -> f64 {
    let telling = telling(groups, |group| group.timed.is_some());
    prior::width(&telling.into_iter().map(|ix| &groups[ix]).collect::<Vec<_>>(), progress)
}

/// The first of those that strain time least, where those that are `patient` have to strain it so many times less.
fn least_strained(
    patient: f64,
    first: (Reporting, Vec<Group>),
    others: impl Iterator<Item = (Reporting, Vec<Group>)>,
) -> (Reporting, Vec<Group>) {
    let strained = |(reporting, groups): &(Reporting, Vec<Group>)| {
        let strain: f64 = of_core(groups).into_iter().map(|ix| groups[ix].strain()).sum();
        if reporting.patient { strain / patient } else { strain }
    };
    let mut best = (strained(&first), first);
    for other in others {
        let strain = strained(&other);
        if strain < best.0 {
            best = (strain, other);
        }
    }
    best.1
}

/// The skid, pooled, and an answer for each of `groups`.
pub fn solve_all(groups: &[Group], settings: &Settings, progress: &dyn Progress) -> (Skid, Vec<Answer>) {
    let tell = match settings.solver {
        Solver::Ics => (0..groups.len()).filter(|&ix| worth(&groups[ix], settings)).collect(),
        solver => telling(groups, |group| solver.models_skid() && tells_of_skid(&group.model)),
    };
    let members: Vec<&Group> = tell.iter().map(|&ix| &groups[ix]).collect();
    let (skid, near) = pool::pool(&members, settings.skid, settings.known.cycles, TRUST, progress);
    let near = tell.into_iter().zip(near).filter(|(ix, _)| worth(&groups[*ix], settings));
    let near: BTreeMap<usize, Vec<f64>> = near.collect();
    let told = settings.solver == Solver::Ics || skid.quantile(0.95) <= WIDEST * skid.quantile(0.05);
    progress.start(Stage::Solve, groups.len() as u64);
    let bench = Bench {
        settings,
        skid: &skid,
        trust: TRUST,
        samples: groups.iter().map(|group| samples(&group.model)).sum(),
    };
    let all = groups.iter().map(|group| group.model.total()).sum();
    let answer = |ix: usize| {
        let answer = match near.get(&ix) {
            Some(near) if told => bench.settle(ix, &groups[ix], near),
            _ => unmodelled(&groups[ix], settings, told),
        };
        progress.advance(Stage::Solve, 1);
        unsure(answer, &skid, all)
    };
    let answers = (0..groups.len()).into_par_iter().map(answer).collect();
    progress.finish(Stage::Solve);
    (skid, answers)
}

fn samples(model: &Model) -> f64 {
    model.events.iter().map(|e| e.total()).sum()
}

/// Whether there are enough samples to tell of skid: where not, no model of it is tried.
pub fn tells_of_skid(model: &Model) -> bool {
    samples(model) >= LEAST_SAMPLES
}

fn worth(group: &Group, settings: &Settings) -> bool {
    settings.solver.models_skid() && tells_of_skid(&group.model) && group.bends()
}

/// The answer for a group that the model of skid is not tried on, be it that it was not `told` how long the skid is.
fn unmodelled(group: &Group, settings: &Settings, told: bool) -> Answer {
    let (asked, seed) = ("asked for".to_string(), settings.seed);
    match settings.solver {
        Solver::Flow => flow(group, asked, seed),
        Solver::Timed => timed(group, asked, seed),
        solver @ (Solver::Mean | Solver::Profi | Solver::Bolt | Solver::Mcf) => baseline(group, solver)
            .unwrap_or_else(|| flow(group, "the baseline finds no executions".into(), seed)),
        Solver::Gibbs | Solver::Argmin | Solver::Ics if !tells_of_skid(&group.model) => {
            flow(group, "too few samples to tell skid from flow".into(), seed)
        }
        Solver::Gibbs | Solver::Argmin | Solver::Ics => {
            let reason = match worth(group, settings) {
                true if told => "the model of skid is kept for the code with most samples",
                true => "the samples do not tell how long the skid is",
                false => "too many branches to tell skid from flow",
            };
            timed(group, reason.into(), seed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;
    use crate::skid::testing::skipping;
    use crate::solve::Known;
    use crate::solve::conserve::TIMED;

    /// Why a loop around two instructions, half of whose runs skip them, has its answer, where the skid is `given` or not.
    fn reason(given: Option<f64>) -> String {
        let model = skipping([1e3, 500.0, 500.0, 1e3, 1e3, 1.0], true, Reporting::default());
        let flow = vec![0.0, 7.0];
        let rates = model.rates(&flow).expect("a flow");
        let timed = Some(flow.clone());
        let group = Group { functions: vec![0], model, flow, rates, belief: TIMED, timed };
        let settings = Settings { solver: Solver::Argmin, skid: given, seed: 1, known: Known::default() };
        solve_all(&[group], &settings, &Silent).1.remove(0).reason
    }

    #[test]
    fn the_model_of_skid_is_not_believed_where_nothing_tells_how_long_that_is() {
        assert_eq!(reason(None), "the samples do not tell how long the skid is");
        assert_ne!(reason(Some(9.0)), reason(None), "where that is known");
    }
}
