//! The posterior check: whether the samples are what the answer expects.

use crate::report::Fit;
use crate::skid::Observation;
use crate::skid::kernel::{Kernel, Origin};
use crate::solve::{Answer, Solved};

/// Total variation distance between the samples of a region's first late event and what its answer expects, beside what chance
/// alone would make of it: each share *p* of *n* samples is off by √(2 p (1 − p) / π n) on average.
pub fn fit(answer: &Answer, solved: &Solved) -> Option<Fit> {
    let event = answer.model.events.iter().find(|event| !event.exact)?;
    let total = event.total();
    let expected = expected(answer, solved, event);
    let sum: f64 = expected.iter().sum();
    if !(total > 0.0 && sum > 0.0) {
        return None;
    }
    let (mut distance, mut noise) = (0.0, 0.0);
    for (expected, seen) in expected.iter().zip(event.samples()) {
        let share = expected / sum;
        distance += 0.5 * (seen / total - share).abs();
        noise += 0.5 * (2.0 * share * (1.0 - share) / (std::f64::consts::PI * total)).max(0.0).sqrt();
    }
    Some(Fit { distance, noise })
}

/// Expected reports of `event` per node, up to a factor.
fn expected(answer: &Answer, solved: &Solved, event: &Observation) -> Vec<f64> {
    let origin = answer.model.origin(event, &answer.rates);
    let [bins] = Kernel::default().reports(&[answer.walk()], &solved.skid, [Origin::Behind(&origin)]);
    let mut expected = vec![0.0; origin.len()];
    for (bin, weight) in bins.iter().zip(&solved.skid.weights) {
        let sum: f64 = bin.iter().sum();
        if sum > 0.0 {
            expected.iter_mut().zip(bin).for_each(|(e, b)| *e += weight * b / sum);
        }
    }
    expected
}
