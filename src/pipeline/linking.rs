//! From sampled places to a linked program: decodes the functions that matter and tells [`crate::code`] what the binaries
//! and the recording know about calls.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::survey::Survey;
use crate::code::{Bitness, Flow, Function, Linker, Place, Program, Seen, Source, discover, explore};
use crate::image::{Class, Image, ImageId, Images, Location, PltTarget, Svma};

/// Functions with a smaller share of every event's samples are left alone.
const LEAST_SHARE: f64 = 2e-4;
/// A called function without samples of its own is looked at up to this size, bytes.
const SMALL_CALLEE: u64 = 256;
/// Where no symbol says how far a function reaches, code is followed within so many bytes around its samples.
const REACH: u64 = 4096;

/// A stub has at most so many instructions.
const STUB: usize = 4;

/// Decodes and links all functions that hold a noticeable share of some event.
pub fn link(survey: &Survey) -> Program {
    let mut wanted = wanted(survey);
    for range in callers(survey) {
        wanted.entry(range).or_default();
    }
    let mut functions = decode(&survey.images, &wanted);
    let callees = callees(&survey.images, &functions, &wanted);
    wanted.extend(callees.iter().map(|p| (*p, Vec::new())));
    functions.extend(decode(&survey.images, &callees.into_iter().map(|p| (p, Vec::new())).collect()));
    functions.sort_by_key(|(space, f)| (*space, f.range.start));
    let links = Links { images: &survey.images };
    let seen = seen(survey, &functions);
    Program::link(functions, &links, &seen, has_callers(survey))
}

/// Whether most samples say who called.
fn has_callers(survey: &Survey) -> bool {
    let called = |c: &&super::survey::Cell| survey.contexts[c.context as usize].callers.is_some();
    let with: u64 = survey.cells.iter().filter(called).map(|c| c.samples).sum();
    2 * with > survey.cells.iter().map(|c| c.samples).sum()
}

/// Functions on the callchains of a noticeable share of some event: what links the sampled ones may have no samples.
fn callers(survey: &Survey) -> BTreeSet<Range> {
    let mut shares: BTreeMap<Range, f64> = BTreeMap::new();
    for cell in &survey.cells {
        let total = survey.events[cell.attr.0 as usize].weight.max(1) as f64;
        let context = survey.contexts[cell.context as usize].callers.iter().flatten().flatten();
        for range in context.filter_map(|&at| function_around(&survey.images, at)) {
            *shares.entry(range).or_default() += cell.weight as f64 / total;
        }
    }
    shares.into_iter().filter(|(_, share)| *share >= LEAST_SHARE).map(|(range, _)| range).collect()
}

/// A function's place and end.
pub type Range = (u32, u64, u64);

/// Functions with their sampled addresses.
fn wanted(survey: &Survey) -> BTreeMap<Range, Vec<u64>> {
    let mut shares: BTreeMap<Range, (f64, Vec<u64>)> = BTreeMap::new();
    for cell in &survey.cells {
        let total = survey.events[cell.attr.0 as usize].weight.max(1) as f64;
        if let Some(range) = function_around(&survey.images, cell.at) {
            let (share, known) = shares.entry(range).or_default();
            *share += cell.weight as f64 / total;
            known.push(cell.at.svma.0);
        }
    }
    shares
        .into_iter()
        .filter(|(_, (share, _))| *share >= LEAST_SHARE)
        .map(|(r, (_, known))| (r, known))
        .collect()
}

fn function_around(images: &Images, at: Location) -> Option<Range> {
    let image = images.get(at.image);
    bitness(image)?;
    match image.function_at(at.svma) {
        Some(f) => Some((at.image.0, f.start.0, f.end.0)),
        None => {
            let start = at.svma.0 / REACH * REACH;
            Some((at.image.0, start, start + REACH))
        }
    }
}

/// Decodes the function in a range of an image, of which `known` addresses were seen to run.
pub fn function(images: &Images, (space, start, end): Range, known: &[u64]) -> Function {
    let image = images.get(ImageId(space));
    let named = image.function_at(Svma(start)).is_some_and(|f| f.start.0 == start);
    let decoded = if named { explore } else { discover };
    decoded(&Code(image), start..end, known)
}

fn decode(images: &Images, wanted: &BTreeMap<Range, Vec<u64>>) -> Vec<(u32, Function)> {
    let one = |(&range, known): (&Range, &Vec<u64>)| (range.0, function(images, range, known));
    wanted.par_iter().map(one).filter(|(_, f)| !f.insts.is_empty()).collect()
}

/// Small functions that sampled ones call directly: too short to catch a sample, long enough to run.
fn callees(
    images: &Images,
    functions: &[(u32, Function)],
    wanted: &BTreeMap<Range, Vec<u64>>,
) -> BTreeSet<Range> {
    let known: BTreeSet<(u32, u64)> = wanted.keys().map(|&(space, start, _)| (space, start)).collect();
    let mut found = BTreeSet::new();
    for (space, function) in functions {
        for inst in &function.insts {
            let Flow::Call(to) = inst.flow else { continue };
            let image = images.get(ImageId(*space));
            if let Some(f) = image.function_at(Svma(to))
                && f.start.0 == to
                && f.end.0 - to <= SMALL_CALLEE
                && !known.contains(&(*space, to))
            {
                found.insert((*space, to, f.end.0));
            }
        }
    }
    found
}

