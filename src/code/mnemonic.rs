//! The name of an x86 instruction, and what it says of it.

use std::fmt;
use std::ops::Deref;

use super::inst::Kind;

/// Bytes of a name that are kept; the longest there is has seventeen.
const LONGEST: usize = 23;

/// A mnemonic as the disassembler prints it. There are millions of instructions, so none has its name on the heap.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mnemonic {
    len: u8,
    text: [u8; LONGEST],
}

impl Mnemonic {
    /// The name that `what` prints.
    pub fn of(what: impl fmt::Display) -> Mnemonic {
        let mut name = Mnemonic::default();
        // what does not fit is left away
        let _ = fmt::write(&mut name, format_args!("{what}"));
        name
    }
}

impl fmt::Write for Mnemonic {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let at = usize::from(self.len);
        let mut fits = part.len().min(LONGEST - at);
        while !part.is_char_boundary(fits) {
            fits -= 1;
        }
        self.text[at..at + fits].copy_from_slice(&part.as_bytes()[..fits]);
        self.len += fits as u8;
        if fits < part.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

impl Deref for Mnemonic {
    type Target = str;

    fn deref(&self) -> &str {
        std::str::from_utf8(&self.text[..usize::from(self.len)]).unwrap_or_default()
    }
}

impl fmt::Display for Mnemonic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for Mnemonic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

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
        "nop" | "endbr64" | "endbr32" | "pause" => Kind::Nop,
        "jmp" | "jmpf" => Kind::Jump,
        "call" | "callf" => Kind::Call,
        _ if returns(m) => Kind::Return,
        _ if branches_otherwise(m) || m.starts_with('j') => Kind::Branch,
        "div" | "idiv" => Kind::Divide,
        "mul" | "imul" | "mulx" => Kind::Multiply,
        "cpuid" | "rdtsc" | "rdtscp" | "syscall" | "sysenter" | "int" | "mfence" | "lfence" | "xgetbv" => {
            Kind::System
        }
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

/// It copies, and so does not read what it overwrites.
pub(super) fn is_move(mnemonic: &str) -> bool {
    mnemonic.trim_start_matches('v').starts_with("mov") && !is_string(mnemonic)
}

fn is_string(mnemonic: &str) -> bool {
    matches!(mnemonic, "movs" | "cmps" | "stos" | "lods" | "scas")
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_as_far_as_they_fit() {
        assert_eq!(&*Mnemonic::of("vgf2p8affineinvqb"), "vgf2p8affineinvqb");
        assert_eq!(&*Mnemonic::of("a".repeat(22) + "ä"), "a".repeat(22), "a letter is whole or not there");
        assert_eq!((&*Mnemonic::of(""), format!("{:?}", Mnemonic::of("jne"))), ("", "\"jne\"".into()));
    }
}
