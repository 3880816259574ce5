//! How finely the self time of a function is cut by its calls (sections 3.2.3, 5 and 9).
//!
//! It is the factor that the note found to dominate the variability, and "it cannot be determined from the data yielded by
//! sampling alone": it takes counts of calls.

/// How long a function's calls are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fragmentation {
    /// How often it was called.
    pub calls: u64,
    /// Mean self time of a call, in sampling periods.
    pub periods: f64,
}

impl Fragmentation {
    /// Calls are shorter than the time between samples, so that none is seen twice and most are not seen at all.
    pub fn is_fragmented(&self) -> bool {
        self.periods < 1.0
    }
}

/// Of `samples` in `calls`; `None` of a function that was not called.
pub fn fragmentation(samples: f64, calls: u64) -> Option<Fragmentation> {
    (calls > 0).then(|| Fragmentation { calls, periods: samples / calls as f64 })
}
