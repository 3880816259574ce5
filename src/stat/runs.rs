//! Many runs of the same program: what each function's counts say of themselves (sections 3 to 5).

use rayon::prelude::*;

use super::analytical::Predicted;
use super::autocorrelation::{autocorrelation, farthest, ljung_box};
use super::bootstrap::{Bootstrapped, bootstrap};
use super::density::{Density, density};
use super::drift::{Trend, trend};
use super::finding::{Finding, Kind};
use super::outliers::{Outliers, outliers};
use super::sidak;
use super::single::Asked;
use super::student::{self, Interval};
use super::summary::Summary;

/// Fewer runs than this say little of a distribution: t is then a tenth larger than in the limit.
const FEW: usize = 12;
/// Lags of the test for dependence between runs: with 20 lags of 100 runs it raised three false alarms where one was due.
const TESTED_LAGS: usize = 5;
/// Fewer values of a second mode than this, and the percentile interval of a deviation holds less than it says; from three
/// down BCa fails as well (section 5.1, figure 6).
const CHARACTERISED: f64 = 10.0;

/// Runs of one program under one condition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// Names of functions, the last of which may stand for all others.
    pub names: Vec<String>,
    /// For each function its value in each run.
    pub values: Vec<Vec<f64>>,
    /// Samples of each run.
    pub totals: Vec<f64>,
    /// How often each function was called in a run, where that is known.
    pub calls: Vec<Option<u64>>,
    /// Whether values are shares of a run's samples, not samples.
    pub shares: bool,
}

/// What one function's values say.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// Location and spread.
    pub summary: Summary,
    /// The mean's interval by the t distribution, at the simultaneous level.
    pub mean: Interval,
    /// Intervals by the bootstrap: of the mean at the simultaneous level, of the deviation at the level asked for.
    pub bootstrap: Bootstrapped,
    /// The deviation's interval, were the values normal.
    pub deviation: Interval,
    /// The deviation that models predict, from the mean (section 5.2), in the unit of the values.
    pub predicted: Predicted,
    /// The values smoothed.
    pub density: Density,
    /// Values far from the others.
    pub outliers: Outliers,
    /// Change with the order of the runs.
    pub order: Option<Trend>,
    /// Autocorrelation of the runs.
    pub lags: Vec<f64>,
    /// Probability of such autocorrelation by chance.
    pub dependence: f64,
}

/// All functions of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// In the order of the group.
    pub functions: Vec<Observed>,
    /// The level of each mean's interval, so that all hold together.
    pub level: f64,
    /// The coverage factor that belongs to it.
    pub coverage_factor: f64,
    /// What was found.
    pub findings: Vec<Finding>,
}

/// Describes every function of a group.
pub fn observe(group: &Group, asked: &Asked) -> Table {
    let runs = group.totals.len();
    let level = sidak::level(asked.confidence, group.names.len());
    let one = |function: usize| one(group, function, level, asked);
    let functions: Vec<Observed> = (0..group.names.len()).into_par_iter().map(one).collect();
    let findings = findings(group, &functions, asked);
    let coverage_factor = super::distribution::student::coverage_factor(level, runs as f64 - 1.0);
    Table { functions, level, coverage_factor, findings }
}

