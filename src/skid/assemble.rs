//! From folded samples to models: which functions are solved together, and which of their blocks matter.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::classes::Classes;
use super::folded::Folded;
use super::hold::{Reporting, TimeSamples};
use super::likelihood::{Model, Observation};
use super::region::Region;
use super::reporting;
use super::shares::shared;
use crate::code::{CallSite, Cfg, Exit, FunctionIx, Program};

/// Blocks with less of all samples are left out.
const LEAST_SHARE: f64 = 2e-4;
/// Blocks of a way without samples that is kept, at most.
const SIDE_BLOCKS: usize = 2;
/// Instructions in one of them, at most.
const SIDE_LENGTH: usize = 12;
/// A region takes in no further function beyond so many instructions in sampled blocks. Block distance and seconds, flow and time
/// alone, over recordings of five real programs (jq, lua, mawk, sqlite, svm-train): 400 gives .181 and 15, 800 .179 and 34, 1500
/// more than a minute; all instructions counted, 3000 of them, .191 and 18.
const LARGEST_REGION: usize = 600;

/// Groups functions that call each other, strongest ties first, as long as a group stays small enough to solve. `load` is a
/// function's share of the samples, `size` the number of its instructions that matter.
pub fn groups(
    program: &Program,
    load: &dyn Fn(FunctionIx) -> f64,
    size: &dyn Fn(FunctionIx) -> usize,
) -> Vec<Vec<FunctionIx>> {
    let mut ties: Vec<(f64, FunctionIx, FunctionIx)> = Vec::new();
    for call in &program.calls {
        for target in &call.targets {
            let strength = load(call.caller).min(load(target.function)) + target.seen as f64;
            ties.push((strength, call.caller, target.function));
        }
    }
    ties.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
    let mut group: Vec<usize> = (0..program.functions.len()).collect();
    let mut size: Vec<usize> = group.iter().map(|&f| size(f)).collect();
    for (_, a, b) in ties {
        let (a, b) = (group[a], group[b]);
        if a != b && size[a] + size[b] <= LARGEST_REGION {
            group.iter_mut().filter(|g| **g == b).for_each(|g| *g = a);
            size[a] += size[b];
        }
    }
    let mut groups: BTreeMap<usize, Vec<FunctionIx>> = BTreeMap::new();
    for (f, &g) in group.iter().enumerate() {
        groups.entry(g).or_default().push(f);
    }
    groups.into_values().collect()
}

/// The model of `functions`, of the blocks that `keep` wants. What ends the process, or throws, is not expected to run if it has
/// no samples: branches that may lead there go the other way.
pub fn model(
    program: &Program,
    classes: &Classes,
    functions: &[FunctionIx],
    retired: &[Folded],
    time: Option<&Folded>,
    reporting: Reporting,
    keep: &dyn Fn(FunctionIx, usize) -> bool,
) -> Model {
    let fed = fed(program, functions, &retired[0]);
    let runs = |f: FunctionIx, b: usize| {
        let function = &program.functions[f].1;
        let block = &function.cfg.blocks[b];
        !function.doomed[b] || retired[0].any(f, block.first..block.end)
    };
    let kept = |f: FunctionIx, b: usize| keep(f, b) && runs(f, b);
    let mut region = Region::fed(program, classes, functions, &kept, &fed);
    region.nodes.iter_mut().for_each(|n| n.fused &= reporting::fuses(program, reporting, n));
    let events = retired.iter().map(|e| observation(&region, e)).collect();
    let time = time.map(|t| TimeSamples { cycles: t.at(&region), period: t.period, exact: t.exact });
    let ideal = vec![1.0 / f64::from(reporting.shape.width); region.nodes.len()];
    let shared = shared(program, &region);
    Model { region, events, time, reporting, ideal, shared }
}

/// Those of `functions` that sampled code calls which is not among them.
fn fed(program: &Program, functions: &[FunctionIx], event: &Folded) -> BTreeSet<FunctionIx> {
    let own: BTreeSet<FunctionIx> = functions.iter().copied().collect();
    let sampled = |call: &CallSite| {
        let cfg = &program.functions[call.caller].1.cfg;
        let block = &cfg.blocks[cfg.block_of(call.inst)];
        event.any(call.caller, block.first..block.end)
    };
    let outer = program.calls.iter().filter(|call| !own.contains(&call.caller));
    let into = outer.flat_map(|call| call.targets.iter().map(move |target| (call, target.function)));
    into.filter(|(call, f)| own.contains(f) && sampled(call)).map(|(_, f)| f).collect()
}

fn observation(region: &Region, event: &Folded) -> Observation {
    Observation {
        weight: event.at(region),
        period: event.period,
        counts: region.nodes.iter().map(|n| event.counts.includes(n)).collect(),
        exact: event.exact,
    }
}

