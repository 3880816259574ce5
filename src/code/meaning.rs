//! What the name of an x86 instruction says of it.

use super::implicit;
use super::inst::Kind;

/// Branches that are not among the sixteen `jcc`.
pub(super) fn branches_otherwise(mnemonic: &str) -> bool {
    matches!(mnemonic, "loop" | "loopz" | "loopnz" | "jcxz" | "jecxz" | "jrcxz" | "xbegin")
}

/// Returns, of interrupts and system calls too.
pub(super) fn returns(mnemonic: &str) -> bool {
    matches!(mnemonic, "ret" | "retf" | "iret" | "iretd" | "iretq" | "sysret" | "sysexit" | "uiret")
}

/// The unit that does the work.
pub(super) fn kind_of(mnemonic: &str, locked: bool, rep: bool) -> Kind {
    let m = mnemonic
        .strip_prefix('v')
        .filter(|_| !mnemonic.starts_with("ver") && mnemonic != "vmcall")
        .unwrap_or(mnemonic);
    match m {
        _ if locked => Kind::Atomic,
        // the decoder's name for `pause`, which waits
        "nop" if rep => Kind::System,
        "nop" | "endbr64" | "endbr32" => Kind::Nop,
        "jmp" | "jmpf" => Kind::Jump,
        "call" | "callf" => Kind::Call,
        _ if returns(m) => Kind::Return,
        _ if branches_otherwise(m) || m.starts_with('j') => Kind::Branch,
        "div" | "idiv" => Kind::Divide,
        // what takes three cycles as well
        "mul" | "imul" | "mulx" | "crc32" | "pdep" | "pext" => Kind::Multiply,
        _ if m.starts_with("pclmul") => Kind::Multiply,
        _ if m.starts_with("aes") => Kind::Float,
        _ if m.starts_with("pcmpi") || m.starts_with("pcmpe") && m.contains("str") => Kind::Convert,
        _ if is_system(m) => Kind::System,
        _ if is_string(m) => {
            if rep {
                Kind::String
            } else {
                Kind::Move
            }
        }
        _ if m.starts_with("cvt") => Kind::Convert,
        _ if m.starts_with("div") || m.starts_with("sqrt") || m.starts_with("fdiv") || m == "fsqrt" => {
            Kind::FloatDivide
        }
        _ if is_float(m) => Kind::Float,
        _ if m.starts_with("mov") || m.starts_with("cmov") || matches!(m, "push" | "pop" | "leave") => {
            Kind::Move
        }
        _ if m.starts_with("pshuf")
            || m.starts_with("punpck")
            || m.starts_with("perm")
            || m.starts_with("shuf") =>
        {
            Kind::Shuffle
        }
        _ => Kind::Alu,
    }
}

/// It waits for the system, for all that ran before, or for a long sequence of its own.
fn is_system(mnemonic: &str) -> bool {
    let waits = [
        "cpuid",
        "rdtsc",
        "rdtscp",
        "rdpmc",
        "rdrand",
        "rdseed",
        "syscall",
        "sysenter",
        "int",
        "mfence",
        "lfence",
        "sfence",
        "xgetbv",
        "clflush",
        "clflushopt",
        "clwb",
        "fxsave",
        "fxrstor",
        "umwait",
        "tpause",
        "fsin",
        "fcos",
        "fsincos",
        "fptan",
        "fpatan",
        "f2xm1",
        "fyl2x",
        "fyl2xp1",
        "fprem",
        "fprem1",
        "wrmsr",
        "rdmsr",
    ];
    waits.contains(&mnemonic) || mnemonic.starts_with("xsave") || mnemonic.starts_with("xrstor")
}

/// It does not need what it overwrites: it copies, or makes something else of others of its `operands`. What copies a part of a vector
/// leaves the rest as it was, but what loads one number clears it.
pub(super) fn overwrites(mnemonic: &str, operands: usize, from_memory: bool, to_memory: bool) -> bool {
    let m = mnemonic.trim_start_matches('v');
    match m {
        "movss" | "movsd" => from_memory || to_memory,
        "imul" => operands == 3,
        "tzcnt" | "lzcnt" | "popcnt" | "pmovmskb" | "pshufd" | "pshuflw" | "pshufhw" => true,
        _ if m.starts_with("cvt") => m.ends_with("2si"),
        _ if m.starts_with("movh") || m.starts_with("movl") => to_memory,
        _ => m.starts_with("mov") && !is_string(m),
    }
}

/// It shifts or rotates a number, by as much as another says.
pub(super) fn is_shift(mnemonic: &str) -> bool {
    matches!(mnemonic, "shl" | "sal" | "shr" | "sar" | "rol" | "ror")
}

fn is_string(mnemonic: &str) -> bool {
    implicit::string(mnemonic).is_some()
}

/// Floating-point arithmetic: the packed and scalar suffixes, x87, and fused multiply-add.
fn is_float(mnemonic: &str) -> bool {
    let suffixed = ["ss", "sd", "ps", "pd"].iter().any(|s| mnemonic.ends_with(s));
    let stem = [
        "add", "sub", "mul", "min", "max", "cmp", "comi", "ucomi", "round", "rcp", "rsqrt", "hadd", "dp",
        "fma", "fmadd", "fmsub", "fnm",
    ];
    (suffixed && stem.iter().any(|s| mnemonic.starts_with(s)))
        || (mnemonic.starts_with('f')
            && ["fadd", "fsub", "fmul", "fcom", "fucom", "fist", "fild"]
                .iter()
                .any(|s| mnemonic.starts_with(s)))
        || mnemonic.starts_with("pmul")
        || mnemonic.starts_with("pmadd")
        || mnemonic.starts_with("pdp")
}
