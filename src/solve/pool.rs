//! One skid for the whole file: every group says how well each distribution of it explains what it shows.
//!
//! A single walk gives the reports for every length of skid, so any number of distributions can be tried at once. They are
//! tried with the branch probabilities held near the flow that samples and time agree on: left free, these bend until a wrong skid fits as well as the
//! right one.

use rayon::prelude::*;

use super::energy::{Energy, value};
use super::group::Group;
use super::levenberg::{Effort, Mode, descend};
use super::posterior::{Posterior, Trust};
use crate::progress::{Progress, Stage, each};
use crate::skid::Skid;
use crate::skid::calibration::Spread;
use crate::skid::likelihood::Prediction;

/// Length of a tick, cycles.
const TICK: f64 = 1.0;
/// Longest skid that is told from longer ones, cycles: by then a processor has gone round most loops often.
const LONGEST: f64 = 160.0;
/// A skid that is given has next to nothing beyond so many times its median.
const TWICE: f64 = 2.0;
/// Medians tried, cycles, and the step from one to the next.
const MEDIANS: std::ops::Range<f64> = 3.0..120.0;
const MEDIAN_STEP: f64 = 1.15;
/// Standard deviations of the logarithm tried.
const WIDTHS: [f64; 4] = [0.15, 0.3, 0.6, 1.0];
/// Skid is lognormal around so many cycles, with this deviation of its logarithm, before anything is seen.
const TYPICAL: Spread = Spread { median: 40.0, deviation: 0.8 };
/// How far the median of a recording may be from the one measured on the same kind of processor.
const MEASURED: f64 = 0.3;
/// Standard deviation of branch logits around the flow while skids are compared.
const HELD: f64 = 0.3;
/// Flow and skid are fitted in turns.
const ROUNDS: usize = 3;
const HELD_ITERATIONS: usize = 6;
const ITERATIONS: usize = 10;
/// Gain, nats, below which a search ends: the kernel's derivatives are most of the time that a file takes. With a thousandth, and
/// searched from all starts instead of the best, 20 recordings of libraries are .1313 off by block instead of .1307 and one of
/// them takes 31 s instead of 20 on one core, 44 recordings are .0498 both times, 37 others .0559 instead of .0558. Searches but
/// the last in ticks of two cycles would save a tenth of the rest: .0502, .0560.
const LEAST_GAIN: f64 = 0.03;
/// Bins at both ends of the skid that together hold less are left out.
const TRIMMED: f64 = 0.02;

/// A distribution of the skid to try.
struct Shape {
    weights: Vec<f64>,
    /// Its energy before anything is seen.
    energy: f64,
}

/// The file's skid, and each group's parameters near its flow under it: the skid as `given`, or sought around what was
/// `measured` on such a processor, or around what is typical.
pub fn pool(
    groups: &[&Group],
    given: Option<f64>,
    measured: Option<Spread>,
    trust: Trust,
    progress: &dyn Progress,
) -> (Skid, Vec<Vec<f64>>) {
    let mut skid = Skid::broad(TICK, LONGEST.max(TWICE * given.unwrap_or(0.0)));
    let around = measured.map_or(TYPICAL, |spread| Spread { deviation: MEASURED, ..spread });
    let one = |cycles: f64| vec![shape(&skid, cycles.max(0.5 * TICK), WIDTHS[0], around)];
    let shapes = given.map_or_else(|| all(&skid, around), one);
    let held = Trust { prior: HELD, ..trust };
    let mut near: Vec<Vec<f64>> = groups.iter().map(|g| g.start().to_vec()).collect();
    for round in 0..ROUNDS {
        if round > 0 {
            let search = |(group, z): (&&Group, &Vec<f64>)| {
                if !group.bends() {
                    return z.clone();
                }
                let posterior = Posterior::new(&group.model, group.start(), skid.clone(), held);
                descend(&posterior, z.clone(), effort(HELD_ITERATIONS)).map_or_else(|| z.clone(), |m| m.z)
            };
            near = each(progress, Stage::Learn, groups.par_iter().zip(&near), search);
        }
        skid.weights = weigh(groups, &near, &skid, &shapes, held, progress);
    }
    (skid.trimmed(TRIMMED), near)
}

/// The mode found from the best of `starts`.
pub fn mode(posterior: &Posterior<'_>, starts: &[&[f64]]) -> Option<Mode> {
    let found = starts.iter().filter_map(|s| Some((value(&posterior.residuals(s)?), s)));
    let (_, start) = found.min_by(|a, b| a.0.total_cmp(&b.0))?;
    descend(posterior, start.to_vec(), effort(ITERATIONS))
}

