//! Causes of reports of something that happens now and then: misses of caches, TLBs and branch prediction.
//!
//! Unlike an overflow of retired instructions, it may be counted while its cause is still waited for, or not before it
//! retires, and its counter may be later than others: how late, is found together with the causes ([`super::blind`]).

use rayon::prelude::*;

use super::Coupling;
use super::blind::Traces;
use crate::skid::guesses;
use crate::skid::kernel::{Kernel, Origin, Walk};
use crate::skid::region::By;
use crate::skid::{Rates, Region, Skid};

/// Causes expected less often than this share of the likeliest are left out.
const LEAST_EXPECTED: f64 = 1e-6;
/// Causes less likely than this share of a report's likeliest are dropped.
const LEAST: f64 = 1e-5;
/// Delays are looked for up to so many times the 95 % quantile of the file's skid.
const LATER: f64 = 1.5;
/// … and at least up to so many cycles.
const LONGEST: f64 = 60.0;
/// The file's skid is known up to this share of it.
const BLUR: f64 = 0.25;
/// How much of the prior of the delay is the file's skid; the rest is what is usual.
const ALIKE: f64 = 0.6;
/// Numbers kept at most; the least expected causes are left out for it.
const ROOM: usize = 40_000_000;

/// How an event comes about.
#[derive(Clone, Copy)]
pub struct Occurrence<'a> {
    /// What the processor goes through.
    pub walk: Walk<'a>,
    /// It is a transfer that did not go where it goes most often.
    pub surprised: bool,
}

/// Possible causes of each report, and how often each node caused the event. `expected` are the causes per node up to a
/// factor, before looking at the reports (`reported`, samples per node).
pub fn by_occurrence(
    event: &Occurrence,
    skid: &Skid,
    expected: &[f64],
    reported: &[f64],
) -> (Coupling, Vec<f64>) {
    let n = expected.len();
    let (lags, weights) = delays(skid);
    let places: Vec<usize> = (0..n).filter(|&i| reported[i] > 0.0).collect();
    if places.is_empty() {
        return (vec![Vec::new(); n], vec![0.0; n]);
    }
    let causes = suspects(expected, ROOM / (weights.len() * places.len()));
    let landed = causes
        .par_iter()
        .map_init(Kernel::default, |kernel, &c| trace(event, kernel, &lags, c, &places))
        .collect();
    let traces = Traces { places: places.len(), landed };
    let seen: Vec<f64> = places.iter().map(|&p| reported[p]).collect();
    let likely: Vec<f64> = causes.iter().map(|&c| expected[c]).collect();
    let found = traces.unmix(&seen, &likely, &weights);
    let mut caused = vec![0.0; n];
    let mut coupling: Coupling = vec![Vec::new(); n];
    for (k, &cause) in causes.iter().enumerate() {
        caused[cause] = found.caused[k];
        for (&place, p) in places.iter().zip(&found.spread[k]) {
            coupling[place].push((cause, p * found.caused[k]));
        }
    }
    for causes in &mut coupling {
        let likeliest = causes.iter().fold(0.0, |top: f64, c| top.max(c.1));
        causes.retain(|c| c.1 > LEAST * likeliest);
        causes.sort_by_key(|c| c.0);
    }
    (coupling, caused)
}

/// The nodes that may be causes, the `most` likely ones.
fn suspects(expected: &[f64], most: usize) -> Vec<usize> {
    let top = expected.iter().copied().fold(0.0, f64::max);
    let mut causes: Vec<usize> =
        (0..expected.len()).filter(|&i| expected[i] > LEAST_EXPECTED * top).collect();
    causes.sort_by(|&a, &b| expected[b].total_cmp(&expected[a]).then(a.cmp(&b)));
    causes.truncate(most.max(1));
    causes.sort_unstable();
    causes
}

