//! From sampled places to a linked program: decodes the functions that matter and tells [`crate::code`] what the binaries
//! and the recording know about calls.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::callbacks::callbacks;
use super::callers::{samples, told};
use super::decoding::{Range, bitness, function};
use super::links::Links;
use super::survey::{CellIx, EventCount, Survey};
use super::unseen;
use crate::code::{Flow, Function, Place, Program, Told};
use crate::image::{ImageId, Images, Location, Svma};
use crate::progress::{Progress, Stage, each};
use crate::skid::hot::Scope;

/// A called function without samples of its own is looked at up to this size, bytes.
const SMALL_CALLEE: u64 = 256;
/// Where no symbol says how far a function reaches, code is followed within so many bytes around its samples.
const REACH: u64 = 4096;
/// … and, if these are everywhere, so many bytes together.
const FARTHEST: u64 = 16 * REACH;

/// Decodes and links all functions that are in `scope` for some event, by the cells `among` all.
pub fn link(
    survey: &Survey,
    scope: Scope,
    among: &dyn Fn(CellIx) -> bool,
    progress: &dyn Progress,
) -> Program {
    let mut wanted = wanted(survey, scope, among);
    for range in callers(survey) {
        wanted.entry(range).or_default();
    }
    let mut wanted = joined(&survey.images, wanted);
    let mut functions = decode(&survey.images, &wanted, progress);
    let callees = callees(&survey.images, &functions, &wanted);
    wanted.extend(callees.iter().map(|p| (*p, Vec::new())));
    let callees = callees.into_iter().map(|p| (p, Vec::new())).collect();
    functions.extend(decode(&survey.images, &callees, progress));
    let none = BTreeMap::new();
    let (program, samples) = linked(survey, functions, &none, progress);
    let links = Links::new(&survey.images, &survey.spaces, &samples, progress);
    let unseen = match scope {
        Scope::Noticeable => unseen::callers(&survey.images, &program, &links),
        Scope::Sampled => Vec::new(),
    };
    let callbacks = match program.complete && program.hidden.is_empty() {
        false => callbacks(&survey.images, &program, &samples, &links),
        true => none,
    };
    if unseen.is_empty() && callbacks.is_empty() {
        return program;
    }
    let passed = passed(&survey.images, &program, &callbacks);
    let place = |(space, function): &(u32, Function)| (*space, function.range.start);
    let more: BTreeMap<_, _> = unseen.into_iter().chain(passed).map(|f| (place(&f), f)).collect();
    let functions = program.functions.into_iter().chain(more.into_values()).collect();
    linked(survey, functions, &callbacks, progress).0
}

/// Small functions that `program` lacks and that are all that some call enters: too short to catch a sample, long enough to run.
fn passed(
    images: &Images,
    program: &Program,
    callbacks: &BTreeMap<Place, BTreeSet<Place>>,
) -> Vec<(u32, Function)> {
    let only = callbacks.values().filter(|passed| passed.len() == 1).flatten();
    let unknown: BTreeSet<&Place> = only.filter(|at| program.function_at(**at).is_none()).collect();
    let small = unknown.into_iter().filter_map(|at| small_at(images, at.space, at.address));
    small.map(|range| (range.0, function(images, range, &[]))).collect()
}

/// Links `functions` by what the images and the recording know, and by what calls enter that were passed functions; and the samples of
/// each of them.
fn linked(
    survey: &Survey,
    mut functions: Vec<(u32, Function)>,
    callbacks: &BTreeMap<Place, BTreeSet<Place>>,
    progress: &dyn Progress,
) -> (Program, BTreeMap<Place, f64>) {
    functions.sort_by_key(|(space, f)| (*space, f.range.start));
    let samples = samples(survey, &functions);
    let links = Links::new(&survey.images, &survey.spaces, &samples, progress);
    let told = told(survey, &functions, &samples, &links);
    let told = Told { samples: samples.clone(), callbacks: callbacks.clone(), ..told };
    let program = Program::link(functions, &links, &told);
    (program, samples)
}

/// Per event, the weight from which on a function is looked at.
fn least(survey: &Survey, scope: Scope) -> Vec<f64> {
    let least = |count: &EventCount| {
        let total = count.weight.max(1) as f64;
        scope.least(total, total / count.samples.max(1) as f64)
    };
    survey.events.iter().map(least).collect()
}

