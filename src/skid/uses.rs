//! Whether what needs a result is waited for, not what makes it: then instructions issue in order.
//!
//! In: code and samples of time. Out: whether time stands where results are first needed. It does not know which address is reported.

use std::ops::Range;

use super::folded::Folded;
use super::reporting::{LEAST_EVIDENCE, wait};
use crate::code::{Inst, Program, Registers};

/// On cores that issue in order the uses of slow results stand out so many times as much as what is right behind those: 2.6
/// times and more in five recordings of such and their tenths, .8 to 1.6 in four that other signs have to tell. It is once at most in 182
/// whose addresses are late, and .53 times in 31 of programs under a real clock that are.
const IN_ORDER: f64 = 2.2;
/// … and they hold this share of all samples.
const IN_ALL: f64 = 0.05;
/// A use stands out from what ran between it and what it waits for, which waits for nothing, by so many times its samples. Where a chain
/// of quick instructions takes all the time, as in MD5, uses hold no more than others: without, they were 2.6 times as much there.
const OUT: f64 = 1.5;

/// Whether time stands on the first uses of slow results even where they are not right behind: then it was issued in order,
/// and the instruction that is waited for is reported after all.
pub fn are_waited_for(program: &Program, time: &Folded) -> bool {
    let (mut behind, mut used, mut samples) = (0.0, 0.0, 0.0);
    for (f, (_, function)) in program.functions.iter().enumerate() {
        let at = |i| time.samples_at(f, i);
        for block in &function.cfg.blocks {
            for (i, distant) in distant_uses(&function.insts, block.first..block.end) {
                behind += (i + 1..=distant.next).map(at).sum::<f64>().sqrt();
                let there = at(distant.user);
                if (i + 1..distant.user).all(|j| there >= OUT * at(j)) {
                    used += there.sqrt();
                    samples += there;
                }
            }
        }
    }
    let all: f64 = time.weight.values().sum::<f64>() / time.period;
    samples >= LEAST_EVIDENCE.max(IN_ALL * all) && used > IN_ORDER * behind
}

/// Where the result of a slow instruction is first needed, if that is not right behind it.
struct Distant {
    /// The last instruction that is right behind it.
    next: usize,
    /// The one that needs it.
    user: usize,
}

/// Slow instructions of a block whose results are needed later.
fn distant_uses(insts: &[Inst], block: Range<usize>) -> impl Iterator<Item = (usize, Distant)> {
    let distant = move |i: usize| {
        let result = insts[i].writes.without(Registers::STACK);
        let uses = |&j: &usize| !result.and(insts[j].reads).is_empty();
        // the second of two that a core may have made one of is right behind as well: on a Zen 4 it has the samples
        let next = if insts[i + 2].changes_copy(&insts[i + 1]) { i + 2 } else { i + 1 };
        let user = (i + 1..block.end).find(uses).filter(|&user| user > next)?;
        Some((i, Distant { next, user }))
    };
    (block.start..block.end.saturating_sub(2)).filter(|&i| wait(&insts[i], false) >= 1.0).filter_map(distant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skid::testing::sampled;

    /// `mov (%rsi),%rdi; mov %r9,%r11; mov %r9,%r12; add %rdi,%r8; ret` with these samples on each.
    fn waited(samples: [f64; 5]) -> bool {
        let code = [0x48, 0x8b, 0x3e, 0x4d, 0x89, 0xcb, 0x4d, 0x89, 0xcc, 0x49, 0x01, 0xf8, 0xc3];
        let (program, time) = sampled(&code, &samples);
        are_waited_for(&program, &time)
    }

    #[test]
    fn what_needs_a_load_stands_out_where_instructions_issue_in_order() {
        assert!(waited([1.0, 2.0, 2.0, 90.0, 2.0]));
        assert!(!waited([1.0, 40.0, 2.0, 90.0, 2.0]), "what is behind the load is waited for as well");
    }

    #[test]
    fn where_a_chain_takes_all_the_time_uses_of_loads_hold_no_more_than_others() {
        assert!(!waited([80.0, 2.0, 70.0, 90.0, 70.0]));
    }
}
