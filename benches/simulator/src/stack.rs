//! Who called whom, and which branches were last taken: what a sample carries besides its address.

use std::collections::VecDeque;

use crate::core::Timing;
use crate::inst::{Flow, Frame, Inst};

/// The call stack, known from calls and returns, as unwinding by frame pointers sees it.
#[derive(Debug, Default)]
pub struct CallStack {
    frames: Vec<Entered>,
}

#[derive(Debug, Clone, Copy)]
struct Entered {
    returns_to: u64,
    on_chain: bool,
}

/// How deep the kernel unwinds.
const DEPTH: usize = 127;

impl CallStack {
    /// Takes note of `inst`, after which `next` ran.
    pub fn follow(&mut self, inst: &Inst, next: u64) {
        match inst.frame {
            Frame::Same => {}
            Frame::Joins => self.set_on_chain(true),
            Frame::Leaves => self.set_on_chain(false),
        }
        if inst.is_call() {
            self.frames.push(Entered { returns_to: inst.end(), on_chain: false });
        } else if inst.flow == Flow::Return {
            // A return that matches no frame (a jump between contexts) unwinds nothing.
            if let Some(depth) = self.frames.iter().rposition(|f| f.returns_to == next) {
                self.frames.truncate(depth);
            }
        }
    }

    fn set_on_chain(&mut self, on: bool) {
        if let Some(top) = self.frames.last_mut() {
            top.on_chain = on;
        }
    }

    /// Return addresses, innermost first. As on a real machine a function without a frame (or before it has set one up) hides
    /// its caller.
    pub fn return_addresses(&self) -> impl Iterator<Item = u64> + '_ {
        self.frames.iter().rev().filter(|f| f.on_chain).map(|f| f.returns_to).take(DEPTH)
    }

    /// The program starts again.
    pub fn clear(&mut self) {
        self.frames.clear();
    }
}

/// One taken branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// Address of the branch.
    pub from: u64,
    /// Where it went.
    pub to: u64,
    /// Whether it was mispredicted.
    pub mispredicted: bool,
    /// Cycles since the one before it.
    pub cycles: u64,
}

/// The last branch records.
#[derive(Debug)]
pub struct BranchStack {
    depth: usize,
    last: u64,
    taken: VecDeque<Taken>,
}

impl BranchStack {
    /// Remembers `depth` branches; none at all if 0.
    pub fn new(depth: usize) -> BranchStack {
        BranchStack { depth, last: 0, taken: VecDeque::with_capacity(depth + 1) }
    }

    /// Takes note of `inst`, after which `next` ran.
    pub fn follow(&mut self, inst: &Inst, next: u64, timing: &Timing) {
        if self.depth == 0 || inst.flow == Flow::Next || next == inst.end() {
            return;
        }
        self.taken.push_front(Taken {
            from: inst.address,
            to: next,
            mispredicted: timing.mispredict.is_some(),
            cycles: (timing.retire - self.last).min(0xffff),
        });
        self.taken.truncate(self.depth);
        self.last = timing.retire;
    }

    /// The branches, youngest first.
    pub fn entries(&self) -> impl Iterator<Item = &Taken> {
        self.taken.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{self, Bitness};

    fn decode(address: u64, bytes: &[u8]) -> Option<Inst> {
        decode::decode(Bitness::Bits64, address, bytes)
    }

    #[test]
    fn a_function_without_a_frame_hides_its_caller() {
        let call = decode(0x100, &[0xe8, 0, 0, 0, 0]).unwrap();
        let set = decode(0x200, &[0x48, 0x89, 0xe5]).unwrap();
        let mut stack = CallStack::default();
        stack.follow(&call, 0x200);
        assert_eq!(stack.return_addresses().count(), 0);
        stack.follow(&set, 0x203);
        assert_eq!(stack.return_addresses().collect::<Vec<_>>(), [0x105]);
        let back = decode(0x203, &[0xc3]).unwrap();
        stack.follow(&back, 0x105);
        assert_eq!(stack.return_addresses().count(), 0);
    }
}