/// Delays to look for, and the probability of each when counted behind the cause, then when counted before its wait.
fn delays(skid: &Skid) -> (Skid, Vec<f64>) {
    let mut lags = Skid::broad(skid.tick, LONGEST.max(LATER * skid.quantile(0.95)));
    let alike = |edges: &[usize]| {
        let part = |(own, weight): (&[usize], &f64)| {
            let (first, end) = (own[0] as f64 * (1.0 - BLUR), own[1] as f64 * (1.0 + BLUR));
            let overlap = end.min(edges[1] as f64) - first.max(edges[0] as f64);
            weight * overlap.max(0.0) / (end - first)
        };
        skid.edges.windows(2).zip(&skid.weights).map(part).sum::<f64>()
    };
    let alike: Vec<f64> = lags.edges.windows(2).map(alike).collect();
    lags.weights.iter_mut().zip(alike).for_each(|(w, a)| *w = ALIKE * a + (1.0 - ALIKE) * *w);
    lags.normalise();
    let weights = lags.weights.iter().chain(&lags.weights).map(|w| w / 2.0).collect();
    (lags, weights)
}

/// Where reports of `cause` stand among `places`, delay by delay.
fn trace(
    event: &Occurrence,
    kernel: &mut Kernel<1>,
    lags: &Skid,
    cause: usize,
    places: &[usize],
) -> Vec<f32> {
    let Occurrence { walk, surprised } = *event;
    let behind = behind(event, cause);
    let [mut bins] = kernel.reports(&[walk], lags, [Origin::Entering(&behind)]);
    bins.extend(if surprised {
        refetched(walk, kernel, lags, &behind)
    } else {
        let mut waiting = vec![0.0; behind.len()];
        waiting[cause] = 1.0;
        let [later] = kernel.reports(&[walk], lags, [Origin::Waiting(&waiting)]);
        later
    });
    bins.iter().flat_map(|bin| places.iter().map(|&p| bin[p] as f32)).collect()
}

/// Where reports stand if what is `behind` is not waited for as usual, but until it has been fetched.
fn refetched(walk: Walk, kernel: &mut Kernel<1>, lags: &Skid, behind: &[f64]) -> Vec<Vec<f64>> {
    let refill = (walk.reporting.shape.refill() as f64 / lags.tick).round() as usize;
    let begun = Skid { tick: lags.tick, edges: vec![0, 1], weights: vec![1.0] };
    let [waiting] = kernel.reports(&[walk], &begun, [Origin::Waiting(behind)]);
    // bins that end before it has been fetched become empty, and nothing is reported in them
    let then =
        Skid { edges: lags.edges.iter().map(|edge| edge.saturating_sub(refill)).collect(), ..lags.clone() };
    let [mut bins] = kernel.reports(&[walk], &then, [Origin::Entering(behind)]);
    for (bin, edges) in bins.iter_mut().zip(lags.edges.windows(2)) {
        let fetching = (refill.clamp(edges[0], edges[1]) - edges[0]) as f64 / (edges[1] - edges[0]) as f64;
        bin.iter_mut().zip(&waiting[0]).for_each(|(p, on)| *p = fetching * on + (1.0 - fetching) * *p);
    }
    bins
}

/// Where control goes behind one occurrence at `cause`: of ways of a choice that are mispredicted, by how often each is not expected.
fn behind(event: &Occurrence, cause: usize) -> Vec<f64> {
    let Occurrence { walk: Walk { region, rates, .. }, surprised } = *event;
    let steps = region.starts[cause]..region.starts[cause + 1];
    let usual = &rates.steps[steps.clone()];
    let surprising: Vec<f64> =
        steps.clone().map(|at| rates.steps[at] * unexpected(region, rates, at)).collect();
    let sum: f64 = surprising.iter().sum();
    let (chances, scale) = if surprised && sum > 0.0 {
        (&surprising[..], usual.iter().sum::<f64>() / sum)
    } else {
        (usual, 1.0)
    };
    let mut behind = vec![0.0; region.nodes.len()];
    steps.zip(chances).for_each(|(at, chance)| behind[region.steps[at].to] += chance * scale);
    behind
}

