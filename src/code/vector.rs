//! Vector and mask instructions that the decoder does not know: how long they are, and what they pass on.
//!
//! In: bytes that begin with a VEX or EVEX prefix (Intel SDM vol. 2, 2.3 and 2.7). Out: an instruction that falls through, as all of
//! these do. Of mask registers it has the names, of others that something vectorial happens. String functions of the C library
//! decide by masks where a processor has them: without these instructions their loops end at the first.

use super::decode::Bitness;
use super::effect::Effect;
use super::inst::{Address, Flow, Inst, Kind, Registers};
use super::mnemonic::Mnemonic;

/// The instruction at the start of `bytes`, which lies at `address`; `None` where there is no such prefix, or not all of it.
pub(super) fn decode(bitness: Bitness, address: u64, bytes: &[u8]) -> Option<Inst> {
    let coded = Coded::read(bitness, bytes)?;
    let passed = coded.passed();
    Some(Inst {
        address,
        len: u8::try_from(coded.len).ok()?,
        flow: Flow::Next,
        noreturn: false,
        kind: Kind::Alu,
        loads: passed.loads,
        stores: passed.stores,
        fuses: false,
        fuses_constant: false,
        reads: passed.reads,
        memory: (!coded.direct).then(|| Address { opaque: true, ..Address::default() }),
        effect: Effect::Other,
        writes: passed.writes,
        word: if bitness == Bitness::Bits64 { 8 } else { 4 },
        width: 0,
        mnemonic: Mnemonic::of(coded.name()),
    })
}

/// As text, with the operands of mask instructions.
pub(super) fn text(bitness: Bitness, bytes: &[u8]) -> Option<String> {
    let coded = Coded::read(bitness, bytes)?;
    let name = coded.name();
    let (reg, rm, other) = (coded.reg & 7, coded.rm & 7, coded.other & 7);
    let general = |n: u8| format!("{}{}", if coded.wide { "r" } else { "e" }, NAMES[usize::from(n) & 7]);
    Some(match coded.mask() {
        Some(Mask::FromGeneral) => format!("{name} k{reg}, {}", general(coded.rm)),
        Some(Mask::ToGeneral) => format!("{name} {}, k{rm}", general(coded.reg)),
        Some(Mask::Both | Mask::Flags | Mask::Shift) if coded.direct => format!("{name} k{reg}, k{rm}"),
        Some(Mask::Three) => format!("{name} k{reg}, k{other}, k{rm}"),
        _ => name,
    })
}

/// General registers without their first letter; others than these are rare here.
const NAMES: [&str; 8] = ["ax", "cx", "dx", "bx", "sp", "bp", "si", "di"];

/// What a mask instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mask {
    /// Of two masks a third.
    Three,
    /// Of a mask, or of memory, another.
    Both,
    /// To memory.
    Store,
    FromGeneral,
    ToGeneral,
    /// The flags tell of two masks.
    Flags,
    /// By a constant.
    Shift,
}

/// The parts of an encoding that matter.
#[derive(Clone, Copy, Debug, Default)]
struct Coded {
    /// EVEX instead of VEX.
    long: bool,
    map: u8,
    opcode: u8,
    /// Which of no prefix, 66, F3 and F2 is implied.
    implied: u8,
    wide: bool,
    reg: u8,
    /// The register that only these prefixes can name.
    other: u8,
    rm: u8,
    /// `rm` is a register, and no address.
    direct: bool,
    masked: bool,
    len: usize,
}

/// What passes from one instruction to the next.
#[derive(Default)]
struct Passed {
    reads: Registers,
    writes: Registers,
    loads: bool,
    stores: bool,
}

impl Coded {
    fn read(bitness: Bitness, bytes: &[u8]) -> Option<Coded> {
        let ones = |byte: u8| bitness == Bitness::Bits64 || byte >= 0xc0;
        let high = |byte: u8, bit: u8| u8::from(byte >> bit & 1 == 0);
        let (coded, at) = match *bytes {
            [0xc5, b, ..] if ones(b) => {
                let coded = Coded { map: 1, reg: high(b, 7) << 3, ..Coded::default() };
                (coded.with(b, 0xf), 2)
            }
            [0xc4, a, b, ..] if ones(a) => {
                let (map, reg, rm) = (a & 0x1f, high(a, 7) << 3, high(a, 5) << 3);
                (Coded { map, reg, rm, wide: b >> 7 == 1, ..Coded::default() }.with(b, 0xf), 3)
            }
            [0x62, a, b, c, ..] if ones(a) && a & 8 == 0 && b & 4 != 0 => {
                let (reg, rm) = (high(a, 7) << 3 | high(a, 4) << 4, high(a, 5) << 3 | high(a, 6) << 4);
                let coded = Coded { long: true, map: a & 7, reg, rm, wide: b >> 7 == 1, ..Coded::default() };
                let coded = coded.with(b, 0xf);
                let other = coded.other | high(c, 3) << 4;
                (Coded { other, masked: c & 7 != 0, ..coded }, 4)
            }
            _ => return None,
        };
        coded.finish(bytes, at)
    }

