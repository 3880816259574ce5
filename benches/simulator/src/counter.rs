//! A hardware counter: what it counts, and when it overflows.

use crate::core::{Cycle, Executed};
use crate::inst::Flow;
use crate::interrupt::{Lands, Skid};

/// What is counted, with the names and codes that perf gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// Core cycles.
    Cycles,
    /// Retired instructions.
    Instructions,
    /// Retired instructions that may transfer control.
    Branches,
    /// Retired instructions that loaded.
    Loads,
    /// Retired instructions that stored.
    Stores,
    /// First-level data cache misses of loads.
    LoadMisses,
    /// Mispredicted branches.
    BranchMisses,
}

impl Event {
    /// Its name without modifiers.
    pub fn name(self) -> &'static str {
        match self {
            Event::Cycles => "cycles",
            Event::Instructions => "instructions",
            Event::Branches => "branches",
            Event::Loads => "mem_inst_retired.all_loads",
            Event::Stores => "mem_inst_retired.all_stores",
            Event::LoadMisses => "L1-dcache-load-misses",
            Event::BranchMisses => "branch-misses",
        }
    }

    /// `perf_event_attr.type` and `.config`.
    pub fn code(self) -> (u32, u64) {
        match self {
            Event::Cycles => (0, 0),
            Event::Instructions => (0, 1),
            Event::Branches => (0, 4),
            Event::Loads => (4, 0x81d0),
            Event::Stores => (4, 0x82d0),
            Event::LoadMisses => (3, 0x10000),
            Event::BranchMisses => (0, 5),
        }
    }

    /// Whether it happens as this instruction retires, not before.
    pub fn retires(self, executed: Executed<'_>) -> bool {
        match self {
            Event::Instructions => true,
            Event::Branches => executed.inst.flow != Flow::Next,
            Event::Loads => !executed.loads.is_empty(),
            Event::Stores => !executed.stores.is_empty(),
            Event::Cycles | Event::LoadMisses | Event::BranchMisses => false,
        }
    }
}

/// How many events lie between two overflows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Period {
    /// Always so many (`perf record -c`).
    Fixed(u64),
    /// So many samples a second, by adjusting the period after each (`perf record -F`).
    Frequency(u64),
}

/// A counter as it is set up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setup {
    /// What it counts.
    pub event: Event,
    /// When it overflows.
    pub period: Period,
    /// How late its interrupt is.
    pub skid: Skid,
    /// Which address the interrupt records.
    pub lands: Lands,
}

/// A counter that runs.
#[derive(Debug)]
pub struct Counter {
    /// How it was set up.
    pub setup: Setup,
    /// Its total.
    pub total: u64,
    left: u64,
    period: u64,
    overflowed: Cycle,
}

impl Counter {
    /// A counter at zero.
    pub fn new(setup: Setup) -> Counter {
        let period = match setup.period {
            Period::Fixed(n) => n,
            Period::Frequency(_) => 1,
        };
        Counter { setup, total: 0, left: period, period, overflowed: 0 }
    }

    /// Adds events that happened one a cycle up to `last`, or all in it. Calls `overflow(cycle, period)` for each overflow.
    pub fn add(&mut self, n: u64, one_a_cycle: bool, last: Cycle, mut overflow: impl FnMut(Cycle, u64)) {
        self.total += n;
        let mut n = n;
        while n >= self.left {
            n -= self.left;
            let now = if one_a_cycle { last - n } else { last };
            overflow(now, self.period);
            self.adjust(now);
            self.left = self.period;
        }
        self.left -= n;
    }

    /// The kernel's rule: an eighth of the way to the period that would have met the frequency, at 1 ns a cycle.
    fn adjust(&mut self, now: Cycle) {
        let Period::Frequency(wanted) = self.setup.period else { return };
        let elapsed = (now - self.overflowed).max(1);
        let ideal =
            (u128::from(self.period) * 1_000_000_000 / (u128::from(elapsed) * u128::from(wanted))) as i64;
        self.period = (self.period as i64 + (ideal - self.period as i64 + 7) / 8).max(1) as u64;
        self.overflowed = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(period: Period) -> Setup {
        Setup { event: Event::Cycles, period, skid: Skid::Precise, lands: Lands::OnHead }
    }

    #[test]
    fn a_fixed_period_overflows_at_its_multiples() {
        let mut counter = Counter::new(setup(Period::Fixed(7)));
        let mut at = Vec::new();
        for last in [5, 16, 30] {
            let n = last - counter.total;
            counter.add(n, true, last, |now, period| at.push((now, period)));
        }
        assert_eq!(at, [(7, 7), (14, 7), (21, 7), (28, 7)]);
    }

    #[test]
    fn a_frequency_settles_on_the_period_that_gives_it() {
        let mut counter = Counter::new(setup(Period::Frequency(1_000_000)));
        let mut periods = Vec::new();
        for cycle in 1..=500_000 {
            counter.add(1, true, cycle, |_, period| periods.push(period));
        }
        assert_eq!(periods[0], 1);
        assert!(periods[100..].iter().all(|p| (980..=1000).contains(p)), "{:?}", &periods[90..]);
    }
}
