//! Intervals of means by the t distribution (the note's "original method", section 3.3), of standard deviations by the
//! chi-squared distribution (section 5.1), and the difference of two means (JCGM 100, G.4.1).

use super::distribution::{chi_squared, student};
use super::summary::Summary;

/// A range that holds the true value with the confidence asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// `value` ± `half`.
    pub fn around(value: f64, half: f64) -> Interval {
        Interval { low: value - half, high: value + half }
    }

    /// Whether `value` is inside.
    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// Of the mean, by the t distribution with n − 1 degrees of freedom.
pub fn interval(of: &Summary, confidence: f64) -> Interval {
    let half = student::coverage_factor(confidence, of.n as f64 - 1.0) * of.of_mean();
    Interval::around(of.mean, if of.n < 2 { f64::INFINITY } else { half })
}

/// Of the standard deviation, if the sample is normal.
pub(super) fn of_deviation(of: &Summary, confidence: f64) -> Interval {
    let freedom = of.n as f64 - 1.0;
    if freedom < 1.0 {
        return Interval { low: 0.0, high: f64::INFINITY };
    }
    let at = |p| (freedom / chi_squared::quantile(p, freedom)).sqrt() * of.deviation;
    Interval { low: at(0.5 + 0.5 * confidence), high: at(0.5 - 0.5 * confidence) }
}

/// The difference of two means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// Second less first.
    pub difference: f64,
    /// Its standard deviation.
    pub uncertainty: f64,
    /// Effective degrees of freedom (Welch, Satterthwaite).
    pub freedom: f64,
    /// Probability of a difference as large by chance.
    pub probability: f64,
}

/// Compares the means of two groups.
pub fn welch(a: &Summary, b: &Summary) -> Welch {
    let [va, vb] = [a, b].map(|s| s.of_mean() * s.of_mean());
    let difference = b.mean - a.mean;
    let uncertainty = (va + vb).sqrt();
    let parts = va * va / (a.n as f64 - 1.0).max(1.0) + vb * vb / (b.n as f64 - 1.0).max(1.0);
    let freedom = if parts > 0.0 { (va + vb) * (va + vb) / parts } else { (a.n + b.n) as f64 - 2.0 };
    let probability = match uncertainty > 0.0 {
        true => student::two_sided(difference / uncertainty, freedom),
        false => f64::from(u8::from(difference == 0.0)),
    };
    Welch { difference, uncertainty, freedom, probability }
}
