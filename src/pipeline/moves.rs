//! Answers → a plan of where each cell's samples go, for one event in one region.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::correct::{Assigned, Correction, Desk};
use super::decoding::{at, place};
use super::survey::{Cell, CellIx};
use crate::attribute::{
    Calls, Coupling, Frames, Late, Occurrence, Plan, Route, Row, Ways, by_occurrence, by_overflow,
    by_waiting, suspicion,
};
use crate::code::{FunctionIx, Place};
use crate::image::{ImageId, RowId, View};
use crate::perfdata::AttrIx;
use crate::report::Class;
use crate::skid::folded::Counts;
use crate::skid::hold::TimeSamples;
use crate::skid::kernel::Walk;
use crate::skid::patience::Due;
use crate::skid::{Holds, Node, lag};
use crate::solve::{Answer, Solved};

/// An event whose samples are to move.
pub(super) struct Moving {
    pub(super) event: AttrIx,
    /// Probability that a report of time stands two instructions behind the one waited for rather than one.
    second: f64,
}

/// What is to become of an event's samples in one region.
pub(super) struct Draft {
    event: AttrIx,
    plan: Plan,
    /// Weight and samples per node.
    placed: Vec<(f64, f64)>,
}

impl Desk<'_> {
    /// What is the same for an event in all regions.
    pub(super) fn moving(&self, event: usize) -> Moving {
        let known = || self.known[event].map(|known| known.second);
        let second = match self.kinds[event].class {
            Class::Time => lag::second(self.program, &self.folded(event)).or_else(known).unwrap_or(0.0),
            _ => 0.0,
        };
        Moving { event: AttrIx(event as u32), second }
    }

    /// Plans one event in one region; `None` if it has no samples there.
    pub(super) fn draft(&self, moving: &Moving, answer: &Answer, solved: &Solved) -> Option<Draft> {
        let rows = self.rows(moving.event, answer);
        if rows.is_empty() {
            return None;
        }
        let (coupling, wanted) = self.causes(moving, &rows, answer, solved);
        let plan = Plan::make(&rows, &coupling, wanted.as_deref(), &mut Routes::new(self, answer));
        let placed = placed(&rows, &plan, answer.model.region.nodes.len());
        Some(Draft { event: moving.event, plan, placed })
    }

    /// Takes over what was drafted in an answer's region.
    pub(super) fn settle(
        &self,
        answer: &Answer,
        drafts: impl IntoIterator<Item = Draft>,
        correction: &mut Correction,
    ) {
        let region = self.enter(answer, correction);
        for Draft { event, plan, placed } in drafts {
            self.note_intervals(event, region, answer, &placed, correction);
            for (cell, shares) in plan.cells.into_iter().filter(|(_, shares)| !shares.is_empty()) {
                correction.cells.insert(cell, Assigned { region, shares });
            }
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
        let functions: BTreeSet<FunctionIx> = answer.model.region.nodes.iter().map(|n| n.function).collect();
        let row = |f: FunctionIx, (cell, of, inst): (CellIx, &Cell, usize)| {
            let node = *nodes.get(&(f, inst)).filter(|_| of.exact == 0)?;
            Some(Row { cell, node, samples: of.samples, weight: of.weight as f64 })
        };
        let within = |f: FunctionIx| self.located.within(event.0 as usize, f).filter_map(move |c| row(f, c));
        let mut rows: Vec<Row> = functions.into_iter().flat_map(within).collect();
        rows.sort_by_key(|row| row.cell);
        rows
    }

    /// Possible causes of each report, and the totals to aim at.
    fn causes(
        &self,
        moving: &Moving,
        rows: &[Row],
        answer: &Answer,
        solved: &Solved,
    ) -> (Coupling, Option<Vec<f64>>) {
        let region = &answer.model.region;
        let kind = &self.kinds[moving.event.0 as usize];
        let mut reported = vec![0.0; region.nodes.len()];
        rows.iter().for_each(|r| reported[r.node] += r.weight);
        if kind.class == Class::Time {
            let late = Late { reporting: solved.shown, second: moving.second, due: answer.model.due() };
            return (by_waiting(region, &answer.rates, &late, &reported), None);
        }
        if kind.class == Class::Occurrence {
            let (mut samples, holds) = (vec![0.0; region.nodes.len()], waits(answer));
            rows.iter().for_each(|r| samples[r.node] += r.samples as f64);
            let prior = suspicion(self.program, &answer.model, &answer.rates, &holds, kind.causes, kind.span);
            let walk = Walk { holds: &holds, ..answer.walk() };
            let event = Occurrence { walk, surprised: kind.causes == Counts::Predicted };
            let (coupling, caused) = by_occurrence(&event, &solved.skid, &prior, &samples);
            return (coupling, Some(caused));
        }
        let executions: Vec<f64> = region
            .nodes
            .iter()
            .map(|n| if kind.causes.includes(n) { answer.rates.blocks[n.block] } else { 0.0 })
            .collect();
        let coupling = by_overflow(&answer.walk(), &solved.skid, &executions, &reported);
        (coupling, Some(executions))
    }
}

