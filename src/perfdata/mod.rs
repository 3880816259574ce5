//! Bytes → records and samples, and back in place.
//!
//! In: a `perf.data` in file or pipe mode, plain or zstd. Out: its records in file order, samples decoded with the offsets of
//! the fields a rewriter patches, and a copy of the file in which only chosen samples' addresses differ. It knows the file
//! format (tools/perf/Documentation/perf.data-file-format.txt, include/uapi/linux/perf_event.h) and nothing of x86,
//! binaries or statistics.

/// Which event of the recording: an index into [`PerfFile::attrs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

// Stand-ins until the reader lands; only what `export` reads.
#[allow(missing_docs)]
#[derive(Clone, Debug, Default)]
pub struct Attr {
    pub name: String,
    pub freq: bool,
    pub sample_period: u64,
}

#[allow(missing_docs)]
#[derive(Clone, Debug, Default)]
pub struct Features {
    pub version: Option<String>,
    pub cmdline: Vec<String>,
}
