//! While nothing changes for a process, equal addresses mean equal things.
//!
//! In: the sealed address spaces. Out: for a moment of a thread of a process, what is the same for another moment and thread of
//! that process only if the process's mappings, the kernel's mappings and the threads' names are.

use super::AddressSpaces;
use crate::image::mapping::{Moment, When};

/// A stretch of time in which nothing changes for a thread. Comparable for the threads of one process only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Era {
    /// Changes that are over: of the kernel's mappings and of the process's.
    changes: [u32; 2],
    /// Which name; of a thread without one its id.
    name: Result<u32, i32>,
}

impl Default for Era {
    fn default() -> Era {
        Era { changes: [0; 2], name: Err(0) }
    }
}

/// Remembers the eras of the threads seen last.
pub struct Eras<'a> {
    spaces: &'a AddressSpaces,
    slots: Vec<Slot>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    pid: i32,
    tid: i32,
    from: Moment,
    /// Not part of it: equal to `from` in a slot that is free.
    until: Moment,
    era: Era,
}

/// Threads that are remembered: a power of two.
const SLOTS: usize = 256;

/// A place for a thread among [`SLOTS`]; threads with neighbouring ids get different ones.
fn spread(pid: i32, tid: i32) -> usize {
    let mixed = (pid as u64) << 32 | tid as u32 as u64;
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SLOTS.ilog2())) as usize
}
const END: Moment = (u64::MAX, u64::MAX);

impl<'a> Eras<'a> {
    /// How many threads are remembered.
    pub const SLOTS: usize = SLOTS;

    /// Of sealed spaces.
    pub fn new(spaces: &'a AddressSpaces) -> Eras<'a> {
        Eras { spaces, slots: vec![Slot::default(); SLOTS] }
    }

    /// The era of a thread at a moment, and where it is remembered: a number below [`SLOTS`](Self::SLOTS).
    #[inline]
    pub fn of(&mut self, pid: i32, tid: i32, at: When) -> (Era, usize) {
        let at = self.spaces.moment(at);
        let ix = spread(pid, tid);
        let slot = &mut self.slots[ix];
        if !(slot.pid == pid && slot.tid == tid && slot.from <= at && at < slot.until) {
            *slot = self.spaces.slot(pid, tid, at);
        }
        (slot.era, ix)
    }
}

impl AddressSpaces {
    fn slot(&self, pid: i32, tid: i32, at: Moment) -> Slot {
        let mut slot = Slot { pid, tid, from: (0, 0), until: END, era: Era::default() };
        let entered = self.processes.get(&pid).and_then(|spaces| spaces.first()).map(|first| first.0);
        // Before a process is known it has the mappings it will have first, and whatever is behind those counts.
        let own = match entered {
            Some(entered) if at < entered => {
                slot.until = entered;
                &self.laid
            }
            _ => self.changes.get(&pid).map_or(&[][..], Vec::as_slice),
        };
        let lists = [&self.kernel_changes, own];
        for (list, n) in lists.into_iter().zip(0..) {
            let over = list.partition_point(|m| *m <= at);
            slot.era.changes[n] = over as u32;
            slot.narrow(over, |i| list.get(i).copied());
        }
        for tid in [tid, pid] {
            let names = self.threads.names_of(tid);
            slot.narrow(names.partition_point(|m| m.0 <= at), |i| names.get(i).map(|m| m.0));
        }
        slot.era.name = self.threads.name_id(pid, tid, at).ok_or(tid);
        if entered.is_some_and(|entered| at < entered) {
            slot.era.changes[1] |= 1 << 31;
        }
        slot
    }
}

impl Slot {
    /// Takes in that `passed` changes of a list are over, and when each is.
    fn narrow(&mut self, passed: usize, at: impl Fn(usize) -> Option<Moment>) {
        if let Some(last) = passed.checked_sub(1).and_then(&at) {
            self.from = self.from.max(last);
        }
        if let Some(next) = at(passed) {
            self.until = self.until.min(next);
        }
    }
}
