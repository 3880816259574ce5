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

/// *R Rᵀ*, a row a vector, but for terms that are not above `least`.
pub fn gram(rows: &[Vec<f64>], least: f64) -> Vec<Vec<f64>> {
    let above = |row: &Vec<f64>| -> Vec<(usize, f64)> {
        row.iter().copied().enumerate().filter(|(_, value)| value.abs() > least).collect()
    };
    let sparse: Vec<Vec<(usize, f64)>> = rows.par_iter().map(above).collect();
    let columns = columns(&sparse, rows.first().map_or(0, Vec::len));
    let lower = |(r, row): (usize, &Vec<(usize, f64)>)| {
        let mut products = vec![0.0; r + 1];
        row.iter().for_each(|&(column, value)| columns[column].add(value, &mut products));
        products
    };
    let mut product: Vec<Vec<f64>> = sparse.par_iter().enumerate().map(lower).collect();
    mirror(&mut product);
    product
}

/// Terms of a column: those that are not 0, with their rows, or where these are many all.
enum Column {
    Few(Vec<(usize, f64)>),
    Many(Vec<f64>),
}

/// One row in so many has a term where few have one. Of the products of code of libraries nine in ten are of columns with more.
const FEW: usize = 3;

impl Column {
    /// Adds its terms times `value` to the first `products`.
    fn add(&self, value: f64, products: &mut [f64]) {
        match self {
            Column::Few(terms) => {
                let count = products.len();
                let first = terms.iter().take_while(|term| term.0 < count);
                first.for_each(|&(row, term)| products[row] += value * term);
            }
            Column::Many(terms) => {
                products.iter_mut().zip(terms).for_each(|(product, term)| *product += value * term);
            }
        }
    }
}

/// The columns of sparse `rows`, which are so many.
fn columns(rows: &[Vec<(usize, f64)>], count: usize) -> Vec<Column> {
    let mut columns: Vec<Vec<(usize, f64)>> = vec![Vec::new(); count];
    for (r, row) in rows.iter().enumerate() {
        row.iter().for_each(|&(column, value)| columns[column].push((r, value)));
    }
    let column = |terms: Vec<(usize, f64)>| {
        if FEW * terms.len() <= rows.len() {
            return Column::Few(terms);
        }
        let mut all = vec![0.0; rows.len()];
        terms.into_iter().for_each(|(row, term)| all[row] = term);
        Column::Many(all)
    };
    columns.into_iter().map(column).collect()
}

/// Makes a square of a lower triangle.
fn mirror(lower: &mut [Vec<f64>]) {
    for i in 0..lower.len() {
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
    fn products_of_rows_are_those_of_single_ones_but_for_what_is_small() {
        let value = |i: usize, c: usize| ((i * 7 + c * 3) % 11) as f64 - 5.0;
        let rows: Vec<Vec<f64>> = (0..9).map(|i| (0..40).map(|c| value(i, c)).collect()).collect();
        let single = |rows: &[Vec<f64>]| -> Vec<Vec<f64>> {
            rows.iter().map(|a| rows.iter().map(|b| dot(a, b)).collect()).collect()
        };
        assert_eq!(gram(&rows, 0.0), single(&rows), "whole numbers, so that the order does not matter");
        let above = |v: &f64| if v.abs() > 2.0 { *v } else { 0.0 };
        let large: Vec<Vec<f64>> = rows.iter().map(|row| row.iter().map(above).collect()).collect();
        assert_eq!(gram(&rows, 2.0), single(&large));
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
