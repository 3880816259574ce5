//! Addresses → file → code bytes, functions, names.
//!
//! In: the recording's mmap, fork and exec records and its build-ids, and the folders where binaries may lie. Out: for an
//! address of a process at a time, the image it lies in and the address inside that image; the image's code, functions and
//! symbols. It knows ELF and nothing of instructions or statistics.

mod archive;
mod binary;
mod chain;
mod builds;
mod cover;
mod debuginfod;
mod demangle;
mod elf;
mod expansion;
mod expression;
mod functions;
mod identity;
mod images;
mod jitdump;
mod listing;
mod locate;
mod machine;
mod mapping;
mod name;
mod nesting;
mod noreturn;
mod overlay;
mod packed;
mod peril;
mod plt;
mod pointers;
mod running;
mod segment;
mod source;
mod space;
mod split;
mod strings;
mod symbols;
mod symtab;
#[cfg(test)]
mod testing;
mod text;
mod threads;
mod unwind;
mod vdso;

pub use archive::{Unpacked, unpack};
pub use binary::{Image, ImageState};
pub use chain::{Registers, Rules, chain};
pub use debuginfod::{Artifact, Debuginfod};
pub use demangle::demangle;
pub use elf::{Class, Elf, ElfError, Section};
pub use functions::{FunctionRange, FunctionSource, Functions};
pub use images::Images;
pub use listing::lists_kernel;
pub use locate::{Missing, SearchPath, hex};
pub use mapping::{Mapped, Mapping, MappingIx, When};
pub use name::{ImageName, NameKind};
pub use noreturn::{jumps_away, noreturn};
pub use plt::{PltTarget, global_offset_table};
pub use pointers::Standing;
pub use running::{FileMap, Mappings, Place, Running};
pub use segment::Segment;
pub use space::{AddressSpaces, Company, Era, Eras, View};
pub use symbols::{SourceFrame, Symbol, Symbolizer, Wholesym};
pub use text::SourceText;
pub use unwind::{CallerRules, Cfa, RowId, Saved};

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
