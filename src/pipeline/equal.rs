//! Samples that differ in nothing but their time, counted: what is true of one is looked up once for all.
//!
//! In: samples, one by one. Out: in the order of first appearance each distinct one, as the record it was first seen in, with
//! how many there were. It knows nothing of what is looked up.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::ops::Range;

use hashbrown::{DefaultHashBuilder, HashTable};
use linux_perf_event_reader::constants::PERF_RECORD_SAMPLE as SAMPLE;

use super::stacks::{Extent, between, taken};
use super::survey::{Passed, when};
use crate::image::{AddressSpaces, Era, Eras, When};
use crate::perfdata::{AttrIx, BranchEntry, CpuMode, Glance, PerfFile, Reads, Record, Sample};

/// Bytes of records held at a time: what has more that is distinct comes in several batches.
const HELD: usize = 8 << 20;

/// What a stack weighs that spans one unit.
const STACK: u64 = 1 << 24;

/// The part of a key's first word that is the length of the chain.
const CHAIN: u64 = 0xffff_ffff;

/// Whose sample it is, of what kind and when.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Who {
    pub attr: AttrIx,
    pub misc: u16,
    pub unwound: bool,
    pub pid: i32,
    pub era: Era,
}

/// What is wanted of a distinct sample once, at the end.
struct First {
    /// Where in the batch its words stand.
    at: u32,
    /// Where in the batch its record stands.
    record: Range<usize>,
    attr: AttrIx,
    misc: u16,
    /// The event that its record is of: that of the sample, or the leader of the sample's group.
    of: Option<AttrIx>,
    offset: u64,
    part: usize,
    ordinal: u64,
}

/// A branch that was taken, seen from one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Branch {
    /// Address of the branch.
    pub from: u64,
    /// Address it went to.
    pub to: u64,
    /// Process.
    pub pid: i32,
    era: Era,
}

/// Code that ran straight from one branch to the next, seen from one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// The event whose sample shows it.
    pub attr: AttrIx,
    /// Address of the first instruction.
    pub first: u64,
    /// Address of the last, which branched.
    pub last: u64,
    /// Process.
    pub pid: i32,
    era: Era,
}

/// What is distinct of something, in the order of first appearance, when it was seen first, and what weighs.
struct Tally<T> {
    by: HashMap<T, u32, DefaultHashBuilder>,
    found: Vec<(T, When, u64)>,
}

impl<T> Default for Tally<T> {
    fn default() -> Tally<T> {
        Tally { by: HashMap::default(), found: Vec::new() }
    }
}

impl<T: Copy + Eq + std::hash::Hash> Tally<T> {
    fn note(&mut self, thing: T, at: When, weight: u64) {
        let next = self.found.len() as u32;
        let ix = *self.by.entry(thing).or_insert(next);
        if ix == next {
            self.found.push((thing, at, 0));
        }
        let seen = &mut self.found[ix as usize].2;
        *seen = seen.saturating_add(weight);
    }

    fn held(&self) -> usize {
        size_of::<(T, When, u64)>() * self.found.len()
    }

    fn take(&mut self) -> Vec<(T, When, u64)> {
        self.by.clear();
        std::mem::take(&mut self.found)
    }
}

/// Distinct samples and branches, in the order of their first appearance.
#[derive(Default)]
pub struct Batch {
    firsts: Vec<First>,
    /// For each distinct sample, side by side because they are looked at together: how many there are, the sum of their
    /// periods, and the key, which is whose it is and how long the chain, the address, and the chain.
    words: Vec<u64>,
    records: Vec<u8>,
    /// Every distinct branch, when it was seen first, and how often.
    pub branches: Vec<(Branch, When, u64)>,
    /// Every distinct straight run between branches, when it was seen first, and its weight: for each time one in as many units
    /// as its stack spans.
    pub runs: Vec<(Run, When, u64)>,
    /// Samples with such stacks, by event.
    pub stacks: BTreeMap<AttrIx, u64>,
    /// Samples that were decoded.
    pub taken: u64,
    /// Samples that could not be decoded.
    pub undecodable: Passed,
    /// Samples of events that are not in the recording.
    pub unknown: Passed,
}

