//! Bytes to [`Inst`]: the only file that names the decoder.

use yaxpeax_arch::LengthedInstruction;

use crate::inst::{FLAGS, Flow, Frame, Inst, Registers, STACK_POINTER, Work};

/// Which instruction set the bytes are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bitness {
    /// IA-32.
    Bits32,
    /// x86-64.
    Bits64,
}

/// Decodes the instruction that starts at `bytes[0]` and lies at `address`.
pub fn decode(bitness: Bitness, address: u64, bytes: &[u8]) -> Option<Inst> {
    match bitness {
        Bitness::Bits32 => protected::decode(address, bytes),
        Bitness::Bits64 => long::decode(address, bytes),
    }
}

fn is_string(name: &str) -> bool {
    matches!(name, "movs" | "stos" | "cmps" | "scas" | "lods")
}

/// The decoder has one type per mode with the same names in it; this is the adapter for one of them.
macro_rules! adapter {
    ($name:ident, $mode:ident, $word:ty, [$($general:ident)*], [$($flags:ident)*], [$($pointer:ident)*], $frame:ident, $stack:ident,
     $jump_if_zero:ident) => {
        mod $name {
            use super::*;
            use yaxpeax_x86::$mode::behavior::AccessVisitor;
            use yaxpeax_x86::$mode::{InstDecoder, Instruction, Opcode, Operand, RegSpec, register_class as class};

            pub(super) fn decode(address: u64, bytes: &[u8]) -> Option<Inst> {
                let raw = InstDecoder::default().decode_slice(&bytes[..bytes.len().min(15)]).ok()?;
                let name = raw.opcode().to_string().to_lowercase();
                let flow = flow(&raw);
                let (mut reads, mut writes) = registers(&raw);
                if is_zeroing(&raw, &name) {
                    reads = 0;
                } else if overwrites(&raw, &name) {
                    reads = sources(&raw);
                } else if name.starts_with("cmov") {
                    reads |= register_bits(raw.operand(0));
                }
                // The stack engine renames the stack pointer ahead of the core.
                if matches!(name.as_str(), "push" | "pop" | "leave")
                    || matches!(flow, Flow::Call | Flow::IndirectCall | Flow::Return)
                {
                    reads &= !STACK_POINTER;
                    writes &= !STACK_POINTER;
                }
                Some(Inst {
                    address,
                    length: raw.len().to_const() as u8,
                    work: work(&raw, &name),
                    flow,
                    frame: frame(&raw, &name),
                    reads,
                    writes,
                    fuses: matches!(name.as_str(), "cmp" | "test" | "add" | "sub" | "and" | "inc" | "dec")
                        && writes & FLAGS != 0,
                    repeats: raw.prefixes.rep_any() && is_string(&name),
                })
            }

            fn flow(raw: &Instruction) -> Flow {
                let register_or_memory =
                    !matches!(raw.operand(0), Operand::ImmediateI8 { .. } | Operand::ImmediateI32 { .. });
                match raw.opcode() {
                    Opcode::CALL if register_or_memory => Flow::IndirectCall,
                    Opcode::CALL => Flow::Call,
                    Opcode::JMP if register_or_memory => Flow::IndirectJump,
                    Opcode::JMP => Flow::Jump,
                    Opcode::RETURN => Flow::Return,
                    Opcode::$jump_if_zero | Opcode::LOOP | Opcode::LOOPZ | Opcode::LOOPNZ => Flow::Conditional,
                    _ if raw.opcode().is_jcc() => Flow::Conditional,
                    _ => Flow::Next,
                }
            }

            fn work(raw: &Instruction, name: &str) -> Work {
                let n = name.strip_prefix('v').unwrap_or(name);
                let floating = n.ends_with("ss") || n.ends_with("sd") || n.ends_with("ps") || n.ends_with("pd");
                match name {
                    "nop" | "endbr64" => Work::Nop,
                    "mov" | "movzx" | "movsx" | "movsxd" | "push" | "pop" | "leave" => Work::Move,
                    "mul" | "imul" | "mulx" => Work::Multiply,
                    "div" | "idiv" => Work::Divide,
                    "mfence" | "lfence" | "sfence" => Work::Serialize,
                    "cpuid" | "syscall" | "rdtsc" | "xgetbv" | "xsave" | "xsavec" | "xrstor" => Work::Microcode,
                    "xchg" if raw.operand(0).is_memory() || raw.operand(1).is_memory() => Work::Serialize,
                    _ if raw.prefixes.lock() => Work::Serialize,
                    _ if is_string(name) => Work::Microcode,
                    _ if n.starts_with("fdiv") || n.starts_with("fsqrt") => Work::FloatDivide,
                    _ if floating && (n.starts_with("div") || n.starts_with("sqrt")) => Work::FloatDivide,
                    _ if n.starts_with("fmul") || floating && (n.starts_with("mul") || n.starts_with("fm")) => {
                        Work::FloatMultiply
                    }
                    _ if floating && n.starts_with("mov") => Work::Move,
                    _ if n.starts_with("movdq") || n.starts_with("movq") || n.starts_with("movd") => Work::Move,
                    _ if floating || n.starts_with("cvt") || n.starts_with("fadd") || n.starts_with("fsub") => {
                        Work::FloatAdd
                    }
                    _ if n.starts_with('p') || name.starts_with('v') => Work::Vector,
                    _ => Work::Integer,
                }
            }

            fn frame(raw: &Instruction, name: &str) -> Frame {
                let is = |i: u8, wanted: RegSpec| matches!(raw.operand(i), Operand::Register { reg } if reg == wanted);
                match name {
                    "mov" if is(0, RegSpec::$frame()) && is(1, RegSpec::$stack()) => Frame::Joins,
                    "pop" if is(0, RegSpec::$frame()) => Frame::Leaves,
                    "leave" => Frame::Leaves,
                    _ => Frame::Same,
                }
            }

            fn is_zeroing(raw: &Instruction, name: &str) -> bool {
                let last = raw.operand_count().saturating_sub(1);
                matches!(name, "xor" | "sub" | "pxor" | "vpxor" | "xorps" | "vxorps" | "xorpd" | "vxorpd")
                    && last > 0
                    && matches!(raw.operand(last), Operand::Register { .. })
                    && raw.operand(last) == raw.operand(last - 1)
            }

            /// Whether the destination's old value is of no consequence. The decoder calls these destinations read, which would chain every
            /// copy to the last use of its register.
            fn overwrites(raw: &Instruction, name: &str) -> bool {
                match name {
                    "mov" | "movzx" | "movsx" | "movsxd" | "movbe" => raw.operand(0).width().is_none_or(|w| w >= 4),
                    "movss" | "movsd" => raw.operand(1).is_memory(),
                    "movmskpd" | "movmskps" | "pmovmskb" | "pshufd" | "tzcnt" | "lzcnt" | "popcnt" => true,
                    "imul" => raw.operand_count() == 3,
                    _ => false,
                }
            }

            /// Registers that an instruction with an overwritten destination reads.
            fn sources(raw: &Instruction) -> Registers {
                let destination = raw.operand(0);
                let address = if destination.is_memory() { register_bits(destination) } else { 0 };
                (1..raw.operand_count()).map(|i| register_bits(raw.operand(i))).fold(address, |all, r| all | r)
            }

            /// The register an operand is, or those that make up its address.
            fn register_bits(operand: Operand) -> Registers {
                match operand {
                    Operand::Register { reg } => bit(reg),
                    Operand::MemDeref { base } | Operand::Disp { base, .. } => bit(base),
                    Operand::MemIndexScale { index, .. } | Operand::MemIndexScaleDisp { index, .. } => bit(index),
                    Operand::MemBaseIndexScale { base, index, .. }
                    | Operand::MemBaseIndexScaleDisp { base, index, .. } => bit(base) | bit(index),
                    _ => 0,
                }
            }

            /// Registers read and written; both sets empty for instructions whose effects the decoder does not spell out.
            fn registers(raw: &Instruction) -> (Registers, Registers) {
                let mut seen = Accesses::default();
                // Complex instructions (system calls, state saving) have no operands to speak of: they run as microcode.
                let _ = raw.behavior().visit_accesses(&mut seen);
                (seen.reads, seen.writes)
            }

            #[derive(Default)]
            struct Accesses {
                reads: Registers,
                writes: Registers,
            }

            impl AccessVisitor for Accesses {
                fn register_read(&mut self, reg: RegSpec) {
                    self.reads |= bit(reg);
                }
                fn register_write(&mut self, reg: RegSpec) {
                    self.writes |= bit(reg);
                }
                fn memory_read(&mut self, _: Option<$word>, _: u32) {}
                fn memory_write(&mut self, _: Option<$word>, _: u32) {}
            }

            fn bit(reg: RegSpec) -> Registers {
                let n = reg.num();
                match reg.class() {
                    $(class::$general)|* => 1 << (n & 15),
                    class::B => 1 << (n & 3),
                    class::X | class::Y | class::Z => 1 << (17 + (n & 31)),
                    class::ST | class::MM => 1 << 49,
                    class::K => 1 << (50 + (n & 7)),
                    $(class::$flags)|* => FLAGS,
                    // The instruction pointer is never waited for.
                    $(class::$pointer)|* => 0,
                    _ => 1 << 58,
                }
            }
        }
    };
}

