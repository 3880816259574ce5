//! Makes groups of connected functions, cut down to the blocks that matter, with their flow.
//!
//! In: a linked program and its folded samples. Out: groups small enough to be searched often, for what all code of a file has in
//! common, and as large as they can be solved. Code that is cut off from what calls it keeps as many samples as it was recorded
//! with, and is entered as often as these seem to say, so groups as large as can be leave functions nearest to the truth: by flow
//! and time, with 1,000, 1,600 and 2,500 instructions in sampled blocks at most, functions of nine recordings of libraries are
//! .0810, .0662 and .0632 off, their blocks .1453, .1255 and .1211 (all else in `docs/refuted.md`). It does not know how a group is
//! solved.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::answer::Evidence;
use super::conserve::{FLOW, TIMED, conserve, unsearched};
use super::group::Group;
use super::solver::Solver;
use crate::code::{FunctionIx, Program};
use crate::progress::{Progress, Stage, each};
use crate::skid::assemble::{self, Cut};
use crate::skid::circulation::probabilities;
use crate::skid::classes::Classes;
use crate::skid::folded::Folded;
use crate::skid::hold::Reporting;
use crate::skid::hot::{Calls, Scope, hot};
use crate::skid::region::{Arm, Region};
use crate::skid::{Circulation, Model};

/// Instructions in sampled blocks of a group that tells which address is reported, of the core and how far branches are from what
/// is usual, at most.
const TELLING: usize = 1000;
/// Those of a group as it is solved, at most …
const LARGEST: usize = 2500;
/// … and times all that are solved, so that the time which that takes grows with what there is.
const PRODUCT: usize = 12_000_000;
/// Groups with fewer samples than this stay as they are.
const LEAST_SAMPLES: f64 = 1.0;
/// Functions with more free branches are not looked at alone: their blocks count as they were sampled.
const MOST_FREEDOM: usize = 150;
/// Of groups with more free branches only calls are kept that hold something, or would if they were made as often as the code
/// suggests: where much code calls each other, most calls of a function that was sampled once lead to what all of it calls, and are
/// made once as well. Flow and time over 20 recordings of libraries, functions, blocks and seconds on one thread: .0517 .1103 37.5
/// with all, .0514 .1100 23.3 with those everywhere that hold something. A recording of Python by 1,877 samples had 2,160 free
/// branches and takes 27 s instead of more than seven minutes. In small code all calls tell: over 86 recordings blocks are .0388 off
/// with all, .0402 without. But a call of `free` in a loop, waited for by nobody, holds none of its samples: without calls that would
/// hold something functions of `cards-wide6-60` are .119 off instead of .083 (.074 with all).
const MUCH_FREEDOM: usize = 200;
/// Where every sample counts, a block without one matters if it is expected to have so many.
const HALF: f64 = 0.5;
/// Fewer samples of time for each free branch do not decide them.
const DECIDING: f64 = 10.0;
/// Least probability that flow conservation of a function alone leaves an arm of the group.
const LEAST_SHARE: f64 = 1e-4;

/// What all groups are made from.
pub struct Workshop<'a> {
    program: &'a Program,
    classes: Classes,
    /// The events that tell how often code ran: those of retirement, or time where there is none.
    retired: Vec<Folded>,
    time: Option<&'a Folded>,
    /// That is samples of instructions, which stand for it.
    landed: bool,
    scope: Scope,
    /// Weight of all samples of the first of these.
    total: f64,
    /// Instructions in sampled blocks of each function.
    sizes: Vec<usize>,
    solver: Solver,
}

/// An arm: the instruction it is of, as a function and an index, and that which it goes to in the region.
type Key = ((FunctionIx, usize), Option<(FunctionIx, usize)>);

/// What is known of functions each taken alone.
#[derive(Default)]
struct Alone {
    /// Probability of each arm that has alternatives.
    arms: BTreeMap<Key, f64>,
    /// Weight of each block.
    weight: BTreeMap<(FunctionIx, usize), f64>,
    /// What each block would have if control went there as often from the blocks before it as the code alone suggests; at least
    /// its weight.
    expected: BTreeMap<(FunctionIx, usize), f64>,
}

