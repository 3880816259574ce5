//! A second hardware thread that takes the pipeline for itself in spells.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::Cycle;

/// Alternating spells: ours, then the sibling's, of geometric lengths.
#[derive(Debug)]
pub struct Sibling {
    ours: f64,
    theirs: f64,
    taken_from: Cycle,
    free_from: Cycle,
    random: Xoshiro256PlusPlus,
}

impl Sibling {
    /// Mean lengths of a spell of ours and of theirs, in cycles.
    pub fn new(ours: f64, theirs: f64, seed: u64) -> Sibling {
        Sibling { ours, theirs, taken_from: 0, free_from: 0, random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// The first cycle not before `cycle` that is ours; asked in order of time.
    pub fn next_free(&mut self, cycle: Cycle) -> Cycle {
        while cycle >= self.free_from {
            self.taken_from = self.free_from + self.spell(self.ours);
            self.free_from = self.taken_from + self.spell(self.theirs);
        }
        if cycle >= self.taken_from { self.free_from } else { cycle }
    }

    fn spell(&mut self, mean: f64) -> Cycle {
        1 + (-(mean - 1.0).max(0.0) * (1.0 - self.random.random::<f64>()).ln()) as Cycle
    }
}