adapter!(long, long_mode, u64, [Q D W RB], [RFLAGS EFLAGS], [RIP EIP], rbp, rsp, JRCXZ);
adapter!(protected, protected_mode, u32, [D W], [EFLAGS], [EIP], ebp, esp, JECXZ);

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(address: u64, bytes: &[u8]) -> Option<Inst> {
        super::decode(Bitness::Bits64, address, bytes)
    }

    #[test]
    fn a_compare_with_memory_reads_the_base_and_writes_the_flags() {
        let i = decode(0x1000, &[0x3b, 0x39]).unwrap(); // cmp edi, [rcx]
        assert_eq!((i.reads, i.writes, i.work, i.fuses), (1 << 7 | 1 << 1, FLAGS, Work::Integer, true));
    }

    #[test]
    fn a_divide_takes_and_gives_two_registers() {
        let i = decode(0x1000, &[0xf7, 0xf1]).unwrap(); // div ecx
        assert_eq!((i.work, i.reads & 7, i.writes & 7), (Work::Divide, 7, 5));
    }

    #[test]
    fn a_copy_does_not_wait_for_what_it_overwrites() {
        assert_eq!(decode(0, &[0x8b, 0x14, 0x01]).unwrap().reads, 1 | 1 << 1); // mov edx, [rcx + rax]
        assert_eq!(decode(0, &[0x89, 0x3c, 0x82]).unwrap().reads, 1 | 1 << 2 | 1 << 7); // mov [rdx + rax * 4], edi
        assert_eq!(decode(0, &[0x41, 0x0f, 0x4c, 0xd7]).unwrap().reads, 1 << 15 | 1 << 2 | FLAGS); // cmovl edx, r15d
        assert_eq!(decode(0, &[0xf2, 0x0f, 0x10, 0x07]).unwrap().reads, 1 << 7); // movsd xmm0, [rdi]
        assert_eq!(decode(0, &[0x6b, 0xc8, 0x05]).unwrap().reads, 1); // imul ecx, eax, 5
    }

    #[test]
    fn zeroing_a_register_waits_for_nothing() {
        assert_eq!(decode(0, &[0x31, 0xc0]).unwrap().reads, 0); // xor eax, eax
        assert_eq!(decode(0, &[0x66, 0x0f, 0xef, 0xc0]).unwrap().reads, 0); // pxor xmm0, xmm0
    }

    #[test]
    fn a_push_is_not_chained_to_the_stack_pointer_and_a_frame_is_seen_to_begin() {
        assert_eq!(decode(0, &[0x55]).unwrap().writes, 0); // push rbp
        assert_eq!(decode(0, &[0x48, 0x89, 0xe5]).unwrap().frame, Frame::Joins); // mov rbp, rsp
    }

    #[test]
    fn control_flow_is_told_apart() {
        let flow = |bytes: &[u8]| decode(0, bytes).unwrap().flow;
        assert_eq!(flow(&[0x74, 0x02]), Flow::Conditional);
        assert_eq!(flow(&[0xeb, 0x02]), Flow::Jump);
        assert_eq!(flow(&[0x3e, 0xff, 0xe0]), Flow::IndirectJump);
        assert_eq!(flow(&[0xe8, 0, 0, 0, 0]), Flow::Call);
        assert_eq!(flow(&[0xff, 0x15, 0, 0, 0, 0]), Flow::IndirectCall);
        assert_eq!(flow(&[0xc3]), Flow::Return);
    }

    #[test]
    fn short_code_has_registers_of_its_own() {
        let inc = super::decode(Bitness::Bits32, 0, &[0x43]).unwrap(); // inc ebx, which is a prefix in long code
        assert_eq!((inc.length, inc.reads, inc.writes & !FLAGS), (1, 1 << 3, 1 << 3));
        let frame = super::decode(Bitness::Bits32, 0, &[0x89, 0xe5]).unwrap(); // mov ebp, esp
        assert_eq!((frame.frame, frame.reads), (Frame::Joins, STACK_POINTER));
    }
}
