//! Where a recording goes: into a file, or down a pipe to whoever reads the standard output.
//!
//! In: what is known of the recording at its beginning, records, and what is known at its end. Out: `perf.data` in the form
//! that the place allows: a [`DataFile`] says at its end what there is, a [`Stream`] has to say it before.

use crate::error::Error;
use crate::features::Feature;
use crate::file::{DataFile, Described};
use crate::stream::Stream;
use crate::survey::Survey;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;

/// Sections by their features.
pub type Sections = Vec<(Feature, Vec<u8>)>;

/// Whether a path stands for the standard output.
pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The standard output as a file, which nothing is held back from.
pub fn stdout() -> io::Result<File> {
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

/// Lets `command` print beside a recording that goes to `path`: on the standard error, where the standard output is the
/// recording's.
pub fn beside(path: &Path, command: &mut Command) -> io::Result<()> {
    if is_stdout(path) {
        command.stdout(io::stderr().as_fd().try_clone_to_owned()?);
    }
    Ok(())
}

/// An output that is open.
#[derive(Debug)]
pub enum Output {
    /// A file, and the sections that are known of it.
    File(DataFile, Sections),
    /// The standard output.
    Pipe(Stream),
}

impl Output {
    /// Begins it.
    pub fn create(path: &Path, events: &[Described], known: Sections) -> Result<Output, Error> {
        if is_stdout(path) {
            return Stream::begin(events, known).map(Output::Pipe);
        }
        DataFile::create(path, events).map(|file| Output::File(file, known))
    }

    /// Bytes of records so far.
    pub fn written(&self) -> u64 {
        match self {
            Output::File(file, _) => file.records().end - file.records().start,
            Output::Pipe(stream) => stream.written(),
        }
    }

    /// Adds records.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.write_both(bytes, &[])
    }

    /// Adds records that are in two places.
    pub fn write_both(&mut self, first: &[u8], second: &[u8]) -> Result<(), Error> {
        match self {
            Output::File(file, _) => file.write_both(first, second),
            Output::Pipe(stream) => stream.write_both(first, second),
        }
    }

    /// What the records are.
    pub fn survey(&mut self, events: &[Described]) -> io::Result<Survey> {
        match self {
            Output::File(file, _) => Survey::of(file, events),
            Output::Pipe(stream) => Ok(stream.survey()),
        }
    }

    /// Adds the other sections; how many bytes there are.
    pub fn finish(self, sections: Sections, events: usize) -> Result<u64, Error> {
        match self {
            Output::File(file, mut known) => {
                known.extend(sections);
                file.finish(known, events)
            }
            Output::Pipe(stream) => stream.finish(sections),
        }
    }
}
