//! To which instruction a fetch belongs.
//!
//! A fetch has the address of its block, of a branch's target, or behind a branch. Instructions do not begin where blocks
//! do: the fetch of a block is given to the instruction that reaches into it, as CodeAnalyst did.

use crate::code::Inst;

/// Fetches are of blocks of so many bytes, aligned.
pub const FETCH_BLOCK: u64 = 32;

/// The address of the instruction that straddles the start of a fetch block; `None` where `address` does not begin a block,
/// where an instruction begins there, or where none is known to reach there. `insts` are ordered by address.
pub fn straddling(insts: &[Inst], address: u64) -> Option<u64> {
    if !address.is_multiple_of(FETCH_BLOCK) {
        return None;
    }
    let before = insts.partition_point(|inst| inst.address <= address).checked_sub(1)?;
    let inst = &insts[before];
    (inst.address < address && address < inst.end()).then_some(inst.address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{Bitness, decode};

    #[test]
    fn only_a_block_s_start_inside_an_instruction_belongs_to_another_address() {
        // nop at 0x1e, mov $imm32,%eax at 0x1f, nop at 0x24
        let code = [0x90, 0xb8, 1, 2, 3, 4, 0x90];
        let mut insts = Vec::new();
        let mut at = 0;
        while at < code.len() {
            let inst = decode(Bitness::Bits64, 0x1e + at as u64, &code[at..]).unwrap();
            at += usize::from(inst.len);
            insts.push(inst);
        }
        assert_eq!(straddling(&insts, 0x20), Some(0x1f));
        assert_eq!(straddling(&insts, 0x1f), None, "an instruction");
        assert_eq!(straddling(&insts, 0x21), None, "inside one, but no block begins there");
        assert_eq!(straddling(&insts, 0x40), None, "behind all");
        assert_eq!(straddling(&insts, 0), None, "before all");
        assert_eq!(straddling(&[], 0x20), None);
    }
}
