//! Causes of reports of something that happens now and then: misses of caches, TLBs and branch prediction.
//!
//! Unlike an overflow of retired instructions, it may be counted while its cause is still waited for, or not before it
//! retires, and its counter may be later than others: how late, is found together with the causes ([`super::blind`]).

use rayon::prelude::*;

use super::Coupling;
use super::blind::Traces;
use crate::skid::Skid;
use crate::skid::kernel::{Kernel, Origin, Walk};

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
    let mut waiting = vec![0.0; behind.len()];
    waiting[cause] = 1.0;
    let [mut bins] = kernel.reports(&[walk], lags, [Origin::Entering(&behind)]);
    // the target of a mispredicted branch is waited for until it has been fetched
    let waiting = if surprised { &behind } else { &waiting };
    let [later] = kernel.reports(&[walk], lags, [Origin::Waiting(waiting)]);
    bins.extend(later);
    bins.iter().flat_map(|bin| places.iter().map(|&p| bin[p] as f32)).collect()
}

/// Where control goes behind one occurrence at `cause`. A way that is taken with probability *p* is mispredicted 1 − *p* of
/// the time.
fn behind(event: &Occurrence, cause: usize) -> Vec<f64> {
    let Occurrence { walk: Walk { region, rates, .. }, surprised } = *event;
    let steps = region.starts[cause]..region.starts[cause + 1];
    let all: f64 = rates.steps[steps.clone()].iter().sum();
    let chance = |p: f64| if surprised && p < all { p * (all - p) } else { p };
    let scale =
        all / rates.steps[steps.clone()].iter().map(|&p| chance(p)).sum::<f64>().max(f64::MIN_POSITIVE);
    let mut behind = vec![0.0; region.nodes.len()];
    steps.for_each(|at| behind[region.steps[at].to] += chance(rates.steps[at]) * scale);
    behind
}
