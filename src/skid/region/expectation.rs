//! What the shape of the code alone says of which way a branch goes: static prediction, as logits.

use crate::code::{BlockIx, Flow, Function, LoopIx};

/// Logit of the way out of a region.
pub(super) const OUTSIDE: f64 = -3.0;
/// Logit of ways that leave loops …
pub const LEAVES_LOOP: f64 = -2.0;
/// … and that enter them.
const ENTERS_LOOP: f64 = 1.5;
/// A comparison that mostly fails does so 16 times in 100 not (Wu and Larus, "Static branch frequency and program profile
/// analysis", 1994, table 1).
const FAILS: f64 = -1.66;

/// What the shape of the code says of an edge: loops are entered, and go on (the loop heuristics of Wu and Larus, "Static
/// branch frequency and program profile analysis", 1994, table 1).
pub(super) fn expectation(function: &Function, from: BlockIx, to: BlockIx) -> f64 {
    let loops = &function.loops;
    let within = |block: BlockIx, l: LoopIx| loops.all[l].blocks.binary_search(&block).is_ok();
    if loops.of(from).is_some_and(|l| !within(to, l)) {
        return LEAVES_LOOP;
    }
    let mut way = function.cfg.successors(to);
    let ahead = match (way.next(), way.next()) {
        (Some(edge), None) => edge.to,
        _ => to,
    };
    let deeper = |block: BlockIx| loops.depth(block) > loops.depth(from);
    if deeper(to) || deeper(ahead) { ENTERS_LOOP } else { compared(function, from, to) }
}

/// Comparisons for equality, and of the sign, mostly fail (the opcode heuristic of Ball and Larus, "Branch prediction for
/// free", 1993).
fn compared(function: &Function, from: BlockIx, to: BlockIx) -> f64 {
    let block = &function.cfg.blocks[from];
    let [.., before, branch] = &function.insts[block.first..block.end] else {
        return 0.0;
    };
    let Flow::Branch(target) = branch.flow else {
        return 0.0;
    };
    let (tests, compares) = (&*before.mnemonic == "test", matches!(&*before.mnemonic, "test" | "cmp"));
    let fails_taken = match &*branch.mnemonic {
        "jz" | "js" if compares => true,
        "jnz" | "jns" if compares => false,
        "jle" | "jl" if tests => true,
        "jg" | "jge" if tests => false,
        _ => return 0.0,
    };
    let taken = function.insts[function.cfg.blocks[to].first].address == target;
    if taken == fails_taken { FAILS } else { 0.0 }
}
