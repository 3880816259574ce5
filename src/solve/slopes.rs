//! Derivatives of the residuals around a place, and what they lead to expect.
//!
//! In: an energy and a place, then steps that were taken and what the residuals were before and behind them. Out: gradient and
//! Gauss–Newton Hessian. Derivatives by differences take as many evaluations as there are parameters, so for a few steps they
//! are brought up to date from what the step itself showed (C. G. Broyden, "A class of methods for solving nonlinear simultaneous
//! equations", Mathematics of Computation 19, 1965, update (4.5)). It does not know which steps are worth taking.

use super::energy::{Energy, hessian, jacobian};
use super::linear::dot;

/// Derivatives at a place.
pub struct Slopes {
    /// Of the residuals by each parameter, one row a parameter.
    jacobian: Vec<Vec<f64>>,
    /// Product of the rows with each other.
    pub hessian: Vec<Vec<f64>>,
    /// Steps since they were found by differences.
    pub stale: usize,
}

impl Slopes {
    /// By differences around `z`, where there are these `residuals`.
    pub fn at(energy: &dyn Energy, z: &[f64], residuals: &[f64]) -> Slopes {
        let jacobian = jacobian(energy, z, residuals);
        let hessian = hessian(&jacobian);
        Slopes { jacobian, hessian, stale: 0 }
    }

    /// Derivative of the energy by each parameter where there are these `residuals`.
    pub fn gradient(&self, residuals: &[f64]) -> Vec<f64> {
        self.jacobian.iter().map(|row| dot(row, residuals)).collect()
    }

    /// How much the energy should fall with a `step` (which is subtracted) where it has this `gradient`.
    pub fn expected(&self, gradient: &[f64], step: &[f64]) -> f64 {
        let bent: f64 = self.hessian.iter().zip(step).map(|(row, s)| s * dot(row, step)).sum();
        dot(gradient, step) - 0.5 * bent
    }

    /// The least change that explains what a `step` (which was subtracted) made of the residuals that were there `before`.
    pub fn learn(&mut self, step: &[f64], before: &[f64], behind: &[f64]) {
        let square = dot(step, step);
        if square <= 0.0 {
            return;
        }
        let mut missing: Vec<f64> =
            behind.iter().zip(before).map(|(behind, before)| behind - before).collect();
        for (row, s) in self.jacobian.iter().zip(step) {
            missing.iter_mut().zip(row).for_each(|(missing, slope)| *missing += s * slope);
        }
        let along: Vec<f64> = step.iter().map(|s| -s / square).collect();
        let shown = self.gradient(&missing);
        let all = dot(&missing, &missing);
        for (i, row) in self.hessian.iter_mut().enumerate() {
            for (j, h) in row.iter_mut().enumerate() {
                *h += shown[i] * along[j] + along[i] * shown[j] + all * along[i] * along[j];
            }
        }
        for (row, along) in self.jacobian.iter_mut().zip(&along) {
            row.iter_mut().zip(&missing).for_each(|(slope, missing)| *slope += along * missing);
        }
        self.stale += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two residuals that bend.
    struct Bent;
    impl Energy for Bent {
        fn residuals(&self, z: &[f64]) -> Option<Vec<f64>> {
            Some(vec![z[0] * z[0] - z[1], 3.0 * z[1] + z[0]])
        }
    }

    #[test]
    fn a_step_explains_itself_and_the_hessian_is_that_of_the_rows() {
        let residuals = |z: &[f64]| Bent.residuals(z).expect("they mean something");
        let (z, step) = ([1.0, 2.0], [0.5, -0.25]);
        let next = [z[0] - step[0], z[1] - step[1]];
        let (before, behind) = (residuals(&z), residuals(&next));
        let mut slopes = Slopes::at(&Bent, &z, &before);
        slopes.learn(&step, &before, &behind);
        for r in 0..2 {
            let moved: f64 = (0..2).map(|k| -step[k] * slopes.jacobian[k][r]).sum();
            assert!((moved - (behind[r] - before[r])).abs() < 1e-9);
        }
        for (i, row) in slopes.hessian.iter().enumerate() {
            for (j, h) in row.iter().enumerate() {
                assert!((h - dot(&slopes.jacobian[i], &slopes.jacobian[j])).abs() < 1e-9);
            }
        }
        // across the step nothing was learnt
        let across = [step[1], -step[0]];
        let fresh = Slopes::at(&Bent, &z, &before);
        for r in 0..2 {
            let of = |slopes: &Slopes| across[0] * slopes.jacobian[0][r] + across[1] * slopes.jacobian[1][r];
            assert!((of(&slopes) - of(&fresh)).abs() < 1e-9);
        }
    }

    #[test]
    fn where_nothing_bends_the_fall_is_as_expected() {
        struct Straight;
        impl Energy for Straight {
            fn residuals(&self, z: &[f64]) -> Option<Vec<f64>> {
                Some(vec![2.0 * z[0] + 1.0, z[0] - z[1]])
            }
        }
        let energy = |z: &[f64]| super::super::energy::value(&Straight.residuals(z).expect("a value"));
        let (z, step) = ([1.0, 0.5], [0.3, 0.2]);
        let residuals = Straight.residuals(&z).expect("a value");
        let slopes = Slopes::at(&Straight, &z, &residuals);
        let expected = slopes.expected(&slopes.gradient(&residuals), &step);
        let fall = energy(&z) - energy(&[z[0] - step[0], z[1] - step[1]]);
        assert!((expected - fall).abs() < 1e-9, "{expected} {fall}");
    }
}