/// Several equal samples.
pub struct Group<'a> {
    /// The record of the first.
    pub record: &'a Record<'a>,
    /// The first, with the sum of their periods.
    pub sample: &'a Sample<'a>,
    /// How many there are.
    pub samples: u64,
    /// Whether they are values of a counter, read at samples of another event.
    pub led: bool,
}

impl Batch {
    /// Shows every distinct sample.
    pub fn groups(&self, file: &PerfFile, mut show: impl FnMut(Group<'_>)) {
        for first in &self.firsts {
            let (samples, weight) = (self.words[first.at as usize], self.words[first.at as usize + 1]);
            let First { ordinal, offset, part, misc, of: attr, .. } = *first;
            let (kind, bytes) = (SAMPLE, &self.records[first.record.clone()]);
            let record =
                Record { ordinal, offset, part, kind, misc, bytes, compressed: false, payload: 0, attr };
            if let Ok(Some(mut sample)) = file.sample(&record) {
                (sample.attr, sample.period) = (first.attr, weight);
                let led = attr != Some(sample.attr);
                show(Group { record: &record, sample: &sample, samples, led });
            }
        }
    }
}

/// Finds what is equal.
pub struct Equal<'a> {
    file: &'a PerfFile,
    eras: Eras<'a>,
    reads: Reads,
    hasher: DefaultHashBuilder,
    /// A part of the hash, and where the words stand.
    table: HashTable<(u32, u32)>,
    whose: HashMap<Who, u32, DefaultHashBuilder>,
    recent: Vec<(Who, u32)>,
    /// By event.
    extents: Vec<Option<Extent>>,
    branches: Tally<Branch>,
    runs: Tally<Run>,
    batch: Batch,
    key: Vec<u64>,
}

