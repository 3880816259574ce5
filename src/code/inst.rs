//! An instruction in our own words, so that nothing after [`super::decode`] knows the decoder.

use super::effect::{Effect, Number};
use super::mnemonic::Mnemonic;

/// One decoded instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    /// Address in the image.
    pub address: u64,
    /// Length in bytes, 1–15.
    pub len: u8,
    /// Where control goes next.
    pub flow: Flow,
    /// It calls a function that never returns. Decoding doesn't know; [`explore`](super::explore) does.
    pub noreturn: bool,
    /// What the execution units do for it.
    pub kind: Kind,
    /// It reads data memory (a `pop` or `ret` counts, an `lea` or prefetch does not).
    pub loads: bool,
    /// It writes data memory.
    pub stores: bool,
    /// It has the form that fuses with a conditional branch right behind it (Intel SDM, "macro-fusion").
    pub fuses: bool,
    /// It has that form but for comparing memory with a constant, which some processors fuse and others do not.
    pub fuses_constant: bool,
    /// Registers read, address registers included.
    pub reads: Registers,
    /// Its explicit memory operand.
    pub memory: Option<Address>,
    /// What it does to numbers, as far as addresses are made of them.
    pub effect: Effect,
    /// Registers written.
    pub writes: Registers,
    /// Bytes that a push or pop in such code moves.
    pub word: u8,
    /// Bytes of its memory operand; of one without, of the last register it names, but for an address or a number that is shifted of
    /// what it makes. 0 where that is not known.
    pub width: u8,
    /// Mnemonic as the disassembler prints it.
    pub mnemonic: Mnemonic,
}

impl Inst {
    /// Address of the instruction that follows in memory.
    pub fn end(&self) -> u64 {
        self.address.wrapping_add(u64::from(self.len))
    }

    /// Whether control may go to [`Inst::end`]: all but unconditional jumps, returns, traps, and calls of what never returns.
    pub fn falls_through(&self) -> bool {
        !self.noreturn
            && !matches!(self.flow, Flow::Jump(_) | Flow::IndirectJump { .. } | Flow::Return | Flow::Stop)
    }

    /// Registers that may hold something else behind it; behind a call, those that results come in as well. Others that a callee
    /// need not restore are not read behind it, unless who wrote the caller knew that it does.
    pub fn changes(&self) -> Registers {
        if self.is_call() { self.writes.or(Registers::RESULTS) } else { self.writes }
    }

    /// Where it jumps, always or on a condition, if that stands in it.
    pub fn jumps_to(&self) -> Option<u64> {
        match self.flow {
            Flow::Jump(to) | Flow::Branch(to) => Some(to),
            _ => None,
        }
    }

    /// The constant, or the constant address, that it puts somewhere, and where.
    pub fn constant(&self) -> Option<(Number, u64)> {
        match self.effect {
            Effect::Lea { to } => Some((Number::Register(to), self.memory?.fixed()?)),
            Effect::Copy { to, from: Number::Constant(value) } if !self.is_call() => Some((to, value as u64)),
            _ => None,
        }
    }

    /// Whether it is a call, direct or not.
    pub fn is_call(&self) -> bool {
        matches!(self.flow, Flow::Call(_) | Flow::IndirectCall { .. })
    }

    /// Whether a core may make one operation of it and of what runs right before it, and it is the one that takes time: a division
    /// whose dividend that widens (`cdq`, `cqo`, `xor %edx,%edx`), or a multiplication of what that copies. Zen 4 does.
    pub fn joins(&self, before: &Inst) -> bool {
        match self.kind {
            Kind::Divide => self.follows_plainly(before) && before.widens(),
            Kind::Multiply => self.changes_copy(before),
            _ => false,
        }
    }

    /// Whether it changes what `before`, right before it, has copied for it with a plain `mov`: two instructions for what takes one
    /// where there are three operands. (What extends a sign is waited for: with it as well, time on `testdata/cases/matmul` is .0713
    /// off instead of .0081.)
    pub fn changes_copy(&self, before: &Inst) -> bool {
        let register = |number| matches!(number, Number::Register(_));
        let copy = matches!(before.effect, Effect::Copy { to, from } if register(to) && register(from));
        let copied = before.writes.without(Registers::FLAGS);
        let changed = self.writes.without(Registers::FLAGS) == copied && copied.and(self.reads) == copied;
        self.follows_plainly(before) && copy && &*before.mnemonic == "mov" && changed
    }

    /// Whether it gives one register the value of another and does nothing else.
    pub fn copies(&self) -> bool {
        let plain = ["mov", "movzx", "movaps", "movapd", "movups", "movupd", "movdqa", "movdqu"];
        let m = self.mnemonic.strip_prefix('v').unwrap_or(&self.mnemonic);
        let values = |set: Registers| set.without(Registers::FLAGS).numbers().count();
        plain.contains(&m)
            && !(self.loads || self.stores)
            && values(self.reads) == 1
            && values(self.writes) == 1
    }

    /// It writes nothing but the upper half of a dividend, and needs nothing but the lower.
    fn widens(&self) -> bool {
        let [rax, rdx] = [0, 2].map(Registers::general);
        let written = self.writes.without(Registers::FLAGS);
        matches!(self.kind, Kind::Alu | Kind::Move)
            && written == rdx
            && self.reads.without(rax.or(rdx)).is_empty()
    }

