//! A sampled access to memory as the kernel tells it of any processor: PEBS, IBS, SPE (`union perf_mem_data_src`).

use crate::perfdata::{Sample, Weight};

/// What is told of one access.
#[derive(Clone, Copy, Debug, Default)]
pub struct Access {
    /// `union perf_mem_data_src`; 0 where the sample has none.
    pub data_src: u64,
    /// Cycles, as the event's own source counts them.
    pub latency: Option<u64>,
    /// The address.
    pub address: Option<u64>,
}

/// Which part of the machine answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The first cache level.
    L1,
    /// A line that was on its way already.
    FillBuffer,
    /// The second cache level.
    L2,
    /// The third or fourth cache level.
    L3,
    /// Another core's cache, or some cache that is not told.
    OtherCache,
    /// Memory.
    Ram,
    /// Devices, or memory that is not cached.
    Io,
}

/// Levels by number, `PERF_MEM_LVLNUM_*`.
const NUMBERED: [(u64, Level); 13] = [
    (1, Level::L1),
    (2, Level::L2),
    (3, Level::L3),
    (4, Level::L3),
    (5, Level::L2),
    (6, Level::Ram),
    (7, Level::L1),
    (8, Level::Io),
    (9, Level::Ram),
    (0xa, Level::Io),
    (0xb, Level::OtherCache),
    (0xc, Level::FillBuffer),
    (0xd, Level::Ram),
];
/// Persistent memory.
const PMEM: u64 = 0xe;

/// Levels by bit, `PERF_MEM_LVL_*`, the farthest first.
const BITS: [(u64, Level); 11] = [
    (0x2000, Level::Io),
    (0x1000, Level::Io),
    (0x800, Level::OtherCache),
    (0x400, Level::OtherCache),
    (0x200, Level::Ram),
    (0x100, Level::Ram),
    (0x80, Level::Ram),
    (0x40, Level::L3),
    (0x20, Level::L2),
    (0x10, Level::FillBuffer),
    (0x8, Level::L1),
];
const HIT: u64 = 2;
const MISS: u64 = 4;

impl Access {
    /// Of a sample.
    pub fn of(sample: &Sample<'_>) -> Access {
        let latency = sample.weight.map(|weight| match weight {
            Weight::Full(cycles) => cycles,
            Weight::Struct(memory, ..) => memory.into(),
        });
        Access { data_src: sample.data_src.unwrap_or(0), latency, address: sample.addr.filter(|&a| a != 0) }
    }

    fn bits(&self, low: u32, width: u32) -> u64 {
        self.data_src >> low & ((1 << width) - 1)
    }

    fn operation(&self, bit: u64) -> bool {
        self.bits(0, 5) & bit != 0
    }

    /// It read.
    pub fn is_load(&self) -> bool {
        self.operation(2)
    }

    /// It wrote.
    pub fn is_store(&self) -> bool {
        self.operation(4)
    }

    /// It was a prefetch.
    pub fn is_prefetch(&self) -> bool {
        self.operation(8)
    }

    /// Who answered, if that is told.
    pub fn level(&self) -> Option<Level> {
        let levels = self.bits(5, 14);
        match self.bits(33, 4) {
            PMEM => Some(Level::Ram),
            // 0 of old kernels, which do not number levels, and 15 for "not available"
            0 | 0xf => BITS.iter().find(|(bit, _)| levels & bit != 0).map(|(_, level)| *level),
            number => NUMBERED.iter().find(|(n, _)| *n == number).map(|(_, level)| *level),
        }
    }

    /// `level` answered: it is named, and not as what was missed.
    pub fn came_from(&self, level: Level) -> bool {
        let levels = self.bits(5, 14);
        self.level() == Some(level) && (levels & MISS == 0 || levels & HIT != 0)
    }

    /// It missed the first cache level.
    pub fn misses_cache(&self) -> bool {
        self.level().is_some_and(|level| level != Level::Io) && !self.came_from(Level::L1)
    }

    /// It missed every TLB that the hardware looks into first.
    pub fn misses_tlb(&self) -> bool {
        let (hit, miss, walked) = (2, MISS, 0x60);
        let tlb = self.bits(26, 7);
        tlb & miss != 0 && tlb & hit == 0 || tlb & walked != 0 && tlb & 0x18 == 0
    }

    /// Another core had changed its line.
    pub fn hits_modified(&self) -> bool {
        self.bits(19, 5) & 0x10 != 0
    }

    /// It was answered from another node. Where hops are told, one of them only leads to another core.
    pub fn is_remote(&self) -> bool {
        match self.bits(43, 3) {
            0 => self.bits(37, 1) != 0 || self.bits(5, 14) & 0xf00 != 0,
            hops => hops > 1,
        }
    }

    /// It was locked.
    pub fn is_locked(&self) -> bool {
        self.bits(24, 2) & 2 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(data_src: u64) -> Access {
        Access { data_src, ..Access::default() }
    }

    #[test]
    fn levels_are_known_by_number_or_by_bit() {
        let load = 2;
        let l1 = access(load | (0x8 | HIT) << 5);
        assert!(l1.is_load() && l1.came_from(Level::L1) && !l1.misses_cache());
        let l3_missed = access(load | (0x40 | MISS) << 5);
        assert!(!l3_missed.came_from(Level::L3) && l3_missed.misses_cache());
        let buffer = access(load | (0x10 | HIT) << 5 | 0xc << 33);
        assert!(buffer.came_from(Level::FillBuffer) && buffer.misses_cache());
        let far = access(load | (0x200 | HIT) << 5 | 0xd << 33 | 1 << 37);
        assert!(far.came_from(Level::Ram) && far.is_remote());
        let near = access(load | (0x400 | HIT) << 5 | 0xb << 33 | 1 << 37 | 1 << 43);
        assert!(near.came_from(Level::OtherCache) && !near.is_remote());
        assert_eq!((access(load).level(), access(load).misses_cache()), (None, false));
        assert_eq!(access(load | 1 << 5 | 0xf << 33).level(), None, "not available");
    }

    #[test]
    fn a_tlb_miss_is_one_that_no_tlb_answered() {
        let tlb = |bits: u64| access(bits << 26).misses_tlb();
        assert!(!tlb(2 | 8) && !tlb(2 | 8 | 0x10) && !tlb(1) && !tlb(0));
        assert!(tlb(4 | 0x10) && tlb(2 | 0x20));
    }
}
