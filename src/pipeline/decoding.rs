//! Binaries as code: where [`crate::image`] and [`crate::code`] meet.
//!
//! In: images, and addresses in them. Out: decoded functions, and places as either of the two has them. It does not know what
//! was sampled.

use crate::code::{Bitness, Function, Place, Source, discover, explore};
use crate::image::{Class, Image, ImageId, Images, Location, Svma};

/// A function's place and end.
pub type Range = (u32, u64, u64);

/// Decodes the function in a range of an image, of which `known` addresses were seen to run.
pub fn function(images: &Images, (space, start, end): Range, known: &[u64]) -> Function {
    let image = images.get(ImageId(space));
    let named = image.function_at(Svma(start)).is_some_and(|f| f.start.0 == start);
    let decoded = if named { explore } else { discover };
    decoded(&Code(image), start..end, known)
}

/// A location as a place of the program.
pub fn place(at: Location) -> Place {
    Place { space: at.image.0, address: at.svma.0 }
}

/// A place of the program as a location.
pub fn at(place: Place) -> Location {
    Location { image: ImageId(place.space), svma: Svma(place.address) }
}

/// An image as a source of code.
struct Code<'a>(&'a Image);

impl Source for Code<'_> {
    fn bitness(&self) -> Bitness {
        bitness(self.0).unwrap_or(Bitness::Bits64)
    }

    fn read(&self, address: u64, len: usize) -> Vec<u8> {
        let end = Svma(address.saturating_add(len as u64));
        let code = self.0.code(Svma(address)..end).filter(|c| !c.is_empty());
        code.or_else(|| self.0.read_data(Svma(address), len)).unwrap_or_default()
    }
}

/// Which instruction set an image's code is of; `None` without it, or where it is not understood.
pub fn bitness(image: &Image) -> Option<Bitness> {
    Some(match image.class()? {
        Class::Bits32 => Bitness::Bits32,
        Class::Bits64 => Bitness::Bits64,
    })
}
