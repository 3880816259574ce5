//! Callers have a callee's samples in proportion to their calls.
//!
//! In: where callchains are, the samples that were taken inside each call. Out: how far the calls' shares of the executions are
//! from those of the samples, as residuals. One call of a function takes about as long as another; how unlike they are is
//! allowed for.

use super::circulation::Rates;
use super::region::{ArmKind, Region};
use crate::code::{FunctionIx, Program};

/// Standard deviation of the logarithm of one call's instructions over another's.
const UNLIKE: f64 = 0.5;
/// Fewer samples in a callee tell nothing.
const LEAST: f64 = 10.0;

/// The calls of one function: arms that are told apart from others, and samples inside.
#[derive(Clone, Debug, PartialEq)]
pub struct Shared {
    calls: Vec<(Vec<usize>, f64)>,
    samples: f64,
}

/// All functions of `region` that are called from several places, where callchains tell from which.
pub fn shared(program: &Program, region: &Region) -> Vec<Shared> {
    if !program.complete {
        return Vec::new();
    }
    let entries = region.arms.iter().filter(|a| matches!(a.kind, ArmKind::Call { .. })).filter_map(|a| a.to);
    let mut entries: Vec<usize> = entries.collect();
    entries.sort_unstable();
    entries.dedup();
    entries.into_iter().filter_map(|entry| of(program, region, entry)).collect()
}

/// `None` where not all of the calls are known.
fn of(program: &Program, region: &Region, entry: usize) -> Option<Shared> {
    let callee = region.blocks[entry].function;
    if program.hidden.contains(&callee) {
        return None;
    }
    let skipped = |caller| program.skipped.get(&(caller, callee)).copied().unwrap_or(0);
    let mut calls: Vec<(Vec<usize>, f64)> = Vec::new();
    for (ix, arm) in region.arms.iter().enumerate().filter(|(_, a)| a.to == Some(entry)) {
        let node = &region.nodes[arm.node];
        let target = program.site(node.function, node.inst)?.targets.iter().find(|t| t.function == callee)?;
        if arm.kind == ArmKind::Tail || (target.seen > 0 && target.inside == 0) {
            return None;
        }
        let (inside, skipped) = (target.inside as f64, skipped(node.function) as f64);
        // where a chain skips the caller, its calls are not told apart
        match calls.last_mut().filter(|c| skipped > 0.0 && function(region, c.0[0]) == node.function) {
            Some((arms, samples)) => {
                arms.push(ix);
                *samples += inside;
            }
            None => calls.push((vec![ix], inside + skipped)),
        }
    }
    let samples = calls.iter().map(|c| c.1).sum();
    (calls.len() > 1 && samples >= LEAST).then_some(Shared { calls, samples })
}

/// The function that an arm leaves.
fn function(region: &Region, arm: usize) -> FunctionIx {
    region.nodes[region.arms[arm].node].function
}

/// One residual for each call of `shared`.
pub fn residuals(region: &Region, rates: &Rates, shared: &[Shared]) -> Vec<f64> {
    let taken = |&arm: &usize| rates.taken(region, arm);
    let of = |shared: &Shared| {
        let flows: Vec<f64> = shared.calls.iter().map(|(arms, _)| arms.iter().map(taken).sum()).collect();
        let all = flows.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let residual = |(flow, (_, seen)): (&f64, &(Vec<usize>, f64))| {
            let off = ((shared.samples * flow / all + 1.0) / (seen + 1.0)).ln();
            off / (UNLIKE * UNLIKE + 1.0 / (seen + 1.0)).sqrt()
        };
        flows.iter().zip(&shared.calls).map(residual).collect::<Vec<f64>>()
    };
    shared.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Place, Seen, Told, explore};
    use crate::skid::Circulation;
    use crate::skid::classes::Classes;

    /// Residuals of a loop that calls a function once, and on one way again, where the two calls have `inside` samples and
    /// that way is taken with `logit`.
    fn off(inside: [u64; 2], logit: f64) -> Vec<f64> {
        // 0: call 10; 5: test %edi,%edi; 7: je e; 9: call 10; e: jmp 0 — 10: ret
        let code = [0xe8, 0x0b, 0, 0, 0, 0x85, 0xff, 0x74, 0x05, 0xe8, 0x02, 0, 0, 0, 0xeb, 0xf0, 0xc3];
        let functions = [0..0x10, 0x10..0x11].map(|r| (0, explore(&Bytes(0, code.to_vec()), r, &[])));
        let place = |address| Place { space: 0, address };
        let seen = |(from, inside)| Seen { from: place(from), to: place(0x10), count: inside, inside };
        let seen = [0, 9].into_iter().zip(inside).map(seen).collect();
        let told = Told { seen, complete: true, ..Told::default() };
        let program = Program::link(functions.into(), &NoStubs, &told);
        let region = Region::build(&program, &Classes::of(&program), &[0, 1], &|_, _| true);
        let rates = Circulation::new(&region).rates(&region, &[logit], 1e6).expect("a flow");
        residuals(&region, &rates, &shared(&program, &region))
    }

    #[test]
    fn calls_are_as_many_as_samples_are_inside() {
        // half as often
        let balanced = off([2000, 1000], 0.0);
        assert!(balanced.len() == 2 && balanced.iter().all(|r| r.abs() < 0.01), "{balanced:?}");
        let seldom = off([2000, 100], 0.0);
        assert!(seldom[1] > 2.0 && seldom[0] < 0.0, "{seldom:?}");
        assert!(off([2, 1], 0.0).is_empty(), "too few");
    }
}
