//! The middle of the pipeline: from folded samples to a plan of where each cell's samples go.

use std::collections::BTreeMap;

use super::classify::{Kind, classify};
use super::linking::{self, place};
use super::survey::{CellIx, Survey};
use super::{fit, loops};
use crate::attribute::{
    Coupling, Frames, Plan, Route, Row, Share, Walk, by_occurrence, by_overflow, by_waiting, suspicion,
};
use crate::code::{FunctionIx, Place, Program};
use crate::export::Intervals;
use crate::image::{ImageId, Location, Svma, demangle};
use crate::options::{Options, Solver};
use crate::perfdata::{AttrIx, PerfFile};
use crate::progress::Progress;
use crate::report::{self, Class, Verdict};
use crate::skid::assemble::{Counts, Folded};
use crate::skid::hold::TimeSamples;
use crate::skid::{Holds, lag};
use crate::solve::diagnose::quantile;
use crate::solve::{Answer, Evidence, Method, Settings, Solved};

const UNREAD: &str = "none of its code could be read";

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
    pub trips: BTreeMap<Location, f64>,
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
/// `watch` is shown what was solved.
pub fn correct(
    file: &PerfFile,
    survey: &Survey,
    options: &Options,
    progress: &dyn Progress,
    watch: &mut (dyn FnMut(&Program, &Solved) + Send),
) -> Correction {
    let kinds: Vec<Kind> = file.attrs().iter().zip(&survey.events).map(|(a, c)| classify(a, c)).collect();
    let wanted = |ix: usize| {
        let name = &file.attrs()[ix].name;
        options.events.is_empty()
            || options.events.iter().any(|e| e == name || Some(e.as_str()) == name.split(':').next())
    };
    let mut correction =
        Correction { events: kinds.iter().map(first_outcome).collect(), ..Correction::default() };
    let active: Vec<usize> =
        (0..kinds.len()).filter(|&ix| wanted(ix) && is_late(&kinds[ix], survey, ix)).collect();
    for ix in (0..kinds.len()).filter(|ix| !wanted(*ix)) {
        correction.events[ix].reason = "not among the events asked for".into();
    }
    if active.is_empty() {
        return correction;
    }
    let program = linking::link(survey);
    let desk = Desk { survey, program: &program, kinds: &kinds };
    let evidence = desk.evidence();
    if evidence.retired.is_empty() && evidence.time.is_none() {
        active
            .iter()
            .for_each(|&ix| correction.events[ix].reason = without_evidence(&kinds, survey, ix).into());
        return correction;
    }
    let settings = Settings { method: method(options.solver), skid: options.skid, seed: options.seed };
    let solved = crate::solve::solve(&program, &evidence, &settings, progress);
    watch(&program, &solved);
    if !solved.answers.is_empty() && active.iter().any(|&e| kinds[e].class != Class::Time) {
        correction.model = Some(model(&solved, options));
    }
    for (region, answer) in solved.answers.iter().enumerate() {
        correction
            .places
            .push(answer.model.region.nodes.iter().map(|n| at(program.place(n.function, n.inst))).collect());
        correction.regions.push(desk.region(file, &active, answer, &solved));
        if !evidence.retired.is_empty() {
            correction.trips.extend(loops::trips(&program, answer));
        }
        for &event in &active {
            desk.plan(AttrIx(event as u32), region, answer, &solved, &mut correction);
        }
    }
    for &event in &active {
        desk.conclude(event, &solved, &mut correction);
    }
    correction
}

fn first_outcome(kind: &Kind) -> Outcome {
    let verdict = if kind.class == Class::Exact { Verdict::Exact } else { Verdict::Unchanged };
    Outcome { class: kind.class, verdict, reason: kind.reason.into() }
}

fn is_late(kind: &Kind, survey: &Survey, ix: usize) -> bool {
    let class = matches!(kind.class, Class::Time | Class::Retirement | Class::Occurrence);
    class && survey.events[ix].samples > survey.events[ix].elsewhere
}

/// Why nothing can be solved for an event.
fn without_evidence(kinds: &[Kind], survey: &Survey, ix: usize) -> &'static str {
    let read = |c: &super::survey::Cell| survey.images.get(c.at.image).class().is_some();
    match survey.cells.iter().any(|c| c.attr.0 as usize == ix && read(c)) {
        true if kinds[ix].class == Class::Occurrence => {
            "what ran how often is not known: record cycles or instructions beside it"
        }
        _ => UNREAD,
    }
}

