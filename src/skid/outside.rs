//! What the code around a region has to do with it.
//!
//! In: linked code, the functions that are solved together, and an event's samples. Out: which of the functions are entered from
//! elsewhere as well, and which calls and jumps to nobody knows where cannot lead elsewhere, for there is nothing to enter: what
//! else could be has next to no samples.

use std::collections::BTreeSet;

use super::folded::Folded;
use crate::code::{CallSite, FunctionIx, Program};

/// Of the samples of what a call is guessed to enter, those that something else has where it may enter that as well. With .3 instead
/// no recording of 128 moves, with .03 one is not helped.
const NEGLIGIBLE: f64 = 0.1;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outside {
    /// Functions that are called from elsewhere as well.
    pub fed: BTreeSet<FunctionIx>,
    /// Calls (caller, instruction) that enter what they are guessed to, and nothing else.
    pub closed: BTreeSet<(FunctionIx, usize)>,
}

impl Outside {
    /// Of `functions`, in which `event` was sampled.
    pub fn of(program: &Program, functions: &[FunctionIx], event: &Folded) -> Outside {
        let own: BTreeSet<FunctionIx> = functions.iter().copied().collect();
        let fed = own.iter().copied().filter(|&f| is_fed(program, &own, f, event)).collect();
        let calls = own.iter().flat_map(|&f| program.calls_in(f));
        let guessed: Vec<&CallSite> = calls.filter(|call| call.open).collect();
        let beyond = if guessed.is_empty() { 0.0 } else { beyond(program, &own, event) };
        let entered = |call: &CallSite| -> f64 {
            call.targets.iter().map(|target| event.within(target.function)).sum()
        };
        let closed = guessed.into_iter().filter(|call| beyond < NEGLIGIBLE * entered(call));
        let closed = closed.map(|call| (call.caller, call.inst)).collect();
        Outside { fed, closed }
    }
}

/// Whether sampled code calls `function` that is not among its `own`.
fn is_fed(program: &Program, own: &BTreeSet<FunctionIx>, function: FunctionIx, event: &Folded) -> bool {
    let sampled = |call: &CallSite| {
        let cfg = &program.functions[call.caller].1.cfg;
        let block = &cfg.blocks[cfg.block_of(call.inst)];
        event.any(call.caller, block.first..block.end)
    };
    program.calls_of(function).any(|call| !own.contains(&call.caller) && sampled(call))
}

/// Weight of code that is not among one's `own` and that nothing is known to call, or that is not known at all.
fn beyond(program: &Program, own: &BTreeSet<FunctionIx>, event: &Folded) -> f64 {
    let other = (0..program.functions.len()).filter(|f| !own.contains(f));
    other.filter(|&f| program.is_orphan(f)).map(|f| event.within(f)).sum::<f64>() + event.stray
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Told, explore};
    use crate::skid::folded::Counts;

    /// Calls without another way of a loop that calls through a pointer what has 100 samples, where something that could be called as
    /// well has some, and some stand nobody knows where.
    fn closed(other: f64, stray: f64) -> usize {
        // 0: call *%rax; 2: jmp 0 — 10: ret — 18: ret
        let mut code = vec![0xff, 0xd0, 0xeb, 0xfc];
        code.resize(0x19, 0xc3);
        let functions = [0..4, 0x10..0x11, 0x18..0x19].map(|r| (0, explore(&Bytes(0, code.clone()), r, &[])));
        let mut program = Program::link(functions.into(), &NoStubs, &Told::default());
        program.calls[0].targets.retain(|target| target.function == 1);
        let weight = [((0, 0), 900.0), ((1, 0), 100.0), ((2, 0), other)].into();
        let event = Folded { weight, period: 1.0, counts: Counts::Instructions, exact: false, stray };
        Outside::of(&program, &[0, 1], &event).closed.len()
    }

    #[test]
    fn a_call_enters_what_it_is_guessed_to_if_nothing_else_was_seen() {
        assert_eq!(closed(3.0, 3.0), 1);
        assert_eq!((closed(30.0, 0.0), closed(0.0, 30.0)), (0, 0));
    }
}
