//! Which instructions a core makes one operation of.
//!
//! In: samples of a file. Out: whether conditional branches retire as one with the compare before them, which leaves them without
//! samples, and which other pairs are reported on the second. Which instructions have the form, the code says ([`Inst`]).
//! Zen 4 reports waits for a compare and its branch on the branch, as if they were two; that is all the same to time, and nothing
//! is known of its counters.

use super::folded::Folded;
use super::hold::Reporting;
use super::region::Node;
use super::reporting::LEAST_EVIDENCE;
use crate::code::{FunctionIx, Inst, Kind, Program};

/// Fused branches hold less than this share of their pair's samples.
const FUSED: f64 = 0.03;

/// Whether a node that is the second of a pair is fused with the node before it.
pub fn fuses(program: &Program, reporting: Reporting, node: &Node) -> bool {
    let before = node.inst.checked_sub(1).map(|i| &program.functions[node.function].1.insts[i]);
    reporting.fused && before.is_some_and(|b| b.fuses || reporting.fused_constants && b.fuses_constant)
}

/// Whether waits for an instruction may be reported on it where everything else is late: for a string, which is interrupted between its
/// elements, or for one that may be one operation with the one before it.
pub fn may_stay(insts: &[Inst], i: usize) -> bool {
    insts[i].kind == Kind::String || i > 0 && insts[i].joins(&insts[i - 1])
}

/// Whether samples on a node that may be reported where it is waited for itself are such ones: of a string they are, of the second
/// of two instructions that may be one operation if it has more than what is behind it. A core that makes two of them waits
/// for the first one cycle at most.
pub fn stays(seen: &Folded, node: &Node) -> bool {
    let samples = |inst| seen.samples_at(node.function, inst);
    node.kind == Kind::String || samples(node.inst) > samples(node.inst + 1)
}

/// Whether branches retire as one with the compare before them: then they have no samples of their own.
pub fn is_fused(program: &Program, events: &[&Folded]) -> bool {
    let (mut first, mut second) = (0.0, 0.0);
    for (f, i) in pairs(program, |inst| inst.fuses) {
        first += samples(events, f, i);
        second += samples(events, f, i + 1);
    }
    second <= FUSED * (first + second)
}

/// Whether those that compare memory with a constant do as well. A compare that loads is waited for: were it reported on its own, as
/// the instruction before the next, the branch would have its samples; as one with the branch it is reported behind both.
pub fn are_constants_fused(program: &Program, events: &[&Folded]) -> bool {
    let (mut second, mut around) = (0.0, 0.0);
    for (f, i) in pairs(program, |inst| inst.fuses_constant) {
        let cfg = &program.functions[f].1.cfg;
        let behind = cfg.successors(cfg.block_of(i + 1)).map(|e| cfg.blocks[e.to].first);
        second += samples(events, f, i + 1);
        around += samples(events, f, i) + behind.map(|b| samples(events, f, b)).sum::<f64>();
    }
    second + around >= LEAST_EVIDENCE && second <= FUSED * (second + around)
}

fn samples(events: &[&Folded], f: FunctionIx, i: usize) -> f64 {
    events.iter().map(|e| e.samples_at(f, i)).sum()
}

/// Compares of this form with a conditional branch behind them in their block.
fn pairs(program: &Program, form: impl Fn(&Inst) -> bool) -> Vec<(FunctionIx, usize)> {
    let mut found = Vec::new();
    for (f, (_, function)) in program.functions.iter().enumerate() {
        let inside = function.cfg.blocks.iter().flat_map(|b| b.first..b.end.saturating_sub(1));
        let insts = &function.insts;
        found.extend(inside.filter(|&i| form(&insts[i]) && insts[i + 1].is_conditional()).map(|i| (f, i)));
    }
    found
}
