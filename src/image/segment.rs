//! What program headers of an ELF file say: what is loaded where, and what of that the loader protects.

use std::ops::Range;

use object::elf;
use object::read::elf::ProgramHeader;

/// A part of the file that is loaded into memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where it is loaded.
    pub svma: u64,
    /// Where it stands in the file.
    pub offset: u64,
    /// How many of its bytes stand in the file.
    pub file_size: u64,
    /// Whether it may be executed.
    pub executable: bool,
    /// Whether it may be written.
    pub writable: bool,
}

impl Segment {
    /// The addresses of its bytes in the file.
    pub(super) fn range(&self) -> Range<u64> {
        self.svma..self.svma.saturating_add(self.file_size)
    }

    /// What a header says is loaded, if it does.
    pub(super) fn loaded<P: ProgramHeader>(header: &P, endian: P::Endian) -> Option<Segment> {
        let (offset, file_size) = header.file_range(endian);
        let flags = header.p_flags(endian);
        let svma: u64 = header.p_vaddr(endian).into();
        let sound = offset.checked_add(file_size).is_some() && svma.checked_add(file_size).is_some();
        (sound && header.p_type(endian) == elf::PT_LOAD).then_some(Segment {
            svma,
            offset,
            file_size,
            executable: flags.contains(elf::PF_X),
            writable: flags.contains(elf::PF_W),
        })
    }
}

/// Addresses that a header says the loader protects from being written once it has relocated them.
pub(super) fn protected<P: ProgramHeader>(header: &P, endian: P::Endian) -> Option<Range<u64>> {
    let (start, size): (u64, u64) = (header.p_vaddr(endian).into(), header.p_memsz(endian).into());
    (header.p_type(endian) == elf::PT_GNU_RELRO).then(|| start..start.saturating_add(size))
}
