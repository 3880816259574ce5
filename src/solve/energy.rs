//! What every search here minimises: half the sum of squared residuals, each in units of its standard deviation.

/// A function of parameters that is a sum of squares.
pub trait Energy {
    /// Residuals at `z`, always as many; `None` where the parameters mean nothing.
    fn residuals(&mut self, z: &[f64]) -> Option<Vec<f64>>;
}

/// Half the squared length.
pub fn value(residuals: &[f64]) -> f64 {
    0.5 * residuals.iter().map(|r| r * r).sum::<f64>()
}

/// Step of the forward differences.
const STEP: f64 = 0.02;

/// Derivatives of the residuals by each parameter: one row a parameter. A parameter that can't be changed from here has
/// zeros.
pub fn jacobian(energy: &mut dyn Energy, z: &[f64], residuals: &[f64]) -> Vec<Vec<f64>> {
    let mut moved = z.to_vec();
    let mut rows = Vec::with_capacity(z.len());
    for k in 0..z.len() {
        moved[k] = z[k] + STEP;
        let row = match energy.residuals(&moved) {
            Some(there) => there.iter().zip(residuals).map(|(b, a)| (b - a) / STEP).collect(),
            None => vec![0.0; residuals.len()],
        };
        moved[k] = z[k];
        rows.push(row);
    }
    rows
}

/// Gradient and Gauss–Newton Hessian of the energy.
pub fn normal_equations(jacobian: &[Vec<f64>], residuals: &[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let gradient = jacobian.iter().map(|row| dot(row, residuals)).collect();
    let mut hessian = vec![vec![0.0; jacobian.len()]; jacobian.len()];
    for i in 0..jacobian.len() {
        for j in 0..=i {
            hessian[i][j] = dot(&jacobian[i], &jacobian[j]);
            hessian[j][i] = hessian[i][j];
        }
    }
    (gradient, hessian)
}