/// Blocks of `functions` worth keeping: those that hold a noticeable share of `total` by `load` (function, block), and what
/// leads to them.
pub fn hot(
    program: &Program,
    functions: &[FunctionIx],
    load: &BTreeMap<(FunctionIx, usize), f64>,
    total: f64,
) -> BTreeSet<(FunctionIx, usize)> {
    let mut hot: BTreeSet<(FunctionIx, usize)> =
        load.iter().filter(|(_, l)| **l > LEAST_SHARE * total).map(|(at, _)| *at).collect();
    // a function without samples of its own may still lead from one hot function to another
    let own: BTreeSet<FunctionIx> = hot.iter().map(|h| h.0).collect();
    let below = closure(program, &own, |c, t| (c, t));
    let above = closure(program, &own, |c, t| (t, c));
    let reached: BTreeSet<FunctionIx> = functions
        .iter()
        .copied()
        .filter(|f| own.contains(f) || (below.contains(f) && above.contains(f)))
        .collect();
    hot.extend(reached.iter().map(|&f| (f, 0)));
    for call in program.calls.iter().filter(|c| reached.contains(&c.caller)) {
        if call.targets.iter().any(|t| reached.contains(&t.function)) {
            hot.insert((call.caller, program.functions[call.caller].1.cfg.block_of(call.inst)));
        }
    }
    for &f in &reached {
        end_recursion(program, f, &mut hot);
    }
    add_side_arms(program, &mut hot);
    for (f, block) in hot.clone() {
        let dominators = &program.functions[f].1.dominators;
        let mut above = dominators.parent(block);
        while let Some(b) = above.filter(|&b| hot.insert((f, b))) {
            above = dominators.parent(b);
        }
    }
    for &f in &reached {
        open_ways_out(program, f, &mut hot);
    }
    hot
}

/// Adds short ways that leave hot code and come back to it: they may run often in the shadow of a slow instruction without
/// ever holding a sample.
fn add_side_arms(program: &Program, hot: &mut BTreeSet<(FunctionIx, usize)>) {
    let functions: BTreeSet<FunctionIx> = hot.iter().map(|h| h.0).collect();
    for f in functions {
        let function = &program.functions[f].1;
        let near = |from: &dyn Fn(usize) -> Vec<usize>,
                    hot: &BTreeSet<(FunctionIx, usize)>|
         -> BTreeMap<usize, usize> {
            let mut distance: BTreeMap<usize, usize> =
                hot.range((f, 0)..(f + 1, 0)).map(|h| (h.1, 0)).collect();
            for step in 1..=SIDE_BLOCKS {
                let edge: Vec<usize> = distance.iter().filter(|d| *d.1 + 1 == step).map(|d| *d.0).collect();
                for next in edge.into_iter().flat_map(from) {
                    if shadowed(program, f, next) {
                        distance.entry(next).or_insert(step);
                    }
                }
            }
            distance
        };
        let after = near(&|b| function.cfg.successors(b).map(|e| e.to).collect(), hot);
        let predecessors = function.cfg.predecessors();
        let before = near(&|b| predecessors[b].clone(), hot);
        for (block, ahead) in after {
            if before.get(&block).is_some_and(|behind| ahead + behind <= SIDE_BLOCKS + 1) {
                hot.insert((f, block));
            }
        }
    }
}

/// Whether a block may run without being waited for: it is short and calls nothing.
fn shadowed(program: &Program, f: FunctionIx, block: usize) -> bool {
    let block = &program.functions[f].1.cfg.blocks[block];
    block.end - block.first <= SIDE_LENGTH && (block.first..block.end).all(|i| program.site(f, i).is_none())
}

/// Adds the shortest way to a return wherever the kept blocks of a function have none: a loop that can't be left would run
/// for ever.
fn open_ways_out(program: &Program, f: FunctionIx, hot: &mut BTreeSet<(FunctionIx, usize)>) {
    let cfg = &program.functions[f].1.cfg;
    let kept: Vec<usize> = hot.range((f, 0)..(f + 1, 0)).map(|h| h.1).collect();
    for block in kept {
        let way = way_out(cfg, block, &|b| hot.contains(&(f, b)), &|_| true);
        hot.extend(way.into_iter().map(|b| (f, b)));
    }
}

/// Adds the shortest way through a function that calls itself on which it does not: what ends a recursion may be rare, but
/// without it there is no flow.
fn end_recursion(program: &Program, f: FunctionIx, hot: &mut BTreeSet<(FunctionIx, usize)>) {
    let cfg = &program.functions[f].1.cfg;
    let again = |call: &&CallSite| call.caller == f && call.targets.iter().any(|t| t.function == f);
    let calls: BTreeSet<usize> = program.calls.iter().filter(again).map(|c| cfg.block_of(c.inst)).collect();
    if !calls.is_empty() {
        let way = way_out(cfg, 0, &|b| hot.contains(&(f, b)), &|b| !calls.contains(&b));
        hot.extend(way.into_iter().map(|b| (f, b)));
    }
}

