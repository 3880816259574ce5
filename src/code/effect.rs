//! What an instruction does to numbers: the arithmetic that addresses, counters and conditions are made of.
//!
//! In: a mnemonic and its operands. Out: an [`Effect`]. It knows nothing of widths, nor of registers that are wider than a number.

/// An operand that holds a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// In a general register.
    Register(u8),
    /// In the memory operand.
    Memory,
    /// In the instruction.
    Constant(i64),
}

/// What an instruction does to numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effect {
    /// Any other.
    #[default]
    Other,
    /// `to ← from`, as much as there is of it.
    Copy {
        /// Written.
        to: Number,
        /// Read.
        from: Number,
    },
    /// `to ← to ± from`.
    Add {
        /// Changed.
        to: Number,
        /// Added.
        from: Number,
        /// It is subtracted.
        minus: bool,
    },
    /// `to ← from · by`.
    Scale {
        /// Written.
        to: Number,
        /// Read.
        from: Number,
        /// Factor.
        by: i64,
    },
    /// `to ← to ∧ by`.
    Mask {
        /// Changed.
        to: Number,
        /// Bits that stay.
        by: i64,
    },
    /// `to ← to` and `from` combined otherwise.
    Combine {
        /// Changed.
        to: Number,
        /// Read.
        from: Number,
        /// How.
        how: Operation,
    },
    /// Accumulator and data register `←` accumulator · `from`.
    Product {
        /// Read.
        from: Number,
        /// Both have a sign.
        signed: bool,
    },
    /// The flags tell of `left − right`.
    Compare {
        /// Read.
        left: Number,
        /// Read.
        right: Number,
    },
    /// The flags tell of `left ∧ right`.
    Test {
        /// Read.
        left: Number,
        /// Read.
        right: Number,
    },
    /// `to ←` the address of the memory operand.
    Lea {
        /// Register written.
        to: u8,
    },
}

/// What two numbers are combined by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operation {
    And,
    Or,
    Xor,
    Multiply,
    ShiftLeft,
    ShiftRight,
    ShiftSigned,
    RotateLeft,
    RotateRight,
    /// Of one number alone.
    Negate,
    /// Of one number alone.
    Not,
}

impl Operation {
    fn of(mnemonic: &str) -> Option<Operation> {
        Some(match mnemonic {
            "and" => Operation::And,
            "or" => Operation::Or,
            "xor" => Operation::Xor,
            "imul" => Operation::Multiply,
            "shl" | "sal" => Operation::ShiftLeft,
            "shr" => Operation::ShiftRight,
            "sar" => Operation::ShiftSigned,
            "rol" => Operation::RotateLeft,
            "ror" => Operation::RotateRight,
            _ => return None,
        })
    }
}

impl Effect {
    /// Of an instruction with such operands as far as they are numbers, written ones first; `narrow` says that it writes a part of a
    /// register, and the rest stays.
    pub(super) fn of(mnemonic: &str, operands: [Option<Number>; 3], narrow: bool) -> Effect {
        let [to, from, third] = operands;
        match (mnemonic, to, from) {
            ("cmp", Some(left), Some(right)) => Effect::Compare { left, right },
            ("test", Some(left @ Number::Register(_)), Some(right)) if left == right => {
                Effect::Compare { left, right: Number::Constant(0) }
            }
            ("test", Some(left), Some(right)) => Effect::Test { left, right },
            ("mul" | "imul", Some(from), None) if !narrow => {
                Effect::Product { from, signed: mnemonic == "imul" }
            }
            _ if narrow => Effect::Other,
            ("cdqe" | "cwde", ..) => Effect::Copy { to: Number::Register(0), from: Number::Register(0) },
            ("mov" | "movsx" | "movzx" | "movsxd", Some(to), Some(from)) => Effect::Copy { to, from },
            ("add" | "sub", Some(to), Some(from)) => Effect::Add { to, from, minus: mnemonic == "sub" },
            ("inc" | "dec", Some(to), None) => {
                Effect::Add { to, from: Number::Constant(1), minus: mnemonic == "dec" }
            }
            ("imul", Some(to), Some(from)) if third.is_some() => match third {
                Some(Number::Constant(by)) => Effect::Scale { to, from, by },
                _ => Effect::Other,
            },
            ("shl" | "sal", Some(to), Some(Number::Constant(by @ 0..=31))) => {
                Effect::Scale { to, from: to, by: 1 << by }
            }
            ("and", Some(to), Some(Number::Constant(by))) => Effect::Mask { to, by },
            ("lea", Some(Number::Register(to)), _) => Effect::Lea { to },
            ("xor", Some(to @ Number::Register(_)), Some(from)) if to == from => {
                Effect::Copy { to, from: Number::Constant(0) }
            }
            ("neg", Some(to), None) => Effect::Combine { to, from: to, how: Operation::Negate },
            ("not", Some(to), None) => Effect::Combine { to, from: to, how: Operation::Not },
            (_, Some(to), Some(from)) => match Operation::of(mnemonic) {
                Some(how) => Effect::Combine { to, from, how },
                None => Effect::Other,
            },
            _ => Effect::Other,
        }
    }
}