impl<'a> Workshop<'a> {
    /// Groups will be as `solver` wants them.
    pub fn new(program: &'a Program, evidence: &'a Evidence, solver: Solver) -> Workshop<'a> {
        let time = evidence.time.as_ref();
        let (retired, scope): (Vec<Folded>, _) = match evidence.retired.is_empty() {
            true => (time.into_iter().cloned().collect(), Scope::Sampled),
            false => (evidence.retired.clone(), Scope::Noticeable),
        };
        let total = retired.first().map_or(0.0, |event| event.weight.values().sum());
        let functions = 0..program.functions.len();
        let sampled = |event| functions.map(|f| sampled_instructions(program, event, f)).collect();
        let sizes = retired.first().map_or_else(Vec::new, sampled);
        let (classes, landed) = (Classes::of(program), false);
        Workshop { program, classes, retired, time, landed, scope, total, sizes, solver }
    }

    /// The same where samples of instructions stand for time, if there are such.
    pub fn taking(mut self, stand_in: Option<&'a Folded>) -> Workshop<'a> {
        (self.time, self.landed) = (stand_in.or(self.time), stand_in.is_some());
        self
    }

    /// Whether groups have a flow that samples and time agree on.
    pub fn times(&self) -> bool {
        self.time.is_some() && self.solver.uses_time()
    }

    /// All groups with samples of the first event that tells how often code ran, no larger than tells what all code of the file has
    /// in common, under this `reporting`.
    pub fn groups(&self, reporting: Reporting, progress: &dyn Progress) -> Vec<Group> {
        let searched = |functions| Some(self.group(functions, reporting)?.searched());
        let parts = self.parts(TELLING, Cut::Samples);
        let groups = each(progress, Stage::Flow, parts.into_par_iter(), searched);
        groups.into_iter().flatten().collect()
    }

    /// The same as large as they can be solved, of those `known`. One that is another then is not searched yet.
    pub fn enlarged(&self, known: Vec<Group>, reporting: Reporting, progress: &dyn Progress) -> Vec<Group> {
        let mut known: BTreeMap<Vec<FunctionIx>, Group> =
            known.into_iter().map(|group| (group.functions.clone(), group)).collect();
        let parts = self.parts(largest(self.sizes.iter().sum()), Cut::Runs).into_iter();
        let parts: Vec<_> = parts.map(|functions| (known.remove(&functions), functions)).collect();
        let group =
            |(known, functions): (Option<Group>, _)| known.or_else(|| self.group(functions, reporting));
        let groups = each(progress, Stage::Flow, parts.into_par_iter(), group);
        groups.into_iter().flatten().collect()
    }

    /// Functions that are solved together, in groups of no more than `most` instructions in sampled blocks, more being `cut`.
    fn parts(&self, most: usize, cut: Cut) -> Vec<Vec<FunctionIx>> {
        let Some(first) = self.retired.first() else { return Vec::new() };
        let load = |f: FunctionIx| first.within(f) / self.total.max(f64::MIN_POSITIVE);
        let enough = match self.scope {
            Scope::Sampled => f64::MIN_POSITIVE,
            Scope::Noticeable => LEAST_SAMPLES * first.period,
        };
        let sampled = |g: &Vec<FunctionIx>| g.iter().map(|&f| first.within(f)).sum::<f64>() >= enough;
        assemble::groups(self.program, &load, &|f| self.sizes[f], most, cut)
            .into_iter()
            .filter(sampled)
            .collect()
    }

    /// The group of `functions`, with its flow, from which a search for what time and samples agree on begins, if there is to be
    /// one.
    fn group(&self, functions: Vec<FunctionIx>, reporting: Reporting) -> Option<Group> {
        let (first, mut alone) = (self.retired.first()?, Alone::default());
        let sampled = functions.iter().filter(|&&f| first.within(f) > 0.0);
        sampled.for_each(|&f| self.look_at(f, reporting, &mut alone));
        let least = self.scope.least(self.total, first.period);
        let with = |calls| {
            let hot = hot(self.program, &functions, &alone.weight, least, calls);
            self.model(&functions, reporting, &|f, b| hot.contains(&(f, b)))
        };
        let all = with(Calls::All);
        let model = match all.region.freedom() > MUCH_FREEDOM {
            true => with(Calls::Loaded(&alone.expected)),
            false => all,
        };
        if model.region.nodes.is_empty() {
            return None;
        }
        let flow = self.conserve(&model, &alone.logits(&model.region))?;
        let rates = model.rates(&flow)?;
        let mut group = Group { functions, model, flow, rates, belief: TIMED, timed: None };
        group.timed = self.times().then(|| group.beginning());
        Some(group)
    }

    /// Flow conservation, searched from branch `logits`. Where only time was sampled and there are few samples, what the shape of
    /// the code suggests has to do: of five programs with 16,000 samples or more, instructions are .058 off with it instead of
    /// .056 in one, and alike in the others.
    fn conserve(&self, model: &Model, logits: &[f64]) -> Option<Vec<f64>> {
        let deciding = DECIDING * model.region.freedom() as f64;
        match self.scope == Scope::Sampled && model.events[0].total() < deciding {
            true => Some(unsearched(model, logits)),
            false => conserve(model, logits, FLOW),
        }
    }

    fn model(
        &self,
        functions: &[FunctionIx],
        reporting: Reporting,
        keep: &dyn Fn(FunctionIx, usize) -> bool,
    ) -> Model {
        let (program, classes) = (self.program, &self.classes);
        let mut model =
            assemble::model(program, classes, functions, &self.retired, self.time, reporting, keep);
        if self.landed {
            model.take_for_time();
        }
        model
    }

    /// Flow conservation of one function, with all its blocks.
    fn look_at(&self, f: FunctionIx, reporting: Reporting, alone: &mut Alone) {
        let model = self.model(&[f], reporting, &|_, _| true);
        let region = &model.region;
        let flow = (region.freedom() <= MOST_FREEDOM)
            .then(|| self.conserve(&model, &model.usual().logits))
            .flatten();
        if let Some(z) = &flow {
            let probabilities = probabilities(region, z);
            // where there is no choice, as at calls of others, nothing was learnt
            for ix in region.decisions.iter().flat_map(|decision| decision.arms.clone()) {
                alone.arms.insert(key(region, &region.arms[ix]), probabilities[ix]);
            }
        }
        let rates = flow
            .and_then(|z| Circulation::new(region).rates(region, &z, model.total().max(f64::MIN_POSITIVE)));
        let least = match self.scope {
            Scope::Sampled => HALF * self.retired[0].period,
            Scope::Noticeable => 0.0,
        };
        let raw = |b: usize| model.events[0].weight[region.blocks[b].nodes.clone()].iter().sum::<f64>();
        let by_flow = |b: usize| rates.as_ref().map_or(0.0, |r| r.blocks[b] * region.blocks[b].events);
        let weight = |b: usize| if by_flow(b) > least { raw(b).max(by_flow(b)) } else { raw(b) };
        let weights: Vec<f64> = (0..region.blocks.len()).map(weight).collect();
        let cfg = &self.program.functions[f].1.cfg;
        for (b, expected) in expected(&model, &weights).into_iter().enumerate() {
            let at = (f, cfg.block_of(region.nodes[region.blocks[b].nodes.start].inst));
            alone.weight.insert(at, weights[b]);
            alone.expected.insert(at, expected);
        }
    }
}

