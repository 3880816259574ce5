//! One table: a row per case and estimator, then means.

use anyhow::Result;

use super::cases::Case;
use super::estimator::{ALL, Estimator, Samples};
use super::score::{COLUMNS, PARTS, Scores, noise};
use super::truth::Truth;

/// The row of exact samples beside the estimators.
pub const NOISE: &str = "noise";

/// A row.
#[derive(Clone, Debug)]
pub struct Row {
    /// The case.
    pub case: String,
    /// Its set.
    pub set: String,
    /// The estimator's name, or [`NOISE`].
    pub name: &'static str,
    /// Its scores.
    pub scores: Scores,
}

/// The rows so far; each is printed as it comes.
#[derive(Default)]
pub struct Table {
    /// Rows.
    pub rows: Vec<Row>,
}

impl Table {
    /// Prints the heading.
    pub fn head(&self) {
        print!("{:26} {:6}", "case", "");
        COLUMNS.iter().for_each(|(name, _)| print!(" {name:>6}"));
        println!();
    }

    /// Adds what exact samples would be off by.
    pub fn noise(&mut self, case: &Case, truth: &Truth) -> Result<()> {
        let samples = Samples::read(&case.recording())?;
        let count = |event| samples.of(event).1 as f64;
        self.add(case, NOISE, noise(truth, count("instructions"), &PARTS.map(count)));
        Ok(())
    }

    /// Adds an estimator's scores.
    pub fn row(&mut self, case: &Case, estimator: Estimator, scores: Scores) {
        self.add(case, estimator.name(), scores);
    }

    fn add(&mut self, case: &Case, name: &'static str, scores: Scores) {
        let row = Row { case: case.name.clone(), set: case.set.clone(), name, scores };
        print_row(&row.case, name, |of| of(&row.scores));
        self.rows.push(row);
    }

    /// Prints means over the cases that have a value, by set and over all.
    pub fn means(&self) {
        let mut sets: Vec<&str> = self.rows.iter().map(|r| r.set.as_str()).collect();
        sets.dedup();
        let heading = |set: &str| format!("mean of {set}");
        for set in &sets {
            self.mean(&heading(set), |row| row.set == *set);
        }
        if sets.len() > 1 {
            self.mean("mean of all", |_| true);
        }
    }

    fn mean(&self, heading: &str, within: impl Fn(&Row) -> bool) {
        println!();
        for name in std::iter::once(NOISE).chain(ALL.iter().map(|e| e.name())) {
            if self.rows.iter().any(|r| r.name == name) {
                print_row(heading, name, |of| self.mean_of(name, &within, of));
            }
        }
    }

    /// Mean of a value over the rows of an estimator that have it.
    pub fn mean_of(
        &self,
        name: &str,
        within: impl Fn(&Row) -> bool,
        of: fn(&Scores) -> Option<f64>,
    ) -> Option<f64> {
        let rows = self.rows.iter().filter(|r| r.name == name && within(r));
        let values: Vec<f64> = rows.filter_map(|r| of(&r.scores)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }
}

fn print_row(case: &str, name: &str, value: impl Fn(fn(&Scores) -> Option<f64>) -> Option<f64>) {
    print!("{case:26} {name:6}");
    for (heading, of) in COLUMNS {
        match value(of) {
            Some(v) if heading == "sec" => print!(" {v:6.1}"),
            Some(v) => print!(" {v:6.4}"),
            None => print!(" {:>6}", "-"),
        }
    }
    println!();
}
