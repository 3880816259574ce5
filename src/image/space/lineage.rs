//! What processes show: the mappings of their own, over those that they had when they were forked.
//!
//! In: spaces, the mappings of each in the order in which they were laid, and from which other each was forked when. Out: the
//! layers of mappings that a space shows, nearest first.
//!
//! Processes may fork in long chains and lay mappings in between. So forks are told in lines: each space has one heir, the child
//! with most descendants, and what the spaces of a line pass on to their heirs is one layer. From any space up to the first, at
//! most log₂ *n* lines are left for others (heavy paths: Sleator and Tarjan 1983). All that a space passes on was laid before all
//! that its heir lays itself, so that what a space of the line inherits is what was laid before its fork.

use std::ops::Range;

use super::{Space, SpaceIx};
use crate::image::ImageId;
use crate::image::mapping::Mapping;
use crate::image::overlay::Overlay;

/// Spaces and what they inherit.
#[derive(Debug, Default)]
pub struct Lineage {
    spaces: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    own: Layer,
    /// Whose mappings show through where this space has none, and how many had been laid at the fork.
    parent: Option<(SpaceIx, u32)>,
    /// The first space of its line.
    head: SpaceIx,
    /// Of the first of a line: what its spaces pass on.
    passed: Layer,
}

/// Mappings by number.
#[derive(Debug, Default)]
pub struct Layer {
    by_address: Overlay<u64>,
    /// By image and the offset in it.
    by_place: Overlay<u128>,
}

impl Lineage {
    /// Of spaces among which parents come before their children.
    pub(super) fn new(spaces: &[Space], mappings: &[Mapping]) -> Lineage {
        let heads = heads(spaces);
        let mut passed: Vec<Vec<u32>> = vec![Vec::new(); spaces.len()];
        for (ix, space) in spaces.iter().enumerate().filter(|(ix, _)| heads[*ix] != *ix) {
            let Some((parent, forked)) = space.parent else { continue };
            let own = &spaces[parent].own;
            passed[heads[ix]].extend(&own[..own.partition_point(|&number| number < forked)]);
        }
        let member = |((space, passed), head): ((&Space, Vec<u32>), SpaceIx)| Member {
            own: Layer::new(&space.own, mappings),
            parent: space.parent,
            head,
            passed: Layer::new(&passed, mappings),
        };
        Lineage { spaces: spaces.iter().zip(passed).zip(heads).map(member).collect() }
    }

    /// Looks into the layers that a space shows of what was laid before a number, the nearest first, until something is found.
    /// `look` is told before which number to look.
    pub fn find<T>(
        &self,
        space: SpaceIx,
        mut before: u32,
        mut look: impl FnMut(&Layer, u32) -> Option<T>,
    ) -> Option<T> {
        let mut next = self.spaces.get(space);
        while let Some(space) = next {
            if let Some(found) = look(&space.own, before) {
                return Some(found);
            }
            let (parent, forked) = space.parent?;
            before = before.min(forked);
            let head = &self.spaces[space.head];
            next = Some(&self.spaces[parent]);
            if self.spaces[parent].head == space.head {
                if let Some(found) = look(&head.passed, before) {
                    return Some(found);
                }
                let (parent, forked) = head.parent?;
                before = before.min(forked);
                next = Some(&self.spaces[parent]);
            }
        }
        None
    }
}

/// The first space of the line of each.
fn heads(spaces: &[Space]) -> Vec<SpaceIx> {
    let parent = |ix: SpaceIx| spaces[ix].parent.map(|(parent, _)| parent);
    let mut sizes = vec![1u32; spaces.len()];
    let mut heirs: Vec<Option<SpaceIx>> = vec![None; spaces.len()];
    for ix in (0..spaces.len()).rev() {
        let Some(parent) = parent(ix) else { continue };
        sizes[parent] += sizes[ix];
        if heirs[parent].is_none_or(|heir| sizes[heir] < sizes[ix]) {
            heirs[parent] = Some(ix);
        }
    }
    let mut heads: Vec<SpaceIx> = Vec::with_capacity(spaces.len());
    for ix in 0..spaces.len() {
        let line = parent(ix).filter(|&parent| heirs[parent] == Some(ix));
        heads.push(line.map_or(ix, |parent| heads[parent]));
    }
    heads
}

impl Layer {
    fn new(numbers: &[u32], mappings: &[Mapping]) -> Layer {
        let of = |&ix: &u32| (ix, &mappings[ix as usize]);
        let ranges: Vec<(u32, Range<u64>)> =
            numbers.iter().map(of).map(|(ix, mapping)| (ix, mapping.start..mapping.end)).collect();
        let places = |(ix, mapping): (u32, &Mapping)| places(mapping).map(move |place| (ix, place));
        let places: Vec<(u32, Range<u128>)> = numbers.iter().map(of).flat_map(places).collect();
        Layer { by_address: Overlay::new(&ranges), by_place: Overlay::new(&places) }
    }

