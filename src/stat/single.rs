//! One run: what the models say of each function, and what its samples say of themselves.

mod symptoms;

use super::aliasing::{Rhythm, rhythm};
use super::analytical::Predicted;
use super::attraction::{Attraction, attraction};
use super::autocorrelation::{Independence, independence};
use super::distribution::normal;
use super::finding::Finding;
use super::fragmentation::{Fragmentation, fragmentation};
use super::loss::Losses;
use super::series::Series;
use super::sidak;
use super::student::Interval;

/// What the user wants to know, and how surely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    /// Confidence of intervals.
    pub confidence: f64,
    /// Resamples of the bootstrap.
    pub replicates: usize,
    /// Equal seeds give equal answers.
    pub seed: u64,
}

impl Default for Asked {
    fn default() -> Asked {
        Asked { confidence: 0.95, replicates: 10_000, seed: 0 }
    }
}

/// One event of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Samples of each function.
    pub counts: Vec<u64>,
    /// How often each was called, where that is known.
    pub calls: Vec<Option<u64>>,
    /// For each, the addresses of its instructions and the samples on them; empty where its code is not known.
    pub sites: Vec<Vec<(u64, u64)>>,
    /// Its samples in order.
    pub series: Series,
    /// What is missing.
    pub losses: Losses,
    /// Whether sample periods are chosen to keep a frequency, so that speed shows in them.
    pub frequency: bool,
}

/// What is known of one function's self time.
#[derive(Clone, Debug, PartialEq)]
pub struct SelfTime {
    /// Samples.
    pub count: u64,
    /// Their share.
    pub share: f64,
    /// Standard deviations by the models.
    pub predicted: Predicted,
    /// Calls, and how long they are.
    pub fragmentation: Option<Fragmentation>,
    /// Expanded uncertainty of the count by the largest of the models, at the simultaneous level. It is an interval of
    /// coverage, not of confidence, for its uncertainty is not from repetition (note 4 of section 3.3).
    pub interval: Interval,
}

/// Everything about one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Single {
    /// One for each function.
    pub functions: Vec<SelfTime>,
    /// The coverage factor.
    pub coverage_factor: f64,
    /// Dependence of samples on those before, of functions with enough of them.
    pub independence: Vec<Independence>,
    /// Rhythms in step with the sampling.
    pub rhythms: Vec<Rhythm>,
    /// Address classes, where code is known.
    pub attraction: Option<Attraction>,
    /// What was found.
    pub findings: Vec<Finding>,
}

/// Shuffles of address classes.
const SHUFFLES: usize = 2000;

/// Examines a run.
pub fn single(profile: &Profile, asked: &Asked) -> Single {
    let total: u64 = profile.counts.iter().sum();
    let level = sidak::level(asked.confidence, profile.counts.len());
    let k = normal::quantile(0.5 + 0.5 * level);
    let function = |ix: usize| self_time(profile, ix, total, k);
    let mut single = Single {
        functions: (0..profile.counts.len()).map(function).collect(),
        coverage_factor: k,
        independence: independence(&profile.series, profile.counts.len()),
        rhythms: rhythm(&profile.series, &profile.counts),
        attraction: attraction(&profile.sites, SHUFFLES, asked.seed),
        findings: Vec::new(),
    };
    single.findings = symptoms::all(profile, &single, asked);
    single
}

fn self_time(profile: &Profile, ix: usize, total: u64, k: f64) -> SelfTime {
    let count = profile.counts[ix];
    let calls = profile.calls.get(ix).copied().flatten();
    let n = count as f64;
    let predicted = Predicted::of(n, total as f64, calls);
    let largest = predicted.multinomial.max(predicted.bound.unwrap_or(0.0));
    let interval = Interval { low: (n - k * largest).max(0.0), high: n + k * largest };
    let fragmentation = calls.and_then(|calls| fragmentation(n, calls));
    SelfTime { count, share: n / total.max(1) as f64, predicted, fragmentation, interval }
}
