//! How likely each instruction is to have caused an event, before its samples are looked at.
//!
//! What can't happen gets none: a load miss without a load. What is known of the rest: an operand that stays in one place
//! stays in the caches, what lies beside another comes with it, data that is missing is waited for, and a branch that goes one way
//! nearly always is predicted. What each of these is worth: docs/refuted.md, "Misses".

use std::collections::BTreeMap;

use crate::code::{FunctionIx, Operand, Program, Stride, operands};
use crate::skid::folded::Counts;
use crate::skid::{Holds, Model, Node, Rates};

/// An instruction waited for so long misses every other time, cycles: a hit of the second level.
const MISS: f64 = 10.0;
/// Even what is not waited for may miss.
const LEAST_EXPOSURE: f64 = 0.001;
/// An operand that does not move misses so much less often than one that goes anywhere.
const STAYS: f64 = 0.01;
/// New memory may be fetched ahead, so that its misses are hardly waited for: its exposure is this at least.
const STREAMS: f64 = 0.2;
/// Even a branch that has always gone one way may be mispredicted.
const LEAST_SURPRISE: f64 = 0.002;
/// The first use of a load's result is looked for among so many instructions.
const NEAR: usize = 8;

/// Expected events per node of `model`, up to a factor, of an event that instructions of this kind may cause, if the code ran at
/// `rates` and nodes held the head for as long as `holds` has it. `span` is how many bytes come with one miss: a line, or a page.
pub fn suspicion(
    program: &Program,
    model: &Model,
    rates: &Rates,
    holds: &Holds,
    causes: Counts,
    span: u64,
) -> Vec<f64> {
    let nodes = &model.region.nodes;
    let chances = match causes {
        Counts::Predicted => surprises(model, rates),
        Counts::Loads | Counts::Stores | Counts::Memory => misses(program, model, holds, causes, span),
        Counts::Instructions | Counts::Transfers => vec![1.0; nodes.len()],
    };
    let expected = |(node, chance): (&Node, f64)| {
        if causes.includes(node) { chance * rates.blocks[node.block] } else { 0.0 }
    };
    nodes.iter().zip(chances).map(expected).collect()
}

/// Probability that each node that may cause a miss does.
fn misses(program: &Program, model: &Model, holds: &Holds, causes: Counts, span: u64) -> Vec<f64> {
    let mut known: BTreeMap<FunctionIx, Vec<Operand>> = BTreeMap::new();
    let chance = |(i, node): (usize, &Node)| {
        if !causes.includes(node) {
            return 0.0;
        }
        let operands =
            known.entry(node.function).or_insert_with(|| operands(&program.functions[node.function].1));
        missing(operands[node.inst], span, exposure(program, model, holds, i))
    };
    model.region.nodes.iter().enumerate().map(chance).collect()
}

/// Probability of a miss. An operand that walks through memory misses when it comes to a new line or page; of one that goes
/// anywhere only the `exposure` tells. What stands beside another comes with that, unless a line ends between the two.
fn missing(operand: Operand, span: u64, exposure: f64) -> f64 {
    let part = |bytes: u64| (bytes as f64 / span as f64).clamp(STAYS, 1.0);
    let alone = match operand.stride {
        Stride::Fixed => STAYS * exposure,
        Stride::By(step) => part(step) * exposure.max(STREAMS),
        Stride::Unknown => exposure,
    };
    alone * operand.beside.map_or(1.0, part)
}

/// Probability that each node goes where it was not expected to.
fn surprises(model: &Model, rates: &Rates) -> Vec<f64> {
    let mut surprises = vec![LEAST_SURPRISE; model.region.nodes.len()];
    for ((arm, p), risk) in model.region.arms.iter().zip(&rates.arms).zip(model.risks(rates)) {
        surprises[arm.node] += p * risk;
    }
    surprises
}

/// Probability of a miss by how much longer an instruction is waited for than if nothing missed. On a core that issues in order it is
/// the first use of the result that is.
fn exposure(program: &Program, model: &Model, holds: &Holds, i: usize) -> f64 {
    let region = &model.region;
    let node = &region.nodes[i];
    let insts = &program.functions[node.function].1.insts;
    let end = region.blocks[node.block].nodes.end.min(i + 1 + NEAR);
    let uses = |&j: &usize| !insts[region.nodes[j].inst].reads.and(insts[node.inst].writes).is_empty();
    let beyond = |node: usize| (holds.mean[node] - model.ideal[node]).max(0.0);
    let waited = beyond(i) + (i + 1..end).find(uses).map_or(0.0, beyond);
    (waited / (waited + MISS)).max(LEAST_EXPOSURE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::explore;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::skid::classes::Classes;
    use crate::skid::folded::Folded;
    use crate::skid::hold::Reporting;
    use crate::skid::{Circulation, assemble};

    /// `0: mov -8(%rsp),%eax; mov (%rsi,%rcx,4),%edx; mov (%rdi),%rdi; dec %rcx; jne 0; ret`, the loop taken 3 times in 4.
    fn of(causes: Counts, holds: [f64; 6]) -> Vec<f64> {
        let code = vec![
            0x8b, 0x44, 0x24, 0xf8, 0x8b, 0x14, 0x8e, 0x48, 0x8b, 0x3f, 0x48, 0xff, 0xc9, 0x75, 0xf1, 0xc3,
        ];
        let function = explore(&Bytes(0, code), 0..16, &[]);
        let program = Program::link(vec![(0, function)], &NoStubs, &crate::code::Told::default());
        let retired = Folded {
            weight: [((0, 0), 1.0)].into(),
            period: 1.0,
            counts: Counts::Instructions,
            exact: false,
            stray: 0.0,
        };
        let (classes, reporting) = (Classes::of(&program), Reporting::default());
        let mut model = assemble::model(&program, &classes, &[0], &[retired], None, reporting, &|_, _| true);
        model.ideal = vec![1.0; 6];
        let rates = Circulation::new(&model.region).rates(&model.region, &[3f64.ln()], 100.0).expect("flows");
        let holds = Holds { mean: holds.into(), ..Holds::default() };
        suspicion(&program, &model, &rates, &holds, causes, 64)
    }

    #[test]
    fn what_loads_elsewhere_each_time_and_is_waited_for_misses() {
        let even = of(Counts::Loads, [5.0; 6]);
        assert!(even[0] < even[1] && even[1] < even[2], "a slot, an array, a list: {even:?}");
        assert_eq!(even[3..5], [0.0, 0.0], "no load, no miss");
        let waited = of(Counts::Loads, [1.0, 20.0, 0.0, 1.0, 1.0, 1.0]);
        assert!(waited[1] > waited[2], "{waited:?}");
    }

    #[test]
    fn what_stands_beside_another_comes_with_it() {
        let chance = |beside, span| missing(Operand { stride: Stride::Unknown, beside }, span, 0.5);
        assert!((chance(None, 64) - 0.5).abs() < 1e-9);
        assert!((chance(Some(16), 64) - 0.125).abs() < 1e-9);
        assert!(chance(Some(0), 64) > 0.0 && chance(Some(16), 4096) < 0.01);
        assert!((chance(Some(4096), 64) - 0.5).abs() < 1e-9, "it is elsewhere");
    }

    #[test]
    fn branches_are_mispredicted_as_often_as_they_go_the_rarer_way() {
        let found = of(Counts::Predicted, [1.0; 6]);
        assert_eq!(found[..4], [0.0; 4]);
        assert!(found[4] > 20.0 * found[5] && found[5] > 0.0, "{found:?}");
    }
}
