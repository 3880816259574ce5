//! Answers and plans → intervals of the weight per place and function.

use std::collections::BTreeMap;

use super::classify::Kind;
use super::correct::{Correction, Desk};
use super::decoding::at;
use super::tally::Count;
use crate::code::FunctionIx;
use crate::perfdata::AttrIx;
use crate::quantile::Z90;
use crate::report::{Class, Verdict};
use crate::skid::Rates;
use crate::solve::{Answer, credible};

impl Desk<'_> {
    /// Intervals around what was `placed` (weight and samples per node): those of the posterior for retirement events, those
    /// of counting for others.
    pub(super) fn note_intervals(
        &self,
        event: AttrIx,
        region: usize,
        answer: &Answer,
        placed: &[(f64, f64)],
        correction: &mut Correction,
    ) {
        let Kind { class, causes, .. } = self.kinds[event.0 as usize];
        let retired = class == Class::Retirement;
        let verdict = if class == Class::Time { Verdict::Waited } else { answer.solver.verdict() };
        let nodes = &answer.model.region.nodes;
        let counted = nodes.iter().filter(|n| causes.includes(n));
        let executed: f64 = counted.map(|n| answer.rates.blocks[n.block]).sum();
        let total: f64 = placed.iter().map(|p| p.0).sum();
        let scale = total / executed.max(f64::MIN_POSITIVE);
        for (node, &(weight, samples)) in placed.iter().enumerate() {
            let block = nodes[node].block;
            let (low, high) = match retired {
                true if !causes.includes(&nodes[node]) => (0.0, 0.0),
                true => (answer.low[block] * scale, answer.high[block] * scale),
                false if samples > 0.0 => counting(samples, weight / samples),
                false => (0.0, 0.0),
            };
            let at = correction.places[region][node];
            let (low, high) = (low.min(weight), high.max(weight));
            // what a place has of samples in the region, and of such outside
            let known = correction.intervals.entry((event, at)).or_insert((0.0, 0.0, verdict));
            *known = (known.0 + low, known.1 + high, verdict);
        }
        if retired {
            self.note_functions(event, answer, scale, correction);
        }
    }

    /// Intervals of whole functions: from the draws of the posterior, for blocks of a function rise and fall together, and of
    /// counting their samples. No function runs more than all that is solved with it.
    fn note_functions(&self, event: AttrIx, answer: &Answer, scale: f64, correction: &mut Correction) {
        let (region, causes) = (&answer.model.region, self.kinds[event.0 as usize].causes);
        let summed = |rates: &Rates| {
            let mut sums: BTreeMap<FunctionIx, f64> = BTreeMap::new();
            for (block, runs) in region.blocks.iter().zip(&rates.blocks) {
                let counted = region.nodes[block.nodes.clone()].iter().filter(|n| causes.includes(n)).count();
                *sums.entry(block.function).or_default() += counted as f64 * runs * scale;
            }
            sums
        };
        let drawn: Vec<BTreeMap<FunctionIx, f64>> = answer.draws.iter().map(summed).collect();
        if drawn.is_empty() {
            return;
        }
        for (f, own) in summed(&answer.rates) {
            let possible = drawn.iter().zip(&answer.totals).map(|(sums, total)| sums[&f].min(total * scale));
            let mut draws: Vec<f64> = possible.collect();
            let (low, high) = credible(own, &mut draws, answer.model.events[0].period * scale);
            correction.functions.insert((event, at(self.program.place(f, 0))), (low.max(0.0), high));
        }
    }
}

/// Interval and verdict of a place of an event that nothing was found for. In an event that was corrected elsewhere its samples
/// may be those of other places, and it may have run as often as they can mean at most.
pub(super) fn left(correction: &Correction, attr: AttrIx, count: &Count) -> (f64, f64, Verdict) {
    let (weight, samples) = (count.fixed_weight as f64, count.fixed_samples as f64);
    let verdict = fallback(correction, attr);
    match correction.events.get(attr.0 as usize).map(|e| e.verdict) {
        None | Some(Verdict::Exact | Verdict::Unchanged) => (weight, weight, verdict),
        Some(_) if samples > 0.0 => (0.0, counting(samples, weight / samples).1, verdict),
        Some(_) => (0.0, weight, verdict),
    }
}

/// What stands behind places of an event that nothing was found for.
pub(super) fn fallback(correction: &Correction, attr: AttrIx) -> Verdict {
    match correction.events.get(attr.0 as usize).map(|e| e.verdict) {
        Some(Verdict::Exact) => Verdict::Exact,
        _ => Verdict::Unchanged,
    }
}

/// 90 % interval of a rate of which `samples` were seen, in units of `period`: gamma by Wilson and Hilferty's cube.
fn counting(samples: f64, period: f64) -> (f64, f64) {
    let cube = |n: f64, z: f64| n * (1.0 - 1.0 / (9.0 * n) + z / (3.0 * n.sqrt())).max(0.0).powi(3);
    let low = if samples > 0.0 { cube(samples, -Z90) } else { 0.0 };
    (low * period, cube(samples + 1.0, Z90) * period)
}