fn method(solver: Solver) -> Method {
    match solver {
        Solver::Gibbs => Method::Gibbs,
        Solver::Argmin => Method::Argmin,
        Solver::Flow => Method::Flow,
        Solver::Timed => Method::Timed,
        Solver::Ics => Method::Ics,
        Solver::Mean => Method::Mean,
        Solver::Profi => Method::Profi,
        Solver::Bolt => Method::Bolt,
        Solver::Mcf => Method::Mcf,
    }
}

fn model(solved: &Solved, options: &Options) -> report::Model {
    let interval = options.skid.is_none().then(|| [solved.skid.quantile(0.05), solved.skid.quantile(0.95)]);
    let skid = &solved.skid;
    let bin = |(edges, &share): (&[usize], &f64)| report::Bin {
        from: edges[0] as f64 * skid.tick,
        to: edges[1] as f64 * skid.tick,
        share,
    };
    report::Model {
        skid_cycles: skid.mean(),
        interval,
        late: Some(solved.reporting.late),
        distribution: skid.edges.windows(2).zip(&skid.weights).map(bin).collect(),
    }
}

/// A place of the program as a location.
pub fn at(place: Place) -> Location {
    Location { image: ImageId(place.space), svma: Svma(place.address) }
}

/// What planning looks at all the time.
struct Desk<'a> {
    survey: &'a Survey,
    program: &'a Program,
    kinds: &'a [Kind],
}

