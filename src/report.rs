//! What a run did, as plain data: for `--report-json`, for the sidecar of a corrected recording, and for [`text`].
//!
//! It knows neither how anything was computed nor where it is shown. Shares are fractions of an event's weight, 0 to 1;
//! intervals hold the value with 90 % posterior probability.

pub mod annotate;
pub mod diff;
mod escape;
pub(crate) mod format;
pub mod html;
pub mod ibs;
pub mod listing;
mod table;
pub mod text;
pub mod uncertainty;
mod warning;
mod words;

pub use escape::escape;
pub use warning::Warning;
pub(crate) use words::brief;

use crate::options::Solver;
use serde::Serialize;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What a run did.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// skidconv's version.
    pub version: String,
    /// `false` when the samples were only converted.
    pub corrected: bool,
    /// The recording that was read.
    pub input: String,
    /// The recording that was written.
    pub output: Option<String>,
    /// Other files that were written.
    pub outputs: Vec<String>,
    /// The seed.
    pub seed: u64,
    /// The solver asked for.
    pub solver: Solver,
    /// The skid that was found or given; `None` when nothing needed it.
    pub model: Option<Model>,
    /// Samples read.
    pub samples: u64,
    /// Samples the kernel says it dropped.
    pub lost: u64,
    /// How often the kernel stopped an event for a while because its samples came too fast.
    pub throttled: u64,
    /// One entry per event of the recording, in its order.
    pub events: Vec<EventReport>,
    /// What was solved together, and how it went.
    pub regions: Vec<RegionReport>,
    /// Binaries that hold samples and were not found.
    pub missing: Vec<MissingImage>,
    /// Binaries that hold samples and were taken by their paths, because the recording does not tell their builds.
    pub unverified: Vec<UnverifiedImage>,
    /// Binaries that hold samples without a symbol.
    pub nameless: Vec<NamelessImage>,
    /// What was tolerated.
    pub warnings: Vec<Warning>,
}

/// How late addresses are.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Model {
    /// Mean distance between cause and report, in cycles.
    pub skid_cycles: f64,
    /// 90 % interval of it; `None` when it was given.
    pub interval: Option<[f64; 2]>,
    /// Whether the reported instruction is the one after the one waited for; `None` when undecided.
    pub late: Option<bool>,
    /// Whether that is so only where it has been waited for for long.
    pub after_long_waits: bool,
    /// Whether the processor seems to issue instructions in order.
    pub in_order: bool,
    /// Whether it was sought around what was measured on such a processor before.
    pub measured: bool,
    /// How the distance is distributed.
    pub distribution: Vec<Bin>,
}

/// Part of a distribution.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Bin {
    /// Least distance, cycles.
    pub from: f64,
    /// Largest distance.
    pub to: f64,
    /// Probability of it.
    pub share: f64,
}

/// What kind of event it is: what is wrong with its addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// The hardware states the address of the cause: nothing is.
    Exact,
    /// Cycles and clocks: shares are right in time, but on the instruction after the one waited for.
    Time,
    /// Instructions, branches, loads, stores: late, in the shadow of slow instructions.
    Retirement,
    /// Misses: spread over the instructions after the cause.
    Occurrence,
    /// Page faults, tracepoints, breakpoints: raised by the instruction itself.
    Synchronous,
    /// Read at the samples of its group's leader, with which its own move.
    Led,
    /// Not known, so nothing is assumed.
    #[default]
    Unknown,
}

/// What stands behind an address after the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Posterior mean of chains that mixed.
    Gibbs,
    /// The posterior's mode.
    Argmin,
    /// Flow conservation only: nothing finer could be settled.
    Flow,
    /// Flow conservation and time: the skid model had no more to say.
    Timed,
    /// The ICS'19 formulation.
    Ics,
    /// A baseline without a model of skid: the solver says which.
    Baseline,
    /// Given back to the instruction that was waited for.
    Waited,
    /// Was exact already.
    Exact,
    /// Left as recorded.
    #[default]
    Unchanged,
    /// Regions of it ended differently: see them.
    Mixed,
}

impl Verdict {
    /// As in the JSON and in tables.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Gibbs => "gibbs",
            Verdict::Argmin => "argmin",
            Verdict::Flow => "flow",
            Verdict::Timed => "timed",
            Verdict::Ics => "ics",
            Verdict::Baseline => "baseline",
            Verdict::Waited => "waited",
            Verdict::Exact => "exact",
            Verdict::Unchanged => "unchanged",
            Verdict::Mixed => "mixed",
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

/// One event.
#[derive(Clone, Debug, Default, Serialize)]
pub struct EventReport {
    /// As perf prints it.
    pub name: String,
    /// Its class.
    pub class: Class,
    /// Samples read.
    pub samples: u64,
    /// Sum of their periods.
    pub weight: u64,
    /// Samples whose address changed.
    pub moved: u64,
    /// How far they moved; `None` when none did.
    pub distance: Option<Distance>,
    /// What was done.
    pub verdict: Verdict,
    /// Why, in a sentence.
    pub reason: String,
    /// Functions, largest share after first.
    pub functions: Vec<FunctionShare>,
}

/// How far samples moved.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Distance {
    /// In bytes, where both places are in one binary.
    pub bytes: Quantiles,
    /// In instructions along the path taken, where known.
    pub instructions: Option<Quantiles>,
}

/// Of the samples that moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Quantiles {
    pub median: u64,
    pub p90: u64,
    pub max: u64,
}

