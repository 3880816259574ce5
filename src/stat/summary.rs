//! Location and spread of a sample.

use crate::quantile::quantile;

/// What describes a sample of measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// How many.
    pub n: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation, with n − 1.
    pub deviation: f64,
    /// Least, quartiles and largest.
    pub quartiles: [f64; 5],
    /// Third standardised moment: above 0 the longer tail goes upward (section 4.2).
    pub skewness: f64,
}

impl Summary {
    /// Of `values` in any order.
    pub fn of(values: &[f64]) -> Summary {
        let n = values.len();
        let mean = mean(values);
        let moment =
            |power: i32| values.iter().map(|x| (x - mean).powi(power)).sum::<f64>() / n.max(1) as f64;
        let (second, third) = (moment(2), moment(3));
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        Summary {
            n,
            mean,
            deviation: deviation(values),
            quartiles: [0.0, 0.25, 0.5, 0.75, 1.0].map(|p| quantile(&sorted, p)),
            skewness: if second > 0.0 { third / second.powf(1.5) } else { 0.0 },
        }
    }

    /// Standard deviation of the mean (section 3.1).
    pub fn of_mean(&self) -> f64 {
        self.deviation / (self.n.max(1) as f64).sqrt()
    }

    /// The interquartile range as a standard deviation, were the sample normal: it does not see outliers (section 5.5).
    pub fn robust_deviation(&self) -> f64 {
        (self.quartiles[3] - self.quartiles[1]) / 1.349
    }
}

/// The mean; 0 of nothing.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The standard deviation with n − 1; 0 of fewer than two.
pub(super) fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    if values.len() < 2 { 0.0 } else { (squares / (values.len() - 1) as f64).sqrt() }
}
