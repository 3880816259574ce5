//! The second walk: each sample gets its new address, and all that want to see it see it.

use std::collections::HashMap;

use super::correct::Correction;
use super::survey::{CellIx, Survey, when};
use super::tally::{Spot, Tally};
use crate::attribute::{Dealer, Route};
use crate::export::{CorrectedSample, Exporter, FrameKind, StackFrame};
use crate::image::Location;
use crate::perfdata::{Callchain, Patch, Record, Sample};

/// Decides on samples, one by one, in the order of the file.
pub struct Second<'a> {
    survey: &'a Survey,
    correction: &'a Correction,
    seed: u64,
    dealers: HashMap<CellIx, Dealer>,
    /// Formats that are made from samples, and whether each event goes there.
    pub exporters: Vec<Box<dyn Exporter>>,
    exported: Vec<bool>,
    /// What stood where.
    pub tally: Tally,
    /// Samples that were to move but could not: their process does not show the place, or their record would get too long.
    pub stuck: u64,
}

/// A decision about one sample.
struct Decision {
    to: Location,
    patch: Patch,
}

impl<'a> Second<'a> {
    /// `exported` says for each event whether the exporters get its samples.
    pub fn new(
        survey: &'a Survey,
        correction: &'a Correction,
        seed: u64,
        exporters: Vec<Box<dyn Exporter>>,
        exported: Vec<bool>,
    ) -> Second<'a> {
        let dealers = HashMap::new();
        Second { survey, correction, seed, dealers, exporters, exported, tally: Tally::default(), stuck: 0 }
    }

    /// What to change in a sample.
    pub fn decide(&mut self, record: &Record<'_>, sample: &Sample<'_>) -> Option<Patch> {
        let from = self.survey.place(record, sample);
        let decision = from.and_then(|from| self.deal(record, sample, from));
        let spot = |at: Option<Location>| at.map_or(Spot::Bare(sample.ip), Spot::At);
        let to = decision.as_ref().map_or(from, |d| Some(d.to));
        self.tally.count(sample.attr, sample.period, spot(from), spot(to));
        if !self.exporters.is_empty() && self.exported.get(sample.attr.0 as usize) == Some(&true) {
            self.export(record, sample, decision.as_ref(), from != to);
        }
        decision.map(|d| d.patch)
    }

    fn deal(&mut self, record: &Record<'_>, sample: &Sample<'_>, from: Location) -> Option<Decision> {
        if sample.exact {
            return None;
        }
        let cell = self.survey.cell_of(record, sample)?;
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
            self.tally.step(sample.attr, start.abs_diff(to) as u64);
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
        let address = |place| {
            let at = when(record, sample);
            self.survey.images.address_in(&self.survey.spaces, sample.mode, sample.pid, at, place)
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
                patch.push.push(address(super::correct::at(*back))?);
            }
        }
        patch.fits(record, sample).then_some(patch)
    }

    fn export(&mut self, record: &Record<'_>, sample: &Sample<'_>, decision: Option<&Decision>, moved: bool) {
        let stack = self.stack(record, sample, decision.map(|d| &d.patch));
        let recorded = moved.then(|| self.stack(record, sample, None));
        let corrected = CorrectedSample {
            attr: sample.attr,
            pid: sample.pid,
            tid: sample.tid,
            time: sample.time,
            cpu: sample.cpu,
            comm: self.survey.spaces.comm(sample.pid, sample.tid, when(record, sample)),
            weight: sample.period,
            stack: &stack,
            recorded: recorded.as_ref().unwrap_or(&stack),
            moved,
        };
        self.exporters.iter_mut().for_each(|e| e.sample(&corrected));
    }

    /// The sample's frames as they are after `patch`.
    fn stack(&self, record: &Record<'_>, sample: &Sample<'_>, patch: Option<&Patch>) -> Vec<StackFrame> {
        let mut mode = sample.mode;
        let own = sample.callchain.part(sample.mode).unwrap_or(0..0);
        let drop = patch.map_or(0, |p| p.drop);
        let mut addresses = vec![(patch.map_or(sample.ip, |p| p.ip), mode)];
        addresses.extend(patch.iter().flat_map(|p| p.push.iter().skip(1)).map(|&back| (back, mode)));
        for (ix, entry) in sample.callchain.iter().enumerate() {
            if Callchain::is_marker(entry) {
                mode = Callchain::mode_of(entry).unwrap_or(mode);
            } else if !(own.contains(&ix) && ix < own.start + drop.max(1)) {
                addresses.push((entry, mode));
            }
        }
        let frame = |(depth, (address, mode)): (usize, (u64, _))| {
            let mapped = self.survey.spaces.resolve(mode, sample.pid, when(record, sample), address);
            let location = mapped.and_then(|m| self.survey.images.location(&m));
            let kind = if depth == 0 { FrameKind::Leaf } else { FrameKind::Return };
            StackFrame { address, mode, location, kind }
        };
        addresses.into_iter().enumerate().map(frame).collect()
    }
}

/// The first entry of the callchain's part of the sample's mode.
fn leaf(sample: &Sample<'_>) -> Option<u64> {
    let part = sample.callchain.part(sample.mode)?;
    sample.callchain.get(part.start).filter(|_| !part.is_empty())
}