impl Alone {
    /// Branch logits of `region`, from those of its functions.
    fn logits(&self, region: &Region) -> Vec<f64> {
        let logit = |ix: usize| {
            let arm = &region.arms[ix];
            self.arms.get(&key(region, arm)).map_or(arm.prior, |p| p.max(LEAST_SHARE).ln())
        };
        region.per_logit(|decision, arm| logit(arm) - logit(decision.arms.start))
    }
}

/// What each block would have if control went there from others, which have these `weights`, as often as the code alone suggests.
fn expected(model: &Model, weights: &[f64]) -> Vec<f64> {
    let (region, mut expected) = (&model.region, vec![0.0; weights.len()]);
    let usual = probabilities(region, &model.usual().logits);
    for (arm, share) in region.arms.iter().zip(usual) {
        let from = region.nodes[arm.node].block;
        if let Some(to) = arm.to.filter(|_| !arm.is_call()) {
            expected[to] += share * weights[from] / region.blocks[from].events * region.blocks[to].events;
        }
    }
    expected.into_iter().zip(weights).map(|(expected, weight)| expected.max(*weight)).collect()
}

fn key(region: &Region, arm: &Arm) -> Key {
    let place = |node: usize| (region.nodes[node].function, region.nodes[node].inst);
    (place(arm.node), arm.to.map(|b| place(region.blocks[b].nodes.start)))
}

