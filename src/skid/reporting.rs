//! Which address the interrupt reports: that of the instruction waited for, or of the one after it.
//!
//! Fit alone can't tell; the code can. Time is spent waiting for slow instructions, so where it stands on the quick ones
//! right behind them, the address is one late. A compare that retires as one with the branch behind it leaves the branch
//! without samples.

use super::assemble::Folded;
use super::hold::Reporting;
use crate::code::{Function, Inst, Kind, Program};

/// Fused branches hold less than this share of their pair's samples.
const FUSED: f64 = 0.03;
/// An instruction is slow beside one that is waited for so many times less.
const CONTRAST: f64 = 2.0;
/// A place is waited at where it holds so many times its block's mean.
const NOTICEABLE: f64 = 1.5;
/// Weight of a pair whose second uses what the first computes: on a core that issues in order the second is waited for.
const DEPENDENT: f64 = 0.3;
/// Less evidence decides nothing.
const LEAST_EVIDENCE: f64 = 5.0;

/// How the file's interrupts report, from the samples of its `time` event and of all its `events`. Without evidence the
/// address is taken to be late, which it is on most processors.
pub fn decide(program: &Program, time: Option<&Folded>, events: &[&Folded]) -> Reporting {
    let late = time.and_then(|t| is_late(program, t)).unwrap_or(true);
    Reporting { late, fused: is_fused(program, events) }
}

fn is_late(program: &Program, time: &Folded) -> Option<bool> {
    let (mut on, mut behind) = (0.0, 0.0);
    for (f, (_, function)) in program.functions.iter().enumerate() {
        for block in &function.cfg.blocks {
            let samples: Vec<f64> = (block.first..block.end).map(|i| time.samples_at(f, i)).collect();
            let usual = NOTICEABLE * samples.iter().sum::<f64>() / samples.len() as f64;
            for (pair, i) in samples.windows(2).zip(block.first..) {
                let contrast = contrast(function, i);
                on += contrast * (pair[0] - usual).max(0.0);
                behind += contrast * (pair[1] - usual).max(0.0);
            }
        }
    }
    (on + behind >= LEAST_EVIDENCE).then_some(behind > on)
}

/// How much more instruction `i` is waited for than the one behind it: a weight, 0 where it is not.
fn contrast(function: &Function, i: usize) -> f64 {
    let (first, second) = (&function.insts[i], &function.insts[i + 1]);
    let (slow, quick) = (wait(first, false), wait(second, first.fuses));
    if first.fuses || slow < 1.0 || slow < CONTRAST * quick {
        return 0.0;
    }
    let stops = matches!(first.kind, Kind::Divide | Kind::FloatDivide);
    let dependent = !stops && !first.writes.and(second.reads).is_empty();
    (slow / quick).ln() * if dependent { DEPENDENT } else { 1.0 }
}

/// How long an instruction is waited for, roughly, in cycles: most of its latency is hidden.
fn wait(inst: &Inst, fused: bool) -> f64 {
    let load = if inst.loads { 1.0 } else { 0.0 };
    match inst.kind {
        _ if fused && inst.is_conditional() => 0.05,
        Kind::Nop | Kind::Jump => 0.1 + load,
        Kind::Move | Kind::Call | Kind::Return => 0.25 + load,
        kind => (0.2 + 0.3 * kind.latency()).min(6.0) + load,
    }
}

fn is_fused(program: &Program, events: &[&Folded]) -> bool {
    let (mut first, mut second) = (0.0, 0.0);
    for (f, (_, function)) in program.functions.iter().enumerate() {
        for i in
            pairs(function).filter(|&i| function.insts[i].fuses && function.insts[i + 1].is_conditional())
        {
            first += events.iter().map(|e| e.samples_at(f, i)).sum::<f64>();
            second += events.iter().map(|e| e.samples_at(f, i + 1)).sum::<f64>();
        }
    }
    second <= FUSED * (first + second)
}

/// Instructions with another behind them in their block.
fn pairs(function: &Function) -> impl Iterator<Item = usize> + '_ {
    function.cfg.blocks.iter().flat_map(|b| b.first..b.end.saturating_sub(1))
}