impl Quantiles {
    /// Quantiles of `values`; `None` of nothing. The value at or above the asked fraction, so that it occurs.
    pub fn of(mut values: Vec<u64>) -> Option<Quantiles> {
        values.sort_unstable();
        let max = *values.last()?;
        let at = |percent: usize| values[(values.len() * percent).div_ceil(100).saturating_sub(1)];
        Some(Quantiles { median: at(50), p90: at(90), max })
    }
}

/// One function of one event.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FunctionShare {
    /// Demangled, or `[unknown]`.
    pub name: String,
    /// The binary's path as recorded.
    pub image: String,
    /// Samples after.
    pub samples: u64,
    /// Share of the event's weight as recorded.
    pub before: f64,
    /// Share after.
    pub after: f64,
    /// Lower end of the interval of `after`.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Its first address in the binary, where it is known.
    pub address: Option<u64>,
    /// What stands behind most of `after`.
    pub verdict: Verdict,
}

/// Functions that were solved together.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RegionReport {
    /// The event.
    pub event: String,
    /// Their names.
    pub functions: Vec<String>,
    /// Samples in them.
    pub samples: u64,
    /// How it ended.
    pub verdict: Verdict,
    /// Whether its samples are enough to tell of skid.
    #[serde(skip)]
    pub tells: bool,
    /// Why, in a sentence.
    pub reason: String,
    /// The solver whose answer was kept.
    pub solver: Solver,
    /// Largest split R-hat over the region's parameters.
    pub rhat: Option<f64>,
    /// Smallest effective sample size over them.
    pub ess: Option<f64>,
    /// Its branches, and how many of them the evidence decides; the others are as assumed.
    pub branches: Option<Branches>,
    /// The posterior check: how far the samples are from what the answer expects.
    pub fit: Option<Fit>,
}

/// How far the branches of a region are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Branches {
    /// Free branch probabilities.
    pub free: u64,
    /// How many of them samples and time decide: the effective number of parameters, 0 to `free`.
    pub told: f64,
}

/// Whether samples are what an answer expects, as total variation distances, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Fit {
    /// Between the samples and what is expected.
    pub distance: f64,
    /// What chance alone would make of it.
    pub noise: f64,
}

/// A binary that was not found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MissingImage {
    /// As recorded.
    pub path: String,
    /// In hexadecimal.
    pub build_id: Option<String>,
    /// Samples in it, which were left alone.
    pub samples: u64,
    /// What is wrong.
    pub reason: String,
    /// What the user can do.
    pub remedy: String,
}

/// A binary whose build the recording does not tell.
#[derive(Clone, Debug, Default, Serialize)]
pub struct UnverifiedImage {
    /// As recorded.
    pub path: String,
    /// The file that was taken for it.
    pub file: String,
    /// Samples in it.
    pub samples: u64,
    /// Whether that file was changed after the recording.
    pub changed_since: bool,
}

/// A binary with samples that no symbol covers.
#[derive(Clone, Debug, Default, Serialize)]
pub struct NamelessImage {
    /// As recorded.
    pub path: String,
    /// In hexadecimal.
    pub build_id: Option<String>,
    /// Samples in it that no symbol covers.
    pub samples: u64,
    /// All samples in it.
    pub of: u64,
    /// Why.
    pub reason: String,
    /// What would help: a command, or what to do.
    pub command: String,
}

impl Report {
    /// Writes the JSON object.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        out.write_all(b"\n")
    }

    /// The regions whose answer decided where samples go: those of events of time are not among them, because such samples
    /// go by what was waited for.
    pub fn decisive(&self) -> impl Iterator<Item = &RegionReport> {
        let of_time = |name: &str| self.events.iter().any(|e| e.name == name && e.class == Class::Time);
        self.regions.iter().filter(move |region| !of_time(&region.event))
    }

    /// What of the recording is damaged or lost, a line each.
    pub fn damage(&self) -> impl Iterator<Item = String> {
        let lost = (self.lost > 0)
            .then(|| format!("samples or other records lost while recording: {}", format::count(self.lost)));
        let told = self.warnings.iter().filter(|warning| warning.is_damage);
        lost.into_iter().chain(told.map(|warning| warning.text.clone()))
    }

    /// Samples whose address changed, over all events.
    pub fn moved(&self) -> u64 {
        self.events.iter().map(|event| event.moved).sum()
    }
}

/// Where the report of a corrected recording is kept beside it: `perf.fixed.data` → `perf.fixed.data.skidconv.json`.
pub fn sidecar(recording: &Path) -> PathBuf {
    let mut name = OsString::from(recording);
    name.push(".skidconv.json");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_fields_that_scripts_rely_on() {
        let event = EventReport { name: "cycles".into(), class: Class::Time, ..Default::default() };
        let report = Report { samples: 3, events: vec![event], ..Default::default() };
        let mut bytes = Vec::new();
        report.write_json(&mut bytes).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!((&json["samples"], &json["lost"]), (&3.into(), &0.into()));
        let event = &json["events"][0];
        assert_eq!((&event["class"], &event["verdict"]), (&"time".into(), &"unchanged".into()));
        assert!(event["samples"].is_u64() && event["moved"].is_u64() && event["name"] == "cycles");
    }

    #[test]
    fn quantiles_are_values_that_occur() {
        let q = Quantiles::of((1..=10).collect()).unwrap();
        assert_eq!(q, Quantiles { median: 5, p90: 9, max: 10 });
        assert_eq!(Quantiles::of(vec![7]).unwrap(), Quantiles { median: 7, p90: 7, max: 7 });
        assert!(Quantiles::of(vec![]).is_none());
    }

    #[test]
    fn the_sidecar_keeps_the_whole_name() {
        assert_eq!(sidecar(Path::new("a/perf.fixed.data")), Path::new("a/perf.fixed.data.skidconv.json"));
    }
}
