//! The first walk: where samples stand, folded. Memory grows with distinct places, not with samples.

use std::collections::HashMap;
use std::ops::Range;

use crate::image::{AddressSpaces, Images, Location, Mapped, SearchPath, When};
use crate::perfdata::{AttrIx, Error, PerfFile, Record, Sample, Sideband};
use crate::progress::{Progress, Stage};

/// Callers of a sample that are told apart.
const DEPTH: usize = 4;

/// Number of a context in [`Survey::contexts`].
pub type ContextIx = u32;
/// Number of a cell in [`Survey::cells`].
pub type CellIx = u32;

/// Samples that nothing tells apart but their time: same event, place and callers.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The event.
    pub attr: AttrIx,
    /// Where they stand.
    pub at: Location,
    /// Who called.
    pub context: ContextIx,
    /// How many.
    pub samples: u64,
    /// Sum of their periods.
    pub weight: u64,
    /// How many say that their address is exact.
    pub exact: u64,
}

/// What a sample says of how it came to be where it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Context {
    /// The innermost return addresses, innermost first; `None` where the sample has no callchain of its own mode.
    pub callers: Option<Box<[Option<Location>]>>,
    /// Readers unwind it from its registers and a copy of its stack.
    pub unwound: bool,
}

/// What one event has.
#[derive(Clone, Debug, Default)]
pub struct EventCount {
    /// Samples, wherever they stand.
    pub samples: u64,
    /// Sum of their periods.
    pub weight: u64,
    /// How many say that their address is exact.
    pub exact: u64,
    /// How many stand where nothing is known to be mapped, or outside user space.
    pub elsewhere: u64,
}

/// Everything the first walk finds.
pub struct Survey {
    /// Who mapped what when.
    pub spaces: AddressSpaces,
    /// The binaries.
    pub images: Images,
    /// Samples with a place, folded; ordered by first appearance.
    pub cells: Vec<Cell>,
    /// Distinct callers.
    pub contexts: Vec<Context>,
    /// Per event.
    pub events: Vec<EventCount>,
    /// Branches that branch records saw, and how often.
    pub branches: HashMap<(Location, Location), u64>,
    /// All samples.
    pub samples: u64,
    /// Samples that the kernel or the hardware says it dropped.
    pub lost: u64,
    /// Samples that could not be decoded.
    pub undecodable: u64,
    /// What was tolerated.
    pub warnings: Vec<String>,
    by_key: HashMap<(AttrIx, Location, ContextIx), CellIx>,
    by_context: HashMap<Context, ContextIx>,
}

impl Survey {
    /// Walks `file` twice: for what was mapped, then for the samples.
    pub fn take(file: &PerfFile, search: SearchPath, progress: &dyn Progress) -> Result<Survey, Error> {
        progress.start(Stage::Read, 2 * file.data_len());
        let mut spaces = AddressSpaces::new();
        let mut lost = 0;
        walk(file, progress, |record| {
            if let Some(sideband) = file.sideband(record) {
                if let Sideband::Lost { n, .. } | Sideband::LostSamples { n, .. } = sideband {
                    lost += n;
                }
                spaces.record(record.ordinal, &sideband);
            }
        })?;
        spaces.seal();
        let images = Images::new(&spaces, &file.features().build_ids, search);
        let mut survey = Survey {
            spaces,
            images,
            cells: Vec::new(),
            contexts: Vec::new(),
            events: vec![EventCount::default(); file.attrs().len()],
            branches: HashMap::new(),
            samples: 0,
            lost,
            undecodable: 0,
            warnings: Vec::new(),
            by_key: HashMap::new(),
            by_context: HashMap::new(),
        };
        let warnings = walk(file, progress, |record| {
            if record.kind == linux_perf_event_reader::constants::PERF_RECORD_SAMPLE {
                survey.fold(file, record);
            }
        })?;
        survey.warnings = warnings;
        progress.finish(Stage::Read);
        Ok(survey)
    }

