//! A sparse LU factorisation whose pattern is found once and whose numbers change often.
//!
//! The matrices are *I − Bᵀ* with *B* the transfer probabilities between blocks: diagonally dominant but for calls, so no
//! pivoting is needed. Unknowns are eliminated in order of least degree.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Range;

/// Smallest pivot: below it a block would run without end.
const LEAST_PIVOT: f64 = 1e-9;

/// The pattern of a factorisation.
#[derive(Clone, Debug, Default)]
pub struct Pattern {
    /// `position[i]`: when unknown `i` is eliminated.
    position: Vec<usize>,
    order: Vec<usize>,
    /// Columns of each row of L (before the diagonal) and U (behind it), in elimination order.
    lower: Rows,
    upper: Rows,
}

/// Columns row by row, ascending: those of row `i` are `columns[starts[i]..starts[i + 1]]`.
#[derive(Clone, Debug, Default)]
struct Rows {
    starts: Vec<usize>,
    columns: Vec<usize>,
}

/// A factorised matrix.
#[derive(Clone, Debug)]
pub struct Factors {
    lower: Vec<f64>,
    upper: Vec<f64>,
    pivot: Vec<f64>,
}

impl Rows {
    fn of(rows: &[Vec<usize>]) -> Rows {
        let ends = rows.iter().scan(0, |end, row| {
            *end += row.len();
            Some(*end)
        });
        Rows { starts: std::iter::once(0).chain(ends).collect(), columns: rows.concat() }
    }

    fn row(&self, row: usize) -> Range<usize> {
        self.starts[row]..self.starts[row + 1]
    }

    /// Sum of a row's `values` times what `x` has in their columns.
    fn product(&self, values: &[f64], row: usize, x: &[f64]) -> f64 {
        let own = self.row(row);
        self.columns[own.clone()].iter().zip(&values[own]).map(|(&c, v)| v * x[c]).sum()
    }

    /// Where in the values the entry of `row` and `column` is.
    fn at(&self, row: usize, column: usize) -> Option<usize> {
        let own = self.row(row);
        Some(own.start + self.columns[own].binary_search(&column).ok()?)
    }
}

impl Pattern {
    /// Finds the pattern for a matrix of `n` unknowns with entries at `entries` (row, column) and on the diagonal.
    pub fn new(n: usize, entries: impl Iterator<Item = (usize, usize)>) -> Pattern {
        let mut near: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); n];
        for (row, column) in entries.filter(|(r, c)| r != c) {
            near[row].insert(column);
            near[column].insert(row);
        }
        let (mut position, mut order) = (vec![0; n], Vec::with_capacity(n));
        let mut left: BTreeSet<(usize, usize)> = (0..n).map(|i| (near[i].len(), i)).collect();
        let mut behind = Vec::with_capacity(n);
        while let Some((_, next)) = left.pop_first() {
            position[next] = order.len();
            order.push(next);
            let around: Vec<usize> = std::mem::take(&mut near[next]).into_iter().collect();
            eliminate(next, &around, &mut near, &mut left);
            behind.push(around);
        }
        let (mut lower, mut upper) = (vec![Vec::new(); n], vec![Vec::new(); n]);
        for (row, around) in behind.into_iter().enumerate() {
            upper[row] = around.into_iter().map(|i: usize| position[i]).collect();
            upper[row].sort_unstable();
            upper[row].iter().for_each(|&column: &usize| lower[column].push(row));
        }
        Pattern { position, order, lower: Rows::of(&lower), upper: Rows::of(&upper) }
    }

    /// Factorises the matrix with `entries` (row, column, value), those of one place summed, and 1 added on the diagonal.
    pub fn factorise(&self, entries: impl Iterator<Item = (usize, usize, f64)>) -> Factors {
        let n = self.order.len();
        let mut factors = Factors {
            lower: vec![0.0; self.lower.columns.len()],
            upper: vec![0.0; self.upper.columns.len()],
            pivot: vec![1.0; n],
        };
        for (row, column, value) in entries {
            factors.add(self, self.position[row], self.position[column], value);
        }
        let mut work = vec![0.0; n];
        for row in 0..n {
            factors.reduce(self, row, &mut work);
        }
        factors
    }

    /// Solves *A x = b*.
    pub fn solve(&self, factors: &Factors, b: &[f64]) -> Vec<f64> {
        let n = self.order.len();
        let mut x: Vec<f64> = self.order.iter().map(|&i| b[i]).collect();
        for row in 0..n {
            x[row] -= self.lower.product(&factors.lower, row, &x);
        }
        for row in (0..n).rev() {
            x[row] = (x[row] - self.upper.product(&factors.upper, row, &x)) / factors.pivot[row];
        }
        self.position.iter().map(|&p| x[p]).collect()
    }
}

