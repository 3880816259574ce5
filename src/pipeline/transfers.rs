//! Who calls functions directly, in code that was not sampled too.
//!
//! In: images, and functions in them. Out: the functions that call or jump to these, and where. It looks through all code for what
//! may be a call, and does not decode it.

use std::collections::{BTreeMap, BTreeSet};

use super::decoding::{Range, bitness};
use crate::code::{Linker, Place, References};
use crate::image::{Image, ImageId, Images, Svma};

/// See the module.
#[derive(Default)]
pub struct Transfers {
    /// Functions that may call each.
    pub callers: BTreeMap<Place, BTreeSet<Range>>,
    /// Those that may be called indirectly, whoever calls them directly besides.
    pub taken: BTreeSet<Place>,
    /// Where calls and jumps to them stand.
    pub at: BTreeSet<Place>,
}

impl Transfers {
    /// Those to `functions`, from the images numbered `spaces`.
    pub fn to(
        functions: &BTreeSet<Place>,
        images: &Images,
        spaces: &BTreeSet<u32>,
        linker: &dyn Linker,
    ) -> Transfers {
        let mut found = Transfers::default();
        for &space in spaces.iter().filter(|_| !functions.is_empty()) {
            found.search(images.get(ImageId(space)), space, functions, linker);
        }
        found
    }

    /// Looks through an image.
    fn search(&mut self, image: &Image, space: u32, functions: &BTreeSet<Place>, linker: &dyn Linker) {
        let entries = entries(image, space, functions, linker);
        let wanted: BTreeSet<u64> = entries.keys().copied().collect();
        let (Some(elf), Some(bitness)) = (image.elf(), bitness(image)) else { return };
        if wanted.is_empty() {
            return;
        }
        self.taken.extend(image.pointers_to(&wanted).keys().map(|at| entries[at]));
        for section in elf.sections().iter().filter(|section| section.executable) {
            let bytes = elf.section_bytes(section).unwrap_or_default();
            let within = References::find(&bytes, section.svma, bitness, &wanted);
            self.taken.extend(within.taken.iter().map(|(_, to)| entries[to]));
            for (from, to) in within.transfers {
                let caller = image.function_at(Svma(from)).filter(|f| f.start.0 != entries[&to].address);
                let range = caller.map(|f| (space, f.start.0, f.end.0));
                self.callers.entry(entries[&to]).or_default().extend(range);
                self.at.insert(Place { space, address: from });
            }
        }
    }
}

/// Where calls of `functions` lead in an image: their entries that are in it, and its stubs for them.
fn entries(
    image: &Image,
    space: u32,
    functions: &BTreeSet<Place>,
    linker: &dyn Linker,
) -> BTreeMap<u64, Place> {
    let own = functions.iter().filter(|at| at.space == space).map(|at| (at.address, *at));
    let stub = |at: Svma| {
        let leads = linker.stub(Place { space, address: at.0 }).filter(|to| functions.contains(to))?;
        Some((at.0, leads))
    };
    own.chain(image.stubs().filter_map(stub)).collect()
}
