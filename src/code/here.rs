//! Addresses that code of 32 bits makes from where it is, which it has to ask for: position-independent code calls a function that does
//! nothing but load where it returns to (`call __x86.get_pc_thunk.bx`), adds how far from there its global offset table is, and
//! reaches data, functions and cells from that.
//!
//! In: instructions, and where such calls lead. Out: the same, as if the addresses stood in the operands, as they do in code of 64 bits. It
//! does not know the older form, which calls what is right behind the call.

use super::cfg::Cfg;
use super::constants;
use super::decode::Bitness;
use super::dominators::Dominators;
use super::effect::{Effect, Number};
use super::inst::{Address, Flow, Inst, Registers};
use super::returns::Callee;
use super::source::Source;
use super::state::{Location, State};
use super::values::Values;

/// The register in which the function at `entry` leaves where it returns to, if that is all it does:
/// `mov (%esp),%register; ret`.
fn told_by(source: &dyn Source, entry: u64) -> Option<u8> {
    match source.read(entry, 4)[..] {
        [0x8b, operands, 0x24, 0xc3] if operands & 0xc7 == 0x04 => Some(operands >> 3),
        _ => None,
    }
}

/// Marks a call that asks where it is: it leaves that in a register.
pub(super) fn ask(inst: &mut Inst, source: &dyn Source) {
    let Flow::Call(to) = inst.flow else { return };
    if source.bitness() == Bitness::Bits32
        && let Some(register) = told_by(source, to)
    {
        let here = Number::Constant(inst.end() as i64);
        inst.effect = Effect::Copy { to: Number::Register(register), from: here };
        inst.width = inst.word;
        inst.writes = inst.writes.or(Registers::general(register));
    }
}

/// Whether any of `insts` is a call that asks.
pub(super) fn is_asked(insts: &[Inst]) -> bool {
    insts.iter().any(|inst| inst.is_call() && matches!(inst.effect, Effect::Copy { .. }))
}

/// Puts addresses that are made from where the code is into the operands that are relative to it.
pub(super) fn settle(insts: &mut [Inst], cfg: &Cfg, source: &dyn Source) {
    let dominators = Dominators::find(cfg);
    let mut settled = Vec::new();
    if let Some(values) = Values::new(insts, cfg, &dominators) {
        for block in 0..cfg.blocks.len() {
            values.follow(block, |ix, state| {
                let operand = insts[ix].memory.and_then(|operand| fixed(operand, state));
                settled.extend(operand.map(|operand| (ix, operand)));
            });
        }
    }
    for (ix, operand) in settled {
        let inst = &mut insts[ix];
        inst.memory = Some(operand);
        match &mut inst.flow {
            Flow::IndirectCall { via: via @ None } | Flow::IndirectJump { via: via @ None } => {
                *via = operand.fixed();
            }
            _ => {}
        }
        constants::settle(inst, source);
        inst.noreturn |= Callee::of(inst).is_some_and(|callee| source.noreturn(callee));
    }
}

/// An operand without the registers that hold what is known.
fn fixed(operand: Address, state: &State) -> Option<Address> {
    let known = |register: u8| state.value(Location::Register(register)).known();
    let based = |address: Address, by: i64| {
        let disp = i64::from(address.disp.wrapping_add(by) as u32);
        Address { disp, ..address }
    };
    let base = operand.base.and_then(known).map(|by| based(Address { base: None, ..operand }, by));
    base.or_else(|| {
        let (index, scale) = operand.index.filter(|&(_, scale)| scale == 1)?;
        known(index).map(|by| based(Address { index: None, ..operand }, by * i64::from(scale)))
    })
}

#[cfg(test)]
mod tests {
    use super::super::explore::explore;
    use super::super::testing::Bytes;
    use super::*;

    /// Code of 32 bits, with the function that tells `%ebx` where it is at 0x40, and a cell at 0x1000 that leads to 0x44.
    struct Short(Bytes);

    impl Source for Short {
        fn bitness(&self) -> Bitness {
            Bitness::Bits32
        }

        fn read(&self, address: u64, len: usize) -> Vec<u8> {
            self.0.read(address, len)
        }

        fn constant_cell(&self, at: u64) -> Option<u64> {
            (at == 0x1000).then_some(0x44)
        }
    }

    fn explored(code: &[u8]) -> Vec<Inst> {
        let mut bytes = code.to_vec();
        bytes.resize(0x40, 0xcc);
        bytes.extend([0x8b, 0x1c, 0x24, 0xc3, 0xc3]);
        explore(&Short(Bytes(0, bytes)), 0..code.len() as u64, &[]).insts
    }

    #[test]
    fn what_is_made_from_where_code_is_stands_in_its_operands() {
        // call 40; 5: add $0xffb,%ebx; b: lea -0xf00(%ebx),%eax; 11: dec %ecx; jne b; call *(%ebx); ret
        let code = [
            0xe8, 0x3b, 0, 0, 0, 0x81, 0xc3, 0xfb, 0x0f, 0, 0, 0x8d, 0x83, 0, 0xf1, 0xff, 0xff, 0x49, 0x75,
            0xf7, 0xff, 0x13, 0xc3,
        ];
        let insts = explored(&code);
        let taken: Vec<u64> = insts.iter().filter_map(Inst::constant).map(|(_, value)| value).collect();
        assert_eq!(taken, [0x100]);
        assert_eq!(insts[5].flow, Flow::Call(0x44));
    }

    #[test]
    fn what_another_call_leaves_is_not_known() {
        // call 44; 5: add $0xffb,%ebx; b: lea -0xf00(%ebx),%eax; ret
        let code = [0xe8, 0x3f, 0, 0, 0, 0x81, 0xc3, 0xfb, 0x0f, 0, 0, 0x8d, 0x83, 0, 0xf1, 0xff, 0xff, 0xc3];
        assert!(explored(&code).iter().all(|inst| inst.constant().is_none()));
    }
}
