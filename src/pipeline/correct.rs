//! The middle of the pipeline: from folded samples to a plan of where each cell's samples go.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::classify::{Kind, classify};
use super::decoding::at;
use super::linking;
use super::located::Located;
use super::misfit::Misfits;
use super::moves::{Draft, Moving};
use super::survey::{Cell, CellIx, EventCount, Survey};
use super::{fit, loops, machine, verdicts};
use crate::attribute::Share;
use crate::code::Program;
use crate::export::Intervals;
use crate::ibs::is_forwarded;
use crate::image::{Images, Location};
use crate::options::Options;
use crate::perfdata::{self, AttrIx, PerfFile};
use crate::progress::{Progress, Stage, each};
use crate::report::listing::Trips;
use crate::report::{self, Class, Verdict};
use crate::skid::calibration::EventSkid;
use crate::skid::hot::Scope;
use crate::skid::{Calibration, Node};
use crate::solve::{Answer, Known, Settings, Solved};

/// Why an event stays.
pub(super) const UNREAD: &str = "none of its code could be read";

/// A cell's samples and where they go.
pub struct Assigned {
    /// Which of [`Correction::places`].
    pub region: usize,
    /// How many go where.
    pub shares: Vec<Share>,
}

/// What is to be done, and what is known of it.
#[derive(Default)]
pub struct Correction {
    /// Per cell; cells that are not here stay as they are.
    pub cells: BTreeMap<CellIx, Assigned>,
    /// Per region, the places of its nodes.
    pub places: Vec<Vec<Location>>,
    /// 90 % interval of the weight, and what stands behind it, per event and place.
    pub intervals: Intervals,
    /// Draws of the weight per function, for intervals of sums: event, region, function's place.
    pub functions: BTreeMap<(AttrIx, Location), (f64, f64)>,
    /// Per event.
    pub events: Vec<Outcome>,
    /// Per region that was solved.
    pub regions: Vec<report::RegionReport>,
    /// Of loops that were solved, by their header's place, how often the header runs each time the loop is entered.
    pub trips: BTreeMap<Location, Trips>,
    /// What should be done otherwise when recording.
    pub warnings: Vec<String>,
    /// Whether anything was solved for how often code runs, which is what solvers are for.
    pub solved: bool,
    /// Whether anything depends on how long the skid is.
    pub slipped: bool,
    /// The skid, if one was needed.
    pub model: Option<report::Model>,
}

/// What was decided about an event.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its class.
    pub class: Class,
    /// What was done.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
}

/// Leaves every sample where it is.
pub fn nothing(file: &PerfFile, survey: &Survey) -> Correction {
    let outcome = |(attr, count)| Outcome {
        class: classify(attr, count).class,
        verdict: Verdict::Unchanged,
        reason: "converted without correction".into(),
    };
    Correction {
        events: file.attrs().iter().zip(&survey.events).map(outcome).collect(),
        ..Correction::default()
    }
}

/// Solves, and plans the moves of all events that have something to correct.
/// `watch` is shown what was solved, and in which binaries.
pub fn correct(
    file: &PerfFile,
    survey: &Survey,
    options: &Options,
    progress: &dyn Progress,
    watch: &mut (dyn FnMut(&Images, &Program, &Solved) + Send),
) -> Correction {
    let kinds = kinds(file, survey);
    let wanted = |ix: usize| options.wants(&file.attrs()[ix].name);
    let mut correction =
        Correction { events: kinds.iter().map(first_outcome).collect(), ..Correction::default() };
    let active: Vec<usize> =
        (0..kinds.len()).filter(|&ix| wanted(ix) && kinds[ix].is_late() && is_placed(survey, ix)).collect();
    for ix in (0..kinds.len()).filter(|&ix| kinds[ix].is_late() && survey.events[ix].samples == 0) {
        correction.events[ix].reason = "it has no samples".into();
    }
    for ix in (0..kinds.len()).filter(|ix| !wanted(*ix)) {
        correction.events[ix].reason = "not among the events asked for".into();
    }
    if let Some(machine) = machine::other(file.features(), survey) {
        for ix in (0..kinds.len()).filter(|&ix| wanted(ix) && kinds[ix].is_late()) {
            correction.events[ix].reason = machine::reason(&machine);
        }
        return correction;
    }
    if active.is_empty() {
        return correction;
    }
    let scope = scope(&kinds, survey);
    let (program, misfits) = linked(survey, scope, progress);
    let fits = |cell| misfits.fits(survey, cell);
    correction.warnings.extend(misfits.warnings.iter().cloned());
    let calibration = calibration(file, options);
    let of = |attr: &perfdata::Attr| calibration.as_ref().and_then(|known| known.event(&attr.name));
    let known: Vec<Option<&EventSkid>> = file.attrs().iter().map(of).collect();
    let located = Located::new(survey, &program, &fits);
    let desk = Desk {
        survey,
        misfits: &misfits,
        program: &program,
        located: &located,
        kinds: &kinds,
        known: &known,
    };
    let evidence = desk.evidence();
    if evidence.retired.is_empty() && evidence.time.is_none() {
        active
            .iter()
            .for_each(|&ix| correction.events[ix].reason = without_evidence(&kinds, survey, ix).into());
        return correction;
    }
    let time = (0..kinds.len()).find(|&ix| kinds[ix].class == Class::Time).and_then(|ix| known[ix]);
    let known = Known {
        late: time.and_then(|event| event.late),
        cycles: calibration.as_ref().and_then(Calibration::cycles),
    };
    let settings = Settings { solver: options.solver, skid: options.skid, seed: options.seed, known };
    let solved = crate::solve::solve(&program, &evidence, &settings, progress);
    watch(&survey.images, &program, &solved);
    correction.solved = !solved.answers.is_empty() && !evidence.retired.is_empty();
    let moves_others = !solved.answers.is_empty() && active.iter().any(|&e| kinds[e].class != Class::Time);
    correction.slipped = correction.solved || moves_others;
    if moves_others {
        correction.model = Some(verdicts::model(&solved, options, known.cycles.is_some()));
    }
    let moving: Vec<Moving> = active.iter().map(|&event| desk.moving(event)).collect();
    desk.plan(file, &moving, &solved, !evidence.retired.is_empty(), &mut correction, progress);
    if scope == Scope::Noticeable {
        desk.rest(&moving, solved.shown, &settings, &mut correction, progress);
    }
    for &event in &active {
        desk.conclude(event, &solved, &mut correction);
    }
    correction
}

