//! Draws from the Gaussian that an energy's curvature at its mode suggests: intervals where no chain ran.

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

use super::energy::Energy;
use super::gibbs::normal;
use super::levenberg::precision;
use super::linear::{cholesky, solve, solve_upper};

/// The Gaussian around a mode.
pub struct Gaussian {
    precision: Vec<Vec<f64>>,
    /// What of the diagonal was known before anything was seen.
    prior: Vec<f64>,
    /// Lower triangle *L* of the precision *L Lᵀ*.
    lower: Vec<Vec<f64>>,
}

impl Gaussian {
    /// As the curvature of `energy` at `z` suggests; `None` where it gives none.
    pub fn at(energy: &dyn Energy, z: &[f64]) -> Option<Gaussian> {
        let precision = precision(energy, z)?;
        let lower = cholesky(&precision)?;
        Some(Gaussian { precision, prior: energy.prior(z), lower })
    }

    /// `count` draws around `z`, as if what was seen had so many times the variance that the energy gives it; what was known before
    /// stays as sure as it was. None if that is no Gaussian.
    pub fn draws(&self, z: &[f64], times: f64, count: usize, seed: u64) -> Vec<Vec<f64>> {
        let Some(lower) = cholesky(&self.doubted(times)) else { return Vec::new() };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let one = |_| {
            let noise: Vec<f64> = z.iter().map(|_| normal(&mut rng)).collect();
            z.iter().zip(solve_upper(&lower, &noise)).map(|(z, n)| z + n).collect()
        };
        (0..count).map(one).collect()
    }

    /// The precision where what was seen has so many times the variance.
    fn doubted(&self, times: f64) -> Vec<Vec<f64>> {
        let mut doubted = self.precision.clone();
        doubted.iter_mut().flatten().for_each(|entry| *entry /= times);
        for (k, prior) in self.prior.iter().enumerate() {
            // a prior may have a kink at the mode, with less on the side where the curvature was taken
            let prior = prior.min(self.precision[k][k]);
            doubted[k][k] += prior - prior / times;
        }
        doubted
    }

    /// Variance of each of the first `count` parameters.
    pub fn variances(&self, count: usize) -> Vec<f64> {
        let variance = |k: usize| {
            let mut unit = vec![0.0; self.lower.len()];
            unit[k] = 1.0;
            solve(&self.lower, &unit)[k]
        };
        (0..count).map(variance).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two correlated parameters with variances 4 and 1.
    struct Quadratic;
    impl Energy for Quadratic {
        fn residuals(&self, z: &[f64]) -> Option<Vec<f64>> {
            Some(vec![(z[0] - 1.0) / 2.0 - z[1], z[1]])
        }
    }

    /// A parameter that was seen once, with a variance of 1, and another that was not; both had a variance of 1 before.
    struct Seen;
    impl Energy for Seen {
        fn residuals(&self, z: &[f64]) -> Option<Vec<f64>> {
            Some(vec![z[0], z[0], z[1]])
        }

        fn prior(&self, _: &[f64]) -> Vec<f64> {
            vec![1.0; 2]
        }
    }

    #[test]
    fn what_was_known_before_is_not_doubted() {
        let gaussian = Gaussian::at(&Seen, &[0.0, 0.0]).expect("a curvature");
        let variances = gaussian.variances(2);
        assert!((variances[0] - 0.5).abs() < 1e-9 && (variances[1] - 1.0).abs() < 1e-9, "{variances:?}");
        let draws = gaussian.draws(&[0.0, 0.0], 4.0, 4000, 3);
        let variance = |k: usize| draws.iter().map(|z| z[k] * z[k]).sum::<f64>() / draws.len() as f64;
        assert!((variance(0) - 0.8).abs() < 0.08, "1 / (1 + 1/4), not {}", variance(0));
        assert!((variance(1) - 1.0).abs() < 0.1, "{}", variance(1));
    }

    #[test]
    fn draws_have_the_variance_of_the_curvature() {
        let gaussian = Gaussian::at(&Quadratic, &[1.0, 0.0]).expect("a curvature");
        let draws = gaussian.draws(&[1.0, 0.0], 1.0, 4000, 3);
        let mean = |f: &dyn Fn(&Vec<f64>) -> f64| draws.iter().map(f).sum::<f64>() / draws.len() as f64;
        assert!((mean(&|z| z[0]) - 1.0).abs() < 0.15);
        assert!((mean(&|z| z[1] * z[1]) - 1.0).abs() < 0.1);
        assert!((mean(&|z| (z[0] - 1.0).powi(2)) - 8.0).abs() < 0.8, "4 (1 + 1)");
        let variances = gaussian.variances(2);
        assert!((variances[0] - 8.0).abs() < 0.1 && (variances[1] - 1.0).abs() < 0.1, "{variances:?}");
    }
}
