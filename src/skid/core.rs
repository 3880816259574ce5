//! An ideal core: what the code's own dependences allow.
//!
//! In: the instructions of a region, one after the other, and for how long each stalls. Out: the cycles for which each is
//! waited for. An instruction starts when its operands are there, any number of them at once; so many are fetched in a cycle,
//! so many are in flight, and so many retire, in order. Loads find their data in the first cache, or in the store that wrote
//! it there. It knows no ports, caches or predictors: what these cost comes as stalls.

use std::collections::VecDeque;

use super::classes::LOAD;
use super::region::Node;
use crate::code::{Address, Kind, Registers};

/// Instructions that are fetched, and that retire, in a cycle: 4 from Core 2 to Skylake and Zen 2, 5 to 8 since.
pub const WIDTH: u32 = 4;
/// Instructions in flight: 168 (Haswell: 192) to 224 on the cores of these years.
const WINDOW: usize = 192;
/// Stores that later loads may read.
const STORES: usize = 16;

/// The state of the core.
pub struct Core {
    /// When each register's value is there.
    ready: [u64; 64],
    /// Stores in flight, and when their data is there.
    stores: VecDeque<(Address, u64)>,
    /// When those in flight retired.
    retired: VecDeque<u64>,
    fetched: Slot,
    left: Slot,
}

/// A cycle, and the instructions that went by in it.
#[derive(Clone, Copy, Default)]
struct Slot {
    cycle: u64,
    taken: u32,
}

impl Slot {
    /// Lets one go by, in `cycle` at the earliest.
    fn pass(&mut self, cycle: u64) {
        if cycle > self.cycle {
            *self = Slot { cycle, taken: 0 };
        } else if self.taken >= WIDTH {
            *self = Slot { cycle: self.cycle + 1, taken: 0 };
        }
        self.taken += 1;
    }
}

impl Default for Core {
    fn default() -> Core {
        Core {
            ready: [0; 64],
            stores: VecDeque::new(),
            retired: VecDeque::new(),
            fetched: Slot::default(),
            left: Slot::default(),
        }
    }
}

impl Core {
    /// Lets `node` through, which stalls for `stall` cycles: those for which it is at the head of the queue.
    pub fn retire(&mut self, node: &Node, stall: u64) -> u64 {
        let before = self.left.cycle;
        if !node.fused {
            let refilled = if node.chosen && stall > 0 { before.max(self.fetched.cycle) + stall } else { 0 };
            let full = if self.retired.len() == WINDOW { self.retired.pop_front() } else { None };
            self.fetched.pass(refilled.max(full.unwrap_or(0)));
            let end = self.execute(node, if node.chosen { 0 } else { stall });
            self.left.pass(end + 1);
            self.retired.push_back(self.left.cycle);
        }
        self.left.cycle - before
    }

    /// When `node`'s results are there.
    fn execute(&mut self, node: &Node, stall: u64) -> u64 {
        let operands = &node.operands;
        let mut start = self.fetched.cycle + 1;
        operands.reads.numbers().for_each(|r| start = start.max(self.ready[r]));
        if node.loads {
            let written = operands.memory.and_then(|m| self.stores.iter().find(|s| s.0 == m));
            start = start.max(written.map_or(0, |s| s.1));
        }
        let end = start + latency(node) + stall;
        operands.writes.numbers().for_each(|r| self.ready[r] = end);
        self.stores.retain(|(address, _)| {
            let made = |r: u8| operands.writes.0 & Registers::general(r).0 != 0;
            !(address.base.is_some_and(made) || address.index.is_some_and(|(r, _)| made(r)))
        });
        if let Some(memory) = operands.memory.filter(|_| node.stores) {
            self.stores.retain(|s| s.0 != memory);
            if self.stores.len() == STORES {
                self.stores.pop_front();
            }
            self.stores.push_back((memory, end));
        }
        end
    }
}

/// Cycles from `node`'s operands to its results.
fn latency(node: &Node) -> u64 {
    match node.kind {
        Kind::Nop | Kind::Jump => 0,
        Kind::Move if node.loads => LOAD as u64,
        _ => node.latency as u64,
    }
}