fn one(group: &Group, function: usize, level: f64, asked: &Asked) -> Observed {
    let values = &group.values[function];
    let summary = Summary::of(values);
    let n = Summary::of(&group.totals).mean;
    let unit = if group.shares { n.max(1.0) } else { 1.0 };
    let seed = asked.seed.wrapping_add((function as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    // one set of resamples serves both levels: the deviation's is not shared with others
    let at = |confidence| bootstrap(values, asked.replicates, confidence, seed);
    let of_mean = at(level);
    let bootstrap = match level == asked.confidence {
        true => of_mean,
        false => Bootstrapped { mean: of_mean.mean, deviation: at(asked.confidence).deviation },
    };
    let predicted = Predicted::of(summary.mean * unit, n, group.calls.get(function).copied().flatten());
    let lags = autocorrelation(std::slice::from_ref(values), (values.len() / 4).min(20));
    Observed {
        mean: student::interval(&summary, level),
        deviation: student::of_deviation(&summary, asked.confidence),
        bootstrap,
        predicted: scaled(predicted, 1.0 / unit),
        density: density(values, 1.0 / unit),
        outliers: outliers(values, 1.0 / unit),
        order: trend(values),
        dependence: ljung_box(tested(&lags), values.len() as f64),
        lags,
        summary,
    }
}

fn scaled(p: Predicted, by: f64) -> Predicted {
    Predicted {
        gprof: p.gprof * by,
        multinomial: p.multinomial * by,
        quantisation: p.quantisation.map(|x| x * by),
        bound: p.bound.map(|x| x * by),
    }
}

fn findings(group: &Group, functions: &[Observed], asked: &Asked) -> Vec<Finding> {
    let mut found = Vec::new();
    let runs = group.totals.len();
    if runs < FEW {
        found.push(Finding {
            kind: Kind::FewRuns,
            function: None,
            probability: None,
            text: format!("{runs} runs are too few to see their distribution, outliers and modes among it"),
        });
    }
    for (ix, of) in functions.iter().enumerate() {
        let tests = 2 * functions.len();
        let mut add = |kind, probability, text| {
            found.push(Finding { kind, function: Some(ix), probability, text });
        };
        if let Some(trend) = of.order {
            let p = sidak::adjusted(trend.probability, tests);
            if p < Kind::FALSE_ALARMS {
                let change = 100.0 * trend.change / trend.mean.max(f64::MIN_POSITIVE);
                add(Kind::Order, Some(p), format!("goes {change:+.1} % from the first run to the last"));
            }
        }
        let p = sidak::adjusted(of.dependence, tests);
        if p < Kind::FALSE_ALARMS {
            let like = alike(tested(&of.lags));
            add(
                Kind::Autocorrelation,
                Some(p),
                format!("runs depend on {like}: their mean is less sure than it looks"),
            );
        }
        spread(of, asked, &mut add);
    }
    found
}

fn tested(lags: &[f64]) -> &[f64] {
    &lags[..lags.len().min(TESTED_LAGS)]
}

/// On which others runs with these autocorrelations depend most.
fn alike(lags: &[f64]) -> String {
    match farthest(lags) {
        (0 | 1, r) => format!("their neighbours (r₁ = {r:.2})"),
        (lag, r) => format!("those {lag} before (r = {r:.2})"),
    }
}

/// Outliers, and modes beside the first.
fn spread(of: &Observed, asked: &Asked, add: &mut impl FnMut(Kind, Option<f64>, String)) {
    let n = of.summary.n as f64;
    if let [_, others @ ..] = &of.density.modes[..]
        && !others.is_empty()
    {
        let held: f64 = others.iter().map(|mode| mode.1 * n).sum();
        let places: Vec<String> = others.iter().map(|mode| number(mode.0)).collect();
        let caution = match held {
            few if few < CHARACTERISED => {
                ": too few to know how frequent they are, so the intervals are too narrow"
            }
            _ => "",
        };
        add(Kind::Modes, None, format!("{held:.0} of {n} runs stand around {}{caution}", places.join(", ")));
    }
    let far = of.outliers.len();
    if far > 0 {
        let caution = match far as f64 {
            few if few < CHARACTERISED => {
                format!(
                    ": too few to know their frequency, so {:.0} % intervals hold less",
                    100.0 * asked.confidence
                )
            }
            _ => String::new(),
        };
        let (low, high) = (of.outliers.low.len(), of.outliers.high.len());
        add(
            Kind::Outliers,
            None,
            format!("{high} of {n} runs far above and {low} far below the others{caution}"),
        );
    }
}

/// Few digits of any size.
fn number(x: f64) -> String {
    if x.abs() >= 10.0 { format!("{x:.0}") } else { format!("{x:.3}") }
}
