//! Minimisation by argmin's L-BFGS with a Moré–Thuente line search. The only file that names argmin.

use argmin::core::{CostFunction, Error, Executor, Gradient};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use std::cell::RefCell;
use std::rc::Rc;

/// A function to minimise and its gradient.
pub trait Smooth {
    /// Value and gradient at `z`; an infinite value where there is none.
    fn evaluate(&mut self, z: &[f64]) -> (f64, Vec<f64>);
}

/// The lowest point found from `start` within `iterations` steps, and its value. Never worse than `start`.
pub fn minimise(problem: &mut dyn Smooth, start: Vec<f64>, iterations: u64) -> (Vec<f64>, f64) {
    let initial = problem.evaluate(&start).0;
    if start.is_empty() {
        return (start, initial);
    }
    let shared =
        Shared(Rc::new(RefCell::new(Memory { problem, last: None, best: (start.clone(), initial) })));
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), 8);
    let executor = Executor::new(shared.clone(), solver);
    // a line search that gives up ends the run with an error; the best point it saw stands all the same
    let _ = executor.configure(|state| state.param(start).max_iters(iterations)).timer(false).run();
    shared.0.borrow().best.clone()
}

/// argmin asks for cost and gradient apart; one evaluation gives both.
struct Memory<'a> {
    problem: &'a mut dyn Smooth,
    last: Option<(Vec<f64>, f64, Vec<f64>)>,
    best: (Vec<f64>, f64),
}

#[derive(Clone)]
struct Shared<'a>(Rc<RefCell<Memory<'a>>>);

impl Shared<'_> {
    fn at(&self, z: &[f64]) -> (f64, Vec<f64>) {
        let mut memory = self.0.borrow_mut();
        if let Some((known, value, gradient)) = &memory.last
            && known == z
        {
            return (*value, gradient.clone());
        }
        let (value, gradient) = memory.problem.evaluate(z);
        if value < memory.best.1 {
            memory.best = (z.to_vec(), value);
        }
        memory.last = Some((z.to_vec(), value, gradient.clone()));
        (value, gradient)
    }
}

impl CostFunction for Shared<'_> {
    type Param = Vec<f64>;
    type Output = f64;
    fn cost(&self, z: &Vec<f64>) -> Result<f64, Error> {
        let value = self.at(z).0;
        // the line search cannot step back from an infinity
        Ok(if value.is_finite() { value } else { 1e12 })
    }
}

impl Gradient for Shared<'_> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;
    fn gradient(&self, z: &Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok(self.at(z).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Rosenbrock;
    impl Smooth for Rosenbrock {
        fn evaluate(&mut self, z: &[f64]) -> (f64, Vec<f64>) {
            let (x, y) = (z[0], z[1]);
            let value = (1.0 - x).powi(2) + 100.0 * (y - x * x).powi(2);
            (value, vec![-2.0 * (1.0 - x) - 400.0 * x * (y - x * x), 200.0 * (y - x * x)])
        }
    }

    #[test]
    fn the_banana_valley_is_followed_to_its_end() {
        let (z, value) = minimise(&mut Rosenbrock, vec![-1.2, 1.0], 200);
        assert!(value < 1e-8, "{value}");
        assert!((z[0] - 1.0).abs() < 1e-3 && (z[1] - 1.0).abs() < 1e-3);
    }
}