    fn fold(&mut self, file: &PerfFile, record: &Record<'_>) {
        let sample = match file.sample(record) {
            Ok(Some(sample)) => sample,
            _ => {
                self.undecodable += 1;
                return;
            }
        };
        self.samples += 1;
        let exact = u64::from(sample.exact);
        let place = self.place(record, &sample);
        if let Some(event) = self.events.get_mut(sample.attr.0 as usize) {
            event.samples += 1;
            event.weight = event.weight.saturating_add(sample.period);
            event.exact += exact;
            event.elsewhere += u64::from(place.is_none());
        }
        self.fold_branches(record, &sample);
        let Some(at) = place else { return };
        let context = self.context(record, &sample);
        let next = self.contexts.len() as ContextIx;
        let context = match self.by_context.get(&context) {
            Some(&known) => known,
            None => {
                self.contexts.push(context.clone());
                self.by_context.insert(context, next);
                next
            }
        };
        let next = self.cells.len() as CellIx;
        let ix = *self.by_key.entry((sample.attr, at, context)).or_insert(next);
        if ix == next {
            self.cells.push(Cell { attr: sample.attr, at, context, samples: 0, weight: 0, exact: 0 });
        }
        let cell = &mut self.cells[ix as usize];
        cell.samples += 1;
        cell.weight = cell.weight.saturating_add(sample.period);
        cell.exact += exact;
    }

    /// Where a sample stands in its binary.
    pub fn place(&self, record: &Record<'_>, sample: &Sample<'_>) -> Option<Location> {
        self.images.location(&self.mapped(record, sample, sample.ip)?)
    }

    /// What `address` of a sample's process is.
    pub fn mapped(&self, record: &Record<'_>, sample: &Sample<'_>, address: u64) -> Option<Mapped> {
        self.spaces.resolve(sample.mode, sample.pid, when(record, sample), address)
    }

    /// The cell a sample was folded into.
    pub fn cell_of(&self, record: &Record<'_>, sample: &Sample<'_>) -> Option<CellIx> {
        let at = self.place(record, sample)?;
        let context = *self.by_context.get(&self.context(record, sample))?;
        self.by_key.get(&(sample.attr, at, context)).copied()
    }

    fn context(&self, record: &Record<'_>, sample: &Sample<'_>) -> Context {
        let place = |address| self.images.location(&self.mapped(record, sample, address)?);
        let callers = |part: Range<usize>| {
            part.skip(1).take(DEPTH).filter_map(|ix| sample.callchain.get(ix)).map(place).collect()
        };
        Context {
            callers: sample.callchain.part(sample.mode).map(callers),
            unwound: sample.has_user_stack && sample.user_regs.is_some(),
        }
    }

    fn fold_branches(&mut self, record: &Record<'_>, sample: &Sample<'_>) {
        for branch in sample.branches.iter() {
            let place = |address| self.images.location(&self.mapped(record, sample, address)?);
            if let (Some(from), Some(to)) = (place(branch.from), place(branch.to)) {
                *self.branches.entry((from, to)).or_default() += 1;
            }
        }
    }
}

/// When a sample was taken.
pub fn when(record: &Record<'_>, sample: &Sample<'_>) -> When {
    When { time: sample.time, ordinal: record.ordinal }
}

/// Shows every record; returns what was tolerated on the way.
fn walk(
    file: &PerfFile,
    progress: &dyn Progress,
    mut visit: impl FnMut(&Record<'_>),
) -> Result<Vec<String>, Error> {
    let mut records = file.records()?;
    let mut shown = 0;
    let mut count = 0u32;
    while let Some(record) = records.next()? {
        visit(&record);
        count += 1;
        if count.is_multiple_of(4096) {
            let position = records.position();
            progress.advance(Stage::Read, position - shown);
            shown = position;
        }
    }
    progress.advance(Stage::Read, records.position() - shown);
    Ok(file.warnings().iter().chain(records.warnings()).map(ToString::to_string).collect())
}
