//! What stands where, before and after, counted while the samples go by.

use std::collections::BTreeMap;

use crate::image::Location;
use crate::perfdata::AttrIx;
use crate::report::Quantiles;

/// A place in a binary, or the bare address where nothing is known to be mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spot {
    /// In a binary.
    At(Location),
    /// Nowhere known.
    Bare(u64),
}

/// Samples and weight before and after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Samples as recorded.
    pub raw_samples: u64,
    /// Sum of their periods.
    pub raw_weight: u64,
    /// Samples after.
    pub fixed_samples: u64,
    /// Sum of their periods.
    pub fixed_weight: u64,
}

/// Counts per event and spot.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Per event and spot.
    pub spots: BTreeMap<(AttrIx, Spot), Count>,
    /// Samples whose address changed, per event.
    pub moved: BTreeMap<AttrIx, u64>,
    /// Bytes moved, per event: how many samples moved how far.
    bytes: BTreeMap<AttrIx, BTreeMap<u64, u64>>,
    /// Instructions moved, inside a function.
    instructions: BTreeMap<AttrIx, BTreeMap<u64, u64>>,
}

impl Tally {
    /// Counts samples of an event: how many, and the sum of their periods.
    pub fn count(&mut self, (attr, samples, weight): (AttrIx, u64, u64), from: Spot, to: Spot) {
        let before = self.spots.entry((attr, from)).or_default();
        before.raw_samples += samples;
        before.raw_weight = before.raw_weight.saturating_add(weight);
        let after = self.spots.entry((attr, to)).or_default();
        after.fixed_samples += samples;
        after.fixed_weight = after.fixed_weight.saturating_add(weight);
        if from != to {
            *self.moved.entry(attr).or_default() += samples;
            if let (Spot::At(from), Spot::At(to)) = (from, to)
                && from.image == to.image
            {
                let distance = from.svma.0.abs_diff(to.svma.0);
                *self.bytes.entry(attr).or_default().entry(distance).or_default() += samples;
            }
        }
    }

    /// Notes that a sample moved so many instructions inside its function.
    pub fn step(&mut self, attr: AttrIx, instructions: u64) {
        *self.instructions.entry(attr).or_default().entry(instructions).or_default() += 1;
    }

    /// How far the samples of an event moved, in bytes and in instructions.
    pub fn distances(&self, attr: AttrIx) -> (Option<Quantiles>, Option<Quantiles>) {
        (quantiles(self.bytes.get(&attr)), quantiles(self.instructions.get(&attr)))
    }
}

/// The value at or above the asked fraction, so that it occurs.
fn quantiles(counts: Option<&BTreeMap<u64, u64>>) -> Option<Quantiles> {
    let counts = counts?;
    let total: u64 = counts.values().sum();
    let at = |percent: u64| {
        let rank = (total * percent).div_ceil(100);
        let mut below = 0;
        counts.iter().find(|(_, n)| {
            below += **n;
            below >= rank
        })
    };
    Some(Quantiles { median: *at(50)?.0, p90: *at(90)?.0, max: *counts.keys().next_back()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::{ImageId, Svma};

    #[test]
    fn totals_are_kept_and_distances_are_of_those_that_moved() {
        let at = |a| Spot::At(Location { image: ImageId(0), svma: Svma(a) });
        let mut tally = Tally::default();
        tally.count((AttrIx(0), 1, 10), at(8), at(4));
        tally.count((AttrIx(0), 1, 10), at(8), at(8));
        tally.count((AttrIx(0), 1, 10), Spot::Bare(1), Spot::Bare(1));
        let sum = |f: fn(&Count) -> u64| tally.spots.values().map(f).sum::<u64>();
        assert_eq!((sum(|c| c.raw_weight), sum(|c| c.fixed_weight)), (30, 30));
        assert_eq!(tally.moved[&AttrIx(0)], 1);
        assert_eq!(tally.distances(AttrIx(0)).0, Some(Quantiles { median: 4, p90: 4, max: 4 }));
        assert_eq!(tally.distances(AttrIx(1)), (None, None));
    }
}
