//! Expected results that are themselves uncertain (section 7.4).
//!
//! If the self time of several functions should be proportional to something known, but for a constant overhead, a straight
//! line through all but one of them says what that one should have; the prediction interval of the line says how surely.

use super::distribution::student;
use super::student::Interval;

/// A function with what is known of it and what was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Known amount of work.
    pub expected: f64,
    /// Mean sample count.
    pub observed: f64,
}

/// What the others say of one function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Projection {
    /// Where the line is.
    pub predicted: f64,
    /// The line's slope, samples per unit of work.
    pub slope: f64,
    /// Its value at no work.
    pub intercept: f64,
    /// Residual standard deviation of the fit.
    pub residual: f64,
    /// Prediction interval at the confidence asked for.
    pub interval: Interval,
    /// Probability of an observation so far from the line by chance.
    pub probability: f64,
}

/// Projects point `of` from a least-squares line through the others; `None` of fewer than three others, or if those have one
/// and the same amount of work.
pub fn project(points: &[Point], of: usize, confidence: f64) -> Option<Projection> {
    let one = points.get(of)?;
    let others: Vec<&Point> = points.iter().enumerate().filter(|(ix, _)| *ix != of).map(|(_, p)| p).collect();
    let n = others.len() as f64;
    if others.len() < 3 {
        return None;
    }
    let mean = |of: fn(&Point) -> f64| others.iter().map(|p| of(p)).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.expected), mean(|p| p.observed));
    let sxx: f64 = others.iter().map(|p| (p.expected - x).powi(2)).sum();
    let sxy: f64 = others.iter().map(|p| (p.expected - x) * (p.observed - y)).sum();
    if sxx <= 0.0 {
        return None;
    }
    let slope = sxy / sxx;
    let intercept = y - slope * x;
    let rest: f64 = others.iter().map(|p| (p.observed - intercept - slope * p.expected).powi(2)).sum();
    let freedom = n - 2.0;
    let residual = (rest / freedom).sqrt();
    let predicted = intercept + slope * one.expected;
    let error = residual * (1.0 + 1.0 / n + (one.expected - x).powi(2) / sxx).sqrt();
    let half = student::coverage_factor(confidence, freedom) * error;
    let probability = match error > 0.0 {
        true => student::two_sided((one.observed - predicted) / error, freedom),
        false => f64::from(u8::from(one.observed == predicted)),
    };
    let interval = Interval::around(predicted, half);
    Some(Projection { predicted, slope, intercept, residual, interval, probability })
}
