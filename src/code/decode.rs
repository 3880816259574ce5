//! Bytes → [`Inst`], by yaxpeax. The only file that names the decoder, so that another one can take its place.

use yaxpeax_arch::LengthedInstruction as _;

use super::effect::{Effect, Number};
use super::implicit::{self, Implicit};
use super::inst::{Address, Flow, Inst, Registers};
use super::meaning::{branches_otherwise, is_shift, kind_of, overwrites, returns};
use super::mnemonic::Mnemonic;
use super::vector;

/// Which instruction set the bytes are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bitness {
    /// 32-bit x86.
    Bits32,
    /// x86-64.
    Bits64,
}

impl Bitness {
    /// Bytes of an address.
    pub(super) fn word(self) -> u8 {
        match self {
            Bitness::Bits32 => 4,
            Bitness::Bits64 => 8,
        }
    }
}

/// Decodes the instruction at the start of `bytes`, which lies at `address`; `None` where the bytes are no instruction
/// that the decoder knows.
pub fn decode(bitness: Bitness, address: u64, bytes: &[u8]) -> Option<Inst> {
    let window = &bytes[..bytes.len().min(15)];
    let decoded = match bitness {
        Bitness::Bits64 => long::decode(address, window),
        Bitness::Bits32 => protected::decode(address, window),
    };
    decoded.or_else(|| vector::decode(bitness, address, window))
}

/// The instruction at the start of `bytes` as text; a direct target is relative to its end, `$+0x2a`.
pub fn disassemble(bitness: Bitness, bytes: &[u8]) -> Option<String> {
    let text = match bitness {
        Bitness::Bits64 => long::text(bytes),
        Bitness::Bits32 => protected::text(bytes),
    };
    text.or_else(|| vector::text(bitness, bytes))
}

