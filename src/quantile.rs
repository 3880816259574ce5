//! Quantiles of numbers, between neighbours interpolated: R's type 7 (Hyndman and Fan, "Sample quantiles in statistical
//! packages", 1996, definition 7).

/// 90 % of a normal distribution lie within so many standard deviations.
pub(crate) const Z90: f64 = 1.645;

/// The `p` quantile of numbers in ascending order; 0 of none.
pub(crate) fn quantile(sorted: &[f64], p: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let at = p.clamp(0.0, 1.0) * last as f64;
    let (low, part) = (at.floor() as usize, at.fract());
    sorted[low] + part * (sorted[(low + 1).min(last)] - sorted[low])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_order_statistics() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0], 0.5), 2.0);
        assert_eq!(quantile(&[0.0, 10.0], 0.25), 2.5);
        assert_eq!(quantile(&[4.0], 1.5), 4.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }
}
