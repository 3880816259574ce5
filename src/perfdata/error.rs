//! What can be wrong with a recording, in words for the person who has it.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a recording cannot be read, or not any further. Offsets are in the input file.
#[derive(Debug, Error)]
pub enum Error {
    /// The file cannot be opened.
    #[error("cannot open {}", path.display())]
    Open {
        /// The path given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A directory without the file that a recording in directory format begins with.
    #[error("no recording (a folder without a file called data)")]
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// Reading failed, or the file became shorter meanwhile.
    #[error("reading at offset {offset:#x}")]
    Read {
        /// Where.
        offset: u64,
        /// What the system said.
        source: io::Error,
    },
    /// A recording in file mode, to be written where one cannot seek.
    #[error("only a recording in pipe mode can be written to a pipe")]
    NotAStream,
    /// Writing failed.
    #[error("writing")]
    Write(#[source] io::Error),
    /// The file does not begin like a perf.data.
    #[error("not a perf.data file (it begins with {})", magic.escape_ascii())]
    Magic {
        /// The first eight bytes.
        magic: [u8; 8],
    },
    /// The file ends before its header does.
    #[error("not a perf.data file (only {len} bytes long)")]
    TooShort {
        /// Length of the file.
        len: u64,
    },
    /// A header of a size that no perf writes.
    #[error("file header of {size} bytes (known: 16 for pipe mode, 72 and 104 for files)")]
    HeaderSize {
        /// The size it states.
        size: u64,
    },
    /// A section that does not fit into the file.
    #[error("{what} at {offset:#x}, {size} bytes, is not inside the file ({len} bytes)")]
    Section {
        /// Which.
        what: &'static str,
        /// Its stated offset.
        offset: u64,
        /// Its stated size.
        size: u64,
        /// Length of the file.
        len: u64,
    },
    /// An event description that cannot be one.
    #[error("event description at {offset:#x}: {reason}")]
    Attr {
        /// Where it stands.
        offset: u64,
        /// What is wrong.
        reason: String,
    },
    /// No event is described, so that no sample can be understood.
    #[error("the recording describes no event")]
    NoEvents,
    /// A sample that is shorter than its fields.
    #[error("sample at {offset:#x} (record {ordinal}) ends inside its {field} field")]
    Sample {
        /// Where, in the input file.
        offset: u64,
        /// Which record, counted from 0.
        ordinal: u64,
        /// The field that does not fit.
        field: &'static str,
    },
}

impl Error {
    /// In one line, with what the system said.
    pub(super) fn whole(&self) -> String {
        let causes = std::iter::successors(Some(self as &dyn std::error::Error), |error| error.source());
        causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_said_is_the_cause_and_told_once() {
        let error = Error::Read { offset: 16, source: io::Error::other("no medium") };
        assert_eq!(error.to_string(), "reading at offset 0x10");
        assert_eq!(error.whole(), "reading at offset 0x10: no medium");
    }
}
