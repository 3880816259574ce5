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
    /// A record states a size that cannot be: what is behind it was not found.
    RecordSize {
        /// Where it begins.
        offset: u64,
        /// Its stated size.
        size: u16,
        /// Bytes from there to the end of the data.
        left: u64,
    },
    /// zstd refused a compressed record, and with it all that follow.
    Compressed {
        /// Where it begins.
        offset: u64,
        /// What zstd said.
        reason: String,
        /// Bytes from behind it to the end of the data.
        left: u64,
    },
    /// A section of event ids is not inside the file.
    IdsLost {
        /// Its stated offset.
        offset: u64,
        /// Its stated size.
        size: u64,
    },
    /// The section of events is damaged; they were taken from their description behind the data.
    EventsLost {
        /// What was wrong with the section.
        reason: String,
    },
    /// The recording is part of one in directory format, whose other files are not there.
    PartsMissing,
    /// Compressed data ended in the middle of a record, which was left out.
    CompressedCut {
        /// Where in the file the data end.
        offset: u64,
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

impl Warning {
    /// Whether something of the recording is lost or unusable; otherwise it is only not understood.
    pub fn is_damage(&self) -> bool {
        !matches!(self, Warning::UnknownSampleFields { .. })
    }
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
            Warning::RecordSize { offset, size, left } => {
                write!(
                    f,
                    "the record at {offset:#x} states a size of {size} bytes: the data from there on are lost ({left} bytes)"
                )
            }
            Warning::Compressed { offset, reason, left } => {
                write!(
                    f,
                    "the compressed record at {offset:#x} is damaged ({reason}): it and the data behind it are lost ({left} bytes)"
                )
            }
            Warning::IdsLost { offset, size } => {
                write!(f, "the ids of an event at {offset:#x} ({size} bytes) are not in the file")
            }
            Warning::EventsLost { reason } => {
                write!(f, "{reason}: the events are those of their description behind the data")
            }
            Warning::PartsMissing => {
                write!(
                    f,
                    "this is one file of a recording in directory format, and its samples are in others: name the folder"
                )
            }
            Warning::CompressedCut { offset, have } => {
                write!(f, "the compressed data ends at {offset:#x} inside a record ({have} bytes left out)")
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
