//! Which address the interrupt reports: that of the instruction waited for, or of the one after it.
//!
//! Fit alone can't tell; the code can. Time is spent waiting for slow instructions, so where it stands on the quick ones
//! right behind them, the address is one late. A compare that retires as one with the branch behind it leaves the branch
//! without samples.

use super::assemble::Folded;
use super::hold::Reporting;
use crate::code::{Function, Program};

/// Latency from which an instruction is worth waiting for, cycles.
const SLOW: f64 = 4.0;
/// Fused branches hold less than this share of their pair's samples.
const FUSED: f64 = 0.03;
/// Fewer samples on slow instructions and behind them decide nothing.
const LEAST_SAMPLES: f64 = 20.0;

/// How the file's interrupts report, from the samples of its `time` event and of all its `events`. Without evidence the
/// address is taken to be late, which it is on most processors.
pub fn decide(program: &Program, time: Option<&Folded>, events: &[&Folded]) -> Reporting {
    let late = time.and_then(|t| is_late(program, t)).unwrap_or(true);
    Reporting { late, fused: is_fused(program, events) }
}

fn is_late(program: &Program, time: &Folded) -> Option<bool> {
    let (mut on, mut behind) = (0.0, 0.0);
    for (f, (_, function)) in program.functions.iter().enumerate() {
        for i in pairs(function).filter(|&i| is_slow(function, i) && !is_slow(function, i + 1)) {
            on += time.samples_at(f, i);
            behind += time.samples_at(f, i + 1);
        }
    }
    (on + behind >= LEAST_SAMPLES).then_some(behind > on)
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

/// Slow by itself or by its load. Calls push rather than wait.
fn is_slow(function: &Function, i: usize) -> bool {
    let inst = &function.insts[i];
    let waits = if inst.loads { SLOW } else { 0.0 };
    inst.kind.latency() + waits >= SLOW && inst.falls_through() && !inst.is_conditional()
}