/// How far what is stepped `at` is not expected, where it is a way of a choice; anything else always is a surprise, if it is one.
fn unexpected(region: &Region, rates: &Rates, at: usize) -> f64 {
    match region.steps[at].by {
        By::Arm(arm) => guesses::unexpected(&rates.arms[region.ways(arm)], rates.arms[arm]),
        By::Return(_) => 1.0 - rates.steps[at],
        By::Sure => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skid::Holds;
    use crate::skid::hold::Reporting;
    use crate::skid::testing::skipping;

    /// Shows `seen` a walk through code that passes over its second and third instruction nine times out of ten.
    fn walking(seen: impl FnOnce(Walk)) {
        let reporting = Reporting::default();
        let model = skipping([100.0, 10.0, 10.0, 100.0, 100.0, 1.0], true, reporting);
        let logits = [9f64, 1.0 / 9.0].map(|odds| model.rates(&[odds.ln(), 7.0]).expect("a flow"));
        let rates = logits.into_iter().min_by(|a, b| a.blocks[1].total_cmp(&b.blocks[1])).expect("two");
        assert!((rates.blocks[1] / rates.blocks[0] - 0.1).abs() < 0.01, "{:?}", rates.blocks);
        let holds = Holds { mean: vec![1.0; 6], ..Holds::default() };
        seen(Walk { region: &model.region, rates: &rates, holds: &holds, reporting });
    }

    #[test]
    fn the_rarer_way_is_behind_a_wrong_guess() {
        walking(|walk| {
            let of = |surprised| behind(&Occurrence { walk, surprised }, 0);
            let (wrong, any) = (of(true), of(false));
            assert!((any[1] - 0.1).abs() < 0.01 && (any[3] - 0.9).abs() < 0.01, "{any:?}");
            assert!((wrong[1] + wrong[3] - 1.0).abs() < 1e-9 && wrong[1] > 0.8, "{wrong:?}");
        });
    }

    #[test]
    fn what_is_behind_a_wrong_guess_is_waited_for_until_it_is_fetched() {
        walking(|walk| {
            let lags = Skid { tick: 1.0, edges: vec![0, 10, 20, 40], weights: vec![1.0; 3] };
            let mut behind = vec![0.0; 6];
            behind[1] = 1.0;
            let bins = refetched(walk, &mut Kernel::default(), &lags, &behind);
            let refill = walk.reporting.shape.refill() as f64;
            assert!((10.0..20.0).contains(&refill), "the second bin is where it ends");
            assert!(bins[0][1] > 0.999, "{bins:?}");
            assert!(bins[1][1] > (refill - 10.0) / 10.0 && bins[1][1] < 0.9, "{bins:?}");
            assert!(bins[2][1] < 0.2, "{bins:?}");
            bins.iter().for_each(|bin| assert!((bin.iter().sum::<f64>() - 1.0).abs() < 1e-3, "{bin:?}"));
        });
    }

    #[test]
    fn misses_of_prediction_stand_on_the_branch() {
        walking(|walk| {
            let event = Occurrence { walk, surprised: true };
            let skid = Skid::fixed(1.0, 5.0, 3.0);
            // either branch may be it
            let likely = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
            // what the first is expected to be reported at
            let (lags, weights) = delays(&skid);
            let places: Vec<usize> = (0..6).collect();
            let landed = trace(&event, &mut Kernel::default(), &lags, 0, &places);
            let mut reported = [0.0; 6];
            for (row, weight) in landed.chunks_exact(6).zip(weights) {
                reported.iter_mut().zip(row).for_each(|(sum, &p)| *sum += 1e5 * weight * f64::from(p));
            }
            let (coupling, caused) = by_occurrence(&event, &skid, &likely, &reported);
            assert!(caused[0] > 19.0 * caused[4], "{caused:?}");
            assert!(coupling[1].iter().any(|&(cause, weight)| cause == 0 && weight > 1e4), "{coupling:?}");
        });
    }
}
