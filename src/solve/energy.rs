//! What every search here minimises: half the sum of squared residuals, each in units of its standard deviation.

use rayon::prelude::*;

use super::linear::dot;

/// A function of parameters that is a sum of squares.
pub trait Energy {
    /// Residuals at `z`, always as many; `None` where the parameters mean nothing.
    fn residuals(&mut self, z: &[f64]) -> Option<Vec<f64>>;
}

/// Half the squared length.
pub fn value(residuals: &[f64]) -> f64 {
    0.5 * residuals.iter().map(|r| r * r).sum::<f64>()
}

/// Step of the differences, and where that means nothing.
const STEPS: [f64; 2] = [0.02, -0.02];

/// Derivatives of the residuals by each parameter, one row a parameter; zeros for one that can't be changed from here.
pub fn jacobian(energy: &mut dyn Energy, z: &[f64], residuals: &[f64]) -> Vec<Vec<f64>> {
    let mut moved = z.to_vec();
    let row = |k: usize| {
        let mut by = |step: f64| {
            moved[k] = z[k] + step;
            let there = energy.residuals(&moved)?;
            Some(there.iter().zip(residuals).map(|(b, a)| (b - a) / step).collect())
        };
        let row = STEPS.iter().find_map(|&step| by(step));
        moved[k] = z[k];
        row.unwrap_or_else(|| vec![0.0; residuals.len()])
    };
    (0..z.len()).map(row).collect()
}

/// Gradient and Gauss–Newton Hessian of the energy.
pub fn normal_equations(jacobian: &[Vec<f64>], residuals: &[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let gradient = jacobian.iter().map(|row| dot(row, residuals)).collect();
    let lower = |i: usize| jacobian[..=i].iter().map(|row| dot(&jacobian[i], row)).collect();
    let mut hessian: Vec<Vec<f64>> = (0..jacobian.len()).into_par_iter().map(lower).collect();
    for i in 0..hessian.len() {
        let above: Vec<f64> = hessian[i + 1..].iter().map(|row| row[i]).collect();
        hessian[i].extend(above);
    }
    (gradient, hessian)
}