/// Functions on the callchains of a noticeable share of some event: what links the sampled ones may have no samples.
fn callers(survey: &Survey) -> BTreeSet<Range> {
    let mut shares: BTreeMap<Range, f64> = BTreeMap::new();
    let least = least(survey, Scope::Noticeable);
    for cell in &survey.cells {
        let context = survey.contexts[cell.context as usize].callers.iter().flatten().flatten();
        for range in context.filter_map(|&at| function_around(&survey.images, at)) {
            *shares.entry(range).or_default() += cell.weight as f64 / least[cell.attr.0 as usize];
        }
    }
    shares.into_iter().filter(|(_, share)| *share >= 1.0).map(|(range, _)| range).collect()
}

/// Functions with their sampled addresses.
fn wanted(survey: &Survey, scope: Scope, among: &dyn Fn(CellIx) -> bool) -> BTreeMap<Range, Vec<u64>> {
    let mut shares: BTreeMap<Range, (f64, Vec<u64>)> = BTreeMap::new();
    let least = least(survey, scope);
    let cells = survey.cells.iter().enumerate().filter(|(ix, _)| among(*ix as CellIx));
    for (_, cell) in cells {
        if let Some(range) = function_around(&survey.images, cell.at) {
            let (share, known) = shares.entry(range).or_default();
            *share += cell.weight as f64 / least[cell.attr.0 as usize];
            known.push(cell.at.svma.0);
        }
    }
    shares.into_iter().filter(|(_, (share, _))| *share >= 1.0).map(|(r, (_, known))| (r, known)).collect()
}

fn function_around(images: &Images, at: Location) -> Option<Range> {
    let image = images.get(at.image);
    bitness(image)?;
    match image.function_at(at.svma) {
        Some(f) => Some((at.image.0, f.start.0, f.end.0)),
        None => {
            let (gap, start) = (image.gap_at(at.svma)?, at.svma.0 / REACH * REACH);
            Some((at.image.0, start.max(gap.start.0), start.saturating_add(REACH).min(gap.end.0)))
        }
    }
}

/// Joins neighbours that nothing separates but where code without symbols is cut, as far as a joint one may reach: a loop may lie
/// across.
fn joined(images: &Images, wanted: BTreeMap<Range, Vec<u64>>) -> BTreeMap<Range, Vec<u64>> {
    let named = |(space, start, _): Range| images.get(ImageId(space)).function_at(Svma(start)).is_some();
    let mut joined: Vec<(Range, Vec<u64>)> = Vec::with_capacity(wanted.len());
    for (range, known) in wanted {
        let goes_on = |last: &Range| {
            (last.0, last.2) == (range.0, range.1) && range.1 % REACH == 0 && range.2 - last.1 <= FARTHEST
        };
        match joined.last_mut() {
            Some((last, sampled)) if goes_on(last) && !named(*last) && !named(range) => {
                last.2 = range.2;
                sampled.extend(known);
            }
            _ => joined.push((range, known)),
        }
    }
    joined.into_iter().collect()
}

fn decode(
    images: &Images,
    wanted: &BTreeMap<Range, Vec<u64>>,
    progress: &dyn Progress,
) -> Vec<(u32, Function)> {
    let wanted: Vec<(&Range, &Vec<u64>)> = wanted.iter().collect();
    let one = |(&range, known): (&Range, &Vec<u64>)| (range.0, function(images, range, known));
    let mut decoded = each(progress, Stage::Decode, wanted.into_par_iter(), one);
    decoded.retain(|(_, f)| !f.insts.is_empty());
    decoded
}

/// Small functions that these call, or jump to at their end: too short to catch a sample, long enough to run.
fn callees(
    images: &Images,
    functions: &[(u32, Function)],
    wanted: &BTreeMap<Range, Vec<u64>>,
) -> BTreeSet<Range> {
    let known: BTreeSet<(u32, u64)> = wanted.keys().map(|&(space, start, _)| (space, start)).collect();
    let mut found = BTreeSet::new();
    for (space, function) in functions {
        for inst in &function.insts {
            let to = match inst.flow {
                Flow::Call(to) => to,
                Flow::Jump(to) if !function.range.contains(&to) => to,
                _ => continue,
            };
            found.extend(small_at(images, *space, to).filter(|_| !known.contains(&(*space, to))));
        }
    }
    found
}

/// The range of the function that begins at an address, if it is small.
fn small_at(images: &Images, space: u32, start: u64) -> Option<Range> {
    let f = images.get(ImageId(space)).function_from(Svma(start))?;
    (f.end.0 - start <= SMALL_CALLEE).then_some((space, start, f.end.0))
}
