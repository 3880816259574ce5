//! Draws from the Gaussian that an energy's curvature at its mode suggests: intervals where no chain ran.

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

use super::energy::Energy;
use super::gibbs::normal;
use super::levenberg::precision;
use super::linear::{cholesky, solve, solve_upper};

/// The Gaussian around a mode.
pub struct Gaussian {
    /// Lower triangle *L* of its precision *L Lᵀ*.
    lower: Vec<Vec<f64>>,
}

impl Gaussian {
    /// As the curvature of `energy` at `z` suggests; `None` where it gives none.
    pub fn at(energy: &dyn Energy, z: &[f64]) -> Option<Gaussian> {
        Some(Gaussian { lower: cholesky(&precision(energy, z)?)? })
    }

    /// `count` draws around `z`, with the variance times `inflation`.
    pub fn draws(&self, z: &[f64], inflation: f64, count: usize, seed: u64) -> Vec<Vec<f64>> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let scale = inflation.max(0.0).sqrt();
        let one = |_| {
            let noise: Vec<f64> = z.iter().map(|_| scale * normal(&mut rng)).collect();
            z.iter().zip(solve_upper(&self.lower, &noise)).map(|(z, n)| z + n).collect()
        };
        (0..count).map(one).collect()
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
