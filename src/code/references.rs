//! What in a stretch of code looks like a direct call or jump to one of some addresses.
//!
//! In: bytes, whatever they are. Out: where an opcode and a displacement may stand that lead there. It does not know where
//! instructions begin: what it finds is to be decoded.

use std::collections::BTreeSet;

use super::decode::Bitness;

/// `call rel32` and `jmp rel32`.
const OPCODES: [u8; 2] = [0xe8, 0xe9];
/// Bytes of either.
const LENGTH: usize = 5;

/// Addresses in `bytes`, which stand at `start`, of what looks like a call or jump to one of `wanted`, with where it leads.
pub fn references(bytes: &[u8], start: u64, bitness: Bitness, wanted: &BTreeSet<u64>) -> Vec<(u64, u64)> {
    let lead = |(offset, word): (usize, &[u8])| {
        let &[opcode, a, b, c, d] = word else { return None };
        if !OPCODES.contains(&opcode) {
            return None;
        }
        let at = start.wrapping_add(offset as u64);
        let displacement = i64::from(i32::from_le_bytes([a, b, c, d]));
        let to = at.wrapping_add(LENGTH as u64).wrapping_add_signed(displacement);
        let to = if bitness == Bitness::Bits32 { to & u64::from(u32::MAX) } else { to };
        wanted.contains(&to).then_some((at, to))
    };
    bytes.windows(LENGTH).enumerate().filter_map(lead).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_jumps_are_found_wherever_they_stand() {
        // 10: nop; 11: call 30; 16: jmp 0; 1b: call 31
        let code = [0x90, 0xe8, 0x1a, 0, 0, 0, 0xe9, 0xe5, 0xff, 0xff, 0xff, 0xe8, 0x11, 0, 0, 0];
        let wanted = BTreeSet::from([0, 0x30]);
        let found = |code: &[u8]| references(code, 0x10, Bitness::Bits64, &wanted);
        assert_eq!(found(&code), [(0x11, 0x30), (0x16, 0)]);
        assert_eq!(found(&code[..5]), [], "cut off");
        assert_eq!(found(&[]), []);
    }

    #[test]
    fn addresses_of_32_bit_code_wrap() {
        let wanted = BTreeSet::from([0x10]);
        let code = [0xe8, 0x0b, 0x10, 0, 0];
        assert_eq!(references(&code, 0xffff_f000, Bitness::Bits32, &wanted), [(0xffff_f000, 0x10)]);
    }
}