impl<'a> Equal<'a> {
    /// Of samples of `file`, whose mappings are `spaces`.
    pub fn new(file: &'a PerfFile, spaces: &'a AddressSpaces) -> Equal<'a> {
        Equal {
            file,
            eras: Eras::new(spaces),
            reads: Reads::default(),
            hasher: DefaultHashBuilder::default(),
            table: HashTable::new(),
            whose: HashMap::default(),
            recent: vec![(Who::default(), u32::MAX); Eras::SLOTS],
            extents: file.attrs().iter().map(Extent::of).collect(),
            branches: Tally::default(),
            runs: Tally::default(),
            batch: Batch::default(),
            key: Vec::new(),
        }
    }

    /// Takes a sample in.
    #[inline]
    pub fn add(&mut self, record: &Record<'_>) {
        if let Some(glance) = self.file.glance(record) {
            return self.count(record, &glance, false);
        }
        match self.file.sample(record) {
            Ok(Some(sample)) => self.count_all(record, &sample),
            Ok(None) => self.batch.unknown.note(record.offset),
            Err(_) => self.batch.undecodable.note(record.offset),
        }
    }

    /// Whether so much was found that it should be taken.
    #[inline]
    pub fn is_full(&self) -> bool {
        let Batch { firsts, words, records, .. } = &self.batch;
        let held = records.len() + 8 * words.len() + size_of::<First>() * firsts.len();
        held + self.branches.held() + self.runs.held() > HELD
    }

    /// What was found since the last batch.
    pub fn take(&mut self) -> Batch {
        self.table.clear();
        self.whose.clear();
        self.recent.fill((Who::default(), u32::MAX));
        let batch = std::mem::take(&mut self.batch);
        Batch { branches: self.branches.take(), runs: self.runs.take(), ..batch }
    }

    #[inline]
    fn count(&mut self, record: &Record<'_>, sample: &Glance<'_>, unwound: bool) {
        let (who, recent) = self.who(record, sample, unwound);
        self.note(record, (who, recent), sample.period);
    }

    /// Also of what only some samples have: counter values, branches, registers.
    fn count_all(&mut self, record: &Record<'_>, sample: &Sample<'_>) {
        let Sample { attr, ip, pid, tid, time, period, callchain, .. } = *sample;
        let glance = Glance { attr, ip, pid, tid, time, period, callchain };
        let (who, recent) = self.who(record, &glance, sample.is_unwound());
        let mut reads = std::mem::take(&mut self.reads);
        reads.split(self.file, sample, |attr, weight| {
            self.note(record, (Who { attr, ..who }, recent), weight);
        });
        self.reads = reads;
        self.note_branches(sample, who.era, when(record, sample));
    }

    /// The branches before a sample, the latest first, and what ran between them.
    fn note_branches(&mut self, sample: &Sample<'_>, era: Era, at: When) {
        let Sample { attr, mode, pid, .. } = *sample;
        if matches!(mode, CpuMode::Hypervisor | CpuMode::GuestKernel | CpuMode::GuestUser) {
            return;
        }
        for BranchEntry { from, to, .. } in taken(sample) {
            self.branches.note(Branch { from, to, pid, era }, at, 1);
        }
        let Some(&Some(extent)) = self.extents.get(attr.0 as usize) else { return };
        if let Some(weight) = STACK.checked_div(extent.covers(sample)) {
            for (first, last) in between(sample) {
                self.runs.note(Run { attr, first, last, pid, era }, at, weight);
            }
            *self.batch.stacks.entry(attr).or_default() += 1;
        }
    }

    /// Whose sample it is. The key is what else tells it from others.
    #[inline]
    fn who(&mut self, record: &Record<'_>, sample: &Glance<'_>, unwound: bool) -> (Who, usize) {
        self.batch.taken += 1;
        let Glance { attr, ip, pid, tid, time, callchain, .. } = *sample;
        let (era, recent) = self.eras.of(pid, tid, When { time, ordinal: record.ordinal });
        self.key.clear();
        self.key.extend([callchain.len() as u64, ip]);
        self.key.extend(callchain.iter());
        (Who { attr, misc: record.misc, unwound, pid, era }, recent)
    }

    #[inline]
    fn note(&mut self, record: &Record<'_>, (who, recent): (Who, usize), weight: u64) {
        self.key[0] = self.key[0] & CHAIN | u64::from(self.number(who, recent)) << 32;
        let key = &self.key[..];
        let hash = self.hasher.hash_one(key);
        let tag = (hash >> 32) as u32;
        let Batch { firsts, words, records, .. } = &mut self.batch;
        let same = |&(other, at): &(u32, u32)| {
            let at = at as usize + 2;
            tag == other && words[at..].iter().zip(key).all(|(a, b)| a == b)
        };
        if let Some(&(_, at)) = self.table.find(hash, same) {
            words[at as usize] += 1;
            words[at as usize + 1] = words[at as usize + 1].saturating_add(weight);
            return;
        }
        let at = words.len() as u32;
        words.extend([1, weight]);
        words.extend(key);
        let hash_of = |&(_, at): &(u32, u32)| {
            let at = at as usize + 2;
            self.hasher.hash_one(&words[at..at + 2 + (words[at] & CHAIN) as usize])
        };
        self.table.insert_unique(hash, (tag, at), hash_of);
        let Record { ordinal, offset, part, misc, attr: of, .. } = *record;
        let record_at = records.len()..records.len() + record.bytes.len();
        records.extend_from_slice(record.bytes);
        firsts.push(First { at, record: record_at, attr: who.attr, misc, of, offset, part, ordinal });
    }

    /// A number for whose sample it is.
    #[inline]
    fn number(&mut self, who: Who, recent: usize) -> u32 {
        let recent = &mut self.recent[recent];
        if recent.0 != who || recent.1 == u32::MAX {
            let next = self.whose.len() as u32;
            *recent = (who, *self.whose.entry(who).or_insert(next));
        }
        recent.1
    }
}
