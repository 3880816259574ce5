//! The second walk: each sample gets its new address, and all that want to see it see it.

use std::collections::HashMap;
use std::rc::Rc;

use super::audience::{Audience, Known, Move, stack};
use super::correct::Correction;
use super::memo::Memo;
use super::survey::{CellIx, Survey, when};
use super::unwinding::Unwinder;
use crate::attribute::{Dealer, Route};
use crate::export::StackFrame;
use crate::image::Location;
use crate::perfdata::{Patch, PerfFile, Reads, Record, Sample};

/// Decides on samples, one by one, in the order of the file.
pub struct Second<'a> {
    survey: &'a Survey,
    correction: &'a Correction,
    seed: u64,
    dealers: HashMap<CellIx, Dealer>,
    reads: Reads,
    memo: Memo<'a, Found<'a>>,
    unwinder: Unwinder<'a>,
    /// Who sees them.
    pub audience: Audience,
    /// Samples that were to move but could not: their process does not show the place, or their record would get too long.
    pub stuck: u64,
}

/// What is the same for samples that differ in nothing but their time and thread.
#[derive(Clone)]
struct Found<'a> {
    from: Option<Location>,
    cell: Option<CellIx>,
    /// As recorded; empty where nobody wants it.
    stack: Rc<[StackFrame]>,
    comm: Option<&'a str>,
}

impl<'a> Found<'a> {
    fn find(
        survey: &'a Survey,
        (record, sample): (&Record<'_>, &Sample<'_>),
        callers: Option<&[u64]>,
    ) -> Found<'a> {
        let stacked = |callers| stack(survey, (record, sample), callers, None).into();
        let from = survey.place(record, sample);
        Found {
            from,
            cell: from.and_then(|from| survey.cell_of(record, sample, from)),
            stack: callers.map_or_else(|| Rc::new([]) as Rc<[StackFrame]>, stacked),
            comm: survey.spaces.comm(sample.pid, sample.tid, when(record, sample)),
        }
    }
}

/// A decision about one sample.
struct Decision {
    to: Location,
    patch: Patch,
}

impl<'a> Second<'a> {
    /// `audience` sees every sample of `file`.
    pub fn new(
        (file, survey): (&PerfFile, &'a Survey),
        correction: &'a Correction,
        seed: u64,
        audience: Audience,
    ) -> Second<'a> {
        let (dealers, reads, memo) = (HashMap::new(), Reads::default(), Memo::new(&survey.spaces));
        let unwinder = Unwinder::new(file, survey);
        Second { survey, correction, seed, dealers, reads, memo, unwinder, audience, stuck: 0 }
    }

    /// What to change in a sample.
    pub fn decide(&mut self, file: &PerfFile, record: &Record<'_>, sample: &Sample<'_>) -> Option<Patch> {
        let (survey, wants_stack) = (self.survey, !self.audience.exporters.is_empty());
        let callers = wants_stack.then(|| self.unwinder.callers(record, sample));
        let find = || Found::find(survey, (record, sample), callers.as_deref());
        let callers = callers.as_deref().unwrap_or_default();
        let (number, found) = self.memo.of((record, sample), callers, find).clone();
        let Found { from, cell, stack, comm } = found;
        let decision = from.zip(cell).and_then(|(from, cell)| self.deal((record, sample), from, cell));
        let to = decision.as_ref().map_or(from, |d| Some(d.to));
        let known = Known { number: Some(number), stack: &stack, callers, comm };
        let how = Move { from, to, patch: decision.as_ref().map(|d| &d.patch), known: Some(known) };
        let Second { survey, reads, audience, .. } = self;
        reads.split(file, sample, |attr, period| {
            audience.show(survey, (record, &Sample { attr, period, ..*sample }), 1, how);
        });
        decision.map(|d| d.patch)
    }

    fn deal(
        &mut self,
        (record, sample): (&Record<'_>, &Sample<'_>),
        from: Location,
        cell: CellIx,
    ) -> Option<Decision> {
        if sample.exact || self.correction.cells.is_empty() {
            return None;
        }
        let assigned = self.correction.cells.get(&cell)?;
        let seed = self.seed ^ (u64::from(cell) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let dealer = self.dealers.entry(cell).or_insert_with(|| Dealer::new(&assigned.shares, seed));
        let share = &assigned.shares[dealer.deal()?];
        let to = self.correction.places[assigned.region][share.to.node];
        match self.patch(record, sample, from, to, &share.to.route) {
            Some(patch) => {
                self.tally_step(sample, assigned.region, from, share.to.node);
                Some(Decision { to, patch })
            }
            None => {
                self.stuck += 1;
                None
            }
        }
    }

    fn tally_step(&mut self, sample: &Sample<'_>, region: usize, from: Location, to: usize) {
        let places = &self.correction.places[region];
        if places[to] == from {
            return;
        }
        // nodes of a function stand in the order of their addresses
        if let Some(start) = places.iter().position(|p| *p == from)
            && places[start.min(to)..=start.max(to)].windows(2).all(|w| w[0] < w[1])
        {
            self.audience.tally.step(sample.attr, start.abs_diff(to) as u64);
        }
    }

    fn patch(
        &self,
        record: &Record<'_>,
        sample: &Sample<'_>,
        from: Location,
        to: Location,
        route: &Route,
    ) -> Option<Patch> {
        let (at, Survey { images, spaces, .. }) = (when(record, sample), self.survey);
        let address = |place: Location| {
            // the same mapping, if the file is mapped more than once
            let near = sample.ip.wrapping_add(place.svma.0.wrapping_sub(from.svma.0));
            let mapped = spaces.resolve(sample.mode, sample.pid, at, near);
            let shown = mapped.and_then(|mapped| images.location(&mapped)) == Some(place);
            let elsewhere = || images.address_in(spaces, sample.mode, sample.pid, at, place);
            if shown { Some(near) } else { elsewhere() }
        };
        let ip = if from == to { sample.ip } else { address(to)? };
        let mut patch = Patch { ip, exact: true, ..Patch::default() };
        if sample.user_regs.is_some_and(|r| r.ip == Some(sample.ip)) && sample.has_user_stack {
            patch.user_regs_ip = Some(ip);
        }
        if leaf(sample) == Some(sample.ip) {
            patch.drop = route.drop.max(1);
            patch.push.push(ip);
            for back in &route.returns {
                patch.push.push(address(super::decoding::at(*back))?);
            }
        }
        patch.fits(record, sample).then_some(patch)
    }
}

/// The first entry of the callchain's part of the sample's mode.
fn leaf(sample: &Sample<'_>) -> Option<u64> {
    let part = sample.callchain.part(sample.mode)?;
    sample.callchain.get(part.start).filter(|_| !part.is_empty())
}
