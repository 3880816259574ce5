//! Quantiles and tail probabilities of the usual distributions. The only file that names statrs.
//!
//! Degrees of freedom below one are taken as one, and what is not a number has no significance: callers compute both from
//! data, and a degenerate sample must not end the program.

/// The standard normal distribution.
pub mod normal {
    use statrs::distribution::{ContinuousCDF, Normal};

    /// Probability of a value up to `z`.
    pub fn cdf(z: f64) -> f64 {
        if z.is_nan() { 0.5 } else { Normal::standard().cdf(z) }
    }

    /// The value below which `p` of the distribution lies.
    pub fn quantile(p: f64) -> f64 {
        match p {
            p if p <= 0.0 => f64::NEG_INFINITY,
            p if p >= 1.0 => f64::INFINITY,
            p if p.is_nan() => 0.0,
            p => Normal::standard().inverse_cdf(p),
        }
    }
}

/// Student's t distribution.
pub mod student {
    use statrs::distribution::{ContinuousCDF, StudentsT};

    fn of(freedom: f64) -> Option<StudentsT> {
        StudentsT::new(0.0, 1.0, freedom.max(1.0)).ok()
    }

    /// Probability of a value at least as far from 0 as `t`.
    pub fn two_sided(t: f64, freedom: f64) -> f64 {
        match of(freedom) {
            Some(of) if !t.is_nan() => 2.0 * of.cdf(-t.abs()),
            _ => 1.0,
        }
    }

    /// The coverage factor k (section 3.3): within ±k lies `level` of the distribution.
    pub fn coverage_factor(level: f64, freedom: f64) -> f64 {
        let tail = 0.5 * (1.0 - level.clamp(0.0, 1.0));
        let quantile = |of: StudentsT| if tail > 0.0 { -of.inverse_cdf(tail) } else { f64::INFINITY };
        of(freedom).map_or(f64::INFINITY, quantile)
    }
}

/// The chi-squared distribution.
pub mod chi_squared {
    use statrs::distribution::{ChiSquared, ContinuousCDF};

    /// Probability of a value up to `x`.
    pub fn cdf(x: f64, freedom: f64) -> f64 {
        ChiSquared::new(freedom.max(1.0)).map_or(0.0, |of| of.cdf(x.max(0.0)))
    }

    /// Probability of a value above `x`.
    pub fn above(x: f64, freedom: f64) -> f64 {
        match ChiSquared::new(freedom.max(1.0)) {
            Ok(of) if !x.is_nan() => of.sf(x.max(0.0)),
            _ => 1.0,
        }
    }

    /// The value below which `p` of the distribution lies, by halving: statrs 0.18 returns NaN in the lower tail of one
    /// degree of freedom.
    pub fn quantile(p: f64, freedom: f64) -> f64 {
        let mut high = freedom.max(1.0);
        while cdf(high, freedom) < p && high < 1e300 {
            high *= 2.0;
        }
        let mut low = 0.0;
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            *(if cdf(middle, freedom) < p { &mut low } else { &mut high }) = middle;
        }
        high
    }
}

/// Fisher's F distribution.
pub mod fisher {
    use statrs::distribution::{ContinuousCDF, FisherSnedecor};

    /// Probability of a value above `f`.
    pub fn above(f: f64, numerator: f64, denominator: f64) -> f64 {
        match FisherSnedecor::new(numerator.max(1.0), denominator.max(1.0)) {
            Ok(of) if !f.is_nan() => of.sf(f.max(0.0)),
            _ => 1.0,
        }
    }
}
