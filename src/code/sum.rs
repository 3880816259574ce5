//! Registers that are another one plus a constant.

use super::effect::{Effect, Number};
use super::inst::{Address, Inst, Registers};

/// `to ← from + added`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// General register written.
    pub to: u8,
    /// General register read.
    pub from: u8,
    /// Constant.
    pub added: i64,
}

impl Inst {
    /// The register that it leaves as another one plus a constant.
    pub fn sum(&self) -> Option<Sum> {
        let stack = |added| Some(Sum { to: Registers::STACK_POINTER, from: Registers::STACK_POINTER, added });
        match (&*self.mnemonic, self.effect, self.memory) {
            ("push", ..) => stack(-i64::from(self.word)),
            ("pop", ..) => stack(i64::from(self.word)),
            (
                "mov" | "movsxd",
                Effect::Copy { to: Number::Register(to), from: Number::Register(from) },
                _,
            ) => Some(Sum { to, from, added: 0 }),
            (_, Effect::Add { to: Number::Register(to), from: Number::Constant(by), minus }, _) => {
                Some(Sum { to, from: to, added: if minus { by.wrapping_neg() } else { by } })
            }
            (_, Effect::Lea { to }, Some(Address { base: Some(from), index: None, disp, opaque: false })) => {
                Some(Sum { to, from, added: disp })
            }
            _ => None,
        }
    }
}