/// Blocks on the shortest way from block `from` to where the function is left, through blocks that `may` be on it; those that
/// are `kept` already are no way at all.
fn way_out(cfg: &Cfg, from: usize, kept: &dyn Fn(usize) -> bool, may: &dyn Fn(usize) -> bool) -> Vec<usize> {
    let mut came: BTreeMap<usize, usize> = BTreeMap::new();
    let mut queue = VecDeque::from([from]);
    let leaves = |b: usize| !matches!(cfg.blocks[b].exit, Exit::None | Exit::Stop);
    while let Some(at) = queue.pop_front().filter(|_| may(from)) {
        if leaves(at) {
            return std::iter::successors(Some(at), |b| came.get(b).copied()).collect();
        }
        for edge in cfg.successors(at).filter(|edge| may(edge.to)) {
            if edge.to != from && !came.contains_key(&edge.to) {
                came.insert(edge.to, at);
                if kept(edge.to) { queue.push_front(edge.to) } else { queue.push_back(edge.to) }
            }
        }
    }
    Vec::new()
}

/// All functions that calls lead to from `from`, where `along` gives (from, to) of a call's caller and target.
fn closure(
    program: &Program,
    from: &BTreeSet<FunctionIx>,
    along: impl Fn(FunctionIx, FunctionIx) -> (FunctionIx, FunctionIx),
) -> BTreeSet<FunctionIx> {
    let mut found = BTreeSet::new();
    let mut work: Vec<FunctionIx> = from.iter().copied().collect();
    let mut next: BTreeMap<FunctionIx, Vec<FunctionIx>> = BTreeMap::new();
    for call in &program.calls {
        for target in &call.targets {
            let (a, b) = along(call.caller, target.function);
            next.entry(a).or_default().push(b);
        }
    }
    while let Some(f) = work.pop() {
        for &to in next.get(&f).into_iter().flatten() {
            if found.insert(to) {
                work.push(to);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Told, explore};
    use crate::skid::folded::Counts;

    /// Two loops that call the same function; samples in both of them, or in the first alone.
    fn model_of(sampled: &[FunctionIx]) -> Model {
        // 0: call 20; 5: dec %edi; 7: jne 0; 9: ret — the same at 10 — 20: nop; 21: ret
        let mut code = vec![0xe8, 0x1b, 0, 0, 0, 0xff, 0xcf, 0x75, 0xf7, 0xc3];
        code.resize(0x10, 0xcc);
        code.extend([0xe8, 0x0b, 0, 0, 0, 0xff, 0xcf, 0x75, 0xf7, 0xc3]);
        code.resize(0x20, 0xcc);
        code.extend([0x90, 0xc3]);
        let source = Bytes(0, code);
        let functions = [0..0xa, 0x10..0x1a, 0x20..0x22].map(|r| (0, explore(&source, r, &[])));
        let program = Program::link(functions.into(), &NoStubs, &Told::default());
        let weight = sampled.iter().map(|&f| ((f, 0), 100.0)).collect();
        let event = Folded { weight, period: 1.0, counts: Counts::Instructions, exact: false };
        let classes = Classes::of(&program);
        model(&program, &classes, &[0, 2], &[event], None, Reporting::default(), &|_, _| true)
    }

    #[test]
    fn a_function_that_sampled_code_elsewhere_calls_has_a_rate_of_its_own() {
        let entry = |model: &Model| model.region.blocks.iter().position(|b| b.function == 2);
        let own = |model: &Model| model.region.roots.contains(&entry(model).expect("its block"));
        assert!(own(&model_of(&[0, 1, 2])));
        assert!(!own(&model_of(&[0, 2])), "nobody calls it from there");
    }

    fn program(code: Vec<u8>) -> Program {
        let range = 0..code.len() as u64;
        Program::link(vec![(0, explore(&Bytes(0, code), range, &[]))], &NoStubs, &Told::default())
    }

    #[test]
    fn a_trap_that_was_not_sampled_does_not_run() {
        // 0: je 3; 2: hlt; 3: ret
        let program = program(vec![0x74, 1, 0xf4, 0xc3]);
        let blocks = |sampled: &[usize]| {
            let weight = sampled.iter().map(|&inst| ((0, inst), 100.0)).collect();
            let event = Folded { weight, period: 1.0, counts: Counts::Instructions, exact: false };
            let (classes, reporting) = (Classes::of(&program), Reporting::default());
            model(&program, &classes, &[0], &[event], None, reporting, &|_, _| true).region.blocks.len()
        };
        assert_eq!((blocks(&[0]), blocks(&[0, 1])), (2, 3));
    }

    #[test]
    fn of_what_ends_a_recursion_the_shortest_way_is_kept() {
        // 0: je 8; 2: call 0; 7: ret; 8: je 17; a: 13 nops; 17: ret
        let mut code = vec![0x74, 6, 0xe8, 0xf9, 0xff, 0xff, 0xff, 0xc3, 0x74, 13];
        code.extend([0x90; 13]);
        code.push(0xc3);
        let program = program(code);
        let load = BTreeMap::from([((0, 1), 1.0)]);
        let hot: Vec<usize> = hot(&program, &[0], &load, 1.0).into_iter().map(|(_, block)| block).collect();
        assert_eq!(hot, [0, 1, 2, 4], "all but the nops");
    }
}
