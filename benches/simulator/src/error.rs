//! What can go wrong while a case is made.

use std::path::PathBuf;

/// The crate's result.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a case could not be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A tool is missing or failed.
    #[error("{tool} failed: {reason}")]
    Tool {
        /// `cc` or `valgrind`.
        tool: &'static str,
        /// Its own words, or the exit status.
        reason: String,
    },
    /// The compiled program is not an ELF file that this crate understands.
    #[error("{path}: {reason}")]
    Image {
        /// The program.
        path: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// The trace is empty, or names an address that holds no instruction.
    #[error("trace of {program}: {reason}")]
    Trace {
        /// The traced program.
        program: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No program or case of this name.
    #[error("no case or program is called {0}")]
    Unknown(String),
}

impl Error {
    /// Attaches a path to an I/O error.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.into();
        move |source| Error::Io { path, source }
    }
}
