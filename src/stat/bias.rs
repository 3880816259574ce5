//! Whether runs may be pooled into one profile (section 8).
//!
//! If sampling is unbiased, pooling N runs is like sampling N times as often. If runs of a deterministic program are hit at
//! the same instructions every time, further runs say nothing new. That shows in the table of runs by addresses: within a
//! function, independent samples make chi-squared about as large as its degrees of freedom, repeated ones much smaller.
//! Between functions a smaller chi-squared is no sign of bias, for self time in long stretches varies little by itself; so
//! only addresses within functions are judged. A larger one says that runs differ, which pooling averages over: the
//! uncertainty of the pool then has to come from the differences between runs.

use super::distribution::chi_squared;
use super::finding::Kind;

/// Samples by place and run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cells {
    /// For each place its function and its samples in each run.
    pub places: Vec<(usize, Vec<u32>)>,
}

/// Why runs are not to be pooled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The same addresses come again and again.
    #[error(
        "runs are hit at the same instructions again and again: they agree {ratio:.2} times as much as independent samples \
         would (bias 1 of section 8), so that more runs say nothing new"
    )]
    Repeating {
        /// Degrees of freedom over chi-squared.
        ratio: f64,
    },
    /// The program keeps step with the sampling.
    #[error("{runs} of {of} runs show a rhythm in step with the sampling period: record with other periods")]
    Aliasing {
        /// Runs with the finding.
        runs: usize,
        /// Runs in all.
        of: usize,
    },
    /// Shares depend on the sampling period.
    #[error(
        "shares depend on the sampling period (p' = {probability:.1e}): some of the periods keep step with the program"
    )]
    Period {
        /// Probability of as much by chance.
        probability: f64,
    },
    /// Runs drift.
    #[error(
        "{what} drifts with the order of the runs (p' = {probability:.1e}): they are not repetitions of one thing"
    )]
    Order {
        /// What drifts.
        what: String,
        /// Probability of as much by chance.
        probability: f64,
    },
}

/// What the table of runs says.
#[derive(Clone, Debug, PartialEq)]
pub struct Bias {
    /// Chi-squared over degrees of freedom, of addresses within functions: 1 for independent samples.
    pub within: f64,
    /// Its degrees of freedom; 0 where there was nothing to test.
    pub within_freedom: f64,
    /// The same of functions.
    pub between: f64,
    /// Its degrees of freedom.
    pub between_freedom: f64,
    /// Probability of so small a value within functions by chance.
    pub repeating: f64,
    /// Probability of so large values, within functions or between them, by chance: the smaller one, adjusted for both.
    pub differing: f64,
}

impl Bias {
    /// The refusal that this table alone justifies.
    pub fn refusal(&self) -> Option<Refusal> {
        let repeats = self.within_freedom > 0.0 && self.repeating < Kind::FALSE_ALARMS;
        repeats.then(|| Refusal::Repeating { ratio: 1.0 / self.within.max(1e-9) })
    }
}

/// Expected samples of a cell, for chi-squared to follow its distribution.
const EXPECTED: f64 = 5.0;

/// Compares runs.
pub fn bias(cells: &Cells) -> Bias {
    let mut functions: std::collections::BTreeMap<usize, Vec<&[u32]>> = Default::default();
    for (function, counts) in &cells.places {
        functions.entry(*function).or_default().push(counts);
    }
    let mut within = (0.0, 0.0);
    let mut sums = Vec::new();
    for places in functions.values() {
        let (x, freedom) = homogeneity(places);
        within = (within.0 + x, within.1 + freedom);
        let runs = places.iter().map(|counts| counts.len()).max().unwrap_or(0);
        let sum = |run: usize| places.iter().map(|c| c.get(run).copied().unwrap_or(0)).sum();
        sums.push((0..runs).map(sum).collect::<Vec<u32>>());
    }
    let between = homogeneity(&sums.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let above = |(x, freedom): (f64, f64)| if freedom > 0.0 { chi_squared::above(x, freedom) } else { 1.0 };
    let ratio = |(x, freedom): (f64, f64)| if freedom > 0.0 { x / freedom } else { 1.0 };
    Bias {
        within: ratio(within),
        within_freedom: within.1,
        between: ratio(between),
        between_freedom: between.1,
        repeating: if within.1 > 0.0 { chi_squared::cdf(within.0, within.1) } else { 1.0 },
        differing: super::sidak::adjusted(above(within).min(above(between)), 2),
    }
}

/// Chi-squared of a table, and its degrees of freedom. Rare rows are taken together, and runs without samples left out.
fn homogeneity(rows: &[&[u32]]) -> (f64, f64) {
    let runs = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    let at = |row: &[u32], run: usize| f64::from(row.get(run).copied().unwrap_or(0));
    let (mut kept, mut rare) = (Vec::new(), vec![0.0; runs]);
    for row in rows {
        let sum: f64 = (0..runs).map(|run| at(row, run)).sum();
        match sum >= EXPECTED * runs as f64 {
            true => kept.push((0..runs).map(|run| at(row, run)).collect::<Vec<f64>>()),
            false => (0..runs).for_each(|run| rare[run] += at(row, run)),
        }
    }
    if rare.iter().sum::<f64>() >= EXPECTED * runs as f64 {
        kept.push(rare);
    }
    let totals: Vec<f64> = (0..runs).map(|run| kept.iter().map(|row| row[run]).sum()).collect();
    let all: f64 = totals.iter().sum();
    let used = totals.iter().filter(|total| **total > 0.0).count();
    if kept.len() < 2 || used < 2 {
        return (0.0, 0.0);
    }
    let mut x = 0.0;
    for row in &kept {
        let share = row.iter().sum::<f64>() / all;
        for (count, total) in row.iter().zip(&totals).filter(|(_, total)| **total > 0.0) {
            x += (count - share * total).powi(2) / (share * total);
        }
    }
    (x, ((kept.len() - 1) * (used - 1)) as f64)
}
