//! Recordings of machines whose code is not followed.
//!
//! In: the recording's header, and the binaries of its samples. Out: the machine's name, if it is another than x86.

use super::survey::Survey;
use crate::perfdata::Features;

/// How the names of other machines begin, as `uname -m` gives them.
const OTHERS: [&str; 11] =
    ["aarch64", "arm", "riscv", "ppc", "s390", "mips", "loongarch", "sparc", "alpha", "parisc", "ia64"];

/// The machine that the header names; where it names none, that of the binaries that were found.
pub fn other(features: &Features, survey: &Survey) -> Option<String> {
    let named = features.arch.as_deref().filter(|arch| OTHERS.iter().any(|other| arch.starts_with(other)));
    named.map(str::to_owned).or_else(|| of_binaries(survey).map(str::to_owned))
}

/// `None` as well if there are some of x86.
fn of_binaries(survey: &Survey) -> Option<&'static str> {
    let images = survey.samples_by_image();
    let found = || images.keys().filter_map(|&id| survey.images.get(id).elf());
    found().all(|elf| elf.class().is_none()).then(|| found().find_map(|elf| elf.other_machine()))?
}

/// Why the samples of a machine stay.
pub fn reason(machine: &str) -> String {
    format!("the machine is {machine}, and only code of x86-64 and 32-bit x86 is followed")
}
