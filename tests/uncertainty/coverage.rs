//! How often intervals hold what they are of. `cargo bench --bench coverage` does the same with more trials and settings.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use skidconv::stat::distribution::normal;
use skidconv::stat::{Interval, Summary, bootstrap, interval};

/// Part of `trials` in which the intervals of mean (t, percentile, BCa) and deviation (percentile, BCa) hold the truth.
fn coverage(
    trials: u64,
    truth: (f64, f64),
    draw: impl Fn(&mut Xoshiro256PlusPlus) -> Vec<f64> + Sync,
) -> [f64; 5] {
    let trial = |seed: u64| -> [f64; 5] {
        let values = draw(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        let b = bootstrap(&values, 400, 0.95, seed);
        let t = interval(&Summary::of(&values), 0.95);
        let holds = |interval: Interval, truth| f64::from(u8::from(interval.holds(truth)));
        [
            holds(t, truth.0),
            holds(b.mean.percentile, truth.0),
            holds(b.mean.bca, truth.0),
            holds(b.deviation.percentile, truth.1),
            holds(b.deviation.bca, truth.1),
        ]
    };
    let held: Vec<[f64; 5]> = (0..trials).into_par_iter().map(trial).collect();
    [0, 1, 2, 3, 4].map(|ix| held.iter().map(|h| h[ix]).sum::<f64>() / trials as f64)
}

fn gauss(rng: &mut Xoshiro256PlusPlus) -> f64 {
    normal::quantile(rng.random_range(1e-12..1.0))
}

/// Normal distributions with deviations of 1 and means of 10 and 30, `part` of which is the second.
fn mixture(rng: &mut Xoshiro256PlusPlus, n: usize, part: f64) -> Vec<f64> {
    let one = |rng: &mut Xoshiro256PlusPlus| if rng.random_bool(part) { 30.0 } else { 10.0 } + gauss(rng);
    (0..n).map(|_| one(rng)).collect()
}

/// The truth of a mixture: 10 + 20 p, and 1 + 400 p (1 − p) for the variance.
fn of_mixture(part: f64) -> (f64, f64) {
    (10.0 + 20.0 * part, (1.0 + 400.0 * part * (1.0 - part)).sqrt())
}

#[test]
fn intervals_of_a_normal_sample_hold_as_often_as_they_say() {
    let held = coverage(1000, (5.0, 2.0), |rng| (0..40).map(|_| 5.0 + 2.0 * gauss(rng)).collect());
    println!("normal, n = 40: {held:?}");
    assert!((held[0] - 0.95).abs() < 0.021, "t");
    assert!(held[1] > 0.92 && held[2] > 0.92, "bootstrap of the mean");
    assert!(held[3] > 0.86 && held[4] > 0.89 && held[4] > held[3], "bootstrap of the deviation");
}

/// Figure 6: with many values of the second mode both intervals hold; below ten the percentile interval holds less, BCa
/// more than it; where a sample often has none at all, both fail.
#[test]
fn a_rare_second_mode_breaks_intervals_as_the_note_says() {
    const N: usize = 200;
    let at = |outliers: f64| {
        let part = outliers / N as f64;
        let held = coverage(500, of_mixture(part), |rng| mixture(rng, N, part));
        println!("mixture, {outliers} expected outliers of {N}: {held:?}");
        held
    };
    let (many, some, few) = (at(30.0), at(6.0), at(1.5));
    // of 500 trials ±2 %: 95 % less three standard errors is 92 %, of many outliers the percentile's own shortfall more
    assert!(many[3] > 0.88 && many[4] > 0.88, "{many:?}");
    assert!(some[4] > some[3], "BCa holds more than the percentile interval: {some:?}");
    assert!(few[3] < 0.85 && few[4] < 0.85, "{few:?}");
}