impl Desk<'_> {
    /// Folded samples of the events that the solver learns from: retirement and time.
    fn evidence(&self) -> Evidence {
        let of = |class: Class| (0..self.kinds.len()).filter(move |&ix| self.kinds[ix].class == class);
        Evidence {
            retired: of(Class::Retirement)
                .map(|ix| self.folded(ix))
                .filter(|f| !f.weight.is_empty())
                .collect(),
            time: of(Class::Time)
                .map(|ix| self.folded(ix))
                .filter(|f| !f.weight.is_empty())
                .max_by(|a, b| a.weight.values().sum::<f64>().total_cmp(&b.weight.values().sum())),
        }
    }

    fn folded(&self, event: usize) -> Folded {
        let mut weight = BTreeMap::new();
        for cell in self.survey.cells.iter().filter(|c| c.attr.0 as usize == event) {
            if let Some(node) = self.program.find(place(cell.at)) {
                *weight.entry(node).or_default() += cell.weight as f64;
            }
        }
        let count = &self.survey.events[event];
        Folded {
            weight,
            period: count.weight as f64 / count.samples.max(1) as f64,
            counts: self.kinds[event].causes,
        }
    }

    /// What the report says of a region.
    fn region(
        &self,
        file: &PerfFile,
        active: &[usize],
        answer: &Answer,
        solved: &Solved,
    ) -> report::RegionReport {
        let learnt = |&&ix: &&usize| self.kinds[ix].class == Class::Retirement;
        let event = active.iter().find(learnt).or(active.first());
        let mut functions: Vec<FunctionIx> = answer.model.region.blocks.iter().map(|b| b.function).collect();
        functions.sort_unstable();
        functions.dedup();
        let name = |f: FunctionIx| {
            let place = at(self.program.place(f, 0));
            let function = self.survey.images.get(place.image).function_at(place.svma);
            function
                .and_then(|f| f.name.as_deref())
                .map(demangle)
                .unwrap_or_else(|| format!("{:#x}", place.svma.0))
        };
        report::RegionReport {
            event: event.map_or_else(String::new, |&ix| file.attrs()[ix].name.clone()),
            functions: functions.into_iter().map(name).collect(),
            samples: answer.model.events.first().map_or(0.0, |e| e.total()).round() as u64,
            verdict: answer.verdict(),
            reason: answer.reason.clone(),
            solver: match answer.method {
                Method::Gibbs => Solver::Gibbs,
                Method::Argmin => Solver::Argmin,
                Method::Flow => Solver::Flow,
                Method::Timed => Solver::Timed,
                Method::Ics => Solver::Ics,
                Method::Mean => Solver::Mean,
                Method::Profi => Solver::Profi,
                Method::Bolt => Solver::Bolt,
                Method::Mcf => Solver::Mcf,
            },
            rhat: answer.r_hat,
            ess: answer.ess,
            fit: fit::fit(answer, solved),
        }
    }

    /// Plans one event in one region.
    fn plan(
        &self,
        event: AttrIx,
        region: usize,
        answer: &Answer,
        solved: &Solved,
        correction: &mut Correction,
    ) {
        let rows = self.rows(event, answer);
        if rows.is_empty() {
            return;
        }
        let (coupling, wanted) = self.causes(event, &rows, answer, solved);
        let routes = Routes::new(self, answer);
        let plan = Plan::make(&rows, &coupling, wanted.as_deref(), |row, to| routes.find(row, to));
        self.note_intervals(
            event,
            region,
            answer,
            &placed(&rows, &plan, &correction.places[region]),
            correction,
        );
        for (cell, shares) in plan.cells.into_iter().filter(|(_, shares)| !shares.is_empty()) {
            correction.cells.insert(cell, Assigned { region, shares });
        }
    }

    fn rows(&self, event: AttrIx, answer: &Answer) -> Vec<Row> {
        let nodes: BTreeMap<(FunctionIx, usize), usize> = answer
            .model
            .region
            .nodes
            .iter()
            .enumerate()
            .map(|(n, node)| ((node.function, node.inst), n))
            .collect();
        let row = |(ix, cell): (usize, &super::survey::Cell)| {
            let node = *nodes.get(&self.program.find(place(cell.at))?)?;
            Some(Row { cell: ix as CellIx, node, samples: cell.samples, weight: cell.weight as f64 })
        };
        let cells = self.survey.cells.iter().enumerate();
        cells.filter(|(_, c)| c.attr == event && c.exact == 0).filter_map(row).collect()
    }

    /// Possible causes of each report, and the totals to aim at.
    fn causes(
        &self,
        event: AttrIx,
        rows: &[Row],
        answer: &Answer,
        solved: &Solved,
    ) -> (Coupling, Option<Vec<f64>>) {
        let region = &answer.model.region;
        let kind = &self.kinds[event.0 as usize];
        let mut reported = vec![0.0; region.nodes.len()];
        rows.iter().for_each(|r| reported[r.node] += r.weight);
        if kind.class == Class::Time {
            let second = lag::second(self.program, &self.folded(event.0 as usize));
            return (by_waiting(region, &answer.rates, solved.reporting, second, &reported), None);
        }
        if kind.class == Class::Occurrence {
            let (mut samples, holds) = (vec![0.0; region.nodes.len()], waits(answer));
            rows.iter().for_each(|r| samples[r.node] += r.samples as f64);
            let prior = suspicion(self.program, region, &answer.rates, &holds, kind.causes, kind.span);
            let surprised = kind.causes == Counts::Predicted;
            let reporting = solved.reporting;
            let walk = Walk { region, rates: &answer.rates, holds: &holds, reporting, surprised };
            let (coupling, caused) = by_occurrence(&walk, &solved.skid, &prior, &samples);
            return (coupling, Some(caused));
        }
        let executions: Vec<f64> = region
            .nodes
            .iter()
            .map(|n| if kind.causes.includes(n) { answer.rates.blocks[n.block] } else { 0.0 })
            .collect();
        let coupling =
            by_overflow(region, &answer.rates, &answer.holds, &solved.skid, solved.reporting, &executions);
        (coupling, Some(executions))
    }

    /// Intervals around what was `placed` (weight and samples per node): those of the posterior for retirement events, those
    /// of counting for others.
    fn note_intervals(
        &self,
        event: AttrIx,
        region: usize,
        answer: &Answer,
        placed: &[(f64, f64)],
        correction: &mut Correction,
    ) {
        let class = self.kinds[event.0 as usize].class;
        let retired = class == Class::Retirement;
        let verdict = if class == Class::Time { Verdict::Waited } else { answer.verdict() };
        let executed: f64 = answer.model.region.nodes.iter().map(|n| answer.rates.blocks[n.block]).sum();
        let total: f64 = placed.iter().map(|p| p.0).sum();
        let scale = total / executed.max(f64::MIN_POSITIVE);
        for (node, &(weight, samples)) in placed.iter().enumerate() {
            let block = answer.model.region.nodes[node].block;
            let (low, high) = match retired {
                true => (answer.low[block] * scale, answer.high[block] * scale),
                false if samples > 0.0 => counting(samples, weight / samples),
                false => (0.0, 0.0),
            };
            let at = correction.places[region][node];
            correction.intervals.insert((event, at), (low.min(weight), high.max(weight), verdict));
        }
        if retired {
            self.note_functions(event, answer, scale, correction);
        }
    }

    /// Intervals of whole functions, from the draws of the posterior: blocks of a function rise and fall together.
    fn note_functions(&self, event: AttrIx, answer: &Answer, scale: f64, correction: &mut Correction) {
        let mut sums: BTreeMap<FunctionIx, Vec<f64>> = BTreeMap::new();
        for blocks in &answer.draws {
            let mut per: BTreeMap<FunctionIx, f64> = BTreeMap::new();
            for block in answer.model.region.blocks.iter().zip(blocks) {
                *per.entry(block.0.function).or_default() += block.0.nodes.len() as f64 * block.1 * scale;
            }
            per.into_iter().for_each(|(f, sum)| sums.entry(f).or_default().push(sum));
        }
        for (f, mut draws) in sums {
            let interval = (quantile(&mut draws, 0.05), quantile(&mut draws, 0.95));
            correction.functions.insert((event, at(self.program.place(f, 0))), interval);
        }
    }

    /// The verdict on an event from those of its regions.
    fn conclude(&self, event: usize, solved: &Solved, correction: &mut Correction) {
        let kind = &self.kinds[event];
        let mut verdicts: Vec<Verdict> = solved.answers.iter().map(Answer::verdict).collect();
        verdicts.sort();
        verdicts.dedup();
        let outcome = &mut correction.events[event];
        outcome.verdict = match (kind.class, verdicts.as_slice()) {
            (_, []) => Verdict::Unchanged,
            (Class::Time, _) => Verdict::Waited,
            (_, [only]) => *only,
            _ => Verdict::Mixed,
        };
        outcome.reason = match (kind.class, verdicts.is_empty()) {
            (_, true) => UNREAD.into(),
            (Class::Time, _) if solved.reporting.late => {
                "each sample is given to the instruction waited for, one before".into()
            }
            (Class::Time, _) => "its samples stand on the instructions waited for already".into(),
            _ => kind.reason.into(),
        };
    }
}

