//! Where binaries lie in the address space that a merged profile pretends to have.
//!
//! pprof's disassembler finds a sample's instruction by address alone, so no two binaries may overlap. A binary keeps its
//! own addresses unless an earlier one has them; then it is moved up past all others, by whole pages. A mapping's start
//! and file offset are those of the loaded segment, from which pprof computes the binary's own address again.

use super::super::stacks::Stacks;
use super::super::{Names, Segment};
use crate::image::{ImageId, Location, Svma};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

const PAGE: u64 = 4096;
/// Where the kernel's half begins.
const KERNEL: u64 = 1 << 63;

/// One used segment of one binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    pub image: ImageId,
    /// In the binary's own addresses, whole pages.
    pub segment: Segment,
    /// Added to the binary's addresses.
    pub shift: u64,
}

#[derive(Default)]
pub(super) struct Mappings {
    pub list: Vec<Mapping>,
    by_image: HashMap<ImageId, Range<usize>>,
}

impl Mappings {
    /// Places every binary on `stacks`, `main` first.
    pub fn place(stacks: &Stacks, main: Option<ImageId>, names: &dyn Names) -> Mappings {
        let mut used = used_segments(stacks, names);
        let mut order: Vec<ImageId> = used.keys().copied().collect();
        order.sort_by_key(|image| Some(*image) != main);
        let mut mappings = Mappings::default();
        let mut taken = Vec::<Range<u64>>::new();
        for image in order {
            let segments = used.remove(&image).unwrap_or_default();
            let shift = shift(&extent(&segments), &taken);
            let first = mappings.list.len();
            for segment in segments {
                let start = segment.start.0.wrapping_add(shift);
                taken.push(start..start.saturating_add(segment.len));
                mappings.list.push(Mapping { image, segment, shift });
            }
            mappings.by_image.insert(image, first..mappings.list.len());
        }
        mappings
    }

    /// The position in `list` that holds a place, and the place's address in the merged profile.
    pub fn resolve(&self, at: Location) -> Option<(usize, u64)> {
        let mut range = self.by_image.get(&at.image)?.clone();
        let index = range.find(|i| holds(&self.list[*i].segment, at.svma))?;
        Some((index, at.svma.0.wrapping_add(self.list[index].shift)))
    }
}

fn holds(segment: &Segment, at: Svma) -> bool {
    at.0.checked_sub(segment.start.0).is_some_and(|offset| offset < segment.len)
}

/// Segments in address order; places outside every known segment share one that is as wide as they need.
fn used_segments(stacks: &Stacks, names: &dyn Names) -> BTreeMap<ImageId, Vec<Segment>> {
    let mut used = BTreeMap::<ImageId, Vec<Segment>>::new();
    let mut loose = BTreeMap::<ImageId, (u64, u64)>::new();
    for at in stacks.nodes().filter_map(|(_, frame)| frame.described()) {
        let segments = used.entry(at.image).or_default();
        if segments.iter().any(|segment| holds(segment, at.svma)) {
            continue;
        }
        match names.segment(at).map(whole_pages).filter(|segment| holds(segment, at.svma)) {
            Some(segment) => segments.push(segment),
            None => {
                let (low, high) = loose.entry(at.image).or_insert((u64::MAX, 0));
                (*low, *high) = (at.svma.0.min(*low), at.svma.0.max(*high));
            }
        }
    }
    for (image, (low, high)) in loose {
        let start = Svma(low);
        let segment = whole_pages(Segment { start, len: high - low + 1, file_offset: low });
        used.entry(image).or_default().push(segment);
    }
    used.values_mut().for_each(|segments| segments.sort_by_key(|segment| segment.start));
    used
}

fn whole_pages(segment: Segment) -> Segment {
    let before = segment.start.0 % PAGE;
    let len = segment.len.saturating_add(before).checked_next_multiple_of(PAGE);
    Segment {
        start: Svma(segment.start.0 - before),
        len: len.unwrap_or(segment.len),
        file_offset: segment.file_offset.saturating_sub(before),
    }
}

fn extent(segments: &[Segment]) -> Range<u64> {
    let end = |segment: &Segment| segment.start.0.saturating_add(segment.len);
    let low = segments.iter().map(|segment| segment.start.0).min().unwrap_or(0);
    low..segments.iter().map(end).max().unwrap_or(0)
}

/// How far a binary must be moved, in whole pages.
fn shift(extent: &Range<u64>, taken: &[Range<u64>]) -> u64 {
    if !taken.iter().any(|other| extent.start < other.end && other.start < extent.end) {
        return 0;
    }
    let free = taken.iter().map(|other| other.end).filter(|end| *end < KERNEL).max().unwrap_or(0);
    free.next_multiple_of(PAGE).wrapping_sub(extent.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where `extent` lands.
    fn placed(extent: Range<u64>, taken: Range<u64>) -> u64 {
        extent.start.wrapping_add(shift(&extent, &[taken, KERNEL..KERNEL + 9]))
    }

    #[test]
    fn a_binary_moves_only_when_its_addresses_are_taken() {
        assert_eq!(placed(0x1000..0x2000, 0x2000..0x3000), 0x1000);
        assert_eq!(placed(0x1000..0x2000, 0..0x1001), 0x2000);
        assert_eq!(placed(0x7000..0x9000, 0..0x8000), 0x8000);
        assert_eq!(placed(0x7000..0x9000, 0x8000..0x8001), 0x9000);
    }

    #[test]
    fn pages_keep_addresses_and_offsets_in_step() {
        let segment = whole_pages(Segment { start: Svma(0x1234), len: 0x10, file_offset: 0x5234 });
        assert_eq!(segment, Segment { start: Svma(0x1000), len: 0x1000, file_offset: 0x5000 });
    }

    #[test]
    fn an_extreme_address_does_not_overflow() {
        let segment = whole_pages(Segment { start: Svma(!0), len: 1, file_offset: !0 });
        assert!(segment.start.0.is_multiple_of(PAGE) && holds(&segment, Svma(!0 - 1)));
    }
}
