//! The stages, called in order.

mod classify;
pub mod linking;
pub mod survey;

pub use crate::options::{Options, Solver};

use crate::options;
use crate::progress::Progress;
use crate::report::Report;

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It did not start.
    #[error(transparent)]
    Options(#[from] options::Error),
    /// The stages are not joined yet.
    #[error("not built yet: the pipeline")]
    Unfinished,
}

/// Runs `options`.
pub fn run(options: &Options, _progress: &dyn Progress) -> Result<Report, Error> {
    options.check()?;
    Err(Error::Unfinished)
}
