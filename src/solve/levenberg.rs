//! The mode of an energy by damped Gauss–Newton steps (Levenberg–Marquardt; Nocedal and Wright, "Numerical Optimization",
//! 2006, section 10.3). Needs few evaluations where the residuals are nearly linear, and copes with parameters of unlike
//! scale, which branch logits are.

use super::energy::{Energy, hessian, jacobian, value};
use super::linear::{cholesky, solve};
use super::slopes::Slopes;

/// No parameter moves further in one step: beyond, a logit's effect is no longer nearly linear.
const LONGEST_STEP: f64 = 2.0;
/// Steps tried from one place, each five times shorter than the one before where that is damped.
const TRIES: usize = 8;
/// Steps taken with derivatives that were brought up to date only …
const MOST_STALE: usize = 3;
/// … as long as each gains so much of what it should. With .3 flow conservation ends elsewhere in one of 44 recordings (block
/// distance .16 → .40).
const AS_EXPECTED: f64 = 0.75;

/// How far a search goes.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Iterations at most.
    pub iterations: usize,
    /// An iteration that gains less ends it, once derivatives are fresh.
    pub least_gain: f64,
}

impl Effort {
    /// To the end, where derivatives are cheap: so many iterations at most.
    pub fn thorough(iterations: usize) -> Effort {
        Effort { iterations, least_gain: 1e-3 }
    }
}

/// A local mode.
#[derive(Clone, Debug)]
pub struct Mode {
    /// Where.
    pub z: Vec<f64>,
    /// The energy there.
    pub energy: f64,
}

/// Searches from `start` with so much `effort`; `None` if the start itself means nothing.
pub fn descend(energy: &dyn Energy, start: Vec<f64>, effort: Effort) -> Option<Mode> {
    let mut place = Place { residuals: energy.residuals(&start)?, z: start };
    let mut damping = 0.01;
    let mut known: Option<Slopes> = None;
    for _ in 0..effort.iterations {
        let mut slopes = known.take().unwrap_or_else(|| Slopes::at(energy, &place.z, &place.residuals));
        let gradient = slopes.gradient(&place.residuals);
        let before = damping;
        let Some((step, there)) = lower(energy, &place, &slopes, &gradient, &mut damping) else {
            if slopes.stale == 0 {
                break;
            }
            // it was the slopes
            damping = before;
            continue;
        };
        let gain = value(&place.residuals) - value(&there.residuals);
        if gain < effort.least_gain && slopes.stale == 0 {
            place = there;
            break;
        }
        let as_expected = gain > AS_EXPECTED * slopes.expected(&gradient, &step);
        if gain >= effort.least_gain && as_expected && slopes.stale < MOST_STALE {
            slopes.learn(&step, &place.residuals, &there.residuals);
            known = Some(slopes);
        }
        place = there;
    }
    Some(Mode { energy: value(&place.residuals), z: place.z })
}

/// Parameters and what they leave.
struct Place {
    z: Vec<f64>,
    residuals: Vec<f64>,
}

/// The first step tried from `place` that leads lower, and where it leads.
fn lower(
    energy: &dyn Energy,
    place: &Place,
    slopes: &Slopes,
    gradient: &[f64],
    damping: &mut f64,
) -> Option<(Vec<f64>, Place)> {
    let here = value(&place.residuals);
    for _ in 0..TRIES {
        let found = step(&slopes.hessian, gradient, *damping).and_then(|step| {
            let z: Vec<f64> = place.z.iter().zip(&step).map(|(z, s)| z - s).collect();
            let residuals = energy.residuals(&z)?;
            Some((step, Place { z, residuals }))
        });
        match found {
            Some((step, there)) if value(&there.residuals) < here => {
                *damping *= 0.2;
                return Some((step, there));
            }
            _ => *damping *= 5.0,
        }
    }
    None
}

/// The Gauss–Newton Hessian at `z`: the precision of the posterior there. `None` where `z` means nothing.
pub fn precision(energy: &dyn Energy, z: &[f64]) -> Option<Vec<Vec<f64>>> {
    let residuals = energy.residuals(z)?;
    Some(hessian(&jacobian(energy, z, &residuals)))
}

fn step(hessian: &[Vec<f64>], gradient: &[f64], damping: f64) -> Option<Vec<f64>> {
    let mut damped = hessian.to_vec();
    for (k, row) in damped.iter_mut().enumerate() {
        row[k] += damping * row[k] + 1e-9;
    }
    let mut step = solve(&cholesky(&damped)?, gradient);
    let longest = step.iter().fold(0.0f64, |m, s| m.max(s.abs()));
    if longest > LONGEST_STEP {
        step.iter_mut().for_each(|s| *s *= LONGEST_STEP / longest);
    }
    longest.is_finite().then_some(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosenbrock's valley as a sum of squares.
    struct Valley;
    impl Energy for Valley {
        fn residuals(&self, z: &[f64]) -> Option<Vec<f64>> {
            Some(vec![1.0 - z[0], 10.0 * (z[1] - z[0] * z[0])])
        }
    }

    #[test]
    fn the_valley_is_followed_to_its_end() {
        let mode = descend(&Valley, vec![-1.2, 1.0], Effort::thorough(100)).expect("a start");
        assert!(mode.energy < 0.05, "{mode:?}");
    }

    #[test]
    fn a_search_that_asks_for_more_gain_ends_sooner() {
        let reached = |least_gain| {
            let effort = Effort { iterations: 100, least_gain };
            descend(&Valley, vec![-1.2, 1.0], effort).expect("a start").energy
        };
        let start = value(&Valley.residuals(&[-1.2, 1.0]).expect("a value"));
        assert!(reached(1e-3) < reached(5.0) && reached(5.0) < start);
    }

    /// Means nothing left of −1.
    struct Edge;
    impl Energy for Edge {
        fn residuals(&self, z: &[f64]) -> Option<Vec<f64>> {
            (z[0] > -1.0).then(|| vec![z[0] + 3.0])
        }
    }

    #[test]
    fn the_search_stops_at_the_edge_of_what_has_a_meaning() {
        let mode = descend(&Edge, vec![2.0], Effort::thorough(100)).expect("a start");
        assert!(mode.z[0] > -1.0 && mode.z[0] < 0.0, "{mode:?}");
        assert!(descend(&Edge, vec![-2.0], Effort::thorough(10)).is_none());
    }
}
