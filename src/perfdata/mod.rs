//! Bytes → records and samples, and back in place.
//!
//! In: a `perf.data` in file or pipe mode, plain or zstd. Out: its records in file order, samples decoded with the offsets of
//! the fields a rewriter patches, and a copy of the file in which only chosen samples' addresses differ. It knows the file
//! format (tools/perf/Documentation/perf.data-file-format.txt, include/uapi/linux/perf_event.h) and nothing of x86,
//! binaries or statistics.
//!
//! What a file says about itself is never trusted: sizes and offsets are checked before use, damage is an [`Error`] or a
//! [`Warning`] with its offset, and memory does not depend on the length of the file.

mod attr;
mod bytes;
mod deferred;
mod error;
mod features;
mod fields;
mod file;
mod header;
mod ids;
mod inflate;
pub mod kinds;
mod layout;
mod names;
mod parts;
mod patch;
mod pool;
mod reads;
mod records;
mod relocate;
mod rewrite;
mod sample;
mod sideband;
mod source;
mod stream;
mod tally;
#[cfg(test)]
mod testing;
mod walk;
mod warning;

pub use attr::Attr;
pub use bytes::Words;
pub use deferred::Deferred;
pub use error::Error;
pub use features::{BuildId, Compression, Features};
pub use fields::{
    BranchEntry, BranchFlags, BranchStack, Callchain, CounterValue, Counters, Registers, Weight,
};
pub use file::PerfFile;
pub use header::is_recording;
pub use patch::Patch;
pub use pool::{Unlike, pool};
pub use reads::Reads;
pub use records::{Checkpoint, Record, Records};
pub use rewrite::{Rewritten, rewrite, rewrite_stream};
pub use sample::{FieldOffsets, Glance, Sample};
pub use sideband::{Comm, Inode, Mmap, Sideband, Task};
pub use tally::Tally;
pub use warning::Warning;

/// Which event of the recording: an index into [`PerfFile::attrs`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AttrIx(pub u32);

/// In which mode the processor was: the low three bits of a record's `misc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum CpuMode {
    Unknown,
    Kernel,
    User,
    Hypervisor,
    GuestKernel,
    GuestUser,
}

impl CpuMode {
    /// From a record's `misc`.
    pub fn of(misc: u16) -> CpuMode {
        match misc & 7 {
            1 => CpuMode::Kernel,
            2 => CpuMode::User,
            3 => CpuMode::Hypervisor,
            4 => CpuMode::GuestKernel,
            5 => CpuMode::GuestUser,
            _ => CpuMode::Unknown,
        }
    }
}
