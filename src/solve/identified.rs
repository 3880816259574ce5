//! How many branches the evidence decides, and for how many the prior speaks.
//!
//! Samples that have slipped past the end of a loop say little of the branches in it: then the answer is what was assumed. A
//! parameter whose posterior variance is that of its prior has been told nothing, one of which hardly any is left everything.
//! Their sum, *Σ (1 − σ² / σ₀²)*, is the effective number of parameters (Spiegelhalter, Best, Carlin and van der Linde,
//! "Bayesian measures of model complexity and fit", 2002, section 3.2, for a normal posterior).

/// Free branches, and how many of them the evidence decides.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Identified {
    /// Free branch probabilities.
    pub free: usize,
    /// Of those, how many the evidence decides: 0 to `free`.
    pub told: f64,
}

impl Identified {
    /// From the posterior `variances` of branch logits, whose priors have these standard `deviations`.
    pub fn new(variances: &[f64], deviations: impl IntoIterator<Item = f64>) -> Identified {
        let told = |(v, deviation): (&f64, f64)| (1.0 - v / (deviation * deviation)).clamp(0.0, 1.0);
        Identified { free: variances.len(), told: variances.iter().zip(deviations).map(told).sum() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_as_wide_as_before_has_been_told_nothing() {
        let identified = Identified::new(&[4.0, 0.0, 1.0, 9.0, 4.0], [2.0, 2.0, 2.0, 2.0, 4.0]);
        assert_eq!(identified, Identified { free: 5, told: 2.5 });
    }
}
