//! How many branches the evidence decides, and for how many the prior speaks.
//!
//! Samples that have slipped past the end of a loop say little of the branches in it: then the answer is what was assumed. A
//! parameter whose posterior variance is that of its prior has been told nothing, one of which hardly any is left everything.
//! Their sum, *Σ (1 − σ² / σ₀²)*, is the effective number of parameters (Spiegelhalter, Best, Carlin and van der Linde,
//! "Bayesian measures of model complexity and fit", 2002, section 3.2, for a normal posterior).

/// Free branches, and how many of them the evidence decides.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Identified {
    /// Free branch probabilities: those that the code does not say.
    pub free: usize,
    /// Of those, how many the evidence decides: 0 to `free`.
    pub told: f64,
}

impl Identified {
    /// From the posterior `variances` of branch logits, whose priors have these standard `deviations`; those that are
    /// `known` from the code do not count.
    pub fn new(
        variances: &[f64],
        deviations: impl IntoIterator<Item = f64>,
        known: &[Option<f64>],
    ) -> Identified {
        let mut identified = Identified::default();
        let branches = variances.iter().zip(deviations).zip(known);
        for ((variance, deviation), _) in branches.filter(|(_, known)| known.is_none()) {
            identified.free += 1;
            identified.told += (1.0 - variance / (deviation * deviation)).clamp(0.0, 1.0);
        }
        identified
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_as_wide_as_before_has_been_told_nothing() {
        let (variances, deviations) = ([4.0, 0.0, 1.0, 9.0, 4.0, 0.0], [2.0, 2.0, 2.0, 2.0, 4.0, 0.1]);
        let known = [None, None, None, None, None, Some(0.1)];
        assert_eq!(Identified::new(&variances, deviations, &known), Identified { free: 5, told: 2.5 });
    }
}
