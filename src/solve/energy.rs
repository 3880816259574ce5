//! What every search here minimises: half the sum of squared residuals, each in units of its standard deviation.

use rayon::prelude::*;

use super::linear::gram;
use crate::skid::kernel::LANES;

/// A function of parameters that is a sum of squares.
pub trait Energy: Sync {
    /// Residuals at `z`, always as many; `None` where the parameters mean nothing.
    fn residuals(&self, z: &[f64]) -> Option<Vec<f64>>;

    /// Precision at `z` that each parameter has from what was known before anything was seen, by residuals of its own; zeros where the
    /// energy does not tell that from what was seen.
    fn prior(&self, z: &[f64]) -> Vec<f64> {
        vec![0.0; z.len()]
    }

    /// Half the sum of the squared residuals at `z`; infinite where the parameters mean nothing.
    fn height(&self, z: &[f64]) -> f64 {
        self.residuals(z).map_or(f64::INFINITY, |residuals| value(&residuals))
    }

    /// Residuals around `z`.
    fn around<'a>(&'a self, z: &'a [f64]) -> Near<'a> {
        Box::new(|changes| changes.iter().map(|change| self.residuals(&change.of(z))).collect())
    }
}

/// Residuals where one parameter is another, for each of some changes.
pub type Near<'a> = Box<dyn Fn(&[Change]) -> Vec<Option<Vec<f64>>> + Sync + 'a>;

/// One parameter that is so much more.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// Which.
    pub k: usize,
    /// By how much.
    pub step: f64,
}

impl Change {
    /// The parameters `z` with it.
    pub fn of(self, z: &[f64]) -> Vec<f64> {
        let mut changed = z.to_vec();
        changed[self.k] += self.step;
        changed
    }
}

/// Half the squared length.
pub fn value(residuals: &[f64]) -> f64 {
    0.5 * residuals.iter().map(|r| r * r).sum::<f64>()
}

/// Step of the differences, and where that means nothing.
const STEPS: [f64; 2] = [0.02, -0.02];

/// Derivatives of the residuals by each parameter, one row a parameter; zeros for one that can't be changed from here.
pub fn jacobian(energy: &dyn Energy, z: &[f64], residuals: &[f64]) -> Vec<Vec<f64>> {
    let around = energy.around(z);
    let slope = |there: Vec<f64>, step: f64| -> Vec<f64> {
        there.iter().zip(residuals).map(|(b, a)| (b - a) / step).collect()
    };
    let rows = |parameters: &[usize]| {
        let mut rows = vec![None; parameters.len()];
        for step in STEPS {
            let open: Vec<usize> = (0..rows.len()).filter(|&row| rows[row].is_none()).collect();
            let changes: Vec<Change> = open.iter().map(|&row| Change { k: parameters[row], step }).collect();
            for (row, there) in open.into_iter().zip(around(&changes)) {
                rows[row] = there.map(|there| slope(there, step));
            }
        }
        rows.into_iter().map(|row| row.unwrap_or_else(|| vec![0.0; residuals.len()]))
    };
    let parameters: Vec<usize> = (0..z.len()).collect();
    parameters.par_chunks(LANES).flat_map_iter(rows).collect()
}

/// Slopes of a residual, in its standard deviations by each parameter, that have no part in the Hessian: code is large, and what a
/// branch changes mostly lies around it.
const FLAT: f64 = 1e-3;

/// The Gauss–Newton Hessian of the energy, from the derivatives of its residuals.
pub fn hessian(jacobian: &[Vec<f64>]) -> Vec<Vec<f64>> {
    gram(jacobian, FLAT)
}
