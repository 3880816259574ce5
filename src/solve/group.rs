//! Groups of connected functions, made ready to be solved: cut down to the blocks that matter, with their flow.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::answer::Evidence;
use super::conserve::{Belief, Conservation, FLOW, TIMED, conserve, unsearched};
use super::solver::Solver;
use super::timed::{SEARCHES, strain, timed};
use crate::code::{FunctionIx, Program};
use crate::progress::{Progress, Stage, each};
use crate::skid::assemble;
use crate::skid::circulation::probabilities;
use crate::skid::classes::Classes;
use crate::skid::core::Shape;
use crate::skid::folded::Folded;
use crate::skid::hold::Reporting;
use crate::skid::hot::{Scope, hot};
use crate::skid::region::{Arm, Region};
use crate::skid::{Circulation, Model, Rates};

/// Groups with fewer samples than this stay as they are.
const LEAST_SAMPLES: f64 = 1.0;
/// Functions with more free branches are not looked at alone: their blocks count as they were sampled.
const MOST_FREEDOM: usize = 150;
/// Where every sample counts, a block without one matters if it is expected to have so many.
const HALF: f64 = 0.5;
/// Fewer samples of time for each free branch do not decide them.
const DECIDING: f64 = 10.0;
/// Fewer samples for each free branch leave most of them to what the code suggests: such code is searched once, and does not tell cores
/// apart. Of 106 recordings 66 groups are so, mostly what runs at the start; three of them have more than .02 of the samples.
const AMPLE: f64 = 2.0;
/// Least probability that flow conservation of a function alone leaves an arm of the group.
const LEAST_SHARE: f64 = 1e-4;

/// Functions that are solved together.
#[derive(Clone, Debug)]
pub struct Group {
    /// The functions.
    pub functions: Vec<FunctionIx>,
    /// Their hot code and its samples.
    pub model: Model,
    /// Parameters of the flow nearest to the samples.
    pub flow: Vec<f64>,
    /// What follows from them.
    pub rates: Rates,
    /// How much is believed of what where samples and time have to agree.
    pub belief: Belief,
    /// Parameters of the flow that they agree on best, where it is wanted and time was observed.
    pub timed: Option<Vec<f64>>,
}

impl Group {
    /// Where a search starts, and the prior's centre.
    pub fn start(&self) -> &[f64] {
        self.timed.as_ref().unwrap_or(&self.flow)
    }

    /// Whether it has samples enough for its branches.
    pub fn ample(&self) -> bool {
        self.model.counted().total() >= AMPLE * self.model.region.freedom() as f64
    }

    /// The same on another core, if it `tells` of it searched anew; the flow of samples alone stays.
    pub fn on(mut self, shape: Shape, tells: bool) -> Group {
        self.model.reporting.shape = shape;
        if let Some(start) = self.timed.take_if(|_| tells) {
            self.agree(start, 1);
        }
        self
    }

    /// The same on the core that it is on, with a prior so many times as wide, by all searches, or half of them where other code
    /// `tells` of the core. Under a wider prior they begin anew: from where the usual one led they don't come as far (block distance
    /// .143 instead of .138 over 14 recordings of libraries, flow and time).
    pub fn settled(mut self, width: f64, tells: bool) -> Group {
        self.belief = TIMED.wider(width);
        if let Some(usual) = self.timed.take() {
            let start = if width > 1.0 { self.beginning() } else { usual };
            let searches = if tells { SEARCHES } else { SEARCHES / 2 };
            self.agree(start, if self.ample() { searches } else { 1 });
        }
        self
    }

    /// Where a search begins that knows the flow of samples alone.
    fn beginning(&self) -> Vec<f64> {
        let free = self.model.region.freedom();
        Conservation::new(&self.model, &self.flow[..free], self.belief).1
    }

    /// Finds the flow that the samples and time agree on, from parameters `start`: the mean of so many `searches`.
    fn agree(&mut self, start: Vec<f64>, searches: u64) {
        self.timed = timed(&mut self.model, &start, &self.rates, self.belief, searches);
    }

    /// How much time strains the code where it agrees with the samples best: half the sum of its squared residuals.
    pub fn strain(&self) -> f64 {
        self.timed.as_ref().map_or(0.0, |z| strain(&self.model, z, self.belief))
    }
}

