//! How often bootstrap intervals hold the standard deviation of a mixture with a rare second mode: figure 6 of NIST TN 1826.
//!
//!     cargo bench --bench coverage [-- TRIALS REPLICATES SIZE]
//!
//! Two normal distributions with deviations of 1 and means of 10 and 30, by the number of values expected from the second.
//! The note has 1000 trials of 1000 values with 10,000 resamples; the default is 500, 1000 and 500.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use skidconv::stat::distribution::normal;
use skidconv::stat::{Summary, bootstrap, interval};

/// Expected values of the second mode.
const EXPECTED: [f64; 10] = [0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 0.0];

fn main() {
    let numbers: Vec<usize> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let number = |ix: usize, default| numbers.get(ix).copied().unwrap_or(default);
    let (trials, replicates, size) = (number(0, 500), number(1, 1000), number(2, 500));
    println!(
        "95 % intervals, {trials} trials of {size} values, {replicates} resamples: part that hold the truth"
    );
    println!("            of the mean                  of the standard deviation");
    println!("expected    t    percentile   BCa        percentile   BCa    none seen");
    for expected in EXPECTED {
        let part = expected / size as f64;
        let truth = (10.0 + 20.0 * part, (1.0 + 400.0 * part * (1.0 - part)).sqrt());
        let trial = |seed: u64| {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut seen = 0;
            let mut one = || {
                let second = rng.random_bool(part);
                seen += usize::from(second);
                let z = normal::quantile(rng.random_range(1e-12..1.0));
                if second { 30.0 + z } else { 10.0 + z }
            };
            let values: Vec<f64> = (0..size).map(|_| one()).collect();
            let b = bootstrap(&values, replicates, 0.95, seed);
            let t = interval(&Summary::of(&values), 0.95);
            [
                t.holds(truth.0),
                b.mean.percentile.holds(truth.0),
                b.mean.bca.holds(truth.0),
                b.deviation.percentile.holds(truth.1),
                b.deviation.bca.holds(truth.1),
                seen == 0,
            ]
        };
        let held: Vec<[bool; 6]> = (0..trials as u64).into_par_iter().map(trial).collect();
        let part = |ix: usize| held.iter().filter(|held| held[ix]).count() as f64 / trials as f64;
        println!(
            "{expected:8.1} {:6.3} {:10.3} {:8.3} {:14.3} {:8.3} {:10.3}",
            part(0),
            part(1),
            part(2),
            part(3),
            part(4),
            part(5)
        );
    }
}
