//! Dense Cholesky factors of small symmetric matrices.

/// Terms of a sum that are added side by side: in a row, each addition would wait for the one before.
const LANES: usize = 8;

/// Scalar product.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(x, y)| x * y).sum();
    let mut sums = [0.0; LANES];
    for (a, b) in a.zip(b) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (x, y))| *sum += x * y);
    }
    sums.iter().sum::<f64>() + rest
}

/// Lower triangle of *L* with *A = L Lᵀ*; `None` if `a` is not positive definite.
pub fn cholesky(a: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let n = a.len();
    let mut l = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let known = dot(&l[i][..j], &l[j][..j]);
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
    fn products_of_any_length_are_whole() {
        for n in 0..20 {
            let a: Vec<f64> = (0..n).map(f64::from).collect();
            assert_eq!(dot(&a, &a), f64::from((0..n).map(|k| k * k).sum::<i32>()));
        }
    }

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