/// All groups with samples of the first retirement event, or of the time event where there is none, as `solver` wants them.
pub fn prepare(
    program: &Program,
    evidence: &Evidence,
    reporting: Reporting,
    solver: Solver,
    progress: &dyn Progress,
) -> Vec<Group> {
    let retired: Vec<Folded> = match evidence.retired.is_empty() {
        true => evidence.time.iter().cloned().collect(),
        false => evidence.retired.clone(),
    };
    let Some(first) = retired.first() else { return Vec::new() };
    let total: f64 = first.weight.values().sum();
    let load = |f: FunctionIx| first.within(f) / total.max(f64::MIN_POSITIVE);
    let scope = if evidence.retired.is_empty() { Scope::Sampled } else { Scope::Noticeable };
    let workshop = Workshop {
        program,
        classes: Classes::of(program),
        retired: &retired,
        time: evidence.time.as_ref(),
        reporting,
        scope,
        least: scope.least(total, first.period),
        solver,
    };
    let enough = match scope {
        Scope::Sampled => f64::MIN_POSITIVE,
        Scope::Noticeable => LEAST_SAMPLES * first.period,
    };
    let sampled = |g: &Vec<FunctionIx>| g.iter().map(|&f| first.within(f)).sum::<f64>() >= enough;
    let size = |f: FunctionIx| sampled_instructions(program, first, f);
    let groups: Vec<_> = assemble::groups(program, &load, &size).into_iter().filter(sampled).collect();
    let groups = each(progress, Stage::Flow, groups.into_par_iter(), |functions| workshop.group(functions));
    groups.into_iter().flatten().collect()
}

/// Instructions of the blocks of `f` that have samples of `event`.
fn sampled_instructions(program: &Program, event: &Folded, f: FunctionIx) -> usize {
    let blocks = program.functions[f].1.cfg.blocks.iter().map(|b| b.first..b.end);
    blocks.filter(|b| event.any(f, b.clone())).map(|b| b.len()).sum()
}

/// What all groups are made from.
struct Workshop<'a> {
    program: &'a Program,
    classes: Classes,
    retired: &'a [Folded],
    time: Option<&'a Folded>,
    reporting: Reporting,
    scope: Scope,
    /// Blocks with less are left out.
    least: f64,
    solver: Solver,
}

/// What is known of functions each taken alone.
#[derive(Default)]
struct Alone {
    /// Probability of each arm: function, instruction, instruction it goes to.
    arms: BTreeMap<(FunctionIx, usize, Option<usize>), f64>,
    /// Weight of each block.
    weight: BTreeMap<(FunctionIx, usize), f64>,
}

impl Workshop<'_> {
    fn group(&self, functions: Vec<FunctionIx>) -> Option<Group> {
        let mut alone = Alone::default();
        let sampled = functions.iter().filter(|&&f| self.retired[0].within(f) > 0.0);
        sampled.for_each(|&f| self.look_at(f, &mut alone));
        let hot = hot(self.program, &functions, &alone.weight, self.least);
        let model = self.model(&functions, &|f, b| hot.contains(&(f, b)));
        if model.region.nodes.is_empty() {
            return None;
        }
        let flow = self.conserve(&model, &alone.logits(&model.region))?;
        let rates = model.rates(&flow)?;
        let mut group = Group { functions, model, flow, rates, belief: TIMED, timed: None };
        if group.model.time.is_some() && self.solver.uses_time() {
            group.agree(group.beginning(), 1);
        }
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

    fn model(&self, functions: &[FunctionIx], keep: &dyn Fn(FunctionIx, usize) -> bool) -> Model {
        assemble::model(self.program, &self.classes, functions, self.retired, self.time, self.reporting, keep)
    }

    /// Flow conservation of one function, with all its blocks.
    fn look_at(&self, f: FunctionIx, alone: &mut Alone) {
        let model = self.model(&[f], &|_, _| true);
        let region = &model.region;
        let flow = (region.freedom() <= MOST_FREEDOM)
            .then(|| self.conserve(&model, &model.usual().logits))
            .flatten();
        if let Some(z) = &flow {
            let probabilities = probabilities(region, z);
            for (arm, p) in region.arms.iter().zip(probabilities) {
                alone.arms.insert(key(region, arm), p);
            }
        }
        let rates = flow
            .and_then(|z| Circulation::new(region).rates(region, &z, model.total().max(f64::MIN_POSITIVE)));
        let least = match self.scope {
            Scope::Sampled => HALF * self.retired[0].period,
            Scope::Noticeable => 0.0,
        };
        let cfg = &self.program.functions[f].1.cfg;
        for (b, block) in region.blocks.iter().enumerate() {
            let raw: f64 = model.events[0].weight[block.nodes.clone()].iter().sum();
            let flow = rates.as_ref().map_or(0.0, |r| r.blocks[b] * block.nodes.len() as f64);
            let weight = if flow > least { raw.max(flow) } else { raw };
            alone.weight.insert((f, cfg.block_of(region.nodes[block.nodes.start].inst)), weight);
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
        let relative = |d: &crate::skid::Decision| {
            let first = logit(d.arms.start);
            d.arms.clone().skip(1).map(|a| logit(a) - first).collect::<Vec<_>>()
        };
        region.decisions.iter().flat_map(relative).collect()
    }
}

fn key(region: &Region, arm: &Arm) -> (FunctionIx, usize, Option<usize>) {
    let node = &region.nodes[arm.node];
    (node.function, node.inst, arm.to.map(|b| region.nodes[region.blocks[b].nodes.start].inst))
}
