//! Draws from the Gaussian that an energy's curvature at its mode suggests: intervals where no chain ran.

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

use super::energy::Energy;
use super::gibbs::normal;
use super::levenberg::precision;
use super::linear::{cholesky, solve_upper};

/// `count` draws around `z`, with the curvature's variance times `inflation`. Only `z` itself where the curvature gives no
/// Gaussian.
pub fn draws(energy: &mut dyn Energy, z: &[f64], inflation: f64, count: usize, seed: u64) -> Vec<Vec<f64>> {
    let Some(lower) = precision(energy, z).and_then(|p| cholesky(&p)) else { return vec![z.to_vec()] };
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let scale = inflation.max(0.0).sqrt();
    let one = |_| {
        let noise: Vec<f64> = z.iter().map(|_| scale * normal(&mut rng)).collect();
        z.iter().zip(solve_upper(&lower, &noise)).map(|(z, n)| z + n).collect()
    };
    (0..count).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two correlated parameters with variances 4 and 1.
    struct Quadratic;
    impl Energy for Quadratic {
        fn residuals(&mut self, z: &[f64]) -> Option<Vec<f64>> {
            Some(vec![(z[0] - 1.0) / 2.0 - z[1], z[1]])
        }
    }

    #[test]
    fn draws_have_the_variance_of_the_curvature() {
        let draws = draws(&mut Quadratic, &[1.0, 0.0], 1.0, 4000, 3);
        let mean = |f: &dyn Fn(&Vec<f64>) -> f64| draws.iter().map(f).sum::<f64>() / draws.len() as f64;
        assert!((mean(&|z| z[0]) - 1.0).abs() < 0.15);
        assert!((mean(&|z| z[1] * z[1]) - 1.0).abs() < 0.1);
        assert!((mean(&|z| (z[0] - 1.0).powi(2)) - 8.0).abs() < 0.8, "4 (1 + 1)");
    }
}
