//! Which blocks of sampled functions matter.
//!
//! In: linked functions, and what each of their blocks holds. Out: the blocks that hold a noticeable share, what leads to them, and
//! what lets control go on: short ways beside them, ways back to the headers of loops, ways to a return, ends of recursions. It does not know how often
//! anything runs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::code::{CallSite, Cfg, Function, FunctionIx, Program, closure};

/// Of all samples, less is not noticeable …
const LEAST_SHARE: f64 = 2e-4;
/// … unless it is as many: of a long recording much is in code that has little. With 4, functions are .0158 off instead of .0162
/// over 44 recordings of up to 50,000 samples, blocks .0487 instead of .0490, for half as much time again.
const LEAST_SAMPLES: f64 = 10.0;
/// Blocks of a way without samples that is kept, at most.
const SIDE_BLOCKS: usize = 2;
/// Instructions in one of them, at most.
const SIDE_LENGTH: usize = 12;

/// Which code is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// What holds a noticeable share of an event, or noticeably many of its samples.
    Noticeable,
    /// Whatever has samples.
    Sampled,
}

impl Scope {
    /// The weight from which on code is looked at, of an event that has so much in `total` and this mean `period`; samples of
    /// some that are recorded at a frequency weigh much less than that.
    pub fn least(self, total: f64, period: f64) -> f64 {
        match self {
            Scope::Noticeable => (LEAST_SHARE * total).min(LEAST_SAMPLES * period),
            Scope::Sampled => f64::MIN_POSITIVE,
        }
    }
}

/// Which calls of what is kept are kept.
#[derive(Clone, Copy, Debug)]
pub enum Calls<'a> {
    /// All.
    All,
    /// In functions that hold something those whose blocks would hold enough if they ran as often as is told here, in others all.
    Loaded(&'a BTreeMap<(FunctionIx, usize), f64>),
}