/// The program of all samples in `scope`, but for those in binaries that are not what was recorded, and these.
fn linked(survey: &Survey, scope: Scope, progress: &dyn Progress) -> (Program, Misfits) {
    let program = linking::link(survey, scope, &|_| true, progress);
    let misfits = Misfits::of(survey, &program);
    if misfits.images.is_empty() {
        return (program, misfits);
    }
    (linking::link(survey, scope, &|cell| misfits.fits(survey, cell), progress), misfits)
}

/// The kinds of the file's events. For precise cycles AMD's processors sample single ops, which they choose as these are
/// dispatched, whatever is waited for.
fn kinds(file: &PerfFile, survey: &Survey) -> Vec<Kind> {
    let kind = |(attr, count)| {
        let kind = classify(attr, count);
        Kind { tells_time: kind.tells_time && !is_forwarded(attr, file.features()), ..kind }
    };
    file.attrs().iter().zip(&survey.events).map(kind).collect()
}

/// What was measured of the processor that the recording is from.
fn calibration(file: &PerfFile, options: &Options) -> Option<Calibration> {
    let cpuid = file.features().cpu_id.as_deref().filter(|cpuid| !cpuid.is_empty())?;
    Calibration::load(options.calibrations.as_deref()?, cpuid)
}

fn first_outcome(kind: &Kind) -> Outcome {
    let verdict = if kind.class == Class::Exact { Verdict::Exact } else { Verdict::Unchanged };
    Outcome { class: kind.class, verdict, reason: kind.reason.into() }
}

/// Whether samples of an event stand in something that is mapped.
fn is_placed(survey: &Survey, ix: usize) -> bool {
    survey.events[ix].samples > survey.events[ix].elsewhere
}

/// Where only time was sampled, each sample has a place to go to that takes no solving; how often code ran takes samples.
fn scope(kinds: &[Kind], survey: &Survey) -> Scope {
    let counts = |(kind, count): (&Kind, &EventCount)| {
        count.samples > 0 && (kind.class == Class::Retirement || kind.tells_runs)
    };
    match kinds.iter().zip(&survey.events).any(counts) {
        true => Scope::Noticeable,
        false => Scope::Sampled,
    }
}

/// Why nothing can be solved for an event.
fn without_evidence(kinds: &[Kind], survey: &Survey, ix: usize) -> &'static str {
    let read = |c: &Cell| survey.images.get(c.at.image).class().is_some();
    match survey.cells.iter().any(|c| c.attr.0 as usize == ix && read(c)) {
        true if kinds[ix].class == Class::Occurrence => {
            "what ran how often is not known: record cycles or instructions beside it"
        }
        _ => UNREAD,
    }
}

impl Desk<'_> {
    /// Plans the events that are `moving` in all regions that were solved; `counted` if something told how often code ran.
    fn plan(
        &self,
        file: &PerfFile,
        moving: &[Moving],
        solved: &Solved,
        counted: bool,
        correction: &mut Correction,
        progress: &dyn Progress,
    ) {
        let draft = |answer| -> Vec<Draft> {
            moving.iter().filter_map(|moving| self.draft(moving, answer, solved)).collect()
        };
        let drafts = each(progress, Stage::Plan, solved.answers.par_iter(), draft);
        let active: Vec<usize> = moving.iter().map(|moving| moving.event.0 as usize).collect();
        for (answer, drafts) in solved.answers.iter().zip(drafts) {
            let mut told = self.region(file, &active, answer);
            if counted {
                told.fit = fit::fit(answer, solved);
                correction.trips.extend(loops::trips(self.program, answer));
            }
            correction.regions.push(told);
            correction.warnings.extend(active.iter().filter_map(|&event| self.step(file, event, answer)));
            self.settle(answer, drafts, correction);
        }
    }

    /// The number of an answer's region, whose places are noted.
    pub(super) fn enter(&self, answer: &Answer, correction: &mut Correction) -> usize {
        let place = |node: &Node| at(self.program.place(node.function, node.inst));
        correction.places.push(answer.model.region.nodes.iter().map(place).collect());
        correction.places.len() - 1
    }
}

/// What planning looks at all the time.
#[derive(Clone, Copy)]
pub(super) struct Desk<'a> {
    /// The first walk's.
    pub(super) survey: &'a Survey,
    /// Binaries that are left alone.
    pub(super) misfits: &'a Misfits,
    /// The code.
    pub(super) program: &'a Program,
    /// Where the samples of the first stand in the second.
    pub(super) located: &'a Located<'a>,
    /// Per event.
    pub(super) kinds: &'a [Kind],
    /// Per event, what was measured of it on such a processor.
    pub(super) known: &'a [Option<&'a EventSkid>],
}
