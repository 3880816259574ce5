//! Whether a sample depends on those before it.
//!
//! The multinomial model takes samples for independent trials (section 3.2.2). They are not where a function stays on the
//! processor for several sampling periods: then its count varies less between runs than the model says if the program is
//! always the same, and more if the stretches are random. Ljung and Box (1978) on the indicator of each function.

use super::distribution::chi_squared;
use super::series::Series;
use super::sidak;

/// Lags of the test.
const LAGS: usize = 20;
/// A shorter thread tells nothing.
const LEAST: usize = 5 * LAGS;
/// Samples inside and outside a function, for the test to keep its level.
const INSIDE: u64 = 50;

/// What was found of one function.
#[derive(Clone, Debug, PartialEq)]
pub struct Independence {
    /// Which function.
    pub function: usize,
    /// Autocorrelation at lag 1, 2, ….
    pub lags: Vec<f64>,
    /// Probability of as much by chance, adjusted for all functions tested.
    pub probability: f64,
    /// Mean length of its stretches, in samples.
    pub stretch: f64,
}

impl Independence {
    /// The lag, in samples, at which the autocorrelation is farthest from none, and how much it is there.
    pub fn farthest(&self) -> (usize, f64) {
        farthest(&self.lags)
    }
}

/// Tests every function that has enough samples.
pub fn independence(series: &Series, functions: usize) -> Vec<Independence> {
    let threads = series.threads(LEAST);
    let mut counts = vec![0u64; functions];
    let total: u64 = threads.iter().map(|thread| thread.len() as u64).sum();
    threads.iter().flatten().for_each(|sample| counts[sample.function as usize] += 1);
    let tested: Vec<usize> =
        (0..functions).filter(|&f| counts[f] >= INSIDE && total - counts[f] >= INSIDE).collect();
    let of = |&function: &usize| {
        let indicators: Vec<Vec<f64>> = threads
            .iter()
            .map(|t| t.iter().map(|s| f64::from(u8::from(s.function as usize == function))).collect())
            .collect();
        let lags = autocorrelation(&indicators, LAGS);
        let starts: usize = indicators.iter().map(|x| stretches(x)).sum();
        Independence {
            function,
            probability: sidak::adjusted(ljung_box(&lags, total as f64), tested.len()),
            lags,
            stretch: counts[function] as f64 / starts.max(1) as f64,
        }
    };
    tested.iter().map(of).collect()
}

/// How often an indicator becomes one.
fn stretches(indicator: &[f64]) -> usize {
    let first = usize::from(indicator.first().is_some_and(|x| *x > 0.5));
    first + indicator.windows(2).filter(|w| w[0] < 0.5 && w[1] > 0.5).count()
}

/// The lag at which autocorrelations are farthest from none, and how much it is there.
pub(super) fn farthest(lags: &[f64]) -> (usize, f64) {
    let lags = (1..).zip(lags.iter().copied());
    lags.reduce(|most, next| if next.1.abs() > most.1.abs() { next } else { most }).unwrap_or_default()
}

/// Probability of such autocorrelations of `n` values by chance (Ljung and Box, "On a measure of lack of fit in time series
/// models", 1978).
pub(super) fn ljung_box(lags: &[f64], n: f64) -> f64 {
    if lags.iter().all(|r| *r == 0.0) {
        return 1.0;
    }
    let q: f64 = (1..).zip(lags).map(|(k, r)| r * r / (n - f64::from(k))).sum::<f64>() * n * (n + 2.0);
    chi_squared::above(q, lags.len() as f64)
}

/// The autocorrelation at lags from 1 to `lags` of several stretches of values, each around its own mean.
pub fn autocorrelation(parts: &[Vec<f64>], lags: usize) -> Vec<f64> {
    let (mut products, mut squares) = (vec![0.0; lags], 0.0);
    for part in parts {
        let mean = super::summary::mean(part);
        let x: Vec<f64> = part.iter().map(|x| x - mean).collect();
        squares += x.iter().map(|x| x * x).sum::<f64>();
        for (lag, product) in (1..).zip(&mut products) {
            *product += x.iter().zip(x.iter().skip(lag)).map(|(a, b)| a * b).sum::<f64>();
        }
    }
    let part = |product: f64| if squares > 0.0 { product / squares } else { 0.0 };
    products.into_iter().map(part).collect()
}
