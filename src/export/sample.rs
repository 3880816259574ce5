//! A sample as the formats see it.

use crate::image::Location;
use crate::perfdata::{AttrIx, CpuMode};

/// How an address came onto a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FrameKind {
    /// The sampled instruction.
    Leaf,
    /// A return address: the call is the instruction before it.
    Return,
}

/// One frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StackFrame {
    /// The run-time address.
    pub address: u64,
    /// The processor's mode in this frame.
    pub mode: CpuMode,
    /// Where that is in a binary, unless nothing is known to be mapped there.
    pub location: Option<Location>,
    /// Instruction or return address.
    pub kind: FrameKind,
}

impl StackFrame {
    /// The frame without what differs between processes that map the same binary, so that equal places are equal frames.
    pub(super) fn place(mut self) -> StackFrame {
        if self.location.is_some() {
            self.address = 0;
        }
        self
    }

    /// The location whose symbol and line describe the frame: for a return address, inside the call.
    pub(super) fn described(&self) -> Option<Location> {
        let mut at = self.location?;
        at.svma.0 = at.svma.0.saturating_sub(self.back());
        Some(at)
    }

    /// The run-time address inside the instruction that the frame stands for.
    pub(super) fn inside(&self) -> u64 {
        self.address.saturating_sub(self.back())
    }

    fn back(&self) -> u64 {
        u64::from(self.kind == FrameKind::Return)
    }

    /// Whether the frame is the kernel's.
    pub(super) fn is_kernel(&self) -> bool {
        matches!(self.mode, CpuMode::Kernel | CpuMode::GuestKernel | CpuMode::Hypervisor)
    }
}

/// A sample where it belongs.
#[derive(Clone, Copy, Debug)]
pub struct CorrectedSample<'a> {
    /// Its event.
    pub attr: AttrIx,
    /// Process, negative when unknown.
    pub pid: i32,
    /// Thread, negative when unknown.
    pub tid: i32,
    /// Nanoseconds on the recording's clock.
    pub time: Option<u64>,
    /// Processor.
    pub cpu: Option<u32>,
    /// The thread's name when the sample was taken.
    pub comm: Option<&'a str>,
    /// Events the sample stands for: its period.
    pub weight: u64,
    /// Frames, leaf first. Without a callchain, the leaf alone.
    pub stack: &'a [StackFrame],
    /// The frames as recorded, the same unless it moved.
    pub recorded: &'a [StackFrame],
    /// A number that only samples with an equal stack have, if that is known.
    pub same: Option<u64>,
    /// Whether its leaf is another than the recording says.
    pub moved: bool,
}

impl CorrectedSample<'_> {
    /// The thread's name as perf prints it: where no record names it, `swapper` for the idle task and `:TID` for others.
    pub(super) fn comm(&self) -> String {
        match self.comm {
            Some(comm) => comm.to_owned(),
            None if self.pid == 0 && self.tid == 0 => "swapper".into(),
            None => format!(":{}", self.tid),
        }
    }
}
