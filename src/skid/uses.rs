//! Whether what needs a result is waited for, not what makes it: then instructions issue in order.
//!
//! In: code and samples of time. Out: whether time stands where results are first needed. It does not know which address is reported.

use super::folded::Folded;
use super::reporting::{LEAST_EVIDENCE, wait};
use crate::code::{Program, Registers};

/// On cores that issue in order the uses of slow results stand out so many times as much as what is right behind those: 3.5
/// times and more in four recordings of such, 1.4 to 1.8 in three that other signs have to tell, 1.7 at most in 54 whose addresses are
/// late.
const IN_ORDER: f64 = 2.5;
/// … and they hold this share of all samples.
const IN_ALL: f64 = 0.05;

/// Whether time stands on the first uses of slow results even where they are not right behind: then it was issued in order,
/// and the instruction that is waited for is reported after all.
pub fn are_waited_for(program: &Program, time: &Folded) -> bool {
    let (mut behind, mut used, mut samples) = (0.0, 0.0, 0.0);
    for (f, (_, function)) in program.functions.iter().enumerate() {
        let insts = &function.insts;
        for block in &function.cfg.blocks {
            for i in block.first..block.end.saturating_sub(2) {
                let result = Registers(insts[i].writes.0 & !Registers::STACK.0);
                let uses = |&j: &usize| !result.and(insts[j].reads).is_empty();
                // the second of two that a core may have made one of is right behind as well: on a Zen 4 it has the samples
                let next = if insts[i + 2].changes_copy(&insts[i + 1]) { i + 2 } else { i + 1 };
                let user = (i + 1..block.end).find(uses).filter(|&j| j > next);
                if let Some(user) = user.filter(|_| wait(&insts[i], false) >= 1.0) {
                    behind += (i + 1..=next).map(|j| time.samples_at(f, j)).sum::<f64>().sqrt();
                    let there = time.samples_at(f, user);
                    used += there.sqrt();
                    samples += there;
                }
            }
        }
    }
    let all: f64 = time.weight.values().sum::<f64>() / time.period;
    samples >= LEAST_EVIDENCE.max(IN_ALL * all) && used > IN_ORDER * behind
}
