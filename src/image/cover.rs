//! Which of several ranges holds an address.
//!
//! In: ranges that may overlap, as those of a damaged file do. Out: for an address the first of them that holds it. It knows no
//! ELF.

use std::collections::BTreeSet;
use std::ops::Range;

/// Ranges by their place in a list.
#[derive(Debug)]
pub struct Cover {
    /// From each of these addresses up to the next, the first range that holds it.
    owners: Vec<(u64, Option<usize>)>,
}

impl Cover {
    /// Takes ranges and their places.
    pub fn new(ranges: impl Iterator<Item = (usize, Range<u64>)>) -> Cover {
        let edges = |(ix, range): (usize, Range<u64>)| [(range.start, true, ix), (range.end, false, ix)];
        let mut edges: Vec<_> = ranges.filter(|(_, range)| range.start < range.end).flat_map(edges).collect();
        edges.sort_unstable();
        let mut open = BTreeSet::new();
        let mut owners: Vec<(u64, Option<usize>)> = Vec::new();
        for (at, begins, ix) in edges {
            if begins {
                open.insert(ix);
            } else {
                open.remove(&ix);
            }
            owners.pop_if(|(last, _)| *last == at);
            owners.push((at, open.first().copied()));
        }
        Cover { owners }
    }

    /// The place of the first range that holds an address.
    pub fn at(&self, address: u64) -> Option<usize> {
        self.owners[..self.owners.partition_point(|(start, _)| *start <= address)].last()?.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_that_holds_an_address_is_found(
            ranges in prop::collection::vec((0u64..60, 0u64..60), 0..20),
            at in 0u64..64,
        ) {
            let ranges: Vec<_> = ranges.into_iter().map(|(start, end)| start..end).collect();
            let cover = Cover::new(ranges.iter().cloned().enumerate());
            prop_assert_eq!(cover.at(at), ranges.iter().position(|range| range.contains(&at)));
        }
    }

    #[test]
    fn ranges_nested_like_an_onion_are_found_at_once() {
        const LAYERS: u64 = 200_000;
        let cover = Cover::new((0..LAYERS).map(|n| (n as usize, LAYERS - 1 - n..LAYERS + 1 + n)));
        for n in 0..LAYERS {
            assert_eq!(cover.at(n), Some((LAYERS - 1 - n) as usize));
        }
        assert_eq!([cover.at(2 * LAYERS - 1), cover.at(2 * LAYERS)], [Some(LAYERS as usize - 1), None]);
    }
}