/// Joins all neighbours of an eliminated unknown.
fn eliminate(
    gone: usize,
    around: &[usize],
    near: &mut [BTreeSet<usize>],
    left: &mut BTreeSet<(usize, usize)>,
) {
    for &i in around {
        left.remove(&(near[i].len(), i));
        near[i].remove(&gone);
        near[i].extend(around.iter().filter(|&&j| j != i));
        left.insert((near[i].len(), i));
    }
}

impl Factors {
    fn add(&mut self, pattern: &Pattern, row: usize, column: usize, value: f64) {
        let (rows, values) = match column.cmp(&row) {
            Ordering::Equal => {
                self.pivot[row] += value;
                return;
            }
            Ordering::Less => (&pattern.lower, &mut self.lower),
            Ordering::Greater => (&pattern.upper, &mut self.upper),
        };
        if let Some(at) = rows.at(row, column) {
            values[at] += value;
        }
    }

    /// Eliminates everything before the diagonal of `row`; `work` has room for a row.
    fn reduce(&mut self, pattern: &Pattern, row: usize, work: &mut [f64]) {
        let (before, behind) = (pattern.lower.row(row), pattern.upper.row(row));
        pattern.lower.columns[before.clone()]
            .iter()
            .zip(&self.lower[before.clone()])
            .for_each(|(&c, &v)| work[c] = v);
        pattern.upper.columns[behind.clone()]
            .iter()
            .zip(&self.upper[behind.clone()])
            .for_each(|(&c, &v)| work[c] = v);
        work[row] = self.pivot[row];
        for at in before {
            let k = pattern.lower.columns[at];
            let l = work[k] / self.pivot[k];
            self.lower[at] = l;
            if l != 0.0 {
                let own = pattern.upper.row(k);
                for (&c, &u) in pattern.upper.columns[own.clone()].iter().zip(&self.upper[own]) {
                    work[c] -= l * u;
                }
            }
        }
        for at in behind {
            self.upper[at] = work[pattern.upper.columns[at]];
        }
        self.pivot[row] = if work[row].abs() < LEAST_PIVOT { LEAST_PIVOT } else { work[row] };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loop 0 → 1 → 2 → 0 with exits, and a side block 3.
    const ENTRIES: [(usize, usize, f64); 6] =
        [(1, 0, -0.9), (2, 1, -0.7), (0, 2, -0.95), (3, 1, -0.3), (3, 3, -0.25), (0, 3, -0.1)];

    fn multiply(x: &[f64]) -> Vec<f64> {
        let mut b = x.to_vec();
        for (r, c, v) in ENTRIES {
            b[r] += v * x[c];
        }
        b
    }

    #[test]
    fn solutions_satisfy_the_equations() {
        let pattern = Pattern::new(4, ENTRIES.iter().map(|&(r, c, _)| (r, c)));
        let factors = pattern.factorise(ENTRIES.into_iter());
        let b = [1.0, 2.0, -1.0, 0.5];
        let direct = multiply(&pattern.solve(&factors, &b));
        for i in 0..4 {
            assert!((direct[i] - b[i]).abs() < 1e-12, "{direct:?}");
        }
    }
}
