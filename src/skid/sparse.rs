//! A sparse LU factorisation whose pattern is found once and whose numbers change often.
//!
//! The matrices are *I − Bᵀ* with *B* the transfer probabilities between blocks: diagonally dominant but for calls, so no
//! pivoting is needed. Unknowns are eliminated in order of least degree.

use std::collections::BTreeSet;

/// Smallest pivot: below it a block would run without end.
const LEAST_PIVOT: f64 = 1e-9;

/// The pattern of a factorisation.
#[derive(Clone, Debug, Default)]
pub struct Pattern {
    /// `position[i]`: when unknown `i` is eliminated.
    position: Vec<usize>,
    order: Vec<usize>,
    /// Columns of each row of L (before the diagonal) and U (behind it), both ascending, in elimination order.
    lower: Vec<Vec<usize>>,
    upper: Vec<Vec<usize>>,
}

/// A factorised matrix.
#[derive(Clone, Debug, Default)]
pub struct Factors {
    lower: Vec<Vec<f64>>,
    upper: Vec<Vec<f64>>,
    pivot: Vec<f64>,
    work: Vec<f64>,
}

impl Pattern {
    /// Finds the pattern for a matrix of `n` unknowns with entries at `entries` (row, column) and on the diagonal.
    pub fn new(n: usize, entries: impl Iterator<Item = (usize, usize)>) -> Pattern {
        let mut near: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); n];
        for (row, column) in entries.filter(|(r, c)| r != c) {
            near[row].insert(column);
            near[column].insert(row);
        }
        let mut pattern = Pattern {
            position: vec![0; n],
            order: Vec::with_capacity(n),
            lower: vec![Vec::new(); n],
            upper: vec![Vec::new(); n],
        };
        let mut left: BTreeSet<(usize, usize)> = (0..n).map(|i| (near[i].len(), i)).collect();
        let mut behind = Vec::with_capacity(n);
        while let Some((_, next)) = left.pop_first() {
            pattern.position[next] = pattern.order.len();
            pattern.order.push(next);
            let around: Vec<usize> = std::mem::take(&mut near[next]).into_iter().collect();
            eliminate(next, &around, &mut near, &mut left);
            behind.push(around);
        }
        for (row, around) in behind.into_iter().enumerate() {
            pattern.upper[row] = around.into_iter().map(|i| pattern.position[i]).collect();
            pattern.upper[row].sort_unstable();
            for &column in &pattern.upper[row].clone() {
                pattern.lower[column].push(row);
            }
        }
        pattern
    }

    /// Factorises the matrix whose entries `fill` adds, by calling its argument with (row, column, value); the diagonal
    /// starts at 1.
    pub fn factorise(&self, factors: &mut Factors, entries: &[(usize, usize, f64)]) {
        let n = self.order.len();
        factors.reset(self);
        for &(row, column, value) in entries {
            factors.add(self, self.position[row], self.position[column], value);
        }
        for row in 0..n {
            factors.reduce(self, row);
        }
    }

    /// Solves *A x = b*.
    pub fn solve(&self, factors: &Factors, b: &[f64]) -> Vec<f64> {
        let n = self.order.len();
        let mut x: Vec<f64> = self.order.iter().map(|&i| b[i]).collect();
        for row in 0..n {
            let known: f64 = self.lower[row].iter().zip(&factors.lower[row]).map(|(&c, l)| l * x[c]).sum();
            x[row] -= known;
        }
        for row in (0..n).rev() {
            let known: f64 = self.upper[row].iter().zip(&factors.upper[row]).map(|(&c, u)| u * x[c]).sum();
            x[row] = (x[row] - known) / factors.pivot[row];
        }
        self.position.iter().map(|&p| x[p]).collect()
    }

    /// Solves *Aᵀ x = b*.
    pub fn solve_transposed(&self, factors: &Factors, b: &[f64]) -> Vec<f64> {
        let n = self.order.len();
        let mut x: Vec<f64> = self.order.iter().map(|&i| b[i]).collect();
        for row in 0..n {
            x[row] /= factors.pivot[row];
            for (&c, u) in self.upper[row].iter().zip(&factors.upper[row]) {
                x[c] -= u * x[row];
            }
        }
        for row in (0..n).rev() {
            for (&c, l) in self.lower[row].iter().zip(&factors.lower[row]) {
                x[c] -= l * x[row];
            }
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
    fn reset(&mut self, pattern: &Pattern) {
        let zeros = |rows: &[Vec<usize>]| rows.iter().map(|r| vec![0.0; r.len()]).collect();
        if self.pivot.len() != pattern.order.len() {
            self.lower = zeros(&pattern.lower);
            self.upper = zeros(&pattern.upper);
            self.work = vec![0.0; pattern.order.len()];
        } else {
            self.lower.iter_mut().chain(&mut self.upper).for_each(|row| row.fill(0.0));
        }
        self.pivot.clear();
        self.pivot.resize(pattern.order.len(), 1.0);
    }

    fn add(&mut self, pattern: &Pattern, row: usize, column: usize, value: f64) {
        let (list, values) = match column.cmp(&row) {
            std::cmp::Ordering::Equal => {
                self.pivot[row] += value;
                return;
            }
            std::cmp::Ordering::Less => (&pattern.lower[row], &mut self.lower[row]),
            std::cmp::Ordering::Greater => (&pattern.upper[row], &mut self.upper[row]),
        };
        if let Ok(at) = list.binary_search(&column) {
            values[at] += value;
        }
    }

    /// Eliminates everything before the diagonal of `row`.
    fn reduce(&mut self, pattern: &Pattern, row: usize) {
        let work = &mut self.work;
        for (&c, &v) in pattern.lower[row].iter().zip(&self.lower[row]) {
            work[c] = v;
        }
        for (&c, &v) in pattern.upper[row].iter().zip(&self.upper[row]) {
            work[c] = v;
        }
        work[row] = self.pivot[row];
        for (at, &k) in pattern.lower[row].iter().enumerate() {
            let l = work[k] / self.pivot[k];
            self.lower[row][at] = l;
            if l != 0.0 {
                for (&c, &u) in pattern.upper[k].iter().zip(&self.upper[k]) {
                    work[c] -= l * u;
                }
            }
        }
        for (at, &c) in pattern.upper[row].iter().enumerate() {
            self.upper[row][at] = work[c];
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

    fn multiply(transposed: bool, x: &[f64]) -> Vec<f64> {
        let mut b = x.to_vec();
        for (r, c, v) in ENTRIES {
            let (r, c) = if transposed { (c, r) } else { (r, c) };
            b[r] += v * x[c];
        }
        b
    }

    #[test]
    fn solutions_satisfy_the_equations_both_ways() {
        let pattern = Pattern::new(4, ENTRIES.iter().map(|&(r, c, _)| (r, c)));
        let mut factors = Factors::default();
        for _ in 0..2 {
            pattern.factorise(&mut factors, &ENTRIES);
        }
        let b = [1.0, 2.0, -1.0, 0.5];
        let direct = multiply(false, &pattern.solve(&factors, &b));
        let transposed = multiply(true, &pattern.solve_transposed(&factors, &b));
        for i in 0..4 {
            assert!((direct[i] - b[i]).abs() < 1e-12, "{direct:?}");
            assert!((transposed[i] - b[i]).abs() < 1e-12, "{transposed:?}");
        }
    }
}
