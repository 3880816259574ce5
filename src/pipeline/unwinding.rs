//! Callers in user space that a sample does not name but shows, by its registers and a copy of its stack.
//!
//! In: samples of `perf record --call-graph dwarf`, and the binaries. Out: the addresses that perf unwinds of them. The copy ends
//! after as many bytes as were asked for, and with it the chain. It knows x86-64.

use std::collections::HashMap;
use std::rc::Rc;

use super::survey::Survey;
use crate::image::{self, Location, Rules};
use crate::perfdata::{CpuMode, PerfFile, Record, Registers, Sample};

/// Which of `PERF_REG_X86_*` each of DWARF's registers is: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, rip.
const NUMBERS: [u32; 17] = [0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8];
/// `PERF_SAMPLE_REGS_ABI_64`.
const ABI_64: u64 = 2;

/// Finds callers.
pub struct Unwinder<'a> {
    survey: &'a Survey,
    is_known: bool,
    /// By where an instruction stands.
    rules: HashMap<Location, Rc<Rules>>,
}

impl<'a> Unwinder<'a> {
    /// Of samples of `file`, which `survey` is of.
    pub fn new(file: &PerfFile, survey: &'a Survey) -> Unwinder<'a> {
        let is_known = file.features().arch.as_deref() == Some("x86_64");
        Unwinder { survey, is_known, rules: HashMap::new() }
    }

    /// The addresses in user space that led to a sample, innermost first, without that of the sample itself.
    pub fn callers(&mut self, record: &Record<'_>, sample: &Sample<'_>) -> Vec<u64> {
        let registers = sample.user_regs.as_ref().filter(|_| self.is_known).and_then(dwarf);
        let Some(registers) = registers else { return Vec::new() };
        if sample.callchain.part(CpuMode::User).is_some_and(|named| !named.is_empty()) {
            return Vec::new();
        }
        let user = Sample { mode: CpuMode::User, ..*sample };
        let mut chain =
            image::chain(&registers, sample.user_stack, |address| self.rules(record, &user, address));
        if sample.mode == CpuMode::User && !chain.is_empty() {
            chain.remove(0);
        }
        chain
    }

    fn rules(&mut self, record: &Record<'_>, sample: &Sample<'_>, address: u64) -> Option<Rc<Rules>> {
        let mapped = self.survey.mapped(record, sample, address)?;
        let at = self.survey.images.location(&mapped)?;
        let find = || self.survey.images.get(at.image).rules(at.svma).into();
        Some(self.rules.entry(at).or_insert_with(find).clone())
    }
}

fn dwarf(registers: &Registers<'_>) -> Option<image::Registers> {
    let mut values = [0; 17];
    for (value, number) in values.iter_mut().zip(NUMBERS) {
        *value = registers.get(number)?;
    }
    (registers.abi == ABI_64).then_some(values)
}
