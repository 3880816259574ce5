//! From folded samples to models: which functions are solved together, and what is known of them.

use std::collections::{BTreeMap, BTreeSet};

use super::classes::Classes;
use super::components::Components;
use super::folded::{Counts, Folded};
use super::fusion;
use super::hold::{Reporting, TimeSamples};
use super::likelihood::{Model, Observation};
use super::outside::Outside;
use super::pace::Paces;
use super::patience::Due;
use super::region::{Arm, ArmKind, Away, Region};
use super::restarts::restarts;
use super::shares::shared;
use crate::code::{FunctionIx, Program};

/// A call of what is called but once tells nothing where one of the two functions has less than this share of the other's
/// samples: what runs once at the start would be solved with what runs all the time.
const NEGLIGIBLE: f64 = 0.01;

/// Where functions that call each other are parted if they are too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Where one of the two has fewest samples.
    Samples,
    /// Where one of the two runs seldomest, as far as samples tell; and a function of few instructions, which leads to a large one, is
    /// not parted from it before the group is a quarter larger than it may be. Functions of six recordings of Go and OCaml are .0858
    /// off instead of .1041 so, those of seven of libraries .0604 instead of .0594.
    Runs,
}

/// A function of so few instructions is not worth a cut.
const SMALL: usize = 60;

