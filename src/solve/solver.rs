//! The ways to solve a region, as they are asked for and as they are reported.

use std::fmt;

use clap::ValueEnum;
use serde::Serialize;

use crate::report::Verdict;

/// How regions of hot code are solved. What stands here of each is the command line's help too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Solver {
    /// Sample the posterior; where chains do not mix, fall back to argmin
    #[default]
    Gibbs,
    /// The posterior's mode
    Argmin,
    /// Flow conservation only
    Flow,
    /// Flow conservation, and what time says of executions
    Timed,
    /// The formulation of "Can We Trust Profiling Results?" (ICS'19), literally
    Ics,
    /// Baseline without skid: the mean of each block's samples
    Mean,
    /// Baseline without skid: LLVM's profile inference, with the compiler's costs
    Profi,
    /// Baseline without skid: LLVM's profile inference, with BOLT's costs
    Bolt,
    /// Baseline without skid: GCC's minimum-cost smoothing of counts
    Mcf,
}

impl Solver {
    /// It models skid, and so wants that of the file.
    pub fn models_skid(self) -> bool {
        matches!(self, Solver::Gibbs | Solver::Argmin | Solver::Ics)
    }

    /// It uses what time says of executions.
    pub fn uses_time(self) -> bool {
        matches!(self, Solver::Gibbs | Solver::Argmin | Solver::Timed)
    }

    /// Its answer as the report names it.
    pub fn verdict(self) -> Verdict {
        match self {
            Solver::Gibbs => Verdict::Gibbs,
            Solver::Argmin => Verdict::Argmin,
            Solver::Flow => Verdict::Flow,
            Solver::Timed => Verdict::Timed,
            Solver::Ics => Verdict::Ics,
            Solver::Mean | Solver::Profi | Solver::Bolt | Solver::Mcf => Verdict::Baseline,
        }
    }
}

impl fmt::Display for Solver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_possible_value().as_ref().map_or("", |v| v.get_name()))
    }
}
