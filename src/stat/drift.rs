//! Whether anything changes with time, or between processors (sections 5.5 and 9).
//!
//! Values are means of windows or blocks of many samples, not samples, so that dependence between neighbours does not look
//! like drift. Over time: the slope of a straight line, by its t value. Between groups: one-way analysis of variance.

use super::distribution::{fisher, student};

/// A change with time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// From the first value to the last, along the line.
    pub change: f64,
    /// The mean.
    pub mean: f64,
    /// Probability of as steep a line by chance.
    pub probability: f64,
}

/// The trend of equally spaced values; `None` of fewer than five.
pub fn trend(values: &[f64]) -> Option<Trend> {
    let n = values.len();
    if n < 5 {
        return None;
    }
    let mean = super::summary::mean(values);
    let middle = 0.5 * (n - 1) as f64;
    let x = |ix: usize| ix as f64 - middle;
    let sxx: f64 = (0..n).map(|ix| x(ix) * x(ix)).sum();
    let slope = values.iter().enumerate().map(|(ix, y)| x(ix) * (y - mean)).sum::<f64>() / sxx;
    let rest: f64 = values.iter().enumerate().map(|(ix, y)| (y - mean - slope * x(ix)).powi(2)).sum();
    let error = (rest / (n - 2) as f64 / sxx).sqrt();
    let probability = match error > 1e-12 * mean.abs().max(slope.abs()) {
        true => student::two_sided(slope / error, (n - 2) as f64),
        false => f64::from(u8::from(slope.abs() <= 1e-12 * mean.abs())),
    };
    Some(Trend { change: slope * (n - 1) as f64, mean, probability })
}

/// Whether groups of values have one mean: the probability of as large differences by chance. `None` without two groups of
/// two values.
pub fn across(groups: &[Vec<f64>]) -> Option<f64> {
    let groups: Vec<&Vec<f64>> = groups.iter().filter(|group| group.len() > 1).collect();
    if groups.len() < 2 {
        return None;
    }
    let n: usize = groups.iter().map(|group| group.len()).sum();
    let all: f64 = groups.iter().map(|group| group.iter().sum::<f64>()).sum::<f64>() / n as f64;
    let (mut between, mut within) = (0.0, 0.0);
    for group in &groups {
        let mean = super::summary::mean(group);
        between += group.len() as f64 * (mean - all) * (mean - all);
        within += group.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
    }
    let (a, b) = ((groups.len() - 1) as f64, (n - groups.len()) as f64);
    if within <= 1e-12 * between.max(f64::MIN_POSITIVE) {
        return Some(f64::from(u8::from(between <= 1e-12 * all * all)));
    }
    Some(fisher::above(between / a / (within / b), a, b))
}
