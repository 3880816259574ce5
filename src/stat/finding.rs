//! What was found wrong, in a form that tells how sure it is.

/// What kind of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Calls shorter than the sampling period.
    Fragmentation,
    /// The program's rhythm and the sampling's keep step.
    Aliasing,
    /// A sample depends on the one before.
    Autocorrelation,
    /// A share changes in the course of the recording.
    Drift,
    /// The event comes faster or slower in the course of the recording: frequency, temperature.
    Speed,
    /// A share or the speed differs between processors.
    Processors,
    /// Samples prefer addresses of some class modulo 16.
    Attraction,
    /// The kernel stopped sampling for a while.
    Throttling,
    /// Samples were lost.
    Loss,
    /// Too few samples.
    FewSamples,
    /// Too few runs.
    FewRuns,
    /// Values far from the others.
    Outliers,
    /// More than one mode.
    Modes,
    /// Counts change from run to run with the order of the runs.
    Order,
    /// Runs agree less than independent samples would, or more.
    Dispersion,
}

impl Kind {
    /// In a word or two.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Fragmentation => "self-time fragmentation",
            Kind::Aliasing => "period aliasing",
            Kind::Autocorrelation => "autocorrelation",
            Kind::Drift => "drift over time",
            Kind::Speed => "drift of speed",
            Kind::Processors => "drift across processors",
            Kind::Attraction => "attraction",
            Kind::Throttling => "throttling",
            Kind::Loss => "lost samples",
            Kind::FewSamples => "too few samples",
            Kind::FewRuns => "too few runs",
            Kind::Outliers => "outliers",
            Kind::Modes => "several modes",
            Kind::Order => "drift between runs",
            Kind::Dispersion => "dispersion",
        }
    }

    /// Probability of a false alarm, per recording or per set of runs, of findings that have one.
    pub const FALSE_ALARMS: f64 = 0.01;
}

/// One finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Of what kind.
    pub kind: Kind,
    /// Which function, if it is about one.
    pub function: Option<usize>,
    /// Probability of as much by chance, adjusted for all comparisons of the kind; `None` where chance plays no part.
    pub probability: Option<f64>,
    /// What was seen and what follows from it, in a sentence without the function's name.
    pub text: String,
}
