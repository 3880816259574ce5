//! Dense Cholesky factors of small symmetric matrices.

/// Lower triangle of *L* with *A = L Lᵀ*; `None` if `a` is not positive definite.
pub fn cholesky(a: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let n = a.len();
    let mut l = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let known: f64 = l[i][..j].iter().zip(&l[j][..j]).map(|(x, y)| x * y).sum();
            let rest = a[i][j] - known;
            if i != j {
                l[i][j] = rest / l[j][j];
            } else if rest > 0.0 && rest.is_finite() {
                l[i][i] = rest.sqrt();
            } else {
                return None;
            }
        }
    }
    Some(l)
}

/// Solves *L Lᵀ x = b*.
pub fn solve(l: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let mut y = b.to_vec();
    for i in 0..y.len() {
        let known: f64 = l[i][..i].iter().zip(&y).map(|(a, x)| a * x).sum();
        y[i] = (y[i] - known) / l[i][i];
    }
    solve_upper(l, &y)
}

/// Solves *Lᵀ x = b*.
pub fn solve_upper(l: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let mut x = b.to_vec();
    for i in (0..x.len()).rev() {
        let known: f64 = (i + 1..x.len()).map(|k| l[k][i] * x[k]).sum();
        x[i] = (x[i] - known) / l[i][i];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factorised_system_is_solved() {
        let a = vec![vec![4.0, 1.0, 0.5], vec![1.0, 3.0, -0.2], vec![0.5, -0.2, 2.0]];
        let x = solve(&cholesky(&a).expect("positive definite"), &[1.0, -2.0, 3.0]);
        for (row, b) in a.iter().zip([1.0, -2.0, 3.0]) {
            let product: f64 = row.iter().zip(&x).map(|(a, x)| a * x).sum();
            assert!((product - b).abs() < 1e-12);
        }
        assert!(cholesky(&[vec![1.0, 2.0], vec![2.0, 1.0]]).is_none());
    }
}
