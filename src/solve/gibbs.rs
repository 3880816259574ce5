//! Gibbs sampling of branch probabilities and of the skid: the primary solver.
//!
//! A sweep draws each coordinate from its distribution given all others (slice sampling; Neal, "Slice sampling", 2003,
//! figures 3 and 5), in coordinates in which the posterior at its mode is round, so that the long valleys of trip counts
//! against head times don't slow it down; then the weights of the skid's bins given the paths (Dirichlet, after allotting
//! each sample to a bin in proportion).

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::energy::value;
use super::levenberg::precision;
use super::linear::{cholesky, solve_upper};
use super::posterior::Posterior;
use crate::skid::likelihood::Prediction;

/// Width of the first slice, in standard deviations at the mode.
const WIDTH: f64 = 3.0;
/// Pseudo-samples in each bin of the skid.
const BIN_PRIOR: f64 = 0.1;

/// How long and how often.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    /// Sweeps thrown away.
    pub burn: usize,
    /// Sweeps kept.
    pub keep: usize,
}

/// What a chain kept.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    /// Parameters of each kept sweep.
    pub z: Vec<Vec<f64>>,
    /// Executions per block of each kept sweep.
    pub blocks: Vec<Vec<f64>>,
    /// Cycles waited for each node, mean over kept sweeps.
    pub waited: Vec<f64>,
    /// Mean skid of each kept sweep, cycles.
    pub skid: Vec<f64>,
    /// Energy of each kept sweep.
    pub energy: Vec<f64>,
}

/// Runs one chain from `start`. Equal `seed`s give equal chains. `None` if the start means nothing.
pub fn chain(posterior: &mut Posterior<'_>, start: &[f64], length: Length, seed: u64) -> Option<Chain> {
    let directions = directions(posterior, start)?;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut state = State::at(posterior, start.to_vec())?;
    let mut chain = Chain::default();
    for sweep in 0..length.burn + length.keep {
        for direction in &directions {
            state.slice(posterior, direction, &mut rng);
        }
        state.draw_skid(posterior, &mut rng);
        if sweep >= length.burn {
            chain.keep(posterior, &state);
        }
    }
    let kept = length.keep.max(1) as f64;
    chain.waited.iter_mut().for_each(|w| *w /= kept);
    Some(chain)
}

/// Steps of one standard deviation along which the posterior at `z` is round: columns of *L⁻ᵀ*, with *L Lᵀ* its precision.
fn directions(posterior: &mut Posterior<'_>, z: &[f64]) -> Option<Vec<Vec<f64>>> {
    let lower = cholesky(&precision(posterior, z)?)?;
    let unit = |k: usize| {
        let mut e = vec![0.0; z.len()];
        e[k] = 1.0;
        solve_upper(&lower, &e)
    };
    Some((0..z.len()).map(unit).collect())
}

struct State {
    z: Vec<f64>,
    prediction: Prediction,
    energy: f64,
}

impl State {
    fn at(posterior: &mut Posterior<'_>, z: Vec<f64>) -> Option<State> {
        let prediction = posterior.predict(&z)?;
        let energy = value(&posterior.residuals_of(&z, &prediction));
        Some(State { z, prediction, energy })
    }

    fn slice(&mut self, posterior: &mut Posterior<'_>, direction: &[f64], rng: &mut Xoshiro256PlusPlus) {
        let level = self.energy - rng.random::<f64>().max(f64::MIN_POSITIVE).ln();
        let mut low = -WIDTH * rng.random::<f64>();
        let mut high = low + WIDTH;
        // shrinks to the present point, where the level is met
        for _ in 0..20 {
            let s = low + (high - low) * rng.random::<f64>();
            let z = self.z.iter().zip(direction).map(|(z, d)| z + s * d).collect();
            if let Some(state) = State::at(posterior, z).filter(|state| state.energy <= level) {
                *self = state;
                return;
            }
            if s < 0.0 { low = s } else { high = s }
        }
    }

    fn draw_skid(&mut self, posterior: &mut Posterior<'_>, rng: &mut Xoshiro256PlusPlus) {
        if posterior.skid.weights.len() < 2 {
            return;
        }
        let allotted = posterior.allotted(&self.prediction);
        for (weight, samples) in posterior.skid.weights.iter_mut().zip(allotted) {
            *weight = gamma(rng, samples / posterior.trust.dispersion + BIN_PRIOR);
        }
        posterior.skid.normalise();
        self.energy = value(&posterior.residuals_of(&self.z, &self.prediction));
    }
}

impl Chain {
    fn keep(&mut self, posterior: &Posterior<'_>, state: &State) {
        self.z.push(state.z.clone());
        self.blocks.push(state.prediction.rates.blocks.clone());
        self.skid.push(posterior.skid.mean());
        self.energy.push(state.energy);
        let waited = &state.prediction.holds.waited;
        self.waited.resize(waited.len(), 0.0);
        self.waited.iter_mut().zip(waited).for_each(|(sum, w)| *sum += w);
    }
}

/// A gamma variate of unit scale (Marsaglia and Tsang, "A simple method for generating gamma variables", 2000).
fn gamma(rng: &mut Xoshiro256PlusPlus, shape: f64) -> f64 {
    if shape < 1.0 {
        let boost = rng.random::<f64>().max(f64::MIN_POSITIVE).powf(1.0 / shape);
        return boost * gamma(rng, shape + 1.0);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(rng);
        let v = (1.0 + c * x).powi(3);
        let u = rng.random::<f64>().max(f64::MIN_POSITIVE);
        if v > 0.0 && u.ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}

/// A standard normal variate (Box and Muller).
pub(super) fn normal(rng: &mut Xoshiro256PlusPlus) -> f64 {
    let radius = (-2.0 * rng.random::<f64>().max(f64::MIN_POSITIVE).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}
