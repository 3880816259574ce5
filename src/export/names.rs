//! What the formats ask about places: binaries, symbols, lines.

use crate::image::{ImageId, Images, Location, Svma, Symbol, Symbolizer};
use std::sync::Arc;

/// A loaded range of a binary: its program header's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segment {
    /// First address.
    pub start: Svma,
    /// Bytes in memory.
    pub len: u64,
    /// Where the first address lies in the file.
    pub file_offset: u64,
}

/// Answers about places. A trait so that a format does not depend on how binaries are found.
pub trait Names {
    /// The binary's path as recorded, `[kernel.kallsyms]` and the like included.
    fn path(&self, image: ImageId) -> String;
    /// Its build-id.
    fn build_id(&self, image: ImageId) -> Option<Vec<u8>>;
    /// Its lowest loaded address, from which readers count; `None` when the binary was not found.
    fn base(&self, image: ImageId) -> Option<Svma>;
    /// The loaded range around a place; `None` when the binary was not found.
    fn segment(&self, at: Location) -> Option<Segment>;
    /// The symbol and the source lines of a place.
    fn symbol(&mut self, at: Location) -> Option<Arc<Symbol>>;
    /// The symbol of a place, perhaps without its source lines, which take longer to find.
    fn function(&mut self, at: Location) -> Option<Arc<Symbol>> {
        self.symbol(at)
    }
}

/// The answers of a recording's images.
pub struct ImageNames<'a> {
    images: &'a Images,
    symbolizer: &'a mut dyn Symbolizer,
}

impl<'a> ImageNames<'a> {
    /// Names from `symbolizer`, the rest from `images`.
    pub fn new(images: &'a Images, symbolizer: &'a mut dyn Symbolizer) -> ImageNames<'a> {
        ImageNames { images, symbolizer }
    }
}

impl Names for ImageNames<'_> {
    fn path(&self, image: ImageId) -> String {
        self.images.get(image).path.clone()
    }

    fn build_id(&self, image: ImageId) -> Option<Vec<u8>> {
        self.images.get(image).build_id().map(<[u8]>::to_vec)
    }

    fn base(&self, image: ImageId) -> Option<Svma> {
        let segments = self.images.get(image).elf()?.segments().iter();
        segments.map(|segment| Svma(segment.svma)).min()
    }

    fn segment(&self, at: Location) -> Option<Segment> {
        let segments = self.images.get(at.image).elf()?.segments().iter();
        segments
            .map(|s| Segment { start: Svma(s.svma), len: s.file_size, file_offset: s.offset })
            .find(|s| at.svma.0.checked_sub(s.start.0).is_some_and(|offset| offset < s.len))
    }

    fn symbol(&mut self, at: Location) -> Option<Arc<Symbol>> {
        self.symbolizer.lookup(self.images, at)
    }

    fn function(&mut self, at: Location) -> Option<Arc<Symbol>> {
        self.symbolizer.function(self.images, at)
    }
}

/// The part of a path after its last `/`.
pub fn basename(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A name without control characters, with which a hostile binary could write to a terminal or break a line format, and
/// without those that reorder or hide text.
pub fn plain(name: &str) -> String {
    let deceives = |c| matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    name.chars().filter(|c| !c.is_control() && !deceives(*c)).collect()
}
