//! What is missing from a recording by its own account, and what so many samples can show at all.

/// What the kernel says it did not record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Samples and other records dropped.
    pub lost: u64,
    /// How often sampling was stopped for a while because it came too fast.
    pub throttled: u64,
}

impl Losses {
    /// The part of all samples that is missing; where it is, is not known, so a share may be off by as much.
    pub fn share(&self, samples: u64) -> f64 {
        self.lost as f64 / (self.lost as f64 + samples as f64).max(1.0)
    }
}

/// The smallest share of time that so many samples show with `confidence` at all: 1 − (1 − C)^(1/n). Functions with less
/// appear and disappear at random (section 2).
pub fn smallest_seen(samples: u64, confidence: f64) -> f64 {
    1.0 - (1.0 - confidence).powf(1.0 / samples.max(1) as f64)
}
