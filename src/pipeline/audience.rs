//! Those who see the samples where they belong: the formats, and the table of what stands where.

use super::survey::{Survey, when};
use super::tally::{Spot, Tally};
use crate::export::{CorrectedSample, Exporter, FrameKind, StackFrame};
use crate::image::Location;
use crate::perfdata::{Attr, AttrIx, CpuMode, Patch, Record, Sample};

/// Formats that are made from samples, and counts.
pub struct Audience {
    /// The formats.
    pub exporters: Vec<Box<dyn Exporter>>,
    /// What stood where.
    pub tally: Tally,
    exported: Vec<bool>,
}

/// What becomes of a sample.
#[derive(Clone, Copy, Default)]
pub struct Move<'a> {
    /// Where it stood.
    pub from: Option<Location>,
    /// Where it stands.
    pub to: Option<Location>,
    /// How its record changes.
    pub patch: Option<&'a Patch>,
    /// What else is known of it.
    pub known: Option<Known<'a>>,
}

/// What a sample has in common with others.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// Equal numbers mean equal stacks.
    pub number: Option<u64>,
    /// Its frames as recorded.
    pub stack: &'a [StackFrame],
    /// Callers in user space that it shows and does not name, innermost first.
    pub callers: &'a [u64],
    /// Its thread's name.
    pub comm: Option<&'a str>,
}

impl Move<'_> {
    /// Whether the stack is another afterwards.
    fn changes(&self, sample: &Sample<'_>) -> bool {
        self.patch.is_some_and(|patch| patch.ip != sample.ip || patch.drop > 1 || patch.push.len() > 1)
    }
}

impl Audience {
    /// `exported` says for each event whether the formats and the tables get its samples.
    pub fn new(exporters: Vec<Box<dyn Exporter>>, exported: Vec<bool>) -> Audience {
        Audience { exporters, tally: Tally::default(), exported }
    }

    /// Whether the formats and the tables get the samples of an event.
    pub fn shows(&self, attr: AttrIx) -> bool {
        self.exported.get(attr.0 as usize) == Some(&true)
    }

    /// Whether all formats can do with equal samples taken together.
    pub fn folds(&self) -> bool {
        self.exporters.iter().all(|exporter| exporter.folds())
    }

    /// Whether formats get samples whose callers are unwound one by one.
    pub fn sees_copies(&self, attrs: &[Attr]) -> bool {
        let mut seen = attrs.iter().zip(&self.exported).filter(|(_, exported)| **exported);
        !self.exporters.is_empty() && seen.any(|(attr, _)| attr.has_stack_copies())
    }

    /// Shows `samples` equal samples, whose periods are summed up in the one given.
    pub fn show(
        &mut self,
        survey: &Survey,
        (record, sample): (&Record<'_>, &Sample<'_>),
        samples: u64,
        how: Move<'_>,
    ) {
        let spot = |at: Option<Location>| at.map_or(Spot::Bare(sample.ip), Spot::At);
        self.tally.count((sample.attr, samples, sample.period), spot(how.from), spot(how.to));
        if self.exporters.is_empty() || !self.shows(sample.attr) {
            return;
        }
        let looked_up;
        let known = match how.known {
            Some(known) => known,
            None => {
                looked_up = stack(survey, (record, sample), &[], None);
                let comm = survey.spaces.comm(sample.pid, sample.tid, when(record, sample));
                Known { number: None, stack: &looked_up, callers: &[], comm }
            }
        };
        let changed = how.changes(sample).then(|| stack(survey, (record, sample), known.callers, how.patch));
        let corrected = CorrectedSample {
            attr: sample.attr,
            pid: sample.pid,
            tid: sample.tid,
            time: sample.time,
            cpu: sample.cpu,
            comm: known.comm,
            weight: sample.period,
            stack: changed.as_deref().unwrap_or(known.stack),
            recorded: known.stack,
            same: known.number.filter(|_| changed.is_none()),
            moved: how.from != how.to,
        };
        self.exporters.iter_mut().for_each(|e| e.sample(&corrected));
    }
}

/// The sample's frames as they are after `patch`, and behind them `callers` in user space.
pub fn stack(
    survey: &Survey,
    (record, sample): (&Record<'_>, &Sample<'_>),
    callers: &[u64],
    patch: Option<&Patch>,
) -> Vec<StackFrame> {
    let own = sample.callchain.part(sample.mode).unwrap_or(0..0);
    let drop = patch.map_or(0, |p| p.drop);
    let mut addresses = vec![(patch.map_or(sample.ip, |p| p.ip), sample.mode)];
    addresses.extend(patch.iter().flat_map(|p| p.push.iter().skip(1)).map(|&back| (back, sample.mode)));
    for (ix, mode, entry) in sample.callchain.frames(sample.mode) {
        if !(own.contains(&ix) && ix < own.start + drop.max(1)) {
            addresses.push((entry, mode));
        }
    }
    addresses.extend(callers.iter().map(|&back| (back, CpuMode::User)));
    let frame = |(depth, (address, mode)): (usize, (u64, _))| {
        let mapped = survey.spaces.resolve(mode, sample.pid, when(record, sample), address);
        let location = mapped.and_then(|m| survey.images.location(&m));
        let kind = if depth == 0 { FrameKind::Leaf } else { FrameKind::Return };
        StackFrame { address, mode, location, kind }
    };
    addresses.into_iter().enumerate().map(frame).collect()
}
