//! Values far from the others (sections 4.3 and 4.4).
//!
//! The modified z-score of Iglewicz and Hoaglin (1993), *How to Detect and Handle Outliers*: distances from the median in
//! units of the median absolute deviation. None is discarded: "an assumption that the performance of software should be
//! characterized by a better-behaved distribution would be convenient but difficult to justify".

use crate::quantile::quantile;

/// Their recommendation.
const FAR: f64 = 3.5;
/// 1 / 0.6745, the median absolute deviation's share of a normal deviation.
const NORMAL: f64 = 1.4826;

/// Which values are far from the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outliers {
    /// Indices of those below.
    pub low: Vec<usize>,
    /// Indices of those above.
    pub high: Vec<usize>,
}

impl Outliers {
    /// How many.
    pub fn len(&self) -> usize {
        self.low.len() + self.high.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Finds them; less than `quantum` apart, values are the same.
pub fn outliers(values: &[f64], quantum: f64) -> Outliers {
    let median = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        quantile(&sorted, 0.5)
    };
    let center = median(values);
    let distances: Vec<f64> = values.iter().map(|x| (x - center).abs()).collect();
    let unit = (NORMAL * median(&distances)).max(0.5 * quantum);
    let beyond = |sign: f64| {
        let far = |(_, x): &(usize, &f64)| sign * (**x - center) > FAR * unit;
        values.iter().enumerate().filter(far).map(|(ix, _)| ix).collect()
    };
    Outliers { low: beyond(-1.0), high: beyond(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_values_are_found_on_both_sides() {
        let mut values: Vec<f64> = (0..50).map(|ix| 100.0 + f64::from(ix % 7)).collect();
        assert!(outliers(&values, 1.0).is_empty());
        (values[4], values[9]) = (130.0, 70.0);
        assert_eq!(outliers(&values, 1.0), Outliers { low: vec![9], high: vec![4] });
    }

    #[test]
    fn one_sample_more_is_no_outlier_where_all_others_are_equal() {
        let mut values = vec![10.0; 40];
        values[3] = 11.0;
        assert!(outliers(&values, 1.0).is_empty());
        values[3] = 14.0;
        assert_eq!(outliers(&values, 1.0).len(), 1);
    }
}
