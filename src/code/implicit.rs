//! What instructions read and write whose operands do not tell all of it, where the decoder does not either.
//!
//! In: the name of an instruction. Out: registers and memory. Of what is not named here nothing is known.

use super::inst::Registers;

/// What an instruction reads and writes besides the registers that its operands name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Implicit {
    pub reads: Registers,
    pub writes: Registers,
    /// It reads its memory operand.
    pub loads: bool,
    /// It writes its memory operand.
    pub stores: bool,
    /// It keeps its first operand as it is.
    pub keeps: bool,
}

const RAX: u8 = 0;
const RCX: u8 = 1;
const RDX: u8 = 2;
const R11: u8 = 11;

/// Of what the decoder calls complex (its operands are all read, and the first is written).
pub(super) fn complex(mnemonic: &str) -> Implicit {
    let of = |registers: &[u8]| {
        registers.iter().fold(Registers::default(), |all, &register| all.or(Registers::general(register)))
    };
    let m = mnemonic.strip_prefix('v').unwrap_or(mnemonic);
    let flags = Registers::FLAGS;
    match m {
        // arguments of system calls are not what cores wait for
        "syscall" => Implicit { writes: of(&[RAX, RCX, R11]), ..Implicit::default() },
        "sysenter" | "int" => Implicit { writes: of(&[RAX]), ..Implicit::default() },
        "rdtsc" => Implicit { writes: of(&[RAX, RDX]), ..Implicit::default() },
        "rdtscp" => Implicit { writes: of(&[RAX, RCX, RDX]), ..Implicit::default() },
        "xgetbv" => Implicit { reads: of(&[RCX]), writes: of(&[RAX, RDX]), ..Implicit::default() },
        "bt" => Implicit { writes: flags, loads: true, keeps: true, ..Implicit::default() },
        "bts" | "btr" | "btc" => Implicit { writes: flags, loads: true, stores: true, ..Implicit::default() },
        _ if m.starts_with("pgather") || m.starts_with("gather") => {
            Implicit { loads: true, ..Implicit::default() }
        }
        _ if m.starts_with("pscatter") || m.starts_with("scatter") => {
            Implicit { stores: true, keeps: true, ..Implicit::default() }
        }
        _ if m.starts_with("xsave") || m == "fxsave" || m.starts_with("fnst") || m.starts_with("fst") => {
            Implicit { stores: true, keeps: true, ..Implicit::default() }
        }
        _ if m.starts_with("xrstor") || m == "fxrstor" || m.starts_with("fld") => {
            Implicit { loads: true, keeps: true, ..Implicit::default() }
        }
        _ => Implicit { keeps: true, ..Implicit::default() },
    }
}

/// Whether it needs what is in its first operand, of those of which the decoder does not say so: conditional moves, which may keep it,
/// conversions that leave the rest of a vector as it was, sums and choices of three operands.
pub(super) fn accumulates(mnemonic: &str) -> bool {
    let whole = ["cvtsi2sd", "cvtsi2ss", "insertps"].contains(&mnemonic);
    let stems = [
        "cmov",
        "vpdp",
        "vdpbf16",
        "vpternlog",
        "vpermi2",
        "vpermt2",
        "vpmadd52",
        "vfixupimm",
        "vpshldv",
        "vpshrdv",
    ];
    whole || stems.iter().any(|stem| mnemonic.starts_with(stem))
}

/// What string instructions read and write: whether memory is read, and whether it is written.
pub(super) fn string(mnemonic: &str) -> Option<(bool, bool)> {
    Some(match mnemonic {
        "movs" => (true, true),
        "cmps" | "scas" | "lods" => (true, false),
        "stos" => (false, true),
        _ => return None,
    })
}

/// The counter of what is repeated.
pub(super) fn counter() -> Registers {
    Registers::general(RCX)
}
