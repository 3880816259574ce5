//! What an instruction waits for, and what waits for it.

use crate::code::{Address, Effect, Inst, Kind, Number, Registers, Sum};

/// Values that pass from one instruction to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operands {
    /// Registers whose values it needs.
    pub reads: Registers,
    /// Registers whose values it makes.
    pub writes: Registers,
    /// Its memory operand; a push and a pop have theirs on the stack.
    pub memory: Option<Address>,
    /// The register that is then another one plus a constant.
    pub sum: Option<Sum>,
    /// What it does to numbers; a push and a pop copy.
    pub effect: Effect,
}

const STACK: u8 = Registers::STACK_POINTER;
const FRAME: u8 = Registers::FRAME_POINTER;

impl Operands {
    /// Those of `inst`. Pushes, pops, calls and returns do not wait for the stack pointer, which cores keep track of where
    /// they decode; nor does an exclusive or of a register with itself for its value.
    pub fn of(inst: &Inst) -> Operands {
        let mut operands = Operands {
            reads: inst.reads,
            writes: inst.writes,
            memory: inst.memory,
            sum: inst.sum(),
            effect: inst.effect,
        };
        operands.take_stack(inst);
        let implicit = inst.memory.is_none() && (inst.loads || inst.stores);
        if implicit || matches!(inst.kind, Kind::Call | Kind::Return) {
            operands.reads = operands.reads.without(Registers::STACK);
            operands.writes = operands.writes.without(Registers::STACK);
        }
        let values = |set: Registers| set.without(Registers::FLAGS);
        let Operands { reads, writes, .. } = operands;
        let clears = matches!(inst.effect, Effect::Copy { from: Number::Constant(0), .. });
        // with a constant it needs what it changes
        let alone = clears || &*inst.mnemonic != "xor";
        if inst.mnemonic.contains("xor") && !inst.loads && alone && values(reads) == values(writes) {
            operands.reads = reads.without(values(writes));
        }
        operands
    }

    /// What pushes, pops and `leave` copy, and where from or to.
    fn take_stack(&mut self, inst: &Inst) {
        let word = i64::from(inst.word);
        let at = |base, disp| Some(Address { base: Some(base), disp, ..Address::default() });
        let named = |set: Registers| set.without(Registers::STACK).general_number().map(Number::Register);
        let copy = |to, from| Effect::Copy { to, from };
        match (&*inst.mnemonic, inst.memory) {
            ("push", None) => {
                self.memory = at(STACK, -word);
                self.effect = named(inst.reads).map_or(Effect::Other, |from| copy(Number::Memory, from));
            }
            ("pop", None) => {
                self.memory = at(STACK, 0);
                self.effect = named(inst.writes).map_or(Effect::Other, |to| copy(to, Number::Memory));
            }
            ("leave", _) => {
                self.memory = at(FRAME, 0);
                self.effect = copy(Number::Register(FRAME), Number::Memory);
                self.sum = Some(Sum { to: STACK, from: FRAME, added: word });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{Bitness, decode};

    fn of(bytes: &[u8]) -> Operands {
        Operands::of(&decode(Bitness::Bits64, 0, bytes).unwrap())
    }

    #[test]
    fn clearing_a_register_waits_for_nothing() {
        let (eax, ecx) = (Registers::general(0), Registers::general(1));
        assert_eq!(of(&[0x31, 0xc0]).reads, Registers::default()); // xor eax, eax
        assert_eq!(of(&[0x31, 0xc8]).reads, eax.or(ecx)); // xor eax, ecx
        assert_ne!(of(&[0x31, 0xc0]).writes.0 & eax.0, 0);
        assert_eq!(of(&[0x83, 0xf0, 0x05]).reads, eax, "xor $5,%eax");
        let xmm0 = Registers::vector(0);
        assert_eq!(of(&[0x66, 0x0f, 0xef, 0xc0]).reads.and(xmm0), Registers::default(), "pxor %xmm0,%xmm0");
    }

    #[test]
    fn a_load_waits_for_its_address_alone() {
        assert_eq!(of(&[0x8b, 0x16]).reads, Registers::general(6)); // mov edx, [rsi]
        let both = Registers::general(6).or(Registers::general(2));
        assert_eq!(of(&[0x03, 0x16]).reads.and(both), both); // add edx, [rsi]
        assert_eq!(of(&[0x89, 0x16]).reads.and(both), both); // mov [rsi], edx
    }

    #[test]
    fn the_stack_pointer_of_a_push_is_no_dependence() {
        assert_eq!(of(&[0x50]).reads, Registers::general(0)); // push rax
        assert_eq!(of(&[0x50]).writes.0 & Registers::STACK.0, 0);
        assert_ne!(of(&[0x48, 0x83, 0xec, 0x08]).writes.0 & Registers::STACK.0, 0); // sub rsp, 8
    }
}
