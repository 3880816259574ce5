//! What the recording says about itself beside its records.

use super::CpuMode;

/// A build-id that the recording's header states for a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct BuildId {
    pub pid: i32,
    pub mode: CpuMode,
    pub bytes: Vec<u8>,
    pub filename: Vec<u8>,
}
