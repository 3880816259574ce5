//! Intervals without an assumption of normality: resampling with replacement (section 3.4; Efron and Tibshirani 1993).
//!
//! Mean and standard deviation come from the same resamples. The percentile interval takes their quantiles; BCa corrects
//! bias and acceleration (chapter 14), the latter by the jackknife.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::distribution::normal;
use super::student::Interval;
use super::summary::{deviation, mean};
use crate::quantile::quantile;

/// The intervals of one statistic.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Intervals {
    /// By quantiles of the resamples.
    pub percentile: Interval,
    /// Bias-corrected and accelerated.
    pub bca: Interval,
}

/// The intervals of mean and standard deviation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bootstrapped {
    /// Of the mean.
    pub mean: Intervals,
    /// Of the standard deviation.
    pub deviation: Intervals,
}

/// Resamples `values` so many times. Equal seeds give equal intervals.
pub fn bootstrap(values: &[f64], replicates: usize, confidence: f64, seed: u64) -> Bootstrapped {
    let n = values.len();
    if n < 2 || replicates == 0 {
        return Bootstrapped::default();
    }
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    // around the mean, so that the sum of squares keeps its digits
    let center = mean(values);
    let centred: Vec<f64> = values.iter().map(|x| x - center).collect();
    let (mut means, mut deviations) = (Vec::with_capacity(replicates), Vec::with_capacity(replicates));
    for _ in 0..replicates {
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let x = centred[rng.random_range(0..n)];
            sum += x;
            squares += x * x;
        }
        means.push(center + sum / n as f64);
        deviations.push(((squares - sum * sum / n as f64).max(0.0) / (n - 1) as f64).sqrt());
    }
    Bootstrapped {
        mean: intervals(values, means, mean, confidence),
        deviation: intervals(values, deviations, deviation, confidence),
    }
}

fn intervals(
    values: &[f64],
    mut replicated: Vec<f64>,
    statistic: fn(&[f64]) -> f64,
    confidence: f64,
) -> Intervals {
    replicated.sort_by(f64::total_cmp);
    let (low, high) = (0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence);
    let between = |low, high| Interval { low: quantile(&replicated, low), high: quantile(&replicated, high) };
    let bias = bias(&replicated, statistic(values));
    let a = acceleration(values, statistic);
    // Efron and Tibshirani, eqn. 14.10
    let corrected = |p: f64| {
        let z = bias + normal::quantile(p);
        normal::cdf(bias + z / (1.0 - a * z))
    };
    Intervals { percentile: between(low, high), bca: between(corrected(low), corrected(high)) }
}

/// How far the median of the resamples is from the estimate, in normal deviations (eqn. 14.14); of equal ones half count.
fn bias(sorted: &[f64], estimate: f64) -> f64 {
    // sums of the same numbers in another order differ in their last digits
    let near = 1e-12 * estimate.abs();
    let below = sorted.partition_point(|x| *x < estimate - near);
    let up_to = sorted.partition_point(|x| *x <= estimate + near);
    let n = sorted.len() as f64;
    normal::quantile(((below + up_to) as f64 / (2.0 * n)).clamp(0.5 / n, 1.0 - 0.5 / n))
}

/// How the deviation changes with the value, by the jackknife (eqn. 14.15).
fn acceleration(values: &[f64], statistic: fn(&[f64]) -> f64) -> f64 {
    let mut rest = values[1..].to_vec();
    let mut without = Vec::with_capacity(values.len());
    for (ix, value) in values.iter().enumerate() {
        without.push(statistic(&rest));
        if let Some(slot) = rest.get_mut(ix) {
            *slot = *value;
        }
    }
    let center = mean(&without);
    let sum = |power: i32| without.iter().map(|x| (center - x).powi(power)).sum::<f64>();
    let squares = sum(2);
    if squares > 0.0 { sum(3) / (6.0 * squares.powf(1.5)) } else { 0.0 }
}
