//! Machines by name.
//!
//! In: an ELF file. Out: what `uname -m` says on machines that run it, of those whose code is not understood.

use object::elf;

use super::elf::Elf;

impl Elf {
    /// The machine that it is for; `None` of x86, and where the name is not known.
    pub fn other_machine(&self) -> Option<&'static str> {
        Some(match self.machine() {
            elf::EM_AARCH64 => "aarch64",
            elf::EM_ARM => "arm",
            elf::EM_RISCV => "riscv",
            elf::EM_PPC64 => "ppc64",
            elf::EM_S390 => "s390x",
            elf::EM_MIPS => "mips",
            elf::EM_LOONGARCH => "loongarch",
            _ => return None,
        })
    }
}