    fn with(self, byte: u8, bits: u8) -> Coded {
        Coded { other: !(byte >> 3) & bits, implied: byte & 3, ..self }
    }

    /// Reads what follows the prefix, which ends `at`.
    fn finish(mut self, bytes: &[u8], at: usize) -> Option<Coded> {
        let maps: &[u8] = if self.long { &[1, 2, 3, 5, 6] } else { &[1, 2, 3] };
        let (opcode, modrm) = (*bytes.get(at)?, *bytes.get(at + 1)?);
        let (mode, low) = (modrm >> 6, modrm & 7);
        self.opcode = opcode;
        self.reg |= modrm >> 3 & 7;
        self.rm |= low;
        self.direct = mode == 3;
        let mut len = at + 2;
        let mut displaced = mode == 0 && low == 5;
        if !self.direct && low == 4 {
            displaced = mode == 0 && bytes.get(len)? & 7 == 5;
            len += 1;
        }
        len += match mode {
            1 => 1,
            2 => 4,
            0 if displaced => 4,
            _ => 0,
        };
        let constant = self.map == 3 || self.map == 1 && matches!(opcode, 0x70..=0x73 | 0xc2 | 0xc4..=0xc6);
        self.len = len + usize::from(constant);
        (maps.contains(&self.map) && bytes.len() >= self.len).then_some(self)
    }

    fn mask(&self) -> Option<Mask> {
        Some(match (self.long, self.map, self.opcode) {
            (false, 1, 0x44) => Mask::Both,
            (false, 1, 0x41..=0x4b) => Mask::Three,
            (false, 1, 0x90) => Mask::Both,
            (false, 1, 0x91) => Mask::Store,
            (false, 1, 0x92) => Mask::FromGeneral,
            (false, 1, 0x93) => Mask::ToGeneral,
            (false, 1, 0x98 | 0x99) => Mask::Flags,
            (false, 3, 0x30..=0x33) => Mask::Shift,
            _ => return None,
        })
    }

    fn name(&self) -> String {
        format!("{}{}", self.stem(), self.suffix())
    }

