//! The walk over the samples: each is decoded and counted where it stands.

use crate::code::Inst;
use crate::ibs::{
    Access, Cell, FETCH, FETCH_BLOCK, Kind, MEMORY, OP, Processor, Raw, Tally, events, straddling,
};
use crate::image::{ImageId, Location, Svma};
use crate::perfdata::{Error, PerfFile, Record, Sample};
use crate::pipeline::decoding::{self, Range};
use crate::pipeline::survey::Survey;
use crate::pipeline::tally::Spot;
use crate::progress::{Progress, Stage};
use std::collections::{BTreeMap, BTreeSet};

/// The samples of an event, counted.
pub struct Counted {
    /// What its samples tell.
    pub kind: Kind,
    /// All of them.
    pub samples: u64,
    /// Per place.
    pub tally: Tally<Spot>,
    /// Fetches that were given to the instruction that reaches into their block.
    pub straddling: u64,
}

/// Counts the samples of the events that are wanted, one entry per event.
pub fn count(
    file: &PerfFile,
    survey: &Survey,
    wanted: &[bool],
    progress: &dyn Progress,
) -> Result<Vec<Counted>, Error> {
    let of = |kind| Counted { kind, samples: 0, tally: Tally::default(), straddling: 0 };
    let mut counted: Vec<Counted> = events(file.attrs(), file.features()).into_iter().map(of).collect();
    let processor = file.features().cpu_id.as_deref().and_then(Processor::parse);
    let mut records = file.records()?;
    let (mut shown, mut walked) = (0, 0u32);
    progress.start(Stage::Read, file.data_len());
    while let Some(record) = records.next()? {
        if let Ok(Some(sample)) = file.sample(&record)
            && let ix = sample.attr.0 as usize
            && wanted.get(ix).is_some_and(|wanted| *wanted)
        {
            counted[ix].add(survey, &record, &sample, processor);
        }
        walked = walked.wrapping_add(1);
        if walked.is_multiple_of(4096) {
            progress.advance(Stage::Read, records.position() - shown);
            shown = records.position();
        }
    }
    progress.finish(Stage::Read);
    let exact: BTreeSet<Location> = counted.iter().flat_map(Counted::instructions).collect();
    for event in counted.iter_mut().filter(|event| event.kind == Kind::Fetch) {
        event.give_to_instructions(survey, &exact);
    }
    Ok(counted)
}

impl Counted {
    fn add(
        &mut self,
        survey: &Survey,
        record: &Record<'_>,
        sample: &Sample<'_>,
        processor: Option<Processor>,
    ) {
        self.samples += 1;
        let spot = |address| {
            let mapped = survey.mapped(record, sample, address);
            mapped.and_then(|at| survey.images.location(&at)).map_or(Spot::Bare(address), Spot::At)
        };
        match self.kind {
            Kind::Fetch => match Raw::new(sample.raw).and_then(|raw| raw.fetch(processor)) {
                Ok(fetch) if fetch.is_valid() => {
                    self.tally.note_fetch(&fetch);
                    self.tally.count(&FETCH, spot(fetch.linear), &fetch);
                }
                Ok(_) => self.tally.invalid += 1,
                Err(_) => self.tally.damaged += 1,
            },
            Kind::Op(_) => match Raw::new(sample.raw).and_then(|raw| raw.op(processor)) {
                Ok(op) if op.is_valid() => {
                    self.tally.note_op(&op);
                    match op.address() {
                        Some(address) => self.tally.count(&OP, spot(address), &op),
                        None => self.tally.nowhere += 1,
                    }
                }
                Ok(_) => self.tally.invalid += 1,
                Err(_) => self.tally.damaged += 1,
            },
            Kind::Memory => self.tally.count(&MEMORY, spot(sample.ip), &Access::of(sample)),
            Kind::Plain => {
                self.tally.rows.entry(spot(sample.ip)).or_insert_with(|| vec![Cell::default()])[0].n += 1
            }
        }
    }

    /// Places that are known to be instructions; the address of a fetch need not be one.
    pub fn instructions(&self) -> impl Iterator<Item = Location> + '_ {
        let places = self.tally.rows.keys().filter(|_| self.kind != Kind::Fetch);
        places.filter_map(|spot| if let Spot::At(at) = spot { Some(*at) } else { None })
    }

    /// Gives the fetches of blocks that begin inside an instruction to that instruction.
    fn give_to_instructions(&mut self, survey: &Survey, exact: &BTreeSet<Location>) {
        let mut decoded: BTreeMap<Range, Vec<Inst>> = BTreeMap::new();
        let blocks: Vec<Location> = self
            .tally
            .rows
            .keys()
            .filter_map(|spot| if let Spot::At(at) = spot { Some(*at) } else { None })
            .filter(|at| at.svma.0.is_multiple_of(FETCH_BLOCK))
            .collect();
        for at in blocks {
            let Some(range) = function(survey, at) else { continue };
            let insts = decoded.entry(range).or_insert_with(|| instructions(survey, range, exact));
            let Some(to) = straddling(insts, at.svma.0) else { continue };
            let cells = self.tally.rows.remove(&Spot::At(at)).unwrap_or_default();
            self.straddling += cells.first().map_or(0, |cell| cell.n);
            let to = Spot::At(Location { svma: Svma(to), ..at });
            let there = self.tally.rows.entry(to).or_insert_with(|| vec![Cell::default(); cells.len()]);
            there.iter_mut().zip(cells).for_each(|(cell, more)| cell.add(more));
        }
    }
}

/// The function around a place, if its code is understood.
pub fn function(survey: &Survey, at: Location) -> Option<Range> {
    let image = survey.images.get(at.image);
    decoding::bitness(image)?;
    let function = image.function_at(at.svma)?;
    Some((at.image.0, function.start.0, function.end.0))
}

/// The instructions of a function, by address.
pub fn instructions(survey: &Survey, range: Range, exact: &BTreeSet<Location>) -> Vec<Inst> {
    let at = |address| Location { image: ImageId(range.0), svma: Svma(address) };
    let known: Vec<u64> = exact.range(at(range.1)..at(range.2)).map(|at| at.svma.0).collect();
    decoding::function(&survey.images, range, &known).insts
}
