//! The first walk: where samples stand, folded. Memory grows with distinct places, not with samples.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use linux_perf_event_reader::constants::PERF_RECORD_SAMPLE;

use super::equal::{Branch, Group, Run};
use super::fold::{Stretches, fold};
use crate::image::{AddressSpaces, ImageId, Images, Location, Mapped, SearchPath, View, When};
use crate::perfdata::kinds::CALLCHAIN_DEFERRED;
use crate::perfdata::{AttrIx, CpuMode, Error, PerfFile, Record, Sample, Sideband, Warning};
use crate::progress::{Progress, Stage};
use crate::report;

/// Bytes of the file that one thread folds at a time, at least and at most. They decide nothing but speed and memory.
const STRETCH: (u64, u64) = (16 << 20, 256 << 20);

/// Callers of a sample that are told apart.
const DEPTH: usize = 4;

/// Number of a context in [`Survey::contexts`].
pub type ContextIx = u32;
/// Number of a cell in [`Survey::cells`].
pub type CellIx = u32;

/// Samples that nothing tells apart but their time: same event, place and callers, in processes that show the same images.
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

/// What a sample says of how it came to be where it is, and of where else its process could have been.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Context {
    /// The innermost return addresses, innermost first; `None` where the sample has no callchain of its own mode.
    pub callers: Option<Box<[Option<Location>]>>,
    /// Readers unwind it from its registers and a copy of its stack.
    pub unwound: bool,
    /// What its process shows; `None` where nothing is known of that.
    pub view: Option<View>,
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
    /// How many are values of its counter read at the samples of its group's leader.
    pub led: u64,
    /// How many have branch records that show what ran.
    pub stacks: u64,
}

/// Samples that were passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// How many.
    pub n: u64,
    /// Where in its file the first stands.
    pub first: u64,
}

impl Passed {
    /// One more, at `offset`.
    pub fn note(&mut self, offset: u64) {
        self.add(Passed { n: 1, first: offset });
    }

    fn add(&mut self, later: Passed) {
        self.first = if self.n == 0 { later.first } else { self.first };
        self.n += later.n;
    }
}

/// What a recording says is missing from it, or could not be understood.
#[derive(Clone, Copy, Debug, Default)]
pub struct Losses {
    /// Records that the kernel says found no room.
    records: u64,
    /// Samples that it, or the hardware, says were lost.
    samples: u64,
    /// How often sampling came too fast and was stopped for a while.
    pub throttled: u64,
    /// Samples that could not be decoded.
    pub undecodable: Passed,
    /// Samples of events that are not in the recording.
    pub unknown: Passed,
    /// Samples whose callers in user space were put off, and did not come.
    pub deferred: u64,
}

impl Losses {
    /// Records and samples that the kernel or the hardware says it dropped. Since Linux 6.0 perf adds to what the kernel says
    /// of records how many of an event's samples were among them: both tell of the same loss.
    pub fn lost(&self) -> u64 {
        self.records.max(self.samples)
    }

    /// In words, what of the samples that are there cannot be used.
    pub fn passed(&self) -> impl Iterator<Item = String> {
        let words = |Passed { n, first }: Passed, what: &str| {
            (n > 0)
                .then(|| format!("{n} samples {what} (the first at {first:#x}) and were copied as they are"))
        };
        let unknown = words(self.unknown, "are of events that the recording does not describe");
        words(self.undecodable, "could not be decoded").into_iter().chain(unknown)
    }

    fn note(&mut self, sideband: &Sideband) {
        match sideband {
            Sideband::Lost { n, .. } => self.records = self.records.saturating_add(*n),
            Sideband::LostSamples { n, .. } => self.samples = self.samples.saturating_add(*n),
            Sideband::Throttle { .. } => self.throttled += 1,
            _ => {}
        }
    }
}

