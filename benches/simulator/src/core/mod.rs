//! When each instruction retires: cores as unlike as they can be, over one trace.
//!
//! A core is told one executed instruction after the other and answers with the cycle in which it retires. That alone defines
//! what a late interrupt can see: at cycle *t* the head of the queue is the first instruction that retires at *t* or later.
//! What runs, and how often, is not the core's to decide.

mod cache;
mod inorder;
mod model;
mod outoforder;
mod predictor;
mod sibling;

pub use cache::{Bursts, Hierarchy, Memory};
pub use inorder::InOrder;
pub use model::Model;
pub use outoforder::{OutOfOrder, Shape};
pub use predictor::Predictor;
pub use sibling::Sibling;

use crate::inst::{Inst, Work};

/// A processor cycle.
pub type Cycle = u64;

/// An executed instruction as a core sees it.
#[derive(Debug, Clone, Copy)]
pub struct Executed<'a> {
    /// The instruction.
    pub inst: &'a Inst,
    /// Addresses it read.
    pub loads: &'a [u64],
    /// Addresses it wrote.
    pub stores: &'a [u64],
    /// Address of the instruction that ran next.
    pub next: u64,
}

impl Executed<'_> {
    /// Whether control went anywhere but to the next address.
    pub fn jumped(&self) -> bool {
        self.next != self.inst.end()
    }
}

/// What a core says of one executed instruction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timing {
    /// The cycle in which it retires, never before its predecessor's.
    pub retire: Cycle,
    /// Whether it shares one slot with the compare before it, so that no interrupt comes between them.
    pub fused: bool,
    /// The cycle in which its first-level miss was filled.
    pub miss: Option<Cycle>,
    /// The cycle in which it was found mispredicted.
    pub mispredict: Option<Cycle>,
    /// Until when some access to memory is under way.
    pub memory_busy: Cycle,
}

/// A timing model.
pub trait Core: Send {
    /// Times the next instruction.
    fn execute(&mut self, step: Executed<'_>) -> Timing;
    /// What the recording's header calls this processor.
    fn name(&self) -> &str;
}

/// Result latencies in cycles.
#[derive(Debug, Clone, Copy)]
pub struct Latencies {
    /// Integer multiplication.
    pub multiply: Cycle,
    /// Integer division, which also occupies its unit that long.
    pub divide: Cycle,
    /// Vector integer.
    pub vector: Cycle,
    /// Floating-point addition.
    pub float_add: Cycle,
    /// Floating-point multiplication.
    pub float_multiply: Cycle,
    /// Floating-point division.
    pub float_divide: Cycle,
    /// Fences and locked operations.
    pub serialize: Cycle,
    /// Microcode.
    pub microcode: Cycle,
}

impl Latencies {
    /// A recent large core.
    pub const FAST: Latencies = Latencies {
        multiply: 3,
        divide: 14,
        vector: 1,
        float_add: 4,
        float_multiply: 4,
        float_divide: 13,
        serialize: 18,
        microcode: 40,
    };
    /// A core of ten years ago, with a slow divider.
    pub const OLDER: Latencies =
        Latencies { divide: 26, float_add: 3, float_multiply: 5, float_divide: 20, ..Latencies::FAST };
    /// A small in-order core.
    pub const SMALL: Latencies = Latencies {
        multiply: 5,
        divide: 36,
        vector: 2,
        float_add: 5,
        float_multiply: 5,
        float_divide: 34,
        serialize: 12,
        microcode: 60,
    };

    /// Cycles from operands to result.
    pub fn of(&self, work: Work) -> Cycle {
        match work {
            Work::Nop | Work::Move | Work::Integer => 1,
            Work::Multiply => self.multiply,
            Work::Divide => self.divide,
            Work::Vector => self.vector,
            Work::FloatAdd => self.float_add,
            Work::FloatMultiply => self.float_multiply,
            Work::FloatDivide => self.float_divide,
            Work::Serialize => self.serialize,
            Work::Microcode => self.microcode,
        }
    }
}
