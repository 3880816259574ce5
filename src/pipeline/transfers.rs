//! Who calls functions directly, or through the global offset table, in code that was not sampled too.
//!
//! In: images, and functions in them. Out: the functions that call or jump to these, and where. It looks through all code for what
//! may be a call, and does not decode it.

use std::collections::{BTreeMap, BTreeSet};

use super::decoding::{Range, references};
use crate::code::{Linker, Place};
use crate::image::{Image, ImageId, Images, Standing, Svma};

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
        let mut entries = entries(image, space, functions, linker);
        if entries.is_empty() {
            return;
        }
        let own: BTreeSet<u64> = entries.keys().copied().collect();
        let Standing { places, cells } = image.pointers_to(&own);
        self.taken.extend(places.keys().map(|at| entries[at]));
        entries.extend(cells.iter().map(|(&cell, to)| (cell, entries[to])).collect::<Vec<_>>());
        let within = references(image, &entries.keys().copied().collect());
        for (at, to) in within.taken {
            self.taken.insert(entries[&to]);
            // what is loaded may be called later
            if cells.contains_key(&to) {
                self.add_caller(image, space, at, entries[&to]);
            }
        }
        for (from, to) in within.transfers.into_iter().chain(within.through) {
            self.add_caller(image, space, from, entries[&to]);
            self.at.insert(Place { space, address: from });
        }
    }

    /// Adds what is around an address of an image to those that may call `function`.
    fn add_caller(&mut self, image: &Image, space: u32, at: u64, function: Place) {
        let caller = image.function_at(Svma(at)).filter(|f| f.start.0 != function.address);
        let range = caller.map(|f| (space, f.start.0, f.end.0));
        self.callers.entry(function).or_default().extend(range);
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

#[cfg(test)]
mod tests {
    use super::super::testing::through_offsets;
    use super::*;
    use crate::code::testing::NoStubs;

    #[test]
    fn calls_through_the_offset_table_are_found() {
        let (_folder, images) = through_offsets(
            "int leaf(int n) { return n + 1; }
             int twice(int n) { return leaf(n) + leaf(n + 2); }
             int (*hands(void))(int) { return twice; }
             void start(void) { hands()(twice(3)); for (;;) ; }",
        );
        let image = images.get(ImageId(0));
        let named = |name: &str| {
            let found = image.functions().iter().find(|f| f.name.as_deref() == Some(name));
            Place { space: 0, address: found.unwrap_or_else(|| panic!("{name}")).start.0 }
        };
        let (leaf, twice) = (named("leaf"), named("twice"));
        let found = Transfers::to(&BTreeSet::from([leaf, twice]), &images, &BTreeSet::from([0]), &NoStubs);
        let callers =
            |of: Place| -> BTreeSet<u64> { found.callers[&of].iter().map(|range| range.1).collect() };
        assert_eq!(callers(leaf), BTreeSet::from([twice.address]));
        assert_eq!(callers(twice), BTreeSet::from([named("start").address]));
        assert_eq!((found.taken, found.at.len()), (BTreeSet::from([twice]), 3));
    }
}