/// Everything the first walk finds.
pub struct Survey {
    /// Who mapped what when.
    pub spaces: Arc<AddressSpaces>,
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
    /// Code that ran straight from one branch to the next, from its first to its last instruction, by the event whose
    /// samples' branch records show it, and how often for each unit of the event, times a constant.
    pub runs: HashMap<(AttrIx, Location, Location), u64>,
    /// All samples.
    pub samples: u64,
    /// What is missing.
    pub losses: Losses,
    /// What was tolerated.
    pub warnings: Vec<Warning>,
    by_key: HashMap<(AttrIx, Location, ContextIx), CellIx>,
    by_context: HashMap<Context, ContextIx>,
}

impl Survey {
    /// Walks `file` twice, in so many threads: for what was mapped, then for the samples. `see` is shown each distinct
    /// sample, in the order of the file.
    pub fn take(
        file: &PerfFile,
        search: SearchPath,
        threads: usize,
        progress: &dyn Progress,
        mut see: impl FnMut(&Survey, &Group<'_>),
    ) -> Result<Survey, Error> {
        progress.start(Stage::Read, 2 * file.data_len());
        let (spaces, mut losses, stretches) = walk(file, threads, progress)?;
        let spaces = Arc::new(spaces);
        let mut survey = Survey {
            images: Images::new(&spaces, &file.features().build_ids, search),
            spaces: spaces.clone(),
            cells: Vec::new(),
            contexts: Vec::new(),
            events: vec![EventCount::default(); file.attrs().len()],
            branches: HashMap::new(),
            runs: HashMap::new(),
            samples: 0,
            losses: Losses::default(),
            warnings: Vec::new(),
            by_key: HashMap::new(),
            by_context: HashMap::new(),
        };
        let warnings = fold((file, &spaces), &stretches, threads, progress, |batch| {
            losses.undecodable.add(batch.undecodable);
            losses.unknown.add(batch.unknown);
            survey.samples += batch.taken;
            batch.groups(file, |group| {
                survey.fold(&group);
                see(&survey, &group);
            });
            batch.branches.iter().for_each(|(branch, at, n)| survey.fold_branch(branch, *at, *n));
            batch.runs.iter().for_each(|(run, at, n)| survey.fold_run(run, *at, *n));
            batch.stacks.iter().for_each(|(attr, n)| survey.events[attr.0 as usize].stacks += n);
        })?;
        survey.losses = Losses { deferred: survey.losses.deferred, ..losses };
        survey.warnings = file.warnings().to_vec();
        survey.warnings.extend(warnings);
        progress.finish(Stage::Read);
        Ok(survey)
    }

    fn fold(&mut self, group: &Group<'_>) {
        let Group { record, sample, samples, led } = *group;
        let exact = if sample.exact { samples } else { 0 };
        self.losses.deferred += if sample.callchain.is_deferred() { samples } else { 0 };
        let place = self.place(record, sample);
        if let Some(event) = self.events.get_mut(sample.attr.0 as usize) {
            event.samples += samples;
            event.weight = event.weight.saturating_add(sample.period);
            event.exact += exact;
            event.elsewhere += if place.is_none() { samples } else { 0 };
            event.led += if led { samples } else { 0 };
        }
        let Some(at) = place else { return };
        let context = self.context(record, sample);
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
        cell.samples += samples;
        cell.weight = cell.weight.saturating_add(sample.period);
        cell.exact += exact;
    }

    fn fold_branch(&mut self, branch: &Branch, at: When, n: u64) {
        let place = |address| self.branched(branch.pid, at, address);
        if let (Some(from), Some(to)) = (place(branch.from), place(branch.to)) {
            *self.branches.entry((from, to)).or_default() += n;
        }
    }

    fn fold_run(&mut self, run: &Run, at: When, n: u64) {
        let place = |address| self.branched(run.pid, at, address);
        if let (Some(first), Some(last)) = (place(run.first), place(run.last)) {
            let runs = self.runs.entry((run.attr, first, last)).or_default();
            *runs = runs.saturating_add(n);
        }
    }

    /// What an address of a process's branch stack is, in whatever mode it was: a stack may go back from the kernel into user
    /// space.
    pub fn branched(&self, pid: i32, at: When, address: u64) -> Option<Location> {
        self.images.location(&self.spaces.resolve(CpuMode::Unknown, pid, at, address)?)
    }

    /// What of the recording was tolerated.
    pub fn tolerated(&self) -> impl Iterator<Item = report::Warning> {
        let found = self.warnings.iter().map(|warning| match warning.is_damage() {
            true => report::Warning::damage(warning.to_string()),
            false => report::Warning::advice(warning.to_string()),
        });
        found.chain(self.losses.passed().map(report::Warning::damage))
    }

    /// Samples per image.
    pub fn samples_by_image(&self) -> BTreeMap<ImageId, u64> {
        let mut samples = BTreeMap::new();
        for cell in &self.cells {
            *samples.entry(cell.at.image).or_default() += cell.samples;
        }
        samples
    }

    /// Where a sample stands in its binary.
    pub fn place(&self, record: &Record<'_>, sample: &Sample<'_>) -> Option<Location> {
        self.images.location(&self.mapped(record, sample, sample.ip)?)
    }

    /// What `address` of a sample's process is.
    pub fn mapped(&self, record: &Record<'_>, sample: &Sample<'_>, address: u64) -> Option<Mapped> {
        self.spaces.resolve(sample.mode, sample.pid, when(record, sample), address)
    }

    /// The cell a sample was folded into, which stands at `at`.
    pub fn cell_of(&self, record: &Record<'_>, sample: &Sample<'_>, at: Location) -> Option<CellIx> {
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
            unwound: sample.is_unwound(),
            view: self.spaces.view(sample.mode, sample.pid, when(record, sample)),
        }
    }
}

