//! How likely each instruction is to have caused an event, before its samples are looked at.
//!
//! What can't happen gets none: a load miss without a load. What is known of the rest: an operand that stays in one place
//! stays in the caches, data that is missing is waited for, and a branch that goes one way nearly always is predicted.

use std::collections::BTreeMap;

use crate::code::{FunctionIx, Program, Stride, strides};
use crate::skid::folded::Counts;
use crate::skid::{Holds, Rates, Region};

/// An instruction waited for so long misses every other time, cycles: a hit of the second level.
const MISS: f64 = 10.0;
/// Even what is not waited for may miss.
const LEAST_EXPOSURE: f64 = 0.002;
/// An operand that does not move misses so much less often than one that goes anywhere.
const STAYS: f64 = 0.01;
/// New memory may be fetched ahead, so that its misses are hardly waited for: its exposure is this at least.
const STREAMS: f64 = 0.2;
/// Even a branch that has always gone one way may be mispredicted.
const LEAST_SURPRISE: f64 = 0.002;
/// The first use of a load's result is looked for among so many instructions.
const NEAR: usize = 8;

/// Expected events per node, up to a factor, of an event that instructions of this kind may cause. `span` is how many bytes
/// come with one miss: a line, or a page.
pub fn suspicion(
    program: &Program,
    region: &Region,
    rates: &Rates,
    holds: &Holds,
    causes: Counts,
    span: u64,
) -> Vec<f64> {
    let mut known: BTreeMap<FunctionIx, Vec<Stride>> = BTreeMap::new();
    for block in &region.blocks {
        known.entry(block.function).or_insert_with(|| strides(&program.functions[block.function].1));
    }
    let surprise = surprises(region, rates);
    let expected = |(i, node): (usize, &crate::skid::Node)| {
        let chance = match causes {
            _ if !causes.includes(node) => 0.0,
            Counts::Predicted => surprise[i],
            Counts::Loads | Counts::Stores | Counts::Memory => {
                missing(known[&node.function][node.inst], span, exposure(program, region, holds, i))
            }
            Counts::Instructions | Counts::Transfers => 1.0,
        };
        chance * rates.blocks[node.block]
    };
    region.nodes.iter().enumerate().map(expected).collect()
}

/// Probability of a miss. An operand that walks through memory misses when it comes to a new line or page; of one that goes
/// anywhere only the `exposure` tells.
fn missing(stride: Stride, span: u64, exposure: f64) -> f64 {
    match stride {
        Stride::Fixed => STAYS * exposure,
        Stride::By(step) => (step as f64 / span as f64).clamp(STAYS, 1.0) * exposure.max(STREAMS),
        Stride::Unknown => exposure,
    }
}

/// Probability that a transfer does not go where it goes most often.
fn surprises(region: &Region, rates: &Rates) -> Vec<f64> {
    let mut likeliest = vec![0.0f64; region.nodes.len()];
    for (arm, &p) in region.arms.iter().zip(&rates.arms) {
        likeliest[arm.node] = likeliest[arm.node].max(p);
    }
    let surprise = |&p: &f64| if p > 0.0 { (1.0 - p).max(LEAST_SURPRISE) } else { LEAST_SURPRISE };
    likeliest.iter().map(surprise).collect()
}

/// Probability of a miss by how long an instruction is waited for. On a core that issues in order it is the first use of the
/// result that is waited for longer than its own latency.
fn exposure(program: &Program, region: &Region, holds: &Holds, i: usize) -> f64 {
    let node = &region.nodes[i];
    let insts = &program.functions[node.function].1.insts;
    let end = region.blocks[node.block].nodes.end.min(i + 1 + NEAR);
    let uses = |&j: &usize| !insts[region.nodes[j].inst].reads.and(insts[node.inst].writes).is_empty();
    let user = (i + 1..end).find(uses).map_or(0.0, |j| (holds.mean[j] - region.nodes[j].latency).max(0.0));
    let waited = holds.mean[i] + user;
    (waited / (waited + MISS)).max(LEAST_EXPOSURE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::explore;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::skid::Circulation;
    use crate::skid::classes::Classes;

    /// `0: mov -8(%rsp),%eax; mov (%rsi,%rcx,4),%edx; mov (%rdi),%rdi; dec %rcx; jne 0; ret`, the loop taken 3 times in 4.
    fn of(causes: Counts, holds: [f64; 6]) -> Vec<f64> {
        let code = vec![
            0x8b, 0x44, 0x24, 0xf8, 0x8b, 0x14, 0x8e, 0x48, 0x8b, 0x3f, 0x48, 0xff, 0xc9, 0x75, 0xf1, 0xc3,
        ];
        let function = explore(&Bytes(0, code), 0..16, &[]);
        let program = Program::link(vec![(0, function)], &NoStubs, &crate::code::Told::default());
        let region = Region::build(&program, &Classes::of(&program), &[0], &|_, _| true);
        let rates = Circulation::new(&region).rates(&region, &[3f64.ln()], 100.0).expect("flows");
        let holds = Holds { mean: holds.into(), ..Holds::default() };
        suspicion(&program, &region, &rates, &holds, causes, 64)
    }

    #[test]
    fn what_loads_elsewhere_each_time_and_is_waited_for_misses() {
        let even = of(Counts::Loads, [1.0; 6]);
        assert!(even[0] < even[1] && even[1] < even[2], "a slot, an array, a list: {even:?}");
        assert_eq!(even[3..5], [0.0, 0.0], "no load, no miss");
        let waited = of(Counts::Loads, [1.0, 20.0, 0.0, 1.0, 1.0, 1.0]);
        assert!(waited[1] > waited[2], "{waited:?}");
    }

    #[test]
    fn branches_are_mispredicted_as_often_as_they_go_the_rarer_way() {
        let found = of(Counts::Predicted, [1.0; 6]);
        assert_eq!(found[..4], [0.0; 4]);
        assert!(found[4] > 20.0 * found[5] && found[5] > 0.0, "{found:?}");
    }
}
