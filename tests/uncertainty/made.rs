//! Profiles of made-up programs, whose trouble is known.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use skidconv::stat::{Profile, Sample, Series};

/// Sampling period, nanoseconds.
pub const PERIOD: u64 = 100_000;

/// A sample after `n` periods.
pub fn sample(n: usize, function: u32) -> Sample {
    Sample { function, time: 1_000_000 + n as u64 * PERIOD, cpu: 0, thread: 7, period: PERIOD }
}

/// A profile of functions from samples.
pub fn profile(functions: usize, samples: impl IntoIterator<Item = Sample>) -> Profile {
    let samples: Vec<Sample> = samples.into_iter().collect();
    let mut counts = vec![0; functions];
    samples.iter().for_each(|s| counts[s.function as usize] += 1);
    Profile {
        counts,
        calls: vec![None; functions],
        sites: vec![Vec::new(); functions],
        series: Series::new(samples),
        ..Profile::default()
    }
}

/// Independent samples of four functions with .2, .5, .25 and .05.
pub fn independent(seed: u64, n: usize) -> Profile {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    profile(4, (0..n).map(|ix| sample(ix, drawn(&mut rng))).collect::<Vec<_>>())
}

pub fn drawn(rng: &mut Xoshiro256PlusPlus) -> u32 {
    match rng.random::<f64>() {
        x if x < 0.2 => 0,
        x if x < 0.7 => 1,
        x if x < 0.95 => 2,
        _ => 3,
    }
}

/// A program that calls functions for random times, `mean` sampling periods on average.
pub fn phases(seed: u64, n: usize, mean: f64) -> Profile {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut function = 1;
    let samples: Vec<Sample> = (0..n)
        .map(|ix| {
            if rng.random_bool(1.0 / mean) {
                function = drawn(&mut rng);
            }
            sample(ix, function)
        })
        .collect();
    profile(4, samples)
}

/// A program that goes round through `functions` equal functions in `cycle` sampling periods, hit at nearly exact times.
pub fn round(seed: u64, n: usize, functions: usize, cycle: f64) -> Profile {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let start: f64 = rng.random();
    let at = |ix: usize, rng: &mut Xoshiro256PlusPlus| {
        let phase = start + (ix as f64 + rng.random_range(-0.01..0.01)) / cycle;
        (phase.rem_euclid(1.0) * functions as f64) as u32
    };
    let samples: Vec<Sample> = (0..n).map(|ix| sample(ix, at(ix, &mut rng))).collect();
    profile(functions, samples)
}