/// When a sample was taken.
pub fn when(record: &Record<'_>, sample: &Sample<'_>) -> When {
    When { time: sample.time, ordinal: record.ordinal }
}

/// Finds what was mapped when, what was lost, and how to go over the samples.
fn walk(
    file: &PerfFile,
    threads: usize,
    progress: &dyn Progress,
) -> Result<(AddressSpaces, Losses, Stretches), Error> {
    let (mut spaces, mut losses) = (AddressSpaces::new(), Losses::default());
    let Stretches { mut cuts, mut deferred } = Stretches::default();
    let mut records = file.records()?;
    let stretch = (file.data_len() / (2 * threads as u64)).clamp(STRETCH.0, STRETCH.1);
    let (mut shown, mut count, mut cut) = (0, 0u32, stretch);
    while let Some(record) = records.next()? {
        if record.kind != PERF_RECORD_SAMPLE
            && let Some(sideband) = file.sideband(&record)
        {
            losses.note(&sideband);
            spaces.record(record.ordinal, &sideband);
        }
        deferred |= record.kind == CALLCHAIN_DEFERRED;
        count = count.wrapping_add(1);
        if count.is_multiple_of(4096) {
            let position = records.position();
            progress.advance(Stage::Read, position - shown);
            shown = position;
            if position >= cut && !file.has_reads() {
                cuts.extend(records.checkpoint());
                cut = position + stretch;
            }
        }
    }
    progress.advance(Stage::Read, records.position() - shown);
    spaces.seal();
    // What was put off is looked for ahead of the samples, from the start of the file.
    cuts.retain(|_| !deferred);
    Ok((spaces, losses, Stretches { cuts, deferred }))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::pipeline::stacks::taken;
    use crate::progress::Silent;

    #[test]
    fn branches_count_in_whatever_mode_their_sample_is() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/perf");
        let file = PerfFile::open(&folder.join("quipper-raw_callgraph_branch-3.4.data")).unwrap();
        let survey = Survey::take(&file, Default::default(), 1, &Silent, |_, _| {}).unwrap();
        let (mut records, mut placed, mut in_other) = (file.records().unwrap(), 0, 0);
        while let Some(record) = records.next().unwrap() {
            let Ok(Some(sample)) = file.sample(&record) else { continue };
            for branch in taken(&sample) {
                let place = |address| survey.branched(sample.pid, when(&record, &sample), address);
                if place(branch.from).is_some() && place(branch.to).is_some() {
                    placed += 1;
                    in_other += u64::from(survey.mapped(&record, &sample, branch.from).is_none());
                }
            }
        }
        assert_eq!(survey.branches.values().sum::<u64>(), placed);
        assert!(in_other > 0, "of {placed}");
    }
}
