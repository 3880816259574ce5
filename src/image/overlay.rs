//! Ranges laid over each other in time: which range covers an address, as of a moment.
//!
//! In: ranges numbered in the order in which they were laid. Out: for an address and a number *n*, the last of the ranges
//! before *n* that covers the address. It knows nothing of processes or files.
//!
//! A segment tree over the ranges' end points: each range stands in O(log n) nodes, each node lists its ranges in order, so
//! memory is O(n log n) and a lookup O(log² n) however often one address was mapped anew.

use std::ops::Range;

/// Ranges of addresses, or of what else has an order.
#[derive(Debug)]
pub struct Overlay<A> {
    /// End points, ascending; the leaf `i` of the tree is `bounds[i]..bounds[i + 1]`.
    bounds: Vec<A>,
    /// Where each node's entries begin; node 1 is the root, leaves start at `bounds.len() - 1`.
    begin: Vec<u32>,
    /// Numbers of ranges, ascending within a node.
    entries: Vec<u32>,
}

impl<A> Default for Overlay<A> {
    fn default() -> Overlay<A> {
        Overlay { bounds: Vec::new(), begin: Vec::new(), entries: Vec::new() }
    }
}

impl<A: Copy + Ord> Overlay<A> {
    /// From `(number, range)` with ascending numbers, of which several ranges may have one. Empty ranges cover nothing.
    pub fn new(ranges: &[(u32, Range<A>)]) -> Overlay<A> {
        let mut bounds: Vec<A> = ranges.iter().flat_map(|(_, r)| [r.start, r.end]).collect();
        bounds.sort_unstable();
        bounds.dedup();
        if bounds.len() < 2 {
            return Overlay::default();
        }
        let leaves = bounds.len() - 1;
        let leaf = |address: A| bounds.partition_point(|&b| b < address);
        let mut begin = vec![0u32; 2 * leaves + 1];
        for (_, r) in ranges {
            cover(leaves, leaf(r.start)..leaf(r.end), |node| begin[node + 1] += 1);
        }
        for node in 1..begin.len() {
            begin[node] += begin[node - 1];
        }
        let mut next = begin.clone();
        let mut entries = vec![0u32; begin[2 * leaves] as usize];
        for (number, r) in ranges {
            cover(leaves, leaf(r.start)..leaf(r.end), |node| {
                entries[next[node] as usize] = *number;
                next[node] += 1;
            });
        }
        Overlay { bounds, begin, entries }
    }

    /// The last range with a number below `before` that covers `address`.
    pub fn topmost(&self, address: A, before: u32) -> Option<u32> {
        let leaves = self.bounds.len().checked_sub(1)?;
        let leaf = self.bounds.partition_point(|&b| b <= address).checked_sub(1)?;
        if leaf >= leaves {
            return None;
        }
        let mut node = leaf + leaves;
        let mut best = None;
        while node > 0 {
            let here = &self.entries[self.begin[node] as usize..self.begin[node + 1] as usize];
            let laid = here.partition_point(|&number| number < before);
            best = best.max(here[..laid].last().copied());
            node /= 2;
        }
        best
    }
}

/// Names the nodes that together cover the leaves `range`.
fn cover(leaves: usize, range: Range<usize>, mut node: impl FnMut(usize)) {
    let (mut low, mut high) = (range.start + leaves, range.end + leaves);
    while low < high {
        if low % 2 == 1 {
            node(low);
            low += 1;
        }
        if high % 2 == 1 {
            high -= 1;
            node(high);
        }
        low /= 2;
        high /= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_overlay_covers_nothing() {
        assert_eq!(Overlay::<u64>::new(&[]).topmost(0, 9), None);
        assert_eq!(Overlay::new(&[(0, 5..5)]).topmost(5, 9), None);
    }

    proptest! {
        #[test]
        fn the_last_range_laid_before_the_moment_wins(
            ranges in prop::collection::vec((0u64..60, 0u64..20), 0..40),
            address in 0u64..90,
            before in 0u32..45,
        ) {
            let ranges: Vec<_> = ranges.iter().zip(0..).map(|(&(s, l), n)| (n, s..s + l)).collect();
            let expected = ranges.iter().filter(|(n, r)| *n < before && r.contains(&address)).map(|(n, _)| *n).max();
            prop_assert_eq!(Overlay::new(&ranges).topmost(address, before), expected);
        }
    }
}
