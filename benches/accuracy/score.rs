//! How far a profile is from the truth: total variation distance of shares, ½ Σ |p − t|, in 0 to 1.

use std::collections::BTreeMap;

use super::truth::{Profile, Truth};

/// What an estimator made of a case; `None` where the case or the estimator has nothing to say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scores {
    /// By function.
    pub function: Option<f64>,
    /// By block.
    pub block: Option<f64>,
    /// By instruction.
    pub instruction: Option<f64>,
    /// By control transfer.
    pub edge: Option<f64>,
    /// Of cycles, by instruction.
    pub cycles: Option<f64>,
    /// Of first-level misses, by instruction.
    pub loads: Option<f64>,
    /// Of branch misses, by instruction.
    pub branches: Option<f64>,
    /// Of branches, loads and stores that retired, by instruction, their mean.
    pub retired: Option<f64>,
    /// Share of instructions whose executions lie in their 90 % interval.
    pub covered: Option<f64>,
    /// The same, each instruction weighted by its executions.
    pub covered_weighted: Option<f64>,
    /// Share of functions whose share of executions lies in theirs.
    pub covered_functions: Option<f64>,
    /// Share of control transfers whose count lies in the interval of the draws.
    pub covered_edges: Option<f64>,
    /// Seconds of the whole run.
    pub seconds: Option<f64>,
}

/// Columns: heading, and where the value is.
pub type Column = (&'static str, fn(&Scores) -> Option<f64>);

/// All columns, in the order they are printed.
pub const COLUMNS: [Column; 13] = [
    ("func", |s| s.function),
    ("block", |s| s.block),
    ("instr", |s| s.instruction),
    ("edge", |s| s.edge),
    ("cycles", |s| s.cycles),
    ("l1miss", |s| s.loads),
    ("brmiss", |s| s.branches),
    ("retire", |s| s.retired),
    ("cover", |s| s.covered),
    ("cov.w", |s| s.covered_weighted),
    ("cov.f", |s| s.covered_functions),
    ("cov.e", |s| s.covered_edges),
    ("sec", |s| s.seconds),
];

/// Total variation distance; `None` if either is empty.
pub fn distance<K: Ord + Copy>(a: &BTreeMap<K, f64>, b: &BTreeMap<K, f64>) -> Option<f64> {
    let (sum_a, sum_b): (f64, f64) = (a.values().sum(), b.values().sum());
    if sum_a <= 0.0 || sum_b <= 0.0 {
        return None;
    }
    let both: f64 = a.iter().map(|(k, v)| (v / sum_a - b.get(k).unwrap_or(&0.0) / sum_b).abs()).sum();
    let alone: f64 = b.iter().filter(|(k, _)| !a.contains_key(k)).map(|(_, v)| v / sum_b).sum();
    Some((both + alone) / 2.0)
}

/// Sums by `key`.
pub fn grouped(profile: &Profile, key: impl Fn(u64) -> u64) -> Profile {
    let mut sums = Profile::new();
    profile.iter().for_each(|(&at, v)| *sums.entry(key(at)).or_default() += v);
    sums
}

/// Distances of instruction samples at the three levels.
pub fn levels(truth: &Truth, samples: &Profile) -> [Option<f64>; 3] {
    let at = |key: &dyn Fn(u64) -> u64| distance(&grouped(samples, key), &grouped(&truth.executions, key));
    [at(&|a| truth.function(a)), at(&|a| truth.block(a)), at(&|a| a)]
}

/// Events of some instructions only, in the order of [`Truth::retired`].
pub const PARTS: [&str; 3] = ["branches", "mem_inst_retired.all_loads", "mem_inst_retired.all_stores"];

/// What `n` independent exact samples of instructions, and so many of each of [`PARTS`], would be off by: each tells of its function,
/// its block and its instruction, and of a control transfer if it stands on one.
pub fn noise(truth: &Truth, n: f64, parts: &[f64]) -> Scores {
    let retired = parts.iter().zip(&truth.retired).filter(|(n, _)| **n > 0.0);
    let retired = mean(retired.map(|(&n, truth)| scatter(truth.values(), n)));
    if n == 0.0 {
        return Scores { retired, ..Scores::default() };
    }
    let total: f64 = truth.executions.values().sum();
    let at = |key: &dyn Fn(u64) -> u64| Some(scatter(grouped(&truth.executions, key).values(), n));
    let transfers: f64 = truth.edges.values().sum();
    Scores {
        function: at(&|a| truth.function(a)),
        block: at(&|a| truth.block(a)),
        instruction: at(&|a| a),
        edge: (transfers > 0.0).then(|| scatter(truth.edges.values(), n * transfers / total)),
        retired,
        ..Scores::default()
    }
}

/// The mean; `None` of nothing.
pub fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
    (n > 0.0).then(|| sum / n)
}

/// Expected distance of `n` independent samples from what they are drawn from: ½ Σ √(2 t (1 − t) / πn), and where less than one sample
/// is expected at most 2 t.
fn scatter<'a>(weights: impl Iterator<Item = &'a f64> + Clone, n: f64) -> f64 {
    let total: f64 = weights.clone().sum();
    let off = |weight: &f64| {
        let t = weight / total;
        match t * n > 1.0 {
            true => (std::f64::consts::FRAC_2_PI * t * (1.0 - t) / n).sqrt(),
            false => (2.0 * t).min((std::f64::consts::FRAC_2_PI * t / n).sqrt()),
        }
    };
    0.5 * weights.map(off).sum::<f64>()
}
