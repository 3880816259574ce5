//! Where objects begin that have no name, as Rust's tables of methods, and those of C++ where symbols were stripped.
//!
//! In: an image, and places in its data. Out: how far behind the nearest address before it each is that code or data refers to. An object
//! that nothing refers to but by a number that is computed is not found, nor one that begins far before.

use std::collections::{BTreeMap, BTreeSet};

use super::decoding::references;
use crate::image::{Class, Image, Standing};

/// Words of an object that are looked at.
const MOST_WORDS: u64 = 32;

/// How many bytes into its object each of `places` is, where that shows.
pub fn within_unnamed(image: &Image, places: &BTreeSet<u64>) -> BTreeMap<u64, i64> {
    let word = if image.class() == Some(Class::Bits32) { 4 } else { 8 };
    let before = |place: u64| (0..MOST_WORDS).map_while(move |words| place.checked_sub(words * word));
    let starts = referred(image, &places.iter().flat_map(|&place| before(place)).collect());
    let offset = |&place: &u64| {
        let start = before(place).find(|start| starts.contains(start))?;
        Some((place, (place - start) as i64))
    };
    places.iter().filter_map(offset).collect()
}

/// Those of `addresses` that the code or the data of an image refers to.
fn referred(image: &Image, addresses: &BTreeSet<u64>) -> BTreeSet<u64> {
    if addresses.is_empty() {
        return BTreeSet::new();
    }
    let Standing { places, cells } = image.pointers_to(addresses);
    let taken = references(image, addresses).taken.into_iter().map(|(_, to)| to);
    places.into_keys().chain(cells.into_values()).chain(taken).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::through_offsets;
    use super::*;
    use crate::image::ImageId;

    #[test]
    fn what_code_refers_to_begins_an_object() {
        let (_folder, images) = through_offsets(
            r#"__asm__(".section .data.rel.ro,\"aw\"; .p2align 3; .quad 7; .Ltable: .quad 0, 24, 8, leaf, twice; .text");
             int leaf(int n) { return n + 1; }
             int twice(int n) { return leaf(n) + leaf(n + 2); }
             void *table(void) { void *t; __asm__("lea .Ltable(%%rip), %0" : "=r"(t)); return t; }
             void start(void) { table(); for (;;) ; }"#,
        );
        let image = images.get(ImageId(0));
        let named = |name: &str| image.functions().iter().find(|f| f.name.as_deref() == Some(name));
        let [leaf, twice] = ["leaf", "twice"].map(|name| named(name).map_or(0, |f| f.start.0));
        let places = image.pointers_to(&BTreeSet::from([leaf, twice])).places;
        let place = |of: u64| places[&of].iter().next().copied().unwrap_or_default();
        let all = BTreeSet::from([place(leaf), place(twice)]);
        assert_eq!(within_unnamed(image, &all), BTreeMap::from([(place(leaf), 24), (place(twice), 32)]));
        assert_eq!(within_unnamed(image, &BTreeSet::from([place(leaf) - 32])), BTreeMap::new(), "before it");
    }
}
