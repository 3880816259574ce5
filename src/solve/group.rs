//! Functions that are solved together: their code, its flow, and the search for what samples and time agree on.
//!
//! In: a group as [`workshop`](super::workshop) makes it. Out: the same with that flow, on one core or another. It knows nothing of
//! other groups.

use super::conserve::{Belief, Conservation, TIMED};
use super::timed::{SEARCHES, strain, timed};
use crate::code::FunctionIx;
use crate::skid::circulation::mean;
use crate::skid::core::Shape;
use crate::skid::{Model, Rates};

/// Fewer samples for each free branch leave most of them to what the code suggests: such code is searched once, and does not tell
/// cores apart. Of 106 recordings 66 groups are so, mostly what runs at the start; three of them have more than .02 of the samples.
const AMPLE: f64 = 2.0;
/// Groups with more free branches keep their flow, with which they tell of skid. Over 19 recordings of libraries the default is
/// .134 off by block with this, .138 with 150, and takes 55 s instead of 42 on one core.
const MOST_FREEDOM: usize = 400;

/// Part of what samples of instructions say where they stand for time; the rest is the flow of samples alone.
const LANDED: f64 = 2.0 / 3.0;

/// Functions that are solved together.
#[derive(Clone, Debug)]
pub struct Group {
    /// The functions.
    pub functions: Vec<FunctionIx>,
    /// Their hot code and its samples.
    pub model: Model,
    /// Parameters of the flow nearest to the samples.
    pub flow: Vec<f64>,
    /// What follows from them.
    pub rates: Rates,
    /// How much is believed of what where samples and time have to agree.
    pub belief: Belief,
    /// Parameters of the flow that they agree on best, where it is wanted and time was observed.
    pub timed: Option<Vec<f64>>,
}

impl Group {
    /// The same with the flow that samples and time agree on, by one search, where that is wanted.
    pub fn searched(mut self) -> Group {
        if let Some(start) = self.timed.take() {
            self.agree(start, 1);
        }
        self
    }

    /// Where a search starts, and the prior's centre.
    pub fn start(&self) -> &[f64] {
        self.timed.as_ref().unwrap_or(&self.flow)
    }

    /// Whether its flow is sought under the model of skid too.
    pub fn bends(&self) -> bool {
        self.model.region.freedom() <= MOST_FREEDOM
    }

    /// Whether it has samples enough for its branches.
    pub fn ample(&self) -> bool {
        self.model.counted().total() >= AMPLE * self.model.region.freedom() as f64
    }

    /// The same on another core, if it `tells` of it searched anew; the flow of samples alone stays.
    pub fn on(mut self, shape: Shape, tells: bool) -> Group {
        self.model.reporting.shape = shape;
        if let Some(start) = self.timed.take_if(|_| tells) {
            self.agree(start, 1);
        }
        self
    }

    /// The same on the core that it is on, with a prior so many times as wide, by all searches, or half of them where other code
    /// `tells` of the core. Under a wider prior they begin anew: from where the usual one led they don't come as far (block
    /// distance .143 instead of .138 over 14 recordings of libraries, flow and time).
    pub fn settled(mut self, width: f64, tells: bool) -> Group {
        self.belief = TIMED.wider(width);
        if let Some(usual) = self.timed.take() {
            let start = if width > 1.0 { self.beginning() } else { usual };
            let searches = if tells { SEARCHES } else { SEARCHES / 2 };
            self.agree(start, if self.ample() { searches } else { 1 });
            self.temper();
        }
        self
    }

    /// Where a search begins that knows the flow of samples alone.
    pub fn beginning(&self) -> Vec<f64> {
        let free = self.model.region.freedom();
        Conservation::new(&self.model, &self.flow[..free], self.belief).1
    }

    /// Finds the flow that the samples and time agree on, from parameters `start`: the mean of so many `searches`.
    fn agree(&mut self, start: Vec<f64>, searches: u64) {
        self.timed = timed(&mut self.model, &start, &self.rates, self.belief, searches);
    }

    /// Goes part of the way back to the flow of samples alone where time was not sampled but told by samples of instructions.
    fn temper(&mut self) {
        let shares = |z| [(LANDED, z), (1.0 - LANDED, self.flow.as_slice())];
        let z = self.timed.as_deref().filter(|_| self.model.is_landed());
        if let Some(mean) = z.and_then(|z| mean(&self.model.region, &shares(z))) {
            self.timed = Some(mean);
        }
    }

    /// How much time strains the code where it agrees with the samples best: half the sum of its squared residuals.
    pub fn strain(&self) -> f64 {
        self.timed.as_ref().map_or(0.0, |z| strain(&self.model, z, self.belief))
    }
}
