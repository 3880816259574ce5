//! Two levels of set-associative cache before a memory whose latency may come in bursts.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::Cycle;

const LINE_BITS: u32 = 6;

/// Sizes and latencies of the hierarchy.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    /// First level: KiB, ways, cycles from address to data.
    pub first: (usize, usize, Cycle),
    /// Second level, likewise.
    pub second: (usize, usize, Cycle),
    /// Cycles to memory.
    pub latency: Cycle,
    /// Whether a miss also brings the next line to the second level.
    pub prefetch: bool,
    /// How memory's latency varies.
    pub bursts: Bursts,
}

/// How memory's latency varies over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bursts {
    /// Always the same.
    Steady,
    /// Now and then slower by a factor, for some thousand cycles.
    Bursty {
        /// Mean length of a quiet spell, cycles.
        quiet: Cycle,
        /// Mean length of a burst, cycles.
        busy: Cycle,
        /// Latency in a burst is this many times the quiet one.
        factor: Cycle,
    },
}

/// The caches' contents.
#[derive(Debug)]
pub struct Hierarchy {
    memory: Memory,
    first: Level,
    second: Level,
    busy_now: bool,
    changes: Cycle,
    random: Xoshiro256PlusPlus,
}

impl Hierarchy {
    /// Empty caches.
    pub fn new(memory: Memory, seed: u64) -> Hierarchy {
        Hierarchy {
            memory,
            first: Level::new(memory.first.0, memory.first.1),
            second: Level::new(memory.second.0, memory.second.1),
            busy_now: true,
            changes: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Reads or writes `address` at cycle `now`: cycles until the data is there, and whether the first level missed.
    pub fn access(&mut self, address: u64, now: Cycle) -> (Cycle, bool) {
        let line = address >> LINE_BITS;
        if self.first.touch(line) {
            return (self.memory.first.2, false);
        }
        if self.second.touch(line) {
            return (self.memory.second.2, true);
        }
        if self.memory.prefetch {
            self.second.touch(line + 1);
        }
        (self.memory.latency * self.slowdown(now), true)
    }

    fn slowdown(&mut self, now: Cycle) -> Cycle {
        let Bursts::Bursty { quiet, busy, factor } = self.memory.bursts else { return 1 };
        while now >= self.changes {
            self.busy_now = !self.busy_now;
            let mean = if self.busy_now { busy } else { quiet } as f64;
            self.changes += 1 + (-mean * (1.0 - self.random.random::<f64>()).ln()) as Cycle;
        }
        if self.busy_now { factor } else { 1 }
    }
}

/// One level: lines by set, most recently used first.
#[derive(Debug)]
struct Level {
    ways: usize,
    sets: u64,
    lines: Vec<u64>,
}

impl Level {
    fn new(kib: usize, ways: usize) -> Level {
        let sets = (kib << 10 >> LINE_BITS) / ways;
        Level { ways, sets: sets as u64, lines: vec![u64::MAX; sets * ways] }
    }

    /// Whether `line` was there; now it is, in front.
    fn touch(&mut self, line: u64) -> bool {
        let set = (line % self.sets) as usize * self.ways;
        let set = &mut self.lines[set..set + self.ways];
        let found = set.iter().position(|&l| l == line);
        set[..=found.unwrap_or(self.ways - 1)].rotate_right(1);
        set[0] = line;
        found.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Memory = Memory {
        first: (1, 2, 4),
        second: (4, 4, 12),
        latency: 100,
        prefetch: false,
        bursts: Bursts::Steady,
    };

    #[test]
    fn a_line_hits_until_its_set_is_full_of_younger_ones() {
        let mut h = Hierarchy::new(SMALL, 1);
        let mut cost = |address| h.access(address, 0).0;
        assert_eq!([cost(0), cost(63), cost(512), cost(0)], [100, 4, 100, 4]);
        assert_eq!([cost(1024), cost(512), cost(0)], [100, 12, 12]);
    }

    #[test]
    fn memory_is_slow_for_a_while_and_then_fast_again() {
        let bursts = Bursts::Bursty { quiet: 1000, busy: 200, factor: 5 };
        let mut h = Hierarchy::new(Memory { bursts, ..SMALL }, 1);
        let slow = (0..100_000u64).filter(|&t| h.access(t << 20, t).0 == 500).count();
        assert!((8_000..30_000).contains(&slow), "{slow}");
    }
}
