//! Corrected samples → files other tools read, one file of this folder per format.
//!
//! In: the samples of the second walk, one after the other, already standing where they belong; and, for the CSV, the
//! counts per instruction before and after. Out: bytes on a [`Write`], which [`Output`] makes appear whole or not at all.
//! It knows the formats and how to ask for names; it knows nothing of x86, of statistics, or of why a sample moved.

mod atomic;
mod csv;
mod firefox;
mod flamegraph;
mod folded;
mod names;
#[cfg(feature = "parquet")]
mod parquet;
mod perfdata;
pub mod pprof;
mod sample;
mod stacks;
#[cfg(test)]
mod testing;

pub use atomic::{Existing, Output};
pub use csv::{InstructionRow, write_csv};
pub use firefox::Firefox;
pub use flamegraph::{Flamegraph, FlamegraphDiff};
pub use folded::Folded;
pub use names::{ImageNames, Names, Segment, basename, plain};
#[cfg(feature = "parquet")]
pub use parquet::{INSTRUCTIONS, ParquetSamples, SAMPLES, write_parquet};
pub use perfdata::{beside, write_recording, write_sidecar};
pub use pprof::Pprof;
pub use sample::{CorrectedSample, FrameKind, StackFrame};

use crate::image::Location;
use crate::perfdata::{Attr, AttrIx, Features};
use crate::report::{RegionReport, Verdict};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

/// A format that is made from all samples of a recording.
///
/// Samples come in file order and are folded at once, so that memory grows with distinct stacks where the format allows it.
/// Names are looked up in [`Exporter::finish`], once per distinct place.
pub trait Exporter {
    /// Whether equal samples may come as one with the sum of their weights: their number, times and processors do not matter.
    fn folds(&self) -> bool {
        false
    }

    /// Takes one sample.
    fn sample(&mut self, sample: &CorrectedSample<'_>);

    /// Writes the file. Equal samples in equal order give equal bytes.
    fn finish(self: Box<Self>, context: &mut Context<'_>, out: &mut dyn Write) -> Result<(), Error>;
}

/// What a format may say about the recording beside its samples.
pub struct Context<'a> {
    /// The events, indexed by [`AttrIx`](crate::perfdata::AttrIx).
    pub attrs: &'a [Attr],
    /// The recording's header.
    pub features: &'a Features,
    /// Binaries and symbols.
    pub names: &'a mut dyn Names,
    /// What is known of how far an instruction's weight can be trusted.
    pub intervals: &'a Intervals,
    /// What was solved together, and how it went.
    pub regions: &'a [RegionReport],
}

/// Per event and place, the 90 % interval of the weight, and what stands behind it.
pub type Intervals = BTreeMap<(AttrIx, Location), (f64, f64, Verdict)>;

impl Context<'_> {
    /// The time of day, since 1970, at a time of the recording's clock; `None` if the recording does not relate them.
    pub fn time_of_day(&self, time: u64) -> Option<Duration> {
        let (_, day, clock) = self.features.clock?;
        Some(Duration::from_nanos(day.wrapping_add(time.wrapping_sub(clock))))
    }

    /// The name of an event, `event N` where the recording has no such event.
    pub fn event_name(&self, attr: crate::perfdata::AttrIx) -> String {
        match self.attrs.get(attr.0 as usize) {
            Some(attr) => attr.name.clone(),
            None => format!("event {}", attr.0),
        }
    }
}

/// Why an output was not written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The output exists and was not to be replaced.
    #[error("output exists: {}: give --force to replace it, or another name", .0.display())]
    Exists(PathBuf),
    /// The output's folder does not take a file.
    #[error("cannot create output: {}: choose a folder that exists and can be written", path.display())]
    Create {
        /// The output.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Writing stopped; nothing was left at the output's path.
    #[error("cannot write output: {}: nothing was left there", path.display())]
    Write {
        /// The output.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Writing stopped, of an output that is not named here.
    #[error("cannot write output")]
    Io(#[from] io::Error),
    /// The recording could not be copied.
    #[error("cannot copy the recording: to {}", path.display())]
    Recording {
        /// The output.
        path: PathBuf,
        /// What stopped it.
        source: crate::perfdata::Error,
    },
}

impl From<::csv::Error> for Error {
    fn from(error: ::csv::Error) -> Error {
        Error::Io(error.into())
    }
}

#[cfg(feature = "parquet")]
impl From<::parquet::errors::ParquetError> for Error {
    fn from(error: ::parquet::errors::ParquetError) -> Error {
        Error::Io(io::Error::other(error))
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Error {
        Error::Io(error.into())
    }
}
