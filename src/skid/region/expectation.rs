//! What the code alone says of which way a branch goes, as logits: loops that it counts, and static prediction by its shape.

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
/// Turns behind the first of a counted loop that has none.
const LEAST_TURNS: f64 = 1e-3;

/// What the code says of an edge: counted loops are left as often as they are entered. Where there is another way out, their
/// count is a guess like others: block distance over the 37 by argmin .0562 with it, .0580 without.
pub(super) fn expectation(function: &Function, from: BlockIx, to: BlockIx) -> f64 {
    let within = |l: LoopIx| function.loops.holds(&function.loops.all[l], to);
    match function.counted.iter().find(|counted| counted.exit == from) {
        Some(counted) if within(counted.of) => 0.0,
        Some(counted) => -(counted.passes - 1.0).max(LEAST_TURNS).ln(),
        None => guess(function, from, to),
    }
}

/// What the shape of the code says of an edge: loops are entered, and go on (the loop heuristics of Wu and Larus, "Static
/// branch frequency and program profile analysis", 1994, table 1).
fn guess(function: &Function, from: BlockIx, to: BlockIx) -> f64 {
    let loops = &function.loops;
    let within = |block: BlockIx, l: LoopIx| loops.holds(&loops.all[l], block);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::explore;
    use crate::code::testing::Bytes;

    #[test]
    fn a_loop_of_five_turns_goes_on_four_times_in_five() {
        // 0: mov $5,%ecx; 5: dec %ecx; 7: jne 5; ret
        let code = vec![0xb9, 5, 0, 0, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3];
        let of = |code: &[u8]| {
            let function = explore(&Bytes(0, code.to_vec()), 0..code.len() as u64, &[]);
            let header = function.loops.all[0].header;
            [header, header + 1].map(|to| expectation(&function, header, to))
        };
        let [stays, leaves] = of(&code);
        assert!(((leaves - stays).exp() - 0.25).abs() < 1e-12);
        assert_eq!(of(&code[5..])[1], LEAVES_LOOP, "of an unknown number of turns");
    }
}
