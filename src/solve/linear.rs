//! Dense symmetric matrices: their products, Cholesky factors and solutions.

use rayon::prelude::*;

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

/// Rows and columns of the product that are made at a time: as many sums as fit into registers.
const SIDE: usize = 4;
/// Terms of each sum that are added before others are begun: what they are made of stays in the caches. A thousand rows of five
/// thousand take a fifth of the time that products of one row by another do.
const DEPTH: usize = 256;

/// Some columns of [`SIDE`] rows, side by side.
type Panel = Vec<[f64; SIDE]>;

/// *R Rᵀ* of the `columns` of *R*, a row a vector.
pub fn gram(rows: &[Vec<f64>], columns: &[usize]) -> Vec<Vec<f64>> {
    let side_by_side = |rows: &[Vec<f64>], column: usize| -> [f64; SIDE] {
        std::array::from_fn(|r| rows.get(r).map_or(0.0, |row| row[column]))
    };
    let mut product = vec![vec![0.0; rows.len().next_multiple_of(SIDE)]; rows.len()];
    for some in columns.chunks(DEPTH) {
        let panel = |rows: &[Vec<f64>]| some.iter().map(|&column| side_by_side(rows, column)).collect();
        let panels: Vec<Panel> = rows.par_chunks(SIDE).map(panel).collect();
        product.par_chunks_mut(SIDE).enumerate().for_each(|(p, own)| {
            for (q, other) in panels[..=p].iter().enumerate() {
                for (row, tile) in own.iter_mut().zip(tile(&panels[p], other)) {
                    row[q * SIDE..].iter_mut().zip(tile).for_each(|(sum, more)| *sum += more);
                }
            }
        });
    }
    mirror(&mut product);
    product
}

/// The products of the rows of `a` and of `b`.
fn tile(a: &Panel, b: &Panel) -> [[f64; SIDE]; SIDE] {
    let mut sums = [[0.0; SIDE]; SIDE];
    for (a, b) in a.iter().zip(b) {
        for (sums, a) in sums.iter_mut().zip(a) {
            sums.iter_mut().zip(b).for_each(|(sum, b)| *sum += a * b);
        }
    }
    sums
}

/// Makes a square of a lower triangle.
fn mirror(lower: &mut [Vec<f64>]) {
    for i in 0..lower.len() {
        lower[i].truncate(i + 1);
        let above: Vec<f64> = lower[i + 1..].iter().map(|row| row[i]).collect();
        lower[i].extend(above);
    }
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
    fn products_of_rows_are_those_of_single_ones() {
        let value = |i: usize, c: usize| ((i * 7 + c * 3) % 11) as f64 - 5.0;
        for n in [1, SIDE, 2 * SIDE + 3] {
            let rows: Vec<Vec<f64>> =
                (0..n).map(|i| (0..2 * DEPTH + 9).map(|c| value(i, c)).collect()).collect();
            let columns: Vec<usize> = (0..2 * DEPTH + 9).filter(|c| c % 5 != 2).collect();
            let of = |i: usize| columns.iter().map(|&c| rows[i][c]).collect::<Vec<_>>();
            let single: Vec<Vec<f64>> =
                (0..n).map(|i| (0..n).map(|j| dot(&of(i), &of(j))).collect()).collect();
            assert_eq!(gram(&rows, &columns), single, "whole numbers, so that the order does not matter");
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