    /// The last mapping before a number that covers an address.
    pub fn covering(&self, address: u64, before: u32) -> Option<u32> {
        self.by_address.topmost(address, before)
    }

    /// The last mapping before a number that has an offset of an image, whether it is hidden or not.
    pub fn having(&self, image: ImageId, offset: u64, before: u32) -> Option<u32> {
        self.by_place.topmost(place(image, offset), before)
    }
}

fn place(image: ImageId, offset: u64) -> u128 {
    u128::from(image.0) << 64 | u128::from(offset)
}

/// What a mapping has of its image: offsets begin anew behind the last.
fn places(mapping: &Mapping) -> impl Iterator<Item = Range<u128>> + use<> {
    let len = u128::from(mapping.end.saturating_sub(mapping.start));
    let (start, next) = (place(mapping.image, mapping.file_offset), place(mapping.image, 0) + (1 << 64));
    let end = start + len;
    [start..end.min(next), next - (1 << 64)..end.max(next) - (1 << 64)]
        .into_iter()
        .filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGE: u64 = 4096;

    fn mapping(start: u64, pages: u64, file_offset: u64, image: u32) -> Mapping {
        Mapping { start, end: start + pages * PAGE, file_offset, image: ImageId(image), executable: true }
    }

    /// Spaces made by steps: each forks a space, or lays a mapping in it.
    fn grown(steps: &[(bool, usize, Mapping)]) -> (Vec<Space>, Vec<Mapping>) {
        let (mut spaces, mut mappings) = (vec![Space::default()], Vec::new());
        for &(forks, at, mapping) in steps {
            let at = at % spaces.len();
            if forks {
                spaces.push(Space { own: Vec::new(), parent: Some((at, mappings.len() as u32)) });
            } else {
                spaces[at].own.push(mappings.len() as u32);
                mappings.push(mapping);
            }
        }
        (spaces, mappings)
    }

    /// By climbing from space to space.
    fn climbed(spaces: &[Space], ix: SpaceIx, before: u32, fits: &dyn Fn(u32) -> bool) -> Option<u32> {
        let own = spaces[ix].own.iter().rev().copied().find(|&ix| ix < before && fits(ix));
        own.or_else(|| {
            let (parent, forked) = spaces[ix].parent?;
            climbed(spaces, parent, before.min(forked), fits)
        })
    }

    #[test]
    fn a_chain_of_forks_with_mappings_takes_a_few_looks() {
        let steps: Vec<_> = (0..20_000usize)
            .flat_map(|n| {
                let own = mapping(n as u64 * PAGE, 1, 0, 0);
                // from each link of the chain hangs another process, which forks too
                [(false, 3 * n, own), (true, 3 * n, own), (true, 3 * n + 1, own), (true, 3 * n, own)]
            })
            .collect();
        let (spaces, mappings) = grown(&steps);
        assert_eq!(spaces.last().unwrap().parent.unwrap().0, spaces.len() - 4);
        let lineage = Lineage::new(&spaces, &mappings);
        for space in [spaces.len() - 1, spaces.len() - 2, spaces.len() / 2] {
            let mut looks = 0;
            let found = lineage.find(space, u32::MAX, |layer, before| {
                looks += 1;
                layer.covering(0, before)
            });
            assert_eq!(found, Some(0));
            assert!(looks <= 8, "{looks}");
        }
    }

    fn steps() -> impl Strategy<Value = Vec<(bool, usize, Mapping)>> {
        let offset = prop_oneof![0..8u64, u64::MAX - 2 * PAGE..=u64::MAX];
        let mapped = (0..6u64, 0..3u64, offset, 0..2u32);
        let mapped =
            mapped.prop_map(|(start, pages, offset, image)| mapping(start * PAGE, pages, offset, image));
        prop::collection::vec((any::<bool>(), 0..40usize, mapped), 0..60)
    }

    proptest! {
        #[test]
        fn what_is_found_is_what_climbing_finds(
            steps in steps(),
            space in 0..60usize,
            before in 0..40u32,
            address in 0..8 * PAGE,
            offset in prop_oneof![0..2 * PAGE, u64::MAX - 9..=u64::MAX],
        ) {
            let (spaces, mappings) = grown(&steps);
            let space = space % spaces.len();
            let lineage = Lineage::new(&spaces, &mappings);
            let covers = |ix: u32| (mappings[ix as usize].start..mappings[ix as usize].end).contains(&address);
            let found = lineage.find(space, before, |layer, before| layer.covering(address, before));
            prop_assert_eq!(found, climbed(&spaces, space, before, &covers));
            let has = |ix: u32| {
                let mapping = &mappings[ix as usize];
                let address = mapping.start.wrapping_add(offset.wrapping_sub(mapping.file_offset));
                mapping.image == ImageId(1) && (mapping.start..mapping.end).contains(&address)
            };
            let found = lineage.find(space, before, |layer, before| layer.having(ImageId(1), offset, before));
            prop_assert_eq!(found, climbed(&spaces, space, before, &has));
        }
    }
}
