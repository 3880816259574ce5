//! Which images were in one process together.
//!
//! In: address spaces over time, with who forked from whom. Out: for two images, whether some process ever saw both; for a view,
//! whether it shows an image. It does not know whether that was at one moment.

use std::collections::{BTreeSet, HashMap};

use super::{AddressSpaces, SpaceIx, View};
use crate::image::ImageId;

/// Forks of forks of forks; no more of them are gone back.
const MOST_FORKS: usize = 64;

/// See the module.
#[derive(Debug)]
pub struct Company {
    /// For each image, the spaces that it was mapped into.
    mapped: HashMap<ImageId, BTreeSet<SpaceIx>>,
    /// For each space, the one that it shows besides.
    parents: Vec<Option<SpaceIx>>,
}

impl Company {
    /// That of all images.
    pub(super) fn new(spaces: &AddressSpaces) -> Company {
        let mut mapped: HashMap<ImageId, BTreeSet<SpaceIx>> = HashMap::new();
        for (ix, space) in spaces.spaces.iter().enumerate() {
            for &mapping in &space.own {
                mapped.entry(spaces.mappings[mapping as usize].image).or_default().insert(ix);
            }
        }
        let parents = spaces.spaces.iter().map(|space| space.parent.map(|(parent, _)| parent)).collect();
        Company { mapped, parents }
    }

    /// Whether some process saw both images.
    pub fn share(&self, one: ImageId, other: ImageId) -> bool {
        match (self.mapped.get(&one), self.mapped.get(&other)) {
            (Some(one), Some(other)) => self.below(one, other) || self.below(other, one),
            _ => false,
        }
    }

    /// Whether a view shows an image.
    pub fn shows(&self, view: View, image: ImageId) -> bool {
        self.mapped.get(&image).is_some_and(|of| self.within(view.0, of))
    }

    /// Whether one of the `spaces` is one `of` others, or shows what was in it.
    fn below(&self, spaces: &BTreeSet<SpaceIx>, of: &BTreeSet<SpaceIx>) -> bool {
        spaces.iter().any(|&space| self.within(space, of))
    }

    /// Whether a space is one `of` these, or shows what was in one.
    fn within(&self, space: SpaceIx, of: &BTreeSet<SpaceIx>) -> bool {
        let line = std::iter::successors(Some(space), |&space| self.parents[space]);
        line.take(MOST_FORKS).any(|space| of.contains(&space))
    }
}