/// The decoder has one type per mode with the same names in it; this is the adapter for one of them.
macro_rules! adapter {
    ($name:ident, $mode:ident, $word:ty, [$($wide:ident)*]) => {
        mod $name {
            use super::*;
            use yaxpeax_x86::$mode::behavior::AccessVisitor;
            use yaxpeax_x86::$mode::{InstDecoder, MergeMode, Operand, RegSpec};

            pub(super) fn text(bytes: &[u8]) -> Option<String> {
                Some(InstDecoder::default().decode_slice(bytes).ok()?.to_string())
            }

            pub(super) fn decode(address: u64, bytes: &[u8]) -> Option<Inst> {
                let raw = InstDecoder::default().decode_slice(bytes).ok()?;
                let len = u8::try_from(raw.len().to_const()).ok().filter(|&len| len > 0)?;
                let end = address.wrapping_add(u64::from(len));
                let mnemonic = Mnemonic::of(raw.opcode());
                let operands: Vec<Operand> = (0..raw.operand_count()).map(|i| raw.operand(i)).collect();
                let mut access = Access::default();
                if raw.behavior().visit_accesses(&mut access).is_err() {
                    access.complete(&operands, end, implicit::complex(&mnemonic));
                }
                access.loads &= !mnemonic.starts_with("prefetch");
                if let Some((loads, stores)) = implicit::string(&mnemonic) {
                    (access.loads, access.stores) = (loads, stores);
                    if raw.prefixes.rep_any() {
                        access.reads = access.reads.or(implicit::counter());
                        access.writes = access.writes.or(implicit::counter());
                    }
                }
                let in_memory = |n| operands.get(n).is_some_and(Operand::is_memory);
                if overwrites(&mnemonic, operands.len(), in_memory(1), in_memory(0)) {
                    access.overwrite(&operands, end);
                } else {
                    access.amend(&mnemonic, &operands);
                }
                let flow = match bytes {
                    // whose name is that of `int`
                    [0xcc, ..] => Flow::Stop,
                    _ => flow(&mnemonic, raw.opcode().is_jcc(), &operands, end),
                };
                let elsewhere = raw.prefixes.fs() || raw.prefixes.gs();
                let flow = if elsewhere { flow.through_nothing_known() } else { flow };
                let memory = operands.iter().find_map(|o| memory_operand(o, end));
                // an exchange with memory locks without being told to
                let locked = raw.prefixes.lock() || &*mnemonic == "xchg" && access.stores;
                let kind = kind_of(&mnemonic, locked, raw.prefixes.rep_any());
                let constant = operands.get(1).and_then(immediate);
                Some(Inst {
                    address,
                    len,
                    flow,
                    noreturn: false,
                    kind,
                    loads: access.loads,
                    stores: access.stores,
                    fuses: fuses(&mnemonic, &operands) && !compares_constant(&operands, constant),
                    fuses_constant: fuses(&mnemonic, &operands) && compares_constant(&operands, constant),
                    reads: access.reads,
                    memory: memory.map(|a| Address { opaque: a.opaque || elsewhere, ..a }),
                    effect: effect(&mnemonic, &operands),
                    writes: access.writes,
                    word: size_of::<$word>() as u8,
                    width: width(&mnemonic, raw.mem_size().map(|size| size.bytes_size()), &operands),
                    mnemonic,
                })
            }

            fn flow(mnemonic: &str, is_jcc: bool, operands: &[Operand], end: u64) -> Flow {
                let target = operands
                    .first()
                    .and_then(immediate)
                    .map(|d| u64::from(end.wrapping_add(d as u64) as $word));
                let via = operands.first().and_then(|o| absolute(o, end));
                match (mnemonic, target) {
                    ("jmp", Some(to)) => Flow::Jump(to),
                    ("jmp" | "jmpf", _) => Flow::IndirectJump { via },
                    ("call", Some(to)) => Flow::Call(to),
                    ("call" | "callf", _) => Flow::IndirectCall { via },
                    (_, Some(to)) if is_jcc || branches_otherwise(mnemonic) => Flow::Branch(to),
                    _ if returns(mnemonic) => Flow::Return,
                    ("ud0" | "ud1" | "ud2" | "hlt", _) => Flow::Stop,
                    _ => Flow::Next,
                }
            }

            fn width(mnemonic: &str, memory: Option<Option<u8>>, operands: &[Operand]) -> u8 {
                let of = |operand: &Operand| match operand {
                    Operand::Register { .. } => operand.width(),
                    _ => None,
                };
                let registers = || operands.iter().filter_map(of);
                let written = || registers().next();
                match mnemonic {
                    "lea" => written(),
                    // what it reads is named as wide as what it writes
                    "movsxd" => Some(4),
                    _ if is_shift(mnemonic) && memory.is_none() => written(),
                    _ => memory.unwrap_or_else(|| registers().last()),
                }
                .unwrap_or(0)
            }

            fn immediate(operand: &Operand) -> Option<i64> {
                Some(match *operand {
                    Operand::ImmediateI8 { imm } => i64::from(imm),
                    Operand::ImmediateU8 { imm } => i64::from(imm),
                    Operand::ImmediateI16 { imm } => i64::from(imm),
                    Operand::ImmediateU16 { imm } => i64::from(imm),
                    Operand::ImmediateI32 { imm } => i64::from(imm),
                    Operand::ImmediateU32 { imm } => i64::from(imm),
                    $(Operand::$wide { imm } => imm as i64,)*
                    _ => return None,
                })
            }

            fn register(operand: &Operand) -> Option<u8> {
                match *operand {
                    Operand::Register { reg } if !is_high(reg.name()) => general(reg),
                    _ => None,
                }
            }

            fn is_narrow(operand: &Operand) -> bool {
                matches!(operand, Operand::Register { reg } if reg.width() < 4)
            }

            fn general(reg: RegSpec) -> Option<u8> {
                let name = reg.name();
                let vector = name.contains("mm") || name.starts_with("st") || name.starts_with('k');
                (!vector && !is_special(name)).then(|| reg.num())
            }

            fn set_of(reg: RegSpec) -> Registers {
                let name = reg.name();
                if name.starts_with("xmm") || name.starts_with("ymm") || name.starts_with("zmm") {
                    Registers::vector(reg.num())
                } else if name.starts_with("mm") || name.starts_with("st") {
                    Registers::X87
                } else if name.starts_with('k') {
                    Registers::MASK
                } else if name.ends_with("flags") {
                    Registers::FLAGS
                } else if is_special(name) {
                    Registers::default()
                } else if is_high(name) {
                    Registers::general(reg.num() & 3)
                } else {
                    Registers::general(reg.num())
                }
            }

            fn memory_operand(operand: &Operand, end: u64) -> Option<Address> {
                let vector = |reg: RegSpec| general(reg).is_none() && !is_special(reg.name());
                let made = |base: Option<RegSpec>, index: Option<(RegSpec, u8)>, disp: i32| Address {
                    base: base.and_then(general),
                    index: index.and_then(|(reg, scale)| Some((general(reg)?, scale))),
                    disp: i64::from(disp),
                    opaque: index.is_some_and(|(reg, _)| vector(reg)),
                };
                if let Some(absolute) = absolute(operand, end) {
                    return Some(Address { disp: absolute as i64, ..Address::default() });
                }
                Some(match *operand {
                    Operand::MemDeref { base } => made(Some(base), None, 0),
                    Operand::Disp { base, disp } => made(Some(base), None, disp),
                    Operand::MemIndexScale { index, scale } => made(None, Some((index, scale)), 0),
                    Operand::MemIndexScaleDisp { index, scale, disp } => {
                        made(None, Some((index, scale)), disp)
                    }
                    Operand::MemBaseIndexScale { base, index, scale } => {
                        made(Some(base), Some((index, scale)), 0)
                    }
                    Operand::MemBaseIndexScaleDisp { base, index, scale, disp } => {
                        made(Some(base), Some((index, scale)), disp)
                    }
                    _ if operand.is_memory() => Address { opaque: true, ..Address::default() },
                    _ => return None,
                })
            }

            fn effect(mnemonic: &str, operands: &[Operand]) -> Effect {
                let number = |operand: &Operand| match operand {
                    o if o.is_memory() => Some(Number::Memory),
                    o => register(o).map(Number::Register).or(immediate(o).map(Number::Constant)),
                };
                let numbers = [0, 1, 2].map(|n| operands.get(n).and_then(number));
                Effect::of(mnemonic, numbers, operands.first().is_some_and(is_narrow))
            }

            /// The address of a memory operand that has no registers but the instruction pointer.
            fn absolute(operand: &Operand, end: u64) -> Option<u64> {
                match *operand {
                    // as wide as a word, with its sign
                    Operand::AbsoluteU32 { addr } => Some((addr as i32 as $word).into()),
                    Operand::Disp { base, disp } if base.name() == "rip" => Some(end.wrapping_add(disp as i64 as u64)),
                    Operand::MemDeref { base } if base.name() == "rip" => Some(end),
                    _ => None,
                }
            }

            fn fuses(mnemonic: &str, operands: &[Operand]) -> bool {
                match mnemonic {
                    "cmp" | "test" => true,
                    "add" | "sub" | "and" | "inc" | "dec" => {
                        !operands.first().is_some_and(Operand::is_memory)
                    }
                    _ => false,
                }
            }

            /// Intel's do not fuse a compare of memory with a constant (Intel optimization manual), AMD's do (software
            /// optimization guide for family 17h, 2.9).
            fn compares_constant(operands: &[Operand], constant: Option<i64>) -> bool {
                constant.is_some() && operands.iter().any(Operand::is_memory)
            }

            /// Registers that an operand is, or that its address is made of; `None` where that is not known.
            fn needed(operand: &Operand, end: u64) -> Option<Registers> {
                let of = |register: Option<u8>| register.map_or(Registers::default(), Registers::general);
                match operand {
                    Operand::Register { reg } => Some(set_of(*reg)),
                    o if o.is_memory() => {
                        let address = memory_operand(o, end).filter(|a| !a.opaque)?;
                        Some(of(address.base).or(of(address.index.map(|i| i.0))))
                    }
                    o => immediate(o).map(|_| Registers::default()),
                }
            }

            #[derive(Default)]
            struct Access {
                reads: Registers,
                writes: Registers,
                loads: bool,
                stores: bool,
            }

            impl Access {
                /// What the decoder leaves out of instructions that it calls complex.
                fn complete(&mut self, operands: &[Operand], end: u64, implicit: Implicit) {
                    let of = |operand: &Operand| needed(operand, end).unwrap_or_default();
                    let named = operands.iter().map(of).fold(Registers::default(), Registers::or);
                    self.reads = self.reads.or(named).or(implicit.reads);
                    self.writes = self.writes.or(implicit.writes);
                    if let Some(to @ Operand::Register { .. }) = operands.first().filter(|_| !implicit.keeps) {
                        self.writes = self.writes.or(of(to));
                    }
                    let memory = operands.iter().any(Operand::is_memory);
                    (self.loads, self.stores) = (memory && implicit.loads, memory && implicit.stores);
                }

                /// What the decoder leaves out of others: that they need what they change or may keep, and the number that they put
                /// into a vector, of which it makes another vector.
                fn amend(&mut self, mnemonic: &str, operands: &[Operand]) {
                    let keeps = implicit::accumulates(mnemonic);
                    self.reads = self.reads.or(match operands.first() {
                        Some(&Operand::Register { reg }) if keeps => set_of(reg),
                        Some(&Operand::RegisterMaskMerge { reg, mask, merge }) => {
                            let some = mask.num() > 0 && matches!(merge, MergeMode::Merge);
                            if keeps || some { set_of(reg) } else { Registers::default() }
                        }
                        _ => Registers::default(),
                    });
                    match (mnemonic, operands) {
                        ("pinsrd" | "pinsrq", &[_, Operand::Register { reg }, ..]) => {
                            self.reads = self.reads.or(Registers::general(reg.num()));
                        }
                        ("fnstsw", &[Operand::Register { reg }]) => self.writes = self.writes.or(set_of(reg)),
                        ("jrcxz" | "jecxz" | "jcxz", _) => self.writes = Registers::default(),
                        _ => {}
                    }
                }

                /// The decoder says that a `mov` reads what it overwrites.
                fn overwrite(&mut self, operands: &[Operand], end: u64) {
                    match operands {
                        [to, ..] if to.is_memory() => self.loads = false,
                        [Operand::Register { .. }, from @ ..] => {
                            let needed: Option<Vec<Registers>> = from.iter().map(|o| needed(o, end)).collect();
                            if let Some(needed) = needed {
                                self.reads = needed.into_iter().fold(Registers::default(), Registers::or);
                            }
                        }
                        _ => {}
                    }
                }
            }

            impl AccessVisitor for Access {
                fn register_read(&mut self, reg: RegSpec) {
                    self.reads = self.reads.or(set_of(reg));
                }
                fn register_write(&mut self, reg: RegSpec) {
                    self.writes = self.writes.or(set_of(reg));
                }
                fn memory_read(&mut self, _address: Option<$word>, _size: u32) {
                    self.loads = true;
                }
                fn memory_write(&mut self, _address: Option<$word>, _size: u32) {
                    self.stores = true;
                }
            }
        }
    };
}

adapter!(long, long_mode, u64, [ImmediateI64 ImmediateU64]);
adapter!(protected, protected_mode, u32, []);

/// The second byte of a register.
fn is_high(register: &str) -> bool {
    matches!(register, "ah" | "ch" | "dh" | "bh")
}

fn is_special(register: &str) -> bool {
    matches!(register, "rip" | "eip" | "cs" | "ds" | "es" | "fs" | "gs" | "ss")
        || register.starts_with("cr")
        || (register.starts_with("dr"))
        || register.ends_with("flags")
        || register.starts_with("bnd")
        || register.starts_with("tmm")
}

#[cfg(test)]
mod tests;
