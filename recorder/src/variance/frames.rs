//! Calls that are being measured, and which access to a stack slot is the return of one.
//!
//! In: where a call's return address lies, and the registers at each access to that place. Out: whether the access is this
//! call's return, something in passing, or the sign that the call ended without one (`longjmp`, an exception, a stack that
//! was left). It makes no system calls.
//!
//! On x86 a watchpoint reports after the access. A frame lives as long as the stack pointer is not above its slot, so:
//!
//! - `ret` leaves the stack pointer 8 above the slot, and the instruction pointer at the return address. No other
//!   instruction ends there: the one before the return address is a `call`, which goes elsewhere.
//! - A call that reuses the slot of a dead frame writes there, which is an access with the stack pointer at the slot and the
//!   instruction pointer at the first instruction of some function. So a second call from the same place, as `longjmp` and a
//!   retry make it, cannot pass for the first one.
//! - When one frame is dead, those around it may be: all are given up (FVSampler, SC'19, section 5.4, does the same).

/// What a watched access means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The call returns.
    Return,
    /// Something read or wrote the slot during the call.
    Passing,
    /// The call ended some other way before.
    Gone,
}

/// Where a call's return address lies, and what tells the call from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The address of the return address.
    pub slot: u64,
    /// The return address.
    pub back: u64,
    /// The function's first address.
    pub entry: u64,
    /// The address after its last.
    pub end: u64,
}

impl Frame {
    /// What an access to the slot means, by the registers after it and the word that the slot holds then.
    pub fn access(&self, rip: u64, rsp: u64, word: Option<u64>) -> Access {
        let body = self.entry.wrapping_add(1)..self.end;
        match () {
            () if word != Some(self.back) => Access::Gone,
            () if rsp == self.slot.wrapping_add(8) && rip == self.back => Access::Return,
            () if rsp > self.slot => Access::Gone,
            () if rsp == self.slot && !body.contains(&rip) => Access::Gone,
            () => Access::Passing,
        }
    }

    /// Whether it can still be there when a call begins whose return address lies at `slot`.
    pub fn encloses(&self, slot: u64) -> bool {
        slot < self.slot
    }
}

/// Whether `before`, the bytes that end where a return address points, end in a call: `E8 rel32` or `FF /2`.
pub fn ends_in_call(before: &[u8; 7]) -> bool {
    let indirect = |len: usize| {
        let [.., opcode, modrm] = before[..=8 - len] else { return false };
        let (mode, register, operand) = (modrm >> 6, modrm >> 3 & 7, modrm & 7);
        // the length that the operand's form asks for
        let sib = usize::from(mode != 3 && operand == 4);
        let displacement = match mode {
            0 if operand == 5 => 4,
            0 if sib == 1 && before[9 - len..].first().is_some_and(|sib| sib & 7 == 5) => 4,
            1 => 1,
            2 => 4,
            _ => 0,
        };
        opcode == 0xff && register == 2 && len == 2 + sib + displacement
    };
    before[2] == 0xe8 || (2..=7).any(indirect)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Frame = Frame { slot: 0x7000, back: 0x401105, entry: 0x402000, end: 0x402040 };

    fn at(rip: u64, rsp: u64) -> Access {
        FRAME.access(rip, rsp, Some(FRAME.back))
    }

    #[test]
    fn a_return_has_both_registers_where_ret_leaves_them() {
        assert_eq!(at(0x401105, 0x7008), Access::Return);
        assert_eq!(at(0x401106, 0x7008), Access::Gone);
        assert_eq!(at(0x401105, 0x7010), Access::Gone);
    }

    #[test]
    fn reading_the_own_return_address_is_not_returning() {
        assert_eq!(at(0x402004, 0x7000), Access::Passing);
        assert_eq!(at(0x408000, 0x6f00), Access::Passing);
    }

    #[test]
    fn a_call_that_reuses_the_slot_ends_the_frame() {
        assert_eq!(at(FRAME.entry, 0x7000), Access::Gone);
        assert_eq!(at(0x409000, 0x7000), Access::Gone);
        assert_eq!(FRAME.access(0x402010, 0x6ff0, Some(7)), Access::Gone);
        assert_eq!(FRAME.access(0x402010, 0x6ff0, None), Access::Gone);
    }

    #[test]
    fn calls_are_known_by_their_bytes() {
        let call = |bytes: &[u8]| {
            let mut before = [0x90; 7];
            before[7 - bytes.len()..].copy_from_slice(bytes);
            ends_in_call(&before)
        };
        assert!(call(&[0xe8, 1, 2, 3, 4]), "direct");
        assert!(call(&[0xff, 0xd0]), "call *%rax");
        assert!(call(&[0x41, 0xff, 0xd4]), "call *%r12");
        assert!(call(&[0xff, 0x15, 1, 2, 3, 4]), "call *x(%rip)");
        assert!(call(&[0xff, 0x50, 0x18]), "call *24(%rax)");
        assert!(call(&[0xff, 0x54, 0x24, 0x08]), "call *8(%rsp)");
        assert!(call(&[0xff, 0x14, 0xc5, 1, 2, 3, 4]), "call *x(,%rax,8)");
        assert!(call(&[0xff, 0x94, 0xc3, 1, 2, 3, 4]), "call *x(%rbx,%rax,8)");
        assert!(!call(&[0xe9, 1, 2, 3, 4]), "jmp");
        assert!(!call(&[0xff, 0xe0]), "jmp *%rax");
        assert!(!call(&[0x90]));
    }
}