/// So many iterations at most under the model of skid.
pub fn effort(iterations: usize) -> Effort {
    Effort { iterations, least_gain: LEAST_GAIN }
}

/// Weights of the bins: the mean over `shapes`, each as likely as it explains the groups at parameters `near`.
fn weigh(
    groups: &[&Group],
    near: &[Vec<f64>],
    skid: &Skid,
    shapes: &[Shape],
    trust: Trust,
    progress: &dyn Progress,
) -> Vec<f64> {
    let predict = |(group, z): (&&Group, &Vec<f64>)| {
        Posterior::new(&group.model, group.start(), skid.clone(), trust).predict(z)
    };
    let predictions = each(progress, Stage::Learn, groups.par_iter().zip(near), predict);
    let judged = groups.iter().zip(&predictions).filter_map(|(g, p)| Some((g, p.as_ref()?)));
    let judged: Vec<Vec<f64>> =
        judged.map(|(group, prediction)| judge(group, prediction, skid, shapes, trust)).collect();
    let energy = |k: usize| shapes[k].energy + judged.iter().map(|e| e[k]).sum::<f64>();
    let energies: Vec<f64> = (0..shapes.len()).map(energy).collect();
    let least = energies.iter().copied().fold(f64::INFINITY, f64::min);
    let mut mixed = vec![0.0; skid.weights.len()];
    for (shape, energy) in shapes.iter().zip(energies) {
        let weight = (least - energy).exp();
        mixed.iter_mut().zip(&shape.weights).for_each(|(m, w)| *m += weight * w);
    }
    let sum: f64 = mixed.iter().sum();
    mixed.iter().map(|m| m / sum).collect()
}

/// The energy of a group's samples under each shape; the best shape's dispersion says how far the group is to be believed.
fn judge(group: &Group, prediction: &Prediction, skid: &Skid, shapes: &[Shape], trust: Trust) -> Vec<f64> {
    let model = &group.model;
    let plain = Trust { dispersion: 1.0, error: 0.0, ..trust };
    let posterior = Posterior::new(model, group.start(), skid.clone(), plain);
    let one = |shape: &Shape| {
        let skid = Skid { weights: shape.weights.clone(), ..skid.clone() };
        (value(&posterior.misfits(prediction, &skid)), model.dispersion(prediction, &skid))
    };
    let found: Vec<(f64, f64)> = shapes.par_iter().map(one).collect();
    let dispersion = found.iter().map(|f| f.1).fold(f64::INFINITY, f64::min).max(trust.dispersion);
    found.into_iter().map(|(energy, _)| energy / dispersion).collect()
}

fn all(skid: &Skid, around: Spread) -> Vec<Shape> {
    let medians = std::iter::successors(Some(MEDIANS.start), |m| Some(m * MEDIAN_STEP));
    let medians: Vec<f64> = medians.take_while(|m| *m < MEDIANS.end).collect();
    WIDTHS
        .iter()
        .flat_map(|&width| medians.iter().map(move |&median| shape(skid, median, width, around)))
        .collect()
}

/// A lognormal distribution over the bins of `skid`.
fn shape(skid: &Skid, median: f64, width: f64, around: Spread) -> Shape {
    let from_typical = (median / around.median).ln() / around.deviation;
    let mass = |e: &[usize]| -> f64 {
        let density = |tick: usize| {
            let at = (tick as f64 + 0.5) * skid.tick;
            let off = (at / median).ln() / width;
            (-0.5 * off * off).exp() / at
        };
        (e[0]..e[1]).map(density).sum()
    };
    let mut weights: Vec<f64> = skid.edges.windows(2).map(mass).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|w| *w /= sum.max(f64::MIN_POSITIVE));
    Shape { weights, energy: 0.5 * from_typical * from_typical }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    #[test]
    fn a_skid_is_what_is_given() {
        let trust = Trust { dispersion: 1.0, error: 0.0, spread: 1.0, prior: 1.0 };
        for cycles in [0.0, 12.0, 150.0, 400.0, 1000.0] {
            let (skid, _) = pool(&[], Some(cycles), None, trust, &Silent);
            let mean = skid.mean();
            assert!((mean - cycles).abs() < 0.06 * cycles + 1.0, "{cycles}: {mean}");
        }
    }
}
