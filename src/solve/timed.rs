//! The flow that samples and time agree on best, and the schedule that it runs by.
//!
//! The schedule needs to know how often each way is taken, and what stalls; the flow needs the schedule. They are found in
//! turns, each flow from the same start, until it stays.

use super::conserve::{TIMED, conserve};
use crate::skid::region::Block;
use crate::skid::schedule::{schedule, stalls};
use crate::skid::{Model, Rates};

/// Turns at most. Six instead of three gain .002 of block distance.
const TURNS: usize = 6;
/// Share of executions that may still go elsewhere in the last turn.
const SETTLED: f64 = 2e-3;

/// Parameters of that flow, searched from branch `logits` with a schedule at `rates` first; leaves the schedule in `model`.
/// `None` if there is no flow.
pub fn timed(model: &mut Model, logits: &[f64], rates: &Rates) -> Option<Vec<f64>> {
    model.ideal = schedule(&model.region, rates, &[]);
    let (mut z, mut rates) = settle(model, logits)?;
    for _ in 1..TURNS {
        model.ideal = schedule(&model.region, &rates, &stalls(model, &rates));
        let Some((next, moved)) = settle(model, logits) else { break };
        let change = changed(model, &rates, &moved);
        (z, rates) = (next, moved);
        if change < SETTLED {
            break;
        }
    }
    Some(z)
}

fn settle(model: &Model, logits: &[f64]) -> Option<(Vec<f64>, Rates)> {
    let z = conserve(model, logits, TIMED)?;
    let rates = model.rates(&z)?;
    Some((z, rates))
}

/// Total variation distance of instructions executed.
fn changed(model: &Model, from: &Rates, to: &Rates) -> f64 {
    let moved =
        |(b, block): (usize, &Block)| (from.blocks[b] - to.blocks[b]).abs() * block.nodes.len() as f64;
    let sum: f64 = model.region.blocks.iter().enumerate().map(moved).sum();
    0.5 * sum / model.total().max(f64::MIN_POSITIVE)
}