/// Head times. Where no event measured time, late reports of retirement do so roughly: they stand where the processor waits.
fn waits(answer: &Answer) -> Holds {
    let model = &answer.model;
    match model.events.iter().find(|event| !event.exact).filter(|_| model.time.is_none()) {
        None => answer.holds.clone(),
        Some(event) => {
            let (cycles, due) = (event.weight.clone(), Due::default());
            let time = TimeSamples { cycles, period: event.period, exact: false, due, landed: None };
            Holds::measure(&model.region, &answer.rates, Some(&time), model.reporting)
        }
    }
}

/// Weight and samples of each of so many `nodes` under a plan.
fn placed(rows: &[Row], plan: &Plan, nodes: usize) -> Vec<(f64, f64)> {
    let mut placed = vec![(0.0, 0.0); nodes];
    for row in rows {
        for share in plan.cells.get(&row.cell).into_iter().flatten() {
            let samples = share.samples as f64;
            placed[share.to.node].0 += samples * row.weight / row.samples as f64;
            placed[share.to.node].1 += samples;
        }
    }
    placed
}

/// Ways of cells to nodes. Rows of the same callers and function that follow each other share what was found.
struct Routes<'a> {
    desk: &'a Desk<'a>,
    answer: &'a Answer,
    calls: Calls<'a>,
    /// The last callers and function asked for, and their frames.
    frames: Option<((u32, FunctionIx), Frames)>,
    /// What was found for these, by function.
    found: BTreeMap<FunctionIx, Option<Route>>,
    /// Whether views show images, as far as it was asked.
    shown: HashMap<(View, ImageId), bool>,
}

/// Of a chain that stays as it is, but for the sampled address …
static STAYS: Route = Route { drop: 1, returns: Vec::new() };
/// … and where there is none.
static NONE: Route = Route { drop: 0, returns: Vec::new() };

impl Ways for Routes<'_> {
    fn to(&mut self, row: &Row, to: usize) -> Option<&Route> {
        let nodes = &self.answer.model.region.nodes;
        let (from, to) = (&nodes[row.node], &nodes[to]);
        let survey = self.desk.survey;
        let number = survey.cells[row.cell as usize].context;
        let context = &survey.contexts[number as usize];
        if !self.shows(context.view, from, to) {
            return None;
        }
        if context.unwound {
            // unwinding goes on from the registers as they are: only where the rules are the same
            let same = from.function == to.function && self.desk.rules(from) == self.desk.rules(to);
            return same.then_some(&STAYS);
        }
        let Some(callers) = &context.callers else {
            return Some(&NONE);
        };
        let asked = (number, from.function);
        let (program, calls) = (self.desk.program, &mut self.calls);
        if self.frames.as_ref().is_none_or(|(last, _)| *last != asked) {
            let callers: Vec<Option<Place>> = callers.iter().map(|c| c.map(place)).collect();
            self.frames = Some((asked, Frames::new(program, from.function, &callers)));
            self.found.clear();
        }
        let (_, frames) = self.frames.as_ref()?;
        self.found.entry(to.function).or_insert_with(|| frames.route(calls, to.function)).as_ref()
    }
}

impl<'a> Routes<'a> {
    fn new(desk: &'a Desk<'a>, answer: &'a Answer) -> Routes<'a> {
        let (calls, found, shown) = (Calls::new(desk.program), BTreeMap::new(), HashMap::new());
        Routes { desk, answer, calls, frames: None, found, shown }
    }

    /// Whether a sample at one node of a process with such a view may go to another: not into a program that runs elsewhere.
    fn shows(&mut self, view: Option<View>, from: &Node, to: &Node) -> bool {
        let Some(view) = view.filter(|_| from.function != to.function) else { return true };
        let [from, to] = [from, to].map(|node| at(self.desk.program.place(node.function, node.inst)).image);
        let company = self.desk.survey.spaces.company();
        from == to || *self.shown.entry((view, to)).or_insert_with(|| company.shows(view, to))
    }
}

impl Desk<'_> {
    /// By which rules a node's caller is found.
    fn rules(&self, node: &Node) -> Option<RowId> {
        let at = at(self.program.place(node.function, node.inst));
        self.survey.images.get(at.image).unwind_row(at.svma)
    }
}