    fn stem(&self) -> &'static str {
        match (self.mask(), self.opcode) {
            (Some(Mask::Shift), 0x30 | 0x31) => "kshiftr",
            (Some(Mask::Shift), _) => "kshiftl",
            (Some(_), 0x41) => "kand",
            (Some(_), 0x42) => "kandn",
            (Some(_), 0x44) => "knot",
            (Some(_), 0x45) => "kor",
            (Some(_), 0x46) => "kxnor",
            (Some(_), 0x47) => "kxor",
            (Some(_), 0x4a) => "kadd",
            (Some(_), 0x4b) => "kunpck",
            (Some(_), 0x98) => "kortest",
            (Some(_), 0x99) => "ktest",
            (Some(_), _) => "kmov",
            (None, _) if self.long => "(evex)",
            (None, _) => "(vex)",
        }
    }

    /// How wide the masks are.
    fn suffix(&self) -> &'static str {
        match (self.mask(), self.opcode, self.implied, self.wide) {
            (None, ..) => "",
            (Some(Mask::Shift), 0x30 | 0x32, _, false) => "b",
            (Some(Mask::Shift), 0x30 | 0x32, _, true) => "w",
            (Some(Mask::Shift), _, _, wide) => ["d", "q"][usize::from(wide)],
            (_, 0x4b, 1, _) => "bw",
            (_, 0x4b, _, wide) => ["wd", "dq"][usize::from(wide)],
            (_, 0x92 | 0x93, 3, wide) => ["d", "q"][usize::from(wide)],
            (_, _, 1, wide) => ["b", "d"][usize::from(wide)],
            (_, _, _, wide) => ["w", "q"][usize::from(wide)],
        }
    }

    fn passed(&self) -> Passed {
        let (mask, memory) = (Registers::MASK, !self.direct);
        let [reg, rm] = [self.reg, self.rm].map(|n| Registers::general(n & 15));
        match self.mask() {
            Some(Mask::Both) if memory => Passed { writes: mask, loads: true, ..Passed::default() },
            Some(Mask::Three | Mask::Both | Mask::Shift) => {
                Passed { reads: mask, writes: mask, ..Passed::default() }
            }
            Some(Mask::Store) => Passed { reads: mask, stores: memory, ..Passed::default() },
            Some(Mask::FromGeneral) => Passed { reads: rm, writes: mask, ..Passed::default() },
            Some(Mask::ToGeneral) => Passed { reads: mask, writes: reg, ..Passed::default() },
            Some(Mask::Flags) => Passed { reads: mask, writes: Registers::FLAGS, ..Passed::default() },
            None => self.vectorial(),
        }
    }

    /// Of anything else: of two operands, and of the mask, comes the first.
    fn vectorial(&self) -> Passed {
        let [reg, other, rm] = [self.reg, self.other, self.rm].map(Registers::vector);
        let scatters = self.map == 2 && matches!(self.opcode, 0xa0..=0xa3);
        let compares = match self.map {
            1 => matches!(self.opcode, 0x64..=0x66 | 0x74..=0x76 | 0xc2),
            3 => matches!(self.opcode, 0x1e | 0x1f | 0x3e | 0x3f),
            _ => false,
        };
        // shifts by a constant name what they make where others have an operand
        let to = if self.map == 1 && matches!(self.opcode, 0x71..=0x73) { other } else { reg };
        let mask = if self.masked { Registers::MASK } else { Registers::default() };
        let source = if self.direct { rm } else { Registers::default() };
        Passed {
            reads: other.or(source).or(mask).or(if scatters { reg } else { Registers::default() }),
            writes: match (scatters, compares && self.long) {
                (true, _) => Registers::default(),
                (_, true) => Registers::MASK,
                _ => to,
            },
            loads: !self.direct && !scatters,
            stores: !self.direct && scatters,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::decode::{decode as any, disassemble};
    use super::*;

    fn long(bytes: &[u8]) -> Inst {
        any(Bitness::Bits64, 0x1000, bytes).expect("decodes")
    }

    #[test]
    fn masks_decide_branches() {
        let to_general = long(&[0xc5, 0xfb, 0x93, 0xc8]); // kmovd %k0,%ecx
        assert_eq!((&*to_general.mnemonic, to_general.len), ("kmovd", 4));
        assert_eq!((to_general.reads, to_general.writes), (Registers::MASK, Registers::general(1)));
        let both = long(&[0xc5, 0xf8, 0x98, 0xc1]); // kortestw %k1,%k0
        assert_eq!((&*both.mnemonic, both.writes, both.flow), ("kortestw", Registers::FLAGS, Flow::Next));
        let text = |bytes: &[u8]| disassemble(Bitness::Bits64, bytes).expect("a text");
        assert_eq!(text(&[0xc4, 0xe1, 0xfb, 0x92, 0xc0]), "kmovq k0, rax");
        assert_eq!(text(&[0xc4, 0xe1, 0xf8, 0x98, 0xc9]), "kortestq k1, k1");
        assert_eq!(text(&[0xc5, 0xcc, 0x45, 0xc9]), "korw k1, k6, k1");
        assert_eq!(text(&[0xc4, 0xe3, 0xf9, 0x31, 0xc9, 0x20]), "kshiftrq k1, k1");
    }

    #[test]
    fn what_has_an_address_is_as_long_as_that() {
        assert_eq!(long(&[0xc5, 0xf8, 0x90, 0x05, 1, 2, 3, 4]).len, 8, "kmovw 0x4030201(%rip),%k0");
        assert_eq!(long(&[0xc5, 0xf8, 0x91, 0x44, 0x24, 0x08]).len, 6, "kmovw %k0,8(%rsp)");
        let store = long(&[0xc5, 0xf8, 0x91, 0x44, 0x24, 0x08]);
        assert!(store.stores && !store.loads);
        // vpscatterdd %zmm0,(%rax,%zmm1,4){%k1}; vpgatherdd (%rax,%zmm1,4),%zmm0{%k1}
        let scatter = long(&[0x62, 0xf2, 0x7d, 0x49, 0xa0, 0x04, 0x88]);
        let gather = long(&[0x62, 0xf2, 0x7d, 0x49, 0x90, 0x04, 0x88]);
        assert_eq!((scatter.len, scatter.stores, scatter.writes), (7, true, Registers::default()));
        assert_eq!((gather.len, gather.loads, gather.writes), (7, true, Registers::vector(0)));
    }

    #[test]
    fn what_is_cut_short_or_no_such_prefix_is_no_instruction() {
        let none = |bytes: &[u8]| any(Bitness::Bits64, 0, bytes).is_none();
        assert!(none(&[0xc5, 0xf8, 0x98]) && none(&[0xc5]) && none(&[0x62, 0xf2, 0x7d]));
        assert!(none(&[0xc5, 0xf8, 0x90, 0x05, 1, 2, 3]));
        assert!(none(&[0xc4, 0xff, 0xfb, 0x93, 0xc8]), "a map that there is not");
    }

    #[test]
    fn in_32_bit_code_the_same_bytes_may_load_a_segment() {
        let les = any(Bitness::Bits32, 0, &[0xc4, 0x01]);
        assert!(les.is_none_or(|inst| !inst.mnemonic.starts_with('(')), "les (%ecx),%eax");
        let kmov = any(Bitness::Bits32, 0, &[0xc5, 0xfb, 0x93, 0xc8]).expect("decodes");
        assert_eq!(&*kmov.mnemonic, "kmovd");
    }
}
