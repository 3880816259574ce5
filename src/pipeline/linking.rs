//! From sampled places to a linked program: decodes the functions that matter and tells [`crate::code`] what the binaries
//! and the recording know about calls.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::callers::{samples, told};
use super::decoding::{Range, bitness, function};
use super::links::Links;
use super::survey::Survey;
use crate::code::{Flow, Function, Program, Told};
use crate::image::{ImageId, Images, Location, Svma};

/// Functions with a smaller share of every event's samples are left alone.
const LEAST_SHARE: f64 = 2e-4;
/// A called function without samples of its own is looked at up to this size, bytes.
const SMALL_CALLEE: u64 = 256;
/// Where no symbol says how far a function reaches, code is followed within so many bytes around its samples.
const REACH: u64 = 4096;

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
    let samples = samples(survey, &functions);
    let links = Links::new(&survey.images, &samples);
    let told = told(survey, &functions, &links);
    Program::link(functions, &links, &Told { samples: samples.clone(), ..told })
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
