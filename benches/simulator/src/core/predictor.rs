//! Branch prediction: two-bit counters indexed by address and history, and a table of indirect targets.

use crate::inst::{Flow, Inst};

/// A predictor's memory.
#[derive(Debug)]
pub struct Predictor {
    counters: Vec<u8>,
    targets: Vec<u64>,
    history: u64,
    history_mask: u64,
    returns: Vec<u64>,
}

impl Predictor {
    /// `2^bits` counters, indexed by address xor the last `history` outcomes; no history makes it bimodal.
    pub fn new(bits: u32, history: u32) -> Predictor {
        Predictor {
            counters: vec![1; 1 << bits],
            targets: vec![0; 1 << 11],
            history: 0,
            history_mask: (1 << history) - 1,
            returns: Vec::new(),
        }
    }

    /// Whether the branch `inst`, which went to `next`, had been predicted; learns from it.
    pub fn predicts(&mut self, inst: &Inst, next: u64) -> bool {
        match inst.flow {
            Flow::Next | Flow::Jump => true,
            Flow::Conditional => self.direction(inst.address, next != inst.end()),
            Flow::Call => self.called(inst),
            Flow::IndirectCall => self.called(inst) && self.target(inst.address, next),
            Flow::IndirectJump => self.target(inst.address, next),
            Flow::Return => self.returns.pop() == Some(next),
        }
    }

    fn direction(&mut self, address: u64, taken: bool) -> bool {
        let at =
            ((address >> 1) ^ ((self.history & self.history_mask) << 2)) as usize & (self.counters.len() - 1);
        let counter = &mut self.counters[at];
        let right = (*counter >= 2) == taken;
        *counter = if taken { (*counter + 1).min(3) } else { counter.saturating_sub(1) };
        self.history = (self.history << 1) | u64::from(taken);
        right
    }

    fn target(&mut self, address: u64, next: u64) -> bool {
        let at =
            ((address >> 1) ^ ((self.history & self.history_mask) * 31)) as usize & (self.targets.len() - 1);
        let right = self.targets[at] == next;
        self.targets[at] = next;
        self.history = (self.history << 2) ^ (next >> 4);
        right
    }

    fn called(&mut self, inst: &Inst) -> bool {
        if self.returns.len() == 32 {
            self.returns.remove(0);
        }
        self.returns.push(inst.end());
        true
    }
}
