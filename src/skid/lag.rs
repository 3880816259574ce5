//! How many instructions behind the one waited for an interrupt of time is reported.
//!
//! Usually one. But a processor that retires a long instruction and what follows it in one cycle reports the one behind
//! both: on a Zen 5, 64 % of a divide loop's samples stood one after the divide and 36 % two after. Divides tell which it
//! is: nothing near them takes time that could be mistaken for theirs. Those that are reported on themselves
//! ([`Inst::joins`]) tell nothing: on a Zen 4 what stands two behind them is what the addition between takes.

use crate::code::{Inst, Kind, Program, Registers};

use super::folded::Folded;
use super::fusion;

/// Fewer samples behind divides tell nothing.
const LEAST_SAMPLES: f64 = 50.0;
/// A smaller share two behind is what the second instruction may take itself.
const LEAST_SHARE: f64 = 0.1;

/// Probability that a report of time stands two instructions behind the one waited for rather than one; `None` where no
/// divide tells.
pub fn second(program: &Program, time: &Folded) -> Option<f64> {
    let (mut one, mut two) = (0.0, 0.0);
    for (f, (_, function)) in program.functions.iter().enumerate() {
        for (ix, triple) in function.insts.windows(3).enumerate() {
            if divides(&triple[0])
                && !fusion::may_stay(&function.insts, ix)
                && follows(&triple[0], &triple[1])
                && follows(&triple[1], &triple[2])
            {
                one += time.samples_at(f, ix + 1);
                two += time.samples_at(f, ix + 2);
            }
        }
    }
    if one + two < LEAST_SAMPLES {
        return None;
    }
    let share = two / (one + two);
    Some(if share < LEAST_SHARE { 0.0 } else { share })
}

fn divides(inst: &Inst) -> bool {
    matches!(inst.kind, Kind::Divide | Kind::FloatDivide)
}

/// `next` always runs right behind `inst`, and takes no time itself that could be taken for a long wait before it: what needs a
/// quotient is waited for after it, an addition of floats four cycles, of integers one, which was 14 % of a loop's samples on a
/// Zen 4.
fn follows(inst: &Inst, next: &Inst) -> bool {
    let needs = inst.writes.without(Registers::FLAGS).and(next.reads);
    let quick = next.kind.latency() <= 1.0 && !next.loads && needs.is_empty();
    inst.end() == next.address && inst.falls_through() && !inst.is_conditional() && quick
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skid::testing::sampled;

    /// `div %rcx; add $1,%rcx; add %rax,%r8; nop; ret` with these samples on each.
    fn with(samples: [f64; 4]) -> Option<f64> {
        of(&[0x48, 0xf7, 0xf1, 0x48, 0x83, 0xc1, 0x01, 0x49, 0x01, 0xc0, 0x90, 0xc3], samples)
    }

    fn of(code: &[u8], samples: [f64; 4]) -> Option<f64> {
        let (program, time) = sampled(code, &samples);
        second(&program, &time)
    }

    #[test]
    fn samples_two_behind_a_divide_are_its_own() {
        assert!((with([0.0, 60.0, 40.0, 3.0]).unwrap() - 0.4).abs() < 1e-9);
    }

    #[test]
    fn what_is_waited_for_the_sum_of_a_quotient_tells_nothing() {
        // divsd %xmm1,%xmm0; addsd %xmm0,%xmm2; nop; ret
        let code = [0xf2, 0x0f, 0x5e, 0xc1, 0xf2, 0x0f, 0x58, 0xd0, 0x90, 0xc3];
        assert_eq!(of(&code, [0.0, 100.0, 40.0, 3.0]), None);
    }

    #[test]
    fn what_adds_a_quotient_or_a_division_that_is_reported_on_itself_tells_nothing() {
        // div %rcx; add %rax,%r8; nop; ret
        assert_eq!(of(&[0x48, 0xf7, 0xf1, 0x49, 0x01, 0xc0, 0x90, 0xc3], [0.0, 85.0, 15.0, 0.0]), None);
        // cqo; idiv %rcx; add $1,%rcx; nop; ret
        assert_eq!(
            of(&[0x48, 0x99, 0x48, 0xf7, 0xf9, 0x48, 0x83, 0xc1, 0x01, 0x90, 0xc3], [0.0, 80.0, 1.0, 19.0]),
            None
        );
    }

    #[test]
    fn a_few_samples_two_behind_or_few_in_all_tell_nothing() {
        assert_eq!(with([0.0, 95.0, 5.0, 0.0]), Some(0.0));
        assert_eq!(with([0.0, 6.0, 4.0, 0.0]), None);
    }
}