/// Calls that callchains and branch records saw.
fn seen(survey: &Survey, functions: &[(u32, Function)]) -> Vec<Seen> {
    let lookup = Lookup(functions);
    let mut seen: BTreeMap<(Place, Place), u64> = BTreeMap::new();
    for cell in &survey.cells {
        let Some(callers) = &survey.contexts[cell.context as usize].callers else { continue };
        let mut callee = lookup.function(place(cell.at));
        for caller in callers.iter() {
            let Some(caller) = caller.map(place) else { break };
            if let (Some(from), Some(to)) = (lookup.call_before(caller), callee)
                && let Some(from) = lookup.transfer(from, to)
            {
                *seen.entry((from, to)).or_default() += cell.samples;
            }
            callee = lookup.function(caller);
        }
    }
    for (&(from, to), &count) in &survey.branches {
        *seen.entry((place(from), place(to))).or_default() += count;
    }
    seen.into_iter().map(|((from, to), count)| Seen { from, to, count }).collect()
}

/// A location as a place of the program.
pub fn place(at: Location) -> Place {
    Place { space: at.image.0, address: at.svma.0 }
}

/// A place of the program as a location.
pub fn at(place: Place) -> Location {
    Location { image: ImageId(place.space), svma: Svma(place.address) }
}

/// Finds decoded code by place. Functions are sorted.
struct Lookup<'a>(&'a [(u32, Function)]);

impl Lookup<'_> {
    fn around(&self, at: Place) -> Option<&Function> {
        let behind = self.0.partition_point(|(space, f)| (*space, f.range.start) <= (at.space, at.address));
        let (space, function) = self.0.get(behind.checked_sub(1)?)?;
        (*space == at.space && function.range.contains(&at.address)).then_some(function)
    }

    fn function(&self, at: Place) -> Option<Place> {
        Some(Place { address: self.around(at)?.range.start, ..at })
    }

    /// The call whose return address this is.
    fn call_before(&self, back: Place) -> Option<Place> {
        let function = self.around(Place { address: back.address.checked_sub(1)?, ..back })?;
        let behind = function.insts.partition_point(|i| i.address < back.address);
        let call = function.insts.get(behind.checked_sub(1)?)?;
        let calls = matches!(call.flow, Flow::Call(_) | Flow::IndirectCall { .. });
        (calls && call.end() == back.address).then_some(Place { address: call.address, ..back })
    }

    /// The instruction that brings control to `to` after a call at `from`: the call, or the jump of the stub it calls. A
    /// frame pointer chain skips the caller of a function without a frame: then the call goes elsewhere, and there is none.
    fn transfer(&self, from: Place, to: Place) -> Option<Place> {
        let function = self.around(from)?;
        match function.insts[function.at(from.address)?].flow {
            Flow::Call(target) if target == to.address && from.space == to.space => Some(from),
            Flow::Call(target) => {
                let stub =
                    self.around(Place { address: target, ..from }).filter(|f| f.range.start == target)?;
                let jump =
                    stub.insts.iter().find(|i| ends_open(i.flow)).filter(|_| stub.insts.len() <= STUB)?;
                Some(Place { address: jump.address, ..from })
            }
            Flow::IndirectCall { .. } => Some(from),
            _ => None,
        }
    }
}

fn ends_open(flow: Flow) -> bool {
    matches!(flow, Flow::IndirectJump { .. } | Flow::Jump(_))
}

/// An image as a source of code.
struct Code<'a>(&'a Image);

impl Source for Code<'_> {
    fn bitness(&self) -> Bitness {
        bitness(self.0).unwrap_or(Bitness::Bits64)
    }

    fn read(&self, address: u64, len: usize) -> Vec<u8> {
        let end = Svma(address.saturating_add(len as u64));
        let code = self.0.code(Svma(address)..end).filter(|c| !c.is_empty());
        code.or_else(|| self.0.read_data(Svma(address), len)).unwrap_or_default()
    }
}

/// Which instruction set an image's code is of; `None` without it, or where it is not understood.
pub fn bitness(image: &Image) -> Option<Bitness> {
    Some(match image.class()? {
        Class::Bits32 => Bitness::Bits32,
        Class::Bits64 => Bitness::Bits64,
    })
}

/// What the binaries know about stubs and cells.
struct Links<'a> {
    images: &'a Images,
}

impl Links<'_> {
    fn symbol(&self, name: &str) -> Option<Place> {
        self.images
            .iter()
            .find_map(|(id, image)| Some(Place { space: id.0, address: image.exported(name)?.0 }))
    }
}

impl Linker for Links<'_> {
    fn stub(&self, at: Place) -> Option<Place> {
        match self.images.get(ImageId(at.space)).plt_target(Svma(at.address))? {
            PltTarget::Symbol(name) => self.symbol(name),
            PltTarget::Resolver(_) => None,
        }
    }

    fn cell(&self, _: Place) -> Option<Place> {
        None
    }
}
