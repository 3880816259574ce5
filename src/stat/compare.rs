//! Two groups of runs, function by function (sections 3.3 and 7.3).

use super::distribution::student;
use super::runs::Group;
use super::sidak;
use super::student::{Interval, Welch, welch};
use super::summary::Summary;

/// A function in both groups.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Its name.
    pub name: String,
    /// In the first group.
    pub before: Summary,
    /// In the second.
    pub after: Summary,
    /// The difference of the means.
    pub welch: Welch,
    /// Its interval, at a level at which those of all functions hold together.
    pub interval: Interval,
    /// Probability of as large a difference by chance, adjusted for all functions.
    pub probability: f64,
}

/// Compares the groups, whose values have one unit; a function that one of them has not has none of it there.
pub fn compare(a: &Group, b: &Group, confidence: f64) -> Vec<Difference> {
    let mut names: Vec<&String> = a.names.iter().chain(&b.names).collect();
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(*name));
    let level = sidak::level(confidence, names.len());
    let of = |group: &Group, name: &String| {
        let at = group.names.iter().position(|n| n == name);
        Summary::of(&at.map_or_else(|| vec![0.0; group.totals.len()], |at| group.values[at].clone()))
    };
    let one = |name: &String| {
        let (before, after) = (of(a, name), of(b, name));
        let welch = welch(&before, &after);
        let half = student::coverage_factor(level, welch.freedom) * welch.uncertainty;
        let interval = Interval::around(welch.difference, if welch.uncertainty > 0.0 { half } else { 0.0 });
        let probability = sidak::adjusted(welch.probability, names.len());
        Difference { name: name.clone(), before, after, welch, interval, probability }
    };
    let mut differences: Vec<Difference> = names.iter().map(|name| one(name)).collect();
    differences.sort_by(|x, y| y.welch.difference.abs().total_cmp(&x.welch.difference.abs()));
    differences
}
