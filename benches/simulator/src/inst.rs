//! One instruction of the program, in the words the timing models need.

/// A set of architectural registers: 0–15 general, 16 flags, 17–48 vector, 49 x87 and MMX, 50–57 masks, 58 the rest.
pub type Registers = u64;

/// The bit of the stack pointer.
pub const STACK_POINTER: Registers = 1 << 4;
/// The bit of the frame pointer.
pub const FRAME_POINTER: Registers = 1 << 5;
/// The bit of the flags.
pub const FLAGS: Registers = 1 << 16;

/// What an instruction computes, apart from the memory it touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Work {
    /// Nothing at all.
    Nop,
    /// A copy; a load or a store is one of these with a memory access.
    Move,
    /// An integer operation of one cycle.
    Integer,
    /// An integer multiplication.
    Multiply,
    /// An integer division.
    Divide,
    /// A vector operation on integers, or a shuffle.
    Vector,
    /// Floating-point addition, comparison or conversion.
    FloatAdd,
    /// Floating-point multiplication.
    FloatMultiply,
    /// Floating-point division or square root.
    FloatDivide,
    /// A locked or fencing instruction: nothing passes it.
    Serialize,
    /// Microcode: string moves, `cpuid`, system calls.
    Microcode,
}

/// Where control goes after an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flow {
    /// To the next address.
    Next,
    /// To the next address or to a target.
    Conditional,
    /// To a fixed target.
    Jump,
    /// To a computed target.
    IndirectJump,
    /// Into a fixed function.
    Call,
    /// Into a computed function.
    IndirectCall,
    /// Back to a caller.
    Return,
}

/// What an instruction does to the frame-pointer chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Frame {
    /// Nothing.
    Same,
    /// `mov %rsp,%rbp`: the current function's frame joins the chain.
    Joins,
    /// `pop %rbp` or `leave`: it leaves the chain.
    Leaves,
}

/// A decoded instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inst {
    /// Its address as the recording has it.
    pub address: u64,
    /// Its length in bytes.
    pub length: u8,
    /// What it computes.
    pub work: Work,
    /// Where it may go.
    pub flow: Flow,
    /// What it does to the frame chain.
    pub frame: Frame,
    /// Registers that must be ready before it starts.
    pub reads: Registers,
    /// Registers that are ready when it is done.
    pub writes: Registers,
    /// Whether a conditional branch right after it joins it (`cmp`, `test` and the like).
    pub fuses: bool,
    /// Whether it carries a repeat prefix.
    pub repeats: bool,
}

impl Inst {
    /// One past its last byte.
    pub fn end(&self) -> u64 {
        self.address + u64::from(self.length)
    }

    /// Whether it pushes a return address.
    pub fn is_call(&self) -> bool {
        matches!(self.flow, Flow::Call | Flow::IndirectCall)
    }
}
