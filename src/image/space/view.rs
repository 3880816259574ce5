//! Processes that show the same images.
//!
//! In: address spaces over time, with who forked from whom. Out: for each space a view, which others have that show the same images
//! in all. It does not know at which moment, nor where. Spaces may have views of their own that show the same (a child that maps an
//! image again that it had of its parent).

use std::collections::{HashMap, HashSet};

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::{AddressSpaces, Space, SpaceIx};
use crate::image::ImageId;
use crate::image::mapping::{Mapping, When};
use crate::perfdata::CpuMode;

/// What is shown together, by the first space that shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct View(pub(super) SpaceIx);

/// Of each of `spaces`, among which parents come before their children, its view. Sets of images are compared by their sums, of as
/// many bits that unlike ones hardly ever have the same.
pub(super) fn views(spaces: &[Space], mappings: &[Mapping]) -> Vec<View> {
    let mut first: HashMap<u64, View> = HashMap::new();
    let mut sums: Vec<Vec<(u32, u64)>> = Vec::with_capacity(spaces.len());
    let mut views = Vec::with_capacity(spaces.len());
    for (ix, space) in spaces.iter().enumerate() {
        let inherited = space.parent.map_or(0, |(parent, forked)| before(&sums[parent], forked));
        let (mut sum, mut seen) = (vec![(0, inherited)], HashSet::new());
        let mut last = inherited;
        for &number in &space.own {
            let image = mappings[number as usize].image;
            if seen.insert(image) {
                last = last.wrapping_add(mixed(image));
                sum.push((number + 1, last));
            }
        }
        sums.push(sum);
        views.push(*first.entry(last).or_insert(View(ix)));
    }
    views
}

/// The sum of what had been mapped when so many mappings had been laid.
fn before(sums: &[(u32, u64)], laid: u32) -> u64 {
    let known = sums.partition_point(|&(number, _)| number <= laid);
    known.checked_sub(1).map_or(0, |last| sums[last].1)
}

/// As many bits for an image as its set is compared by.
fn mixed(image: ImageId) -> u64 {
    Xoshiro256PlusPlus::seed_from_u64(u64::from(image.0)).random()
}

impl AddressSpaces {
    /// What a process shows in a mode, in the space that it has at a moment.
    pub fn view(&self, mode: CpuMode, pid: i32, at: When) -> Option<View> {
        let space = match mode {
            CpuMode::Kernel => Some(self.kernel),
            CpuMode::User | CpuMode::Unknown => self.space_of(pid, self.moment(at)),
            CpuMode::Hypervisor | CpuMode::GuestKernel | CpuMode::GuestUser => None,
        };
        self.views.get(space?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_that_show_the_same_images_have_one_view_whoever_mapped_them() {
        let mapping = |image| {
            let (start, end, file_offset, executable) = (0x1000, 0x2000, 0, true);
            Mapping { start, end, file_offset, image: ImageId(image), executable }
        };
        // a, b; b, a, and a again; c
        let mappings = [0, 1, 1, 0, 0, 2].map(mapping);
        let space = |own: &[u32], parent| Space { own: own.into(), parent };
        let spaces = [
            space(&[0, 1], None),
            space(&[2, 3, 4], None),
            space(&[], Some((0, 2))),
            space(&[], Some((0, 1))),
            space(&[5], Some((0, 2))),
            space(&[], None),
        ];
        assert_eq!(views(&spaces, &mappings), [0, 0, 0, 3, 4, 5].map(View));
    }
}