    fn follows_plainly(&self, before: &Inst) -> bool {
        before.end() == self.address && !before.loads && !self.loads
    }

    /// Whether it is a conditional branch.
    pub fn is_conditional(&self) -> bool {
        matches!(self.flow, Flow::Branch(_))
    }
}

/// A memory operand: base + index · scale + displacement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// General register.
    pub base: Option<u8>,
    /// General register and what it is multiplied by.
    pub index: Option<(u8, u8)>,
    /// Displacement, or the address itself where there are no registers.
    pub disp: i64,
    /// It depends on something else besides: a segment, a vector of indices.
    pub opaque: bool,
}

impl Address {
    /// The address itself, where it is made of no registers.
    pub fn fixed(self) -> Option<u64> {
        (self.base.is_none() && self.index.is_none() && !self.opaque).then_some(self.disp as u64)
    }

    /// How far behind where a pointer to some object leads it is, in bytes, where it is that.
    pub fn in_object(self) -> Option<i64> {
        let object = self.base.is_some_and(|base| !Registers::STACK.has(base));
        (object && self.index.is_none() && !self.opaque).then_some(self.disp)
    }
}

/// Where control goes after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// To the next instruction in memory.
    Next,
    /// To this address.
    Jump(u64),
    /// To this address or to the next instruction.
    Branch(u64),
    /// To an address held in a register or in memory; `via` is the memory cell where its address is a constant.
    IndirectJump {
        /// Address of the cell that holds the target.
        via: Option<u64>,
    },
    /// To this address, and back behind the call.
    Call(u64),
    /// To an address held in a register or in memory, and back behind the call.
    IndirectCall {
        /// Address of the cell that holds the target.
        via: Option<u64>,
    },
    /// Back behind the call that led here.
    Return,
    /// Nowhere: a trap, a halt, or a byte that does not decode.
    Stop,
}

impl Flow {
    /// Where the cell that it goes through is not known.
    pub(super) fn through_nothing_known(self) -> Flow {
        match self {
            Flow::IndirectJump { .. } => Flow::IndirectJump { via: None },
            Flow::IndirectCall { .. } => Flow::IndirectCall { via: None },
            flow => flow,
        }
    }
}

/// What an instruction asks of the processor. Each kind has a typical latency in [`Kind::latency`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Kind {
    Nop,
    Move,
    Alu,
    Multiply,
    Divide,
    Float,
    FloatDivide,
    Convert,
    Shuffle,
    Branch,
    Jump,
    Call,
    Return,
    Atomic,
    String,
    System,
    /// A byte sequence that does not decode.
    Opaque,
}

impl Kind {
    /// Cycles from operands to result, order of magnitude over x86-64 cores of 2010–2025 (uops.info, latency tables of
    /// Skylake, Ice Lake, Zen 2–4), without its loads.
    pub fn latency(self) -> f64 {
        match self {
            Kind::Nop | Kind::Jump => 0.25,
            Kind::Move | Kind::Alu | Kind::Shuffle | Kind::Branch | Kind::Call | Kind::Return => 1.0,
            Kind::Multiply => 3.0,
            Kind::Float => 4.0,
            Kind::Convert => 5.0,
            Kind::FloatDivide => 14.0,
            Kind::Divide => 22.0,
            Kind::Atomic => 20.0,
            Kind::String => 15.0,
            Kind::System => 60.0,
            Kind::Opaque => 1.0,
        }
    }
}

/// A set of registers: general 0–15, vector 16–47, flags, x87 and mask registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers(pub u64);

impl Registers {
    /// The flags.
    pub const FLAGS: Registers = Registers(1 << 48);
    /// The x87 and MMX stack, as one.
    pub const X87: Registers = Registers(1 << 49);
    /// The mask registers, as one.
    pub const MASK: Registers = Registers(1 << 50);
    /// The stack pointer's number.
    pub const STACK_POINTER: u8 = 4;
    /// The number of the register that mostly points to the frame.
    pub const FRAME_POINTER: u8 = 5;
    /// The stack pointer.
    pub const STACK: Registers = Registers(1 << Registers::STACK_POINTER);

    /// General registers that a call leaves its results in (System V ABI): the accumulator and the data register.
    pub const RESULTS: Registers = Registers(0b101);

    /// General register `n` at any width.
    pub fn general(n: u8) -> Registers {
        Registers(1 << (n & 15))
    }

    /// Vector register `n` at any width.
    pub fn vector(n: u8) -> Registers {
        Registers(1 << (16 + (n & 31)))
    }

    /// Registers in either set.
    pub fn or(self, other: Registers) -> Registers {
        Registers(self.0 | other.0)
    }

    /// Registers in both sets.
    pub fn and(self, other: Registers) -> Registers {
        Registers(self.0 & other.0)
    }

    /// Registers of this set that the other lacks.
    pub fn without(self, other: Registers) -> Registers {
        Registers(self.0 & !other.0)
    }

    /// The places of the registers in the set, 0 to 63.
    pub fn numbers(self) -> impl Iterator<Item = usize> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let number = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            (number < 64).then_some(number)
        })
    }

    /// Whether general register `n` is among them.
    pub fn has(self, n: u8) -> bool {
        !self.and(Registers::general(n)).is_empty()
    }

    /// The only register of the set, where that is a general one.
    pub fn general_number(self) -> Option<u8> {
        (0..16).find(|&n| self == Registers::general(n))
    }

    /// No register at all.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}
