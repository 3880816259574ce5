//! An ideal core: what the code's own dependences allow.
//!
//! In: the instructions of a region, one after the other, and for how long each stalls. Out: the cycles for which each is
//! waited for. An instruction starts when its operands are there, any number of them at once or as many as there are units
//! ([`units`](super::units)); so many are fetched in a cycle, so many are in flight, and so many retire, in order. Loads find their
//! data in the first cache, or in the store that wrote it there. On cores that issue in order an instruction starts only when all
//! before it have, and leaves with that; one access to memory starts in a cycle. A wrong guess empties it from when the branch is
//! decided, not from when that leaves. It knows no caches or predictors: what misses comes as a stall, and it is told which
//! guesses are wrong.

use std::collections::VecDeque;

use super::places::{Place, Places};
use super::region::Node;
use super::units::{Units, latency};

/// What tells processors apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Instructions issue in order: what lacks an operand stops all behind it.
    pub in_order: bool,
    /// Instructions that are fetched, and that retire, in a cycle.
    pub width: u32,
}

impl Shape {
    /// Atoms before Silvermont, Pentiums and Knights Corner.
    pub const IN_ORDER: Shape = Shape { in_order: true, width: 2 };

    /// Cycles from where a branch is decided to the first fetch of the way that was not expected.
    pub fn refill(self) -> u64 {
        if self.in_order { REFILL_IN_ORDER } else { REFILL }
    }

    /// Others that issue in the same way: the wider ones since (Ice Lake, Golden Cove, Zen 5), or one at a time.
    pub fn others(self) -> impl Iterator<Item = Shape> {
        let widths: &[u32] = if self.in_order { &[1, 2] } else { &[4, 6, 8] };
        widths.iter().filter(move |&&width| width != self.width).map(move |&width| Shape { width, ..self })
    }
}

impl Default for Shape {
    /// Cores from Core 2 to Skylake and Zen 2.
    fn default() -> Shape {
        Shape { in_order: false, width: 4 }
    }
}

/// How it takes what cores take in unlike ways, where instructions may pass each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    /// Instructions compete for units.
    pub crowded: bool,
    /// Copies of registers take no time: they are given another name instead, on cores since 2012 (Ivy Bridge, Zen). On others what was
    /// stored is taken to be there later, too ([`FORWARDING`]).
    pub renames: bool,
}

/// Instructions in flight: 168 (Haswell: 192) to 224 on the cores of these years.
const WINDOW: usize = 192;
/// Cycles more than a load takes, from a store to what is loaded where that was stored. Both together take 5 on Intel's cores from Sandy
/// Bridge to Ice Lake, 4 to 8 on others (A. Fog, The microarchitecture of Intel, AMD and VIA CPUs), and less where memory is renamed.
const FORWARDING: u64 = 1;
/// Stores that later loads may read.
const STORES: usize = 32;
/// Cycles from where a branch is decided to the first fetch of the way that was not expected; 13 to 20 on cores of 2010–2025 …
const REFILL: u64 = 15;
/// … and where they issue in order.
const REFILL_IN_ORDER: u64 = 10;

/// The state of the core.
pub struct Core {
    shape: Shape,
    /// When each register's value is there.
    ready: [u64; 64],
    places: Places,
    /// Stores in flight, and when their data is there.
    stores: VecDeque<(Place, u64)>,
    /// When those in flight retired.
    retired: VecDeque<u64>,
    fetched: Slot,
    left: Slot,
    renames: bool,
    /// Cycles more that a load takes whose data is still on its way to memory.
    forwarding: u64,
    /// What instructions compete for, if they do.
    units: Option<Units>,
    /// When memory was last read or written.
    accessed: u64,
    /// When the last instruction's results are there: a branch is decided then.
    decided: u64,
    /// Before this nothing is fetched.
    refilled: u64,
}

/// A cycle, and the instructions that went by in it.
#[derive(Clone, Copy)]
struct Slot {
    width: u32,
    cycle: u64,
    taken: u32,
}

impl Slot {
    /// Lets one go by, in `cycle` at the earliest.
    fn pass(&mut self, cycle: u64) {
        if cycle > self.cycle {
            (self.cycle, self.taken) = (cycle, 0);
        } else if self.taken >= self.width {
            (self.cycle, self.taken) = (self.cycle + 1, 0);
        }
        self.taken += 1;
    }
}

impl Core {
    /// A core at rest.
    pub fn new(shape: Shape, manner: Manner) -> Core {
        let slot = Slot { width: shape.width, cycle: 0, taken: 0 };
        Core {
            shape,
            ready: [0; 64],
            places: Places::default(),
            stores: VecDeque::new(),
            retired: VecDeque::new(),
            fetched: slot,
            left: slot,
            renames: manner.renames,
            forwarding: if manner.renames || shape.in_order { 0 } else { FORWARDING },
            units: (manner.crowded && !shape.in_order).then(|| Units::of(shape.width)),
            accessed: 0,
            decided: 0,
            refilled: 0,
        }
    }

    /// Lets `node` through, which stalls for `stall` cycles: those for which it is at the head of the queue.
    pub fn retire(&mut self, node: &Node, stall: u64) -> u64 {
        let before = self.left.cycle;
        let place = node.operands.memory.and_then(|address| self.places.of(address));
        if self.shape.in_order {
            self.issue(node, place, stall);
        } else if !node.fused {
            let full = if self.retired.len() == WINDOW { self.retired.pop_front() } else { None };
            self.fetched.pass(self.refilled.max(full.unwrap_or(0)));
            let start = self.operands(node, place, self.fetched.cycle + 1);
            let end = match &mut self.units {
                _ if self.renames && node.copies => start,
                Some(units) => units.run(node, start),
                None => start + latency(node),
            };
            let end = end + stall;
            self.write(node, place, end);
            self.left.pass(end + 1);
            self.retired.push_back(self.left.cycle);
        }
        self.left.cycle - before
    }

    /// Lets `node` start once all before it have, and leave with that; memory takes one access in a cycle.
    fn issue(&mut self, node: &Node, place: Option<Place>, stall: u64) {
        let mut start = self.operands(node, place, self.refilled.max(self.left.cycle + stall));
        let accesses = node.loads || node.stores;
        if accesses && start <= self.accessed {
            start = self.accessed + 1;
        }
        self.left.pass(start);
        if accesses {
            self.accessed = self.left.cycle;
        }
        self.write(node, place, self.left.cycle + latency(node));
    }

    /// When `node`'s operands are there, of which one is at `place`; `at` the earliest.
    fn operands(&self, node: &Node, place: Option<Place>, mut at: u64) -> u64 {
        node.operands.reads.numbers().for_each(|r| at = at.max(self.ready[r]));
        let written = place.filter(|_| node.loads).and_then(|p| self.stores.iter().find(|s| s.0 == p));
        at.max(written.map_or(0, |s| s.1 + self.forwarding))
    }

    /// The last instruction went a way that was not expected: the next one has yet to be fetched when that is decided.
    pub fn refill(&mut self) {
        self.refilled = self.decided + self.shape.refill();
    }

    /// Has `node`'s results, in registers and at `place`, there at `end`.
    fn write(&mut self, node: &Node, place: Option<Place>, end: u64) {
        self.decided = end;
        let operands = &node.operands;
        operands.writes.numbers().for_each(|r| self.ready[r] = end);
        self.places.run(operands, place, node.stores);
        if let Some(place) = place.filter(|_| node.stores) {
            self.stores.retain(|s| s.0 != place);
            if self.stores.len() == STORES {
                self.stores.pop_front();
            }
            self.stores.push_back((place, end));
        }
    }
}