/// Blocks of `functions` worth keeping: those that hold more than `least` by `load` (function, block), and what leads to them.
pub fn hot(
    program: &Program,
    functions: &[FunctionIx],
    load: &BTreeMap<(FunctionIx, usize), f64>,
    least: f64,
    calls: Calls<'_>,
) -> BTreeSet<(FunctionIx, usize)> {
    let loaded: BTreeSet<(FunctionIx, usize)> =
        load.iter().filter(|(_, l)| **l > least).map(|(at, _)| *at).collect();
    let own: BTreeSet<FunctionIx> = loaded.iter().map(|h| h.0).collect();
    let mut hot = loaded.clone();
    let reached = reached(program, functions, &own);
    hot.extend(reached.iter().map(|&f| (f, 0)));
    for call in reached.iter().flat_map(|&f| program.calls_in(f)) {
        let at = (call.caller, program.functions[call.caller].1.cfg.block_of(call.inst));
        let wanted = match calls {
            Calls::Loaded(expected) if own.contains(&call.caller) => expected.get(&at) > Some(&least),
            _ => true,
        };
        if wanted && call.targets.iter().any(|t| reached.contains(&t.function)) {
            hot.insert(at);
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
    for &f in &own {
        let loaded: Vec<usize> = loaded.range((f, 0)..(f + 1, 0)).map(|at| at.1).collect();
        go_round(program, f, &loaded, &mut hot);
    }
    hot
}

/// Those of `functions` that are hot on their `own`, and those that lead from one hot function to another.
fn reached(program: &Program, functions: &[FunctionIx], own: &BTreeSet<FunctionIx>) -> BTreeSet<FunctionIx> {
    if functions.iter().all(|f| own.contains(f)) {
        return own.clone();
    }
    let (below, above) = (program.below(own), program.above(own));
    let between = |f: &FunctionIx| below.contains(f) && above.contains(f);
    let wanted = |f: &FunctionIx| own.contains(f) || between(f) || repeats(program, *f, own);
    functions.iter().copied().filter(wanted).collect()
}

/// Whether function `f` calls one of `called` in a loop: it then runs as often, whether it is waited for or not.
fn repeats(program: &Program, f: FunctionIx, called: &BTreeSet<FunctionIx>) -> bool {
    let calls = program.calls_in(f).iter().filter(|call| program.functions[f].1.repeats(call.inst));
    calls.flat_map(|call| &call.targets).any(|target| called.contains(&target.function))
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
        let way = way(cfg, block, &leaves(cfg), &|b| hot.contains(&(f, b)), &|_| true);
        hot.extend(way.into_iter().map(|b| (f, b)));
    }
}

/// Adds the shortest way through a function that calls itself on which it does not: what ends a recursion may be rare, but
/// without it there is no flow.
fn end_recursion(program: &Program, f: FunctionIx, hot: &mut BTreeSet<(FunctionIx, usize)>) {
    let cfg = &program.functions[f].1.cfg;
    let again = |call: &&CallSite| call.targets.iter().any(|t| t.function == f);
    let own = program.calls_in(f).iter().filter(again);
    let calls: BTreeSet<usize> = own.map(|c| cfg.block_of(c.inst)).collect();
    if !calls.is_empty() {
        let way = way(cfg, 0, &leaves(cfg), &|b| hot.contains(&(f, b)), &|b| !calls.contains(&b));
        hot.extend(way.into_iter().map(|b| (f, b)));
    }
}

/// Adds the shortest ways back to the headers of the loops around blocks that are hot on their `own`: a loop that cannot go round
/// would run what is in it as often as what is before it.
fn go_round(program: &Program, f: FunctionIx, own: &[usize], hot: &mut BTreeSet<(FunctionIx, usize)>) {
    let Function { cfg, loops, .. } = &program.functions[f].1;
    let predecessors = cfg.predecessors();
    for around in loops.all.iter().rev() {
        let inside = |b: usize| loops.holds(around, b);
        let turns = |b: usize| cfg.successors(b).any(|edge| edge.to == around.header);
        let mut back = BTreeSet::new();
        for &block in own.iter().filter(|&&b| inside(b)) {
            if back.is_empty() {
                let kept = |&b: &usize| inside(b) && hot.contains(&(f, b));
                back = closure(&BTreeSet::from([around.header]), |b| {
                    predecessors[b].iter().copied().filter(kept)
                });
            }
            if !back.contains(&block) {
                let way = way(cfg, block, &turns, &|b| hot.contains(&(f, b)), &inside);
                hot.extend(way.into_iter().map(|b| (f, b)));
                back.clear();
            }
        }
    }
}

/// Whether control leaves the function from a block.
fn leaves(cfg: &Cfg) -> impl Fn(usize) -> bool {
    |block| cfg.blocks[block].exit.leaves()
}

/// Blocks on the shortest way from block `from` to one that is a `goal`, through blocks that `may` be on it; those that are
/// `kept` already are no way at all.
fn way(
    cfg: &Cfg,
    from: usize,
    goal: &dyn Fn(usize) -> bool,
    kept: &dyn Fn(usize) -> bool,
    may: &dyn Fn(usize) -> bool,
) -> Vec<usize> {
    let mut came: BTreeMap<usize, usize> = BTreeMap::new();
    let mut queue: VecDeque<usize> = may(from).then_some(from).into_iter().collect();
    while let Some(at) = queue.pop_front() {
        if goal(at) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Told, explore};

    #[test]
    fn what_is_noticeable_is_a_share_of_few_samples_and_a_number_of_many() {
        let least = |samples: f64| Scope::Noticeable.least(7.0 * samples, 7.0) / 7.0;
        assert!((least(1000.0) - 0.2).abs() < 1e-12 && (least(1e6) - 10.0).abs() < 1e-12);
        assert!(Scope::Sampled.least(7e6, 7.0) < 1.0, "less than any sample weighs");
    }

    #[test]
    fn of_what_ends_a_recursion_the_shortest_way_is_kept() {
        // 0: je 8; 2: call 0; 7: ret; 8: je 17; a: 13 nops; 17: ret
        let mut code = vec![0x74, 6, 0xe8, 0xf9, 0xff, 0xff, 0xff, 0xc3, 0x74, 13];
        code.extend([0x90; 13]);
        code.push(0xc3);
        let range = 0..code.len() as u64;
        let functions = vec![(0, explore(&Bytes(0, code), range, &[]))];
        let program = Program::link(functions, &NoStubs, &Told::default());
        let load = BTreeMap::from([((0, 1), 1.0)]);
        let hot: Vec<usize> =
            hot(&program, &[0], &load, 0.0, Calls::All).into_iter().map(|(_, block)| block).collect();
        assert_eq!(hot, [0, 1, 2, 4], "all but the nops");
    }

    #[test]
    fn a_loop_that_only_calls_is_kept_without_samples_and_a_call_that_is_made_once_is_not() {
        // 0: call 10; 5: dec %edi; 7: jne 0; 9: ret — at 10: nop; ret — at 18: call 10; ret
        let mut code = vec![0xe8, 0x0b, 0, 0, 0, 0xff, 0xcf, 0x75, 0xf7, 0xc3];
        code.resize(0x10, 0xcc);
        code.extend([0x90, 0xc3]);
        code.resize(0x18, 0xcc);
        code.extend([0xe8, 0xf3, 0xff, 0xff, 0xff, 0xc3]);
        let source = Bytes(0, code);
        let functions = [0..0xa, 0x10..0x12, 0x18..0x1e].map(|r| (0, explore(&source, r, &[])));
        let program = Program::link(functions.into(), &NoStubs, &Told::default());
        let load = BTreeMap::from([((1, 0), 1.0)]);
        let hot: BTreeSet<FunctionIx> =
            hot(&program, &[0, 1, 2], &load, 0.0, Calls::All).into_iter().map(|h| h.0).collect();
        assert_eq!(hot, BTreeSet::from([0, 1]));
    }

    #[test]
    fn the_way_back_of_a_loop_around_hot_code_is_kept_without_samples() {
        // 0: nop; 1: dec %ecx; 3: jne 1; 5: dec %edi; 7: je d; 9: nop; a: nop; b: jmp 0; d: ret
        let code = vec![0x90, 0xff, 0xc9, 0x75, 0xfc, 0xff, 0xcf, 0x74, 4, 0x90, 0x90, 0xeb, 0xf3, 0xc3];
        let range = 0..code.len() as u64;
        let functions = vec![(0, explore(&Bytes(0, code), range, &[]))];
        let program = Program::link(functions, &NoStubs, &Told::default());
        let of = |block| hot(&program, &[0], &BTreeMap::from([((0, block), 1.0)]), 0.0, Calls::All);
        let blocks = |hot: BTreeSet<(FunctionIx, usize)>| hot.into_iter().map(|h| h.1).collect::<Vec<_>>();
        assert_eq!(blocks(of(1)), [0, 1, 2, 3, 4]);
        assert_eq!(blocks(of(4)), [0, 1, 2, 4], "what is behind the loop runs once");
    }

    #[test]
    fn of_much_code_only_calls_are_kept_that_hold_something() {
        // 0: je 7; 2: call 10; 7: dec %edi; 9: jne 0; b: ret — at 10: nop; ret
        let mut code = vec![0x74, 5, 0xe8, 0x09, 0, 0, 0, 0xff, 0xcf, 0x75, 0xf5, 0xc3];
        code.resize(0x10, 0xcc);
        code.extend([0x90, 0xc3]);
        let source = Bytes(0, code);
        let functions = [0..0xc, 0x10..0x12].map(|r| (0, explore(&source, r, &[])));
        let program = Program::link(functions.into(), &NoStubs, &Told::default());
        let [much, little] = [2.0, 0.5].map(|call| BTreeMap::from([((0, 1), call)]));
        let load = BTreeMap::from([((0, 1), 0.0), ((0, 2), 5.0), ((1, 0), 5.0)]);
        let called = |calls| hot(&program, &[0, 1], &load, 1.0, calls).contains(&(0, 1));
        assert!(called(Calls::All) && called(Calls::Loaded(&much)));
        assert!(!called(Calls::Loaded(&little)));
    }
}
