//! Calls and jumps through cells that do not change, as a program's own functions are called where each may lie in another file
//! (`call *f@GOTPCREL(%rip)`: all of Rust's library, and what is built with `-fno-plt`).
//!
//! In: instructions, and a source that knows what the loader leaves in such cells. Out: the same, as if what stands there stood in the
//! instruction: a call or jump leads straight on, a load is of a constant, and a call through a register that holds one is direct too.

use super::effect::{Effect, Number};
use super::followed::Numbers;
use super::inst::{Flow, Inst, Registers};
use super::source::Source;
use super::state::Location;

/// Puts what the cell of an instruction holds in its place.
pub(super) fn settle(inst: &mut Inst, source: &dyn Source) {
    let leads = |cell: Option<u64>| cell.and_then(|cell| source.constant_cell(cell));
    match (inst.flow, inst.effect) {
        (Flow::IndirectCall { via }, _) => inst.flow = leads(via).map_or(inst.flow, Flow::Call),
        (Flow::IndirectJump { via }, _) => inst.flow = leads(via).map_or(inst.flow, Flow::Jump),
        (Flow::Next, Effect::Copy { to: to @ Number::Register(_), from: Number::Memory })
            if inst.width == source.bitness().word() =>
        {
            if let Some(value) = leads(inst.memory.and_then(|operand| operand.fixed())) {
                inst.effect = Effect::Copy { to, from: Number::Constant(value as i64) };
            }
        }
        _ => {}
    }
}

/// Calls through registers that hold what was loaded from such a cell, and what they lead to.
pub(super) fn loaded_calls(numbers: &Numbers<'_>) -> Vec<(usize, u64)> {
    let function = numbers.function;
    let loaded = |inst: &Inst| inst.loads && inst.constant().is_some();
    let open = |inst: &Inst| inst.flow == Flow::IndirectCall { via: None } && inst.memory.is_none();
    if !(function.insts.iter().any(loaded) && function.insts.iter().any(open)) {
        return Vec::new();
    }
    let Some(followed) = numbers.followed() else { return Vec::new() };
    let mut known = Vec::new();
    for block in 0..function.cfg.blocks.len() {
        followed.values.follow(block, |ix, state| {
            let inst = &function.insts[ix];
            let register = inst.reads.without(Registers::STACK).general_number().filter(|_| open(inst));
            if let Some(register) = register {
                let leads = state.value(Location::Register(register)).known();
                known.extend(leads.map(|to| (ix, to as u64)));
            }
        });
    }
    known
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bytes;
    use super::super::{Bitness, explore};
    use super::*;

    /// Code with one constant cell, at 0x1000, that leads to 0x40.
    struct Linked(Bytes);

    impl Source for Linked {
        fn bitness(&self) -> Bitness {
            self.0.bitness()
        }

        fn read(&self, address: u64, len: usize) -> Vec<u8> {
            self.0.read(address, len)
        }

        fn constant_cell(&self, at: u64) -> Option<u64> {
            (at == 0x1000).then_some(0x40)
        }
    }

    fn flows(code: &[u8]) -> Vec<Flow> {
        let function = explore(&Linked(Bytes(0, code.to_vec())), 0..code.len() as u64, &[]);
        function.insts.iter().map(|inst| inst.flow).filter(|flow| *flow != Flow::Next).collect()
    }

    #[test]
    fn a_call_through_a_constant_cell_is_direct() {
        // call *0x1000(%rip); call *0x1008(%rip); jmp *0x1000(%rip)
        let code = [0xff, 0x15, 0xfa, 0x0f, 0, 0, 0xff, 0x15, 0xfc, 0x0f, 0, 0, 0xff, 0x25, 0xee, 0x0f, 0, 0];
        let open = Flow::IndirectCall { via: Some(0x1008) };
        assert_eq!(flows(&code), [Flow::Call(0x40), open, Flow::Jump(0x40)]);
    }

    #[test]
    fn so_is_one_through_a_register_that_was_loaded_before_a_loop() {
        // mov 0x1000(%rip),%rbx; 7: call *%rbx; dec %ebp; jne 7; mov 0x1008(%rip),%rbx; call *%rbx; ret
        let code = [
            0x48, 0x8b, 0x1d, 0xf9, 0x0f, 0, 0, 0xff, 0xd3, 0xff, 0xcd, 0x75, 0xfa, 0x48, 0x8b, 0x1d, 0xf4,
            0x0f, 0, 0, 0xff, 0xd3, 0xc3,
        ];
        let open = Flow::IndirectCall { via: None };
        assert_eq!(flows(&code), [Flow::Call(0x40), Flow::Branch(7), open, Flow::Return]);
    }

    #[test]
    fn half_of_a_cell_is_no_address() {
        // mov 0x1000(%rip),%ebx; call *%rbx; ret
        let code = [0x8b, 0x1d, 0xfa, 0x0f, 0, 0, 0xff, 0xd3, 0xc3];
        assert_eq!(flows(&code), [Flow::IndirectCall { via: None }, Flow::Return]);
    }
}
