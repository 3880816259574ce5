//! What was wrong with a recording and could be tolerated.

use std::fmt;

use linux_perf_data::Feature;

/// A fault that was worked round, and where. Offsets are in the input file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The header gives the data no size, as when `perf record` was killed: read to the end of the file.
    Unfinished {
        /// Bytes found after the header.
        bytes: u64,
    },
    /// The file ends before its data does.
    DataCut {
        /// Where the data should end.
        stated_end: u64,
        /// Where the file ends.
        end: u64,
    },
    /// The last record is incomplete and was left out.
    RecordCut {
        /// Where it begins.
        offset: u64,
        /// Its stated size; 0 if not even its header is there.
        size: u64,
        /// The bytes that are there.
        have: u64,
    },
    /// Compressed data ended in the middle of a record, which was left out.
    CompressedCut {
        /// The bytes of it that are there.
        have: u64,
    },
    /// A feature section is outside the file, or too big to be one, and was ignored.
    FeatureLost {
        /// Which.
        feature: Feature,
        /// Its stated offset.
        offset: u64,
        /// Its stated size.
        size: u64,
    },
    /// The table of the feature sections is outside the file: names and build-ids are missing.
    FeatureTableLost {
        /// Where it should be.
        offset: u64,
    },
    /// A feature section does not have the form it should; what could be read of it was kept.
    FeatureDamaged {
        /// Which.
        feature: Feature,
    },
    /// There are several events, and no field tells which of them a sample belongs to.
    NoEventIds,
    /// The event's samples have fields that this program does not know; they are kept.
    UnknownSampleFields {
        /// Name of the event.
        event: String,
        /// The unknown bits of `sample_type`.
        bits: u64,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::Unfinished { bytes } => {
                write!(
                    f,
                    "the recording was not finished (data size 0, perf killed?): reading {bytes} bytes to its end"
                )
            }
            Warning::DataCut { stated_end, end } => {
                write!(f, "the file is cut: it ends at {end:#x}, its data should end at {stated_end:#x}")
            }
            Warning::RecordCut { offset, size: 0, have } => {
                write!(
                    f,
                    "the data ends inside the header of a record at {offset:#x} ({have} bytes left out)"
                )
            }
            Warning::RecordCut { offset, size, have } => {
                write!(
                    f,
                    "the data ends inside a record at {offset:#x} ({have} of its {size} bytes, left out)"
                )
            }
            Warning::CompressedCut { have } => {
                write!(f, "the compressed data ends inside a record ({have} bytes left out)")
            }
            Warning::FeatureLost { feature, offset, size } => {
                write!(
                    f,
                    "header section {feature} at {offset:#x} ({size} bytes) cannot be read and is ignored"
                )
            }
            Warning::FeatureTableLost { offset } => {
                write!(
                    f,
                    "the table of header sections at {offset:#x} is not in the file: event names and build-ids are missing"
                )
            }
            Warning::FeatureDamaged { feature } => {
                write!(f, "header section {feature} is damaged; the readable part is used")
            }
            Warning::NoEventIds => {
                write!(f, "several events, but samples do not say to which they belong: they cannot be used")
            }
            Warning::UnknownSampleFields { event, bits } => {
                write!(
                    f,
                    "samples of {event} have fields that are not known (sample_type bits {bits:#x}); they are kept as they are"
                )
            }
        }
    }
}
