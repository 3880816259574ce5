//! The mode of an energy by argmin's L-BFGS with a Moré–Thuente line search: the fallback where chains do not mix. The only
//! file that names argmin.

use std::cell::RefCell;
use std::rc::Rc;

use argmin::core::{CostFunction, Error, Executor, Gradient};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;

use super::energy::{Energy, jacobian, value};
use super::levenberg::{Effort, Mode};

/// Past steps from which L-BFGS builds its Hessian.
const MEMORY: usize = 8;
/// Stands for an energy that means nothing: a line search cannot step back from an infinity.
const FORBIDDEN: f64 = 1e12;

/// Searches from `start` with so much `effort`, each gradient counting as an iteration; `None` if the start itself means nothing.
/// Never worse than the start.
pub fn minimise(energy: &dyn Energy, start: Vec<f64>, effort: Effort) -> Option<Mode> {
    let residuals = energy.residuals(&start)?;
    let best = Mode { z: start.clone(), energy: value(&residuals) };
    let mut seen = Seen { energy, best, last: None, scale: 1.0, left: effort.iterations };
    let Ok((_, gradient)) = seen.at(&start) else { return Some(seen.best) };
    let steepest = gradient.iter().fold(0.0f64, |m, g| m.max(g.abs()));
    if steepest > 0.0 {
        // the first step is along the whole gradient: scaled to one, it stays where the start was meant to be
        seen.scale = 1.0 / steepest;
        let shared = Shared(Rc::new(RefCell::new(seen)));
        let solver = LBFGS::new(MoreThuenteLineSearch::new(), MEMORY);
        // a line search that gives up, or may not go on, ends the run with an error; the best point it saw stands all the same
        let _ = solver.with_tolerance_cost(effort.least_gain / steepest).and_then(|solver| {
            let executor = Executor::new(shared.clone(), solver).timer(false);
            executor.configure(|state| state.param(start).max_iters(effort.iterations as u64)).run()
        });
        return Some(shared.0.borrow().best.clone());
    }
    Some(seen.best)
}

/// The energy, and what was seen of it. argmin asks for cost and gradient apart; one evaluation gives both.
struct Seen<'a> {
    energy: &'a dyn Energy,
    best: Mode,
    last: Option<(Vec<f64>, f64, Vec<f64>)>,
    scale: f64,
    /// Gradients that may still be taken.
    left: usize,
}

/// Why a search is ended that finds no end near a flat bottom, where differences are no longer exact.
#[derive(Debug, thiserror::Error)]
#[error("no gradient is left")]
struct Spent;

impl Seen<'_> {
    fn at(&mut self, z: &[f64]) -> Result<(f64, Vec<f64>), Spent> {
        if let Some((known, cost, gradient)) = &self.last
            && known == z
        {
            return Ok(self.scaled(*cost, gradient));
        }
        self.left = self.left.checked_sub(1).ok_or(Spent)?;
        let (cost, gradient) = match self.energy.residuals(z) {
            Some(residuals) => (value(&residuals), self.gradient(z, &residuals)),
            None => (FORBIDDEN, vec![0.0; z.len()]),
        };
        if cost < self.best.energy {
            self.best = Mode { z: z.to_vec(), energy: cost };
        }
        let scaled = self.scaled(cost, &gradient);
        self.last = Some((z.to_vec(), cost, gradient));
        Ok(scaled)
    }

    fn scaled(&self, cost: f64, gradient: &[f64]) -> (f64, Vec<f64>) {
        (cost * self.scale, gradient.iter().map(|g| g * self.scale).collect())
    }

    fn gradient(&self, z: &[f64], residuals: &[f64]) -> Vec<f64> {
        let dot = |row: &Vec<f64>| row.iter().zip(residuals).map(|(a, b)| a * b).sum::<f64>();
        jacobian(self.energy, z, residuals).iter().map(dot).collect()
    }
}

#[derive(Clone)]
struct Shared<'a>(Rc<RefCell<Seen<'a>>>);

impl CostFunction for Shared<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, z: &Vec<f64>) -> Result<f64, Error> {
        Ok(self.0.borrow_mut().at(z)?.0)
    }
}

impl Gradient for Shared<'_> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, z: &Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok(self.0.borrow_mut().at(z)?.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosenbrock's valley as a sum of squares, with nothing left of −2.
    struct Valley;
    impl Energy for Valley {
        fn residuals(&self, z: &[f64]) -> Option<Vec<f64>> {
            (z[0] > -2.0).then(|| vec![1.0 - z[0], 10.0 * (z[1] - z[0] * z[0])])
        }
    }

    fn effort(iterations: usize) -> Effort {
        Effort { iterations, least_gain: 1e-9 }
    }

    #[test]
    fn the_valley_is_followed_to_its_end() {
        let mode = minimise(&Valley, vec![-1.2, 1.0], effort(300)).expect("a start");
        assert!(mode.energy < 0.01, "{mode:?}");
        assert!(minimise(&Valley, vec![-3.0, 1.0], effort(10)).is_none());
    }

    #[test]
    fn a_start_at_the_bottom_stays_there() {
        assert_eq!(minimise(&Valley, vec![1.0, 1.0], effort(10)).expect("a start").z, [1.0, 1.0]);
    }
}
