//! What is asked and what is answered.

use crate::report::Verdict;
use crate::skid::assemble::Folded;
use crate::skid::hold::Reporting;
use crate::skid::{Holds, Model, Rates, Skid};

/// How regions are solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Gibbs sampling.
    Gibbs,
    /// The mode, by argmin.
    Argmin,
    /// Flow conservation only.
    Flow,
    /// Flow conservation and time.
    Timed,
    /// The ICS'19 paper, done literally.
    Ics,
    /// Means of blocks.
    Mean,
    /// LLVM's profile inference with the compiler's costs.
    Profi,
    /// The same with BOLT's costs.
    Bolt,
    /// GCC's minimum-cost smoothing.
    Mcf,
}

impl Method {
    /// It has no use for the skid of the file.
    pub fn ignores_skid(self) -> bool {
        matches!(
            self,
            Method::Flow | Method::Timed | Method::Mean | Method::Profi | Method::Bolt | Method::Mcf
        )
    }
}

/// How to solve.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The method asked for; a group that it fails on falls back to the next one.
    pub method: Method,
    /// Mean skid, cycles, where it is known.
    pub skid: Option<f64>,
    /// Equal seeds give equal answers, whatever the number of threads.
    pub seed: u64,
}

/// The samples to learn from.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// Retirement events; the first sets the scale.
    pub retired: Vec<Folded>,
    /// The event that measured time.
    pub time: Option<Folded>,
}

/// One group's answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The code and its samples.
    pub model: Model,
    /// Executions per block and walk: the posterior mean.
    pub rates: Rates,
    /// Head times and the time waited for each node.
    pub holds: Holds,
    /// 90 % credible interval of each block's executions, lower end.
    pub low: Vec<f64>,
    /// Upper end.
    pub high: Vec<f64>,
    /// Draws of the executions per block, for intervals of sums; may be empty.
    pub draws: Vec<Vec<f64>>,
    /// What gave the answer.
    pub method: Method,
    /// Why that.
    pub reason: String,
    /// Split R̂, the worst of any block with a noticeable share, where chains ran.
    pub r_hat: Option<f64>,
    /// Effective number of draws, the least of any such block.
    pub ess: Option<f64>,
}

impl Answer {
    /// The method as the report names it.
    pub fn verdict(&self) -> Verdict {
        match self.method {
            Method::Gibbs => Verdict::Gibbs,
            Method::Argmin => Verdict::Argmin,
            Method::Flow => Verdict::Flow,
            Method::Timed => Verdict::Timed,
            Method::Ics => Verdict::Ics,
            Method::Mean | Method::Profi | Method::Bolt | Method::Mcf => Verdict::Baseline,
        }
    }
}

/// The file's answer.
#[derive(Clone, Debug)]
pub struct Solved {
    /// Per group with samples.
    pub answers: Vec<Answer>,
    /// The skid, pooled over all groups.
    pub skid: Skid,
    /// Which address is reported.
    pub reporting: Reporting,
}