/// Groups functions that call each other, strongest ties first, as long as a group has no more than `most` in all. `load` is a
/// function's share of the samples, `size` the number of its instructions that matter.
pub fn groups(
    program: &Program,
    load: &dyn Fn(FunctionIx) -> f64,
    size: &dyn Fn(FunctionIx) -> usize,
    most: usize,
    cut: Cut,
) -> Vec<Vec<FunctionIx>> {
    let mut ties: Vec<(f64, FunctionIx, FunctionIx)> = Vec::new();
    let repeated = repeated(program);
    for call in &program.calls {
        for target in &call.targets {
            let (caller, callee) = (load(call.caller), load(target.function));
            if repeated.contains(&target.function) || caller.min(callee) >= NEGLIGIBLE * caller.max(callee) {
                let runs = |f: FunctionIx, load: f64| load / size(f).max(1) as f64;
                let strength = match cut {
                    Cut::Samples => caller.min(callee),
                    Cut::Runs => runs(call.caller, caller).min(runs(target.function, callee)),
                };
                let strength = strength + target.seen as f64;
                ties.push((strength, call.caller, target.function));
            }
        }
    }
    ties.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
    let mut group: Vec<usize> = (0..program.functions.len()).collect();
    let mut size: Vec<usize> = group.iter().map(|&f| size(f)).collect();
    for (_, a, b) in ties {
        let (a, b) = (group[a], group[b]);
        let (both, small) = (size[a] + size[b], cut == Cut::Runs && size[a].min(size[b]) <= SMALL);
        if a != b && (both <= most || small && both <= most + most / 4) {
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

/// Functions that are called in a loop, that call themselves, and those that these call.
fn repeated(program: &Program) -> BTreeSet<FunctionIx> {
    let mut called = vec![Vec::new(); program.functions.len()];
    for call in &program.calls {
        called[call.caller].extend(call.targets.iter().map(|target| target.function));
    }
    let cycles = Components::along(called).of;
    let mut again = BTreeSet::new();
    for call in &program.calls {
        let looped = program.functions[call.caller].1.repeats(call.inst);
        let callees = call.targets.iter().map(|target| target.function);
        again.extend(callees.filter(|&callee| looped || cycles[callee] == cycles[call.caller]));
    }
    let below = program.below(&again);
    again.into_iter().chain(below).collect()
}

/// What a block counts where it has none of what sets the scale, for each instruction: samples there have slipped to it, but a
/// region without any has to have some scale.
const NEXT_TO_NONE: f64 = 1e-3;

impl Region {
    /// Lets blocks count the first of the events that retire. Where exact samples tell how often code ran, these are of instructions.
    fn count(&mut self, retired: &[Folded]) {
        let counts = retired[0].counts;
        if counts == Counts::Instructions || retired.iter().any(|event| event.exact) {
            return;
        }
        for block in &mut self.blocks {
            let nodes = &self.nodes[block.nodes.clone()];
            let counted = nodes.iter().filter(|node| counts.includes(node)).count();
            block.events = counted as f64 + NEXT_TO_NONE * nodes.len() as f64;
        }
    }
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
    let outside = Outside::of(program, functions, &retired[0]);
    let runs = |f: FunctionIx, b: usize| {
        let function = &program.functions[f].1;
        let block = &function.cfg.blocks[b];
        !function.doomed[b] || retired[0].any(f, block.first..block.end)
    };
    let kept = |f: FunctionIx, b: usize| keep(f, b) && runs(f, b);
    let mut region = Region::within(program, classes, functions, &kept, &outside);
    region.away = away(program, functions, &region, &retired[0]);
    region.count(retired);
    let samples = observation(&region, &retired[0]).of_blocks(&region);
    region.share_logits(&samples);
    let seen = time.unwrap_or(&retired[0]);
    let begins_anew = time.filter(|time| reporting.late && !reporting.patient && !time.exact);
    for node in &mut region.nodes {
        node.fused &= fusion::fuses(program, reporting, node);
        node.stays &= fusion::stays(seen, node);
        let function = &program.functions[node.function].1;
        node.stays |= begins_anew.is_some_and(|time| restarts(function, time, node));
    }
    let events = retired.iter().map(|e| observation(&region, e)).collect();
    let time = time.map(|t| TimeSamples {
        cycles: t.at(&region),
        period: t.period,
        exact: t.exact,
        due: Due::default(),
        landed: None,
    });
    let ideal = vec![1.0 / f64::from(reporting.shape.width); region.nodes.len()];
    let shared = shared(program, &region);
    Model { region, events, time, reporting, ideal, paces: Paces::Alike, choices: None, doubt: 1.0, shared }
}

/// Calls that `region`, of `functions`, steps over, into what `event` was sampled in.
fn away(program: &Program, functions: &[FunctionIx], region: &Region, event: &Folded) -> Vec<Away> {
    let skips = region.arms.iter().enumerate().filter(|(_, arm)| matches!(arm.kind, ArmKind::Skip { .. }));
    let away = |(arm, skip): (usize, &Arm)| {
        let node = &region.nodes[skip.node];
        let targets = &program.site(node.function, node.inst)?.targets;
        let outside = targets.iter().map(|target| target.function).filter(|f| !functions.contains(f));
        let samples = outside.map(|f| event.within(f)).sum::<f64>() / event.period;
        (samples > 0.0).then_some(Away { arm, samples })
    };
    skips.filter_map(away).collect()
}

fn observation(region: &Region, event: &Folded) -> Observation {
    Observation {
        weight: event.at(region),
        period: event.period,
        counts: region.nodes.iter().map(|n| event.counts.includes(n)).collect(),
        exact: event.exact,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Told, explore};

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
        let event = Folded { weight, period: 1.0, counts: Counts::Instructions, exact: false, stray: 0.0 };
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

    #[test]
    fn what_runs_once_is_not_solved_with_what_runs_all_the_time() {
        // 0: call 10; 5: ret — 10: call 20; 15: dec %edi; 17: jne 10; 19: ret — 20: nop; 21: ret — 28: call 28; 2d: ret
        let mut code = vec![0xe8, 0x0b, 0, 0, 0, 0xc3];
        code.resize(0x10, 0xcc);
        code.extend([0xe8, 0x0b, 0, 0, 0, 0xff, 0xcf, 0x75, 0xf7, 0xc3]);
        code.resize(0x20, 0xcc);
        code.extend([0x90, 0xc3]);
        code.resize(0x28, 0xcc);
        code.extend([0xe8, 0xfb, 0xff, 0xff, 0xff, 0xc3]);
        let source = Bytes(0, code);
        let ranges = [0..6, 0x10..0x1a, 0x20..0x22, 0x28..0x2e];
        let functions = ranges.map(|r| (0, explore(&source, r, &[])));
        let program = Program::link(functions.into(), &NoStubs, &Told::default());
        assert_eq!(repeated(&program), BTreeSet::from([2, 3]));
        let groups =
            |first: f64| groups(&program, &|f| [first, 0.9, 0.001, 0.0][f], &|_| 1, 1000, Cut::Samples);
        assert_eq!(groups(0.001), [vec![0], vec![1, 2], vec![3]]);
        assert_eq!(groups(0.1), [vec![0, 1, 2], vec![3]]);
    }

    #[test]
    fn a_function_of_few_instructions_stays_with_what_it_calls_most() {
        // 0: call 10; jmp 0 — 10: call 20; ret — 20: call 30; jmp 20 — 30: ret
        let mut code = vec![0xe8, 0x0b, 0, 0, 0, 0xeb, 0xf9];
        code.resize(0x10, 0xcc);
        code.extend([0xe8, 0x0b, 0, 0, 0, 0xc3]);
        code.resize(0x20, 0xcc);
        code.extend([0xe8, 0x0b, 0, 0, 0, 0xeb, 0xf9]);
        code.resize(0x30, 0xcc);
        code.push(0xc3);
        let source = Bytes(0, code);
        let ranges = [0..7, 0x10..0x16, 0x20..0x27, 0x30..0x31];
        let functions = ranges.map(|range| (0, explore(&source, range, &[])));
        let program = Program::link(functions.into(), &NoStubs, &Told::default());
        let load = |f| [0.3, 0.01, 0.3, 0.3][f];
        let groups = |sizes: [usize; 4], cut| groups(&program, &load, &|f| sizes[f], 1000, cut);
        // by samples the second is tied least, by how often it runs as much as any
        assert_eq!(groups([500, 10, 490, 505], Cut::Samples), [vec![0, 1], vec![2, 3]]);
        assert_eq!(groups([500, 10, 490, 505], Cut::Runs), [vec![0, 1, 2], vec![3]]);
        // small ones may have more room, but not much more
        assert_eq!(groups([990, 20, 2000, 10], Cut::Samples), [vec![0], vec![1], vec![2], vec![3]]);
        assert_eq!(groups([990, 20, 2000, 10], Cut::Runs), [vec![0, 1], vec![2], vec![3]]);
    }

    fn program(code: Vec<u8>) -> Program {
        let range = 0..code.len() as u64;
        Program::link(vec![(0, explore(&Bytes(0, code), range, &[]))], &NoStubs, &Told::default())
    }

    #[test]
    fn executions_sum_to_what_the_first_event_counts() {
        // 0: je 4; 2: nop; 3: nop; 4: dec %edi; 6: jne 0; 8: ret
        let program = program(vec![0x74, 0x02, 0x90, 0x90, 0xff, 0xcf, 0x75, 0xf8, 0xc3]);
        let sums = |counts: Counts| {
            let weight = (0..6).map(|inst| ((0, inst), 100.0)).collect();
            let event = Folded { weight, period: 1.0, counts, exact: false, stray: 0.0 };
            let (classes, reporting) = (Classes::of(&program), Reporting::default());
            let model = model(&program, &classes, &[0], &[event], None, reporting, &|_, _| true);
            let rates = model.rates(&vec![0.0; model.region.freedom()]).expect("a flow");
            [Counts::Instructions, Counts::Transfers].map(|counts| {
                let nodes = model.region.nodes.iter().filter(|n| counts.includes(n));
                nodes.map(|n| rates.blocks[n.block]).sum::<f64>()
            })
        };
        assert!((sums(Counts::Instructions)[0] - 600.0).abs() < 1e-6);
        assert!(
            (sums(Counts::Transfers)[1] - 600.0).abs() < 2.0,
            "not the instructions: {:?}",
            sums(Counts::Transfers)
        );
        // nothing here loads, and yet there is a flow
        assert!(sums(Counts::Loads).iter().all(|sum| sum.is_finite()));
    }

    #[test]
    fn a_trap_that_was_not_sampled_does_not_run() {
        // 0: je 3; 2: hlt; 3: ret
        let program = program(vec![0x74, 1, 0xf4, 0xc3]);
        let blocks = |sampled: &[usize]| {
            let weight = sampled.iter().map(|&inst| ((0, inst), 100.0)).collect();
            let event =
                Folded { weight, period: 1.0, counts: Counts::Instructions, exact: false, stray: 0.0 };
            let (classes, reporting) = (Classes::of(&program), Reporting::default());
            model(&program, &classes, &[0], &[event], None, reporting, &|_, _| true).region.blocks.len()
        };
        assert_eq!((blocks(&[0]), blocks(&[0, 1])), (2, 3));
    }
}