/// Instructions in sampled blocks of a group at most, where there are so many in `all`.
fn largest(all: usize) -> usize {
    (PRODUCT / all.max(1)).clamp(TELLING, LARGEST)
}

/// Instructions of the blocks of `f` that have samples of `event`.
fn sampled_instructions(program: &Program, event: &Folded, f: FunctionIx) -> usize {
    let blocks = program.functions[f].1.cfg.blocks.iter().map(|b| b.first..b.end);
    blocks.filter(|b| event.any(f, b.clone())).map(|b| b.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Told, explore};
    use crate::progress::Silent;
    use crate::skid::folded::Counts;

    /// A loop of so many instructions that calls a function of as many, and samples everywhere.
    fn of(length: usize) -> (Program, Evidence) {
        // 0: call g; nop …; dec %edi; jne 0; ret — g: nop …; ret
        let body = vec![0x90; length];
        let (begin, back) = (0x10 + length as i32, -(length as i32) - 13);
        let mut code = [&[0xe8][..], &(begin - 5).to_le_bytes(), &body, &[0xff, 0xcf, 0x0f, 0x85]].concat();
        code.extend(back.to_le_bytes());
        code.resize(begin as usize - 1, 0x90);
        code.push(0xc3);
        code.extend([&body[..], &[0xc3]].concat());
        let ends = [0..begin as u64, begin as u64..code.len() as u64];
        let source = Bytes(0, code);
        let functions: Vec<_> = ends.map(|range| (0, explore(&source, range, &[]))).into();
        let insts =
            functions.iter().enumerate().flat_map(|(f, own)| (0..own.1.insts.len()).map(move |i| (f, i)));
        let weight = insts.map(|at| (at, 100.0)).collect();
        let program = Program::link(functions, &NoStubs, &Told::default());
        let event = Folded { weight, period: 10.0, counts: Counts::Instructions, exact: false, stray: 0.0 };
        (program, Evidence { retired: vec![event], time: None })
    }

    /// Functions of each group that tells, and of each as it is solved.
    fn groups(length: usize) -> [Vec<Vec<FunctionIx>>; 2] {
        let (program, evidence) = of(length);
        let workshop = Workshop::new(&program, &evidence, Solver::Flow);
        let told = workshop.groups(Reporting::default(), &Silent);
        let solved = workshop.enlarged(told.clone(), Reporting::default(), &Silent);
        [told, solved].map(|groups| groups.into_iter().map(|group| group.functions).collect())
    }

    #[test]
    fn code_is_solved_in_larger_groups_than_tell_of_what_all_has_in_common() {
        assert_eq!(groups(TELLING / 4), [[vec![0, 1]], [vec![0, 1]]]);
        assert_eq!(groups(TELLING * 3 / 4), [vec![vec![0], vec![1]], vec![vec![0, 1]]]);
        assert_eq!(groups(LARGEST * 3 / 4), [[vec![0], vec![1]], [vec![0], vec![1]]]);
    }

    #[test]
    fn the_more_code_there_is_the_smaller_are_its_groups() {
        assert_eq!(largest(0), LARGEST);
        assert!(largest(2 * PRODUCT / LARGEST) < LARGEST);
        assert_eq!(largest(usize::MAX), TELLING);
    }
}
