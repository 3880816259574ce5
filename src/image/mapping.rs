//! A range of a process's addresses that shows a range of an image, and when.

use super::ImageId;

/// When something happened: by the clock where the recording has one, else by its place in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct When {
    /// Nanoseconds of the recording's clock.
    pub time: Option<u64>,
    /// The number of the record in the file.
    pub ordinal: u64,
}

/// A moment that compares: the time, then the place in the file.
pub(super) type Moment = (u64, u64);

/// The moments at which something was mapped first and last.
pub(super) type Span = [Moment; 2];

/// Which mapping of [`AddressSpaces`](super::space::AddressSpaces).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MappingIx(pub u32);

/// A range of addresses that shows a range of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// Address after the last.
    pub end: u64,
    /// Offset in the image of what stands at `start`.
    pub file_offset: u64,
    /// What is mapped.
    pub image: ImageId,
    /// Whether its pages may be executed.
    pub executable: bool,
}

/// An address, resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// The mapping it lies in.
    pub ix: MappingIx,
    /// The same, by value.
    pub mapping: Mapping,
    /// The address.
    pub address: u64,
}

impl Mapped {
    /// The image it lies in.
    pub fn image(&self) -> ImageId {
        self.mapping.image
    }

    /// Where in the image's file it lies.
    pub fn file_offset(&self) -> u64 {
        (self.address - self.mapping.start).wrapping_add(self.mapping.file_offset)
    }
}