/// Head times. Where no event measured time, late reports of retirement do so roughly: they stand where the processor waits.
fn waits(answer: &Answer) -> Holds {
    let model = &answer.model;
    match model.events.first().filter(|_| model.time.is_none()) {
        None => answer.holds.clone(),
        Some(event) => {
            let time = TimeSamples { cycles: event.weight.clone(), period: event.period };
            Holds::measure(&model.region, &answer.rates, Some(&time), model.reporting)
        }
    }
}

/// Weight and samples per node under a plan.
fn placed(rows: &[Row], plan: &Plan, places: &[Location]) -> Vec<(f64, f64)> {
    let mut placed = vec![(0.0, 0.0); places.len()];
    for row in rows {
        for share in plan.cells.get(&row.cell).into_iter().flatten() {
            let samples = share.samples as f64;
            placed[share.to.node].0 += samples * row.weight / row.samples as f64;
            placed[share.to.node].1 += samples;
        }
    }
    placed
}

/// 90 % interval of a rate of which `samples` were seen, in units of `period`: gamma by Wilson and Hilferty's cube.
fn counting(samples: f64, period: f64) -> (f64, f64) {
    let cube = |n: f64, z: f64| n * (1.0 - 1.0 / (9.0 * n) + z / (3.0 * n.sqrt())).max(0.0).powi(3);
    let low = if samples > 0.0 { cube(samples, -1.645) } else { 0.0 };
    (low * period, cube(samples + 1.0, 1.645) * period)
}

/// Ways of cells to nodes.
struct Routes<'a> {
    desk: &'a Desk<'a>,
    answer: &'a Answer,
}

impl<'a> Routes<'a> {
    fn new(desk: &'a Desk<'a>, answer: &'a Answer) -> Routes<'a> {
        Routes { desk, answer }
    }

    fn find(&self, row: &Row, to: usize) -> Option<Route> {
        let nodes = &self.answer.model.region.nodes;
        let (from, to) = (&nodes[row.node], &nodes[to]);
        let cell = &self.desk.survey.cells[row.cell as usize];
        let context = &self.desk.survey.contexts[cell.context as usize];
        let program = self.desk.program;
        if context.unwound {
            // unwinding goes on from the registers as they are: only where the rules are the same
            let row_at = |n: &crate::skid::Node| {
                let at = at(program.place(n.function, n.inst));
                self.desk.survey.images.get(at.image).unwind_row(at.svma)
            };
            return (from.function == to.function && row_at(from) == row_at(to))
                .then(|| Route { drop: 1, returns: Vec::new() });
        }
        let Some(callers) = &context.callers else {
            return Some(Route::default());
        };
        let callers: Vec<Option<Place>> = callers.iter().map(|c| c.map(place)).collect();
        Frames::new(program, from.function, &callers).route(program, to.function)
    }
}
