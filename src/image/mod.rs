//! Addresses → file → code bytes, functions, names.
//!
//! In: the recording's mmap, fork and exec records and its build-ids, and the folders where binaries may lie. Out: for an
//! address of a process at a time, the image it lies in and the address inside that image; the image's code, functions and
//! symbols. It knows ELF and nothing of instructions or statistics.

/// Which binary: an index into [`Images`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ImageId(pub u32);

/// An address as the binary's own program headers state it ("stated virtual memory address").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Svma(pub u64);

/// A place in a binary, the same for all processes that map it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    /// The binary.
    pub image: ImageId,
    /// The address in it.
    pub svma: Svma,
}

pub mod symbols;
