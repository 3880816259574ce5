//! Loads that an interrupt makes begin anew: waits for them are reported in part on themselves.
//!
//! In: samples of time. Out: whether a load is such a one. A Sapphire Rapids in a virtual machine lets most of what it waits for
//! finish and reports what is behind, but not all loads: of `cpu-clock`, a loop that follows pointers through 64 MB had 268 to 992 of
//! 1,400 to 2,200 samples on the load itself, through 1 MB a third, `xz` 2,373 of 30,700 on one of its hash table, a lookup in Python's
//! dictionaries 58 of 527, and next to nothing on what is plain around them. What was before such a load was not waited for that long.
//! It does not know why (there were none on pages of 2 MB through 64 MB, and as many through 1 MB), nor which part of a wait that is:
//! what is reported on such a load is all taken for its own.

use std::ops::Range;

use super::folded::Folded;
use super::heads::is_guessed;
use super::region::Node;
use crate::code::{Edge, Flow, Function, Inst};

/// Fewer samples may be those of what is before.
const LEAST_SAMPLES: f64 = 16.0;
/// A load has so many times the samples of whatever is plain in its block.
const CONTRAST: f64 = 4.0;
/// … of which there are as many at least.
const LEAST_PLAIN: usize = 3;
/// Its own samples are so many times those behind it, at least and at most: fewer may be of the one cycle that what is before it takes.
const OF_BEHIND: Range<f64> = 0.05..4.0;

/// Whether `node` of `function` is a load that begins anew, by samples of `time`.
pub fn restarts(function: &Function, time: &Folded, node: &Node) -> bool {
    let samples = |inst| time.samples_at(node.function, inst);
    let own = samples(node.inst);
    let roams = function.insts[node.inst]
        .memory
        .is_some_and(|memory| memory.in_object().is_some() || memory.index.is_some());
    if !node.loads || !roams || own < LEAST_SAMPLES || !OF_BEHIND.contains(&(own / samples(node.inst + 1))) {
        return false;
    }
    let block = &function.cfg.blocks[function.cfg.block_of(node.inst)];
    let others = (block.first..block.end).filter(|&i| i != node.inst);
    let plain: Vec<f64> = others.filter(|&i| follows_plain(function, i)).map(samples).collect();
    let stands_out = plain.len() >= LEAST_PLAIN && plain.iter().all(|plain| own > CONTRAST * plain);
    stands_out && follows_plain(function, node.inst)
}

/// Whether neither of the two instructions that ran before `inst` can be waited for: the second of them may be reported on it where two
/// retire at once.
fn follows_plain(function: &Function, inst: usize) -> bool {
    let cfg = &function.cfg;
    let b = cfg.block_of(inst);
    let first = cfg.blocks[b].first;
    let inside = function.insts[inst.saturating_sub(2).max(first)..inst].iter().all(is_plain);
    let goes_on = |edge: &Edge| {
        let from = &cfg.blocks[edge.from];
        let before = &function.insts[from.first..from.end];
        let two = &before[before.len().saturating_sub(2 - (inst - first).min(2))..];
        !is_guessed(function, edge) && two.iter().all(is_plain)
    };
    inside && (inst >= first + 2 || b > 0 && cfg.edges.iter().filter(|edge| edge.to == b).all(goes_on))
}

fn is_plain(inst: &Inst) -> bool {
    let goes_on = !matches!(
        inst.flow,
        Flow::IndirectJump { .. } | Flow::IndirectCall { .. } | Flow::Call(_) | Flow::Return
    );
    goes_on && !inst.loads && inst.kind.latency() <= 1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Program, Told, explore};
    use crate::skid::classes::Classes;
    use crate::skid::folded::Counts;
    use crate::skid::hold::Reporting;
    use crate::skid::{Circulation, Holds, Region, assemble};

    /// 0: mov (%r15),%r15; nop; nop; mov %rdx,%r8; mov %r8,%r9; nop; dec %rsi; jne 0; ret
    const CHASE: [u8; 18] = [
        0x4d, 0x8b, 0x3f, 0x90, 0x90, 0x49, 0x89, 0xd0, 0x4d, 0x89, 0xc1, 0x90, 0x48, 0xff, 0xce, 0x75, 0xef,
        0xc3,
    ];
    const NOTHING: [usize; 0] = [];

    /// With what stands in front of it.
    fn behind(front: &[u8], samples: &[f64]) -> (Program, Folded) {
        let code = [front, &CHASE].concat();
        let function = explore(&Bytes(0, code.clone()), 0..code.len() as u64, &[]);
        let program = Program::link(vec![(0, function)], &NoStubs, &Told::default());
        let skipped = program.functions[0].1.insts.len() - samples.len();
        let weight = samples.iter().enumerate().map(|(i, n)| ((0, skipped + i), n * 7.0)).collect();
        (program, Folded { weight, period: 7.0, counts: Counts::Instructions, exact: false, stray: 0.0 })
    }

    /// Which of its loads begin anew.
    fn found(front: &[u8], samples: [f64; 9]) -> Vec<usize> {
        let (program, time) = behind(front, &samples);
        let region = Region::build(&program, &Classes::of(&program), &[0], &|_, _| true);
        let function = &program.functions[0].1;
        let mut found: Vec<usize> = region
            .nodes
            .iter()
            .filter(|node| restarts(function, &time, node))
            .map(|node| node.inst)
            .collect();
        found.dedup();
        found
    }

    /// With so many samples on the load, behind it, and on what is plain.
    fn chase(own: f64, next: f64, plain: f64) -> [f64; 9] {
        let mut samples = [0.0; 9];
        (samples[0], samples[1], samples[4]) = (own, next, plain);
        samples
    }

    const MOVE: [u8; 3] = [0x48, 0x89, 0xd8];

    #[test]
    fn a_load_with_many_samples_that_nothing_before_it_can_have_waited_for_begins_anew() {
        assert_eq!(found(&MOVE, chase(268.0, 1166.0, 5.0)), [1]);
        assert_eq!(found(&MOVE, chase(992.0, 1193.0, 0.0)), [1]);
    }

    #[test]
    fn few_samples_or_none_behind_it_or_as_many_on_what_is_plain_tell_nothing() {
        for samples in [chase(12.0, 1166.0, 0.0), chase(268.0, 20.0, 5.0), chase(268.0, 1166.0, 90.0)] {
            assert_eq!(found(&MOVE, samples), NOTHING, "{samples:?}");
        }
    }

    #[test]
    fn what_is_before_it_may_be_waited_for() {
        let samples = chase(268.0, 1166.0, 5.0);
        // imul %rdx,%rbx before the loop; test %rbx,%rbx; je to its start, which may not be foreseen
        assert_eq!(found(&[0x48, 0x0f, 0xaf, 0xda], samples), NOTHING);
        assert_eq!(found(&[0x48, 0x85, 0xdb, 0x74, 0x00], samples), NOTHING);
        // nothing: it may be waited for what calls it
        assert_eq!(found(&[], samples), NOTHING);
    }

    #[test]
    fn its_samples_stay_and_those_behind_it_come_to_it() {
        let (program, time) = behind(&MOVE, &chase(300.0, 1100.0, 4.0));
        let classes = Classes::of(&program);
        let of = |patient| {
            let reporting = Reporting { late: true, patient, fused: true, ..Reporting::default() };
            let retired = [Folded { period: 7.0, ..time.clone() }];
            let model =
                assemble::model(&program, &classes, &[0], &retired, Some(&time), reporting, &|_, _| true);
            let rates = Circulation::new(&model.region).rates(&model.region, &[5.0], 1e6).expect("a flow");
            let holds = Holds::measure(&model.region, &rates, model.time.as_ref(), reporting);
            let load = model.region.nodes.iter().position(|node| node.loads).expect("one");
            (model.region.nodes[load].stays, holds.waited[load] / 7.0, holds.behind.get(load).copied())
        };
        let (stays, waited, behind) = of(false);
        assert!(stays && (waited - 1400.0).abs() < 1e-6, "{waited}");
        assert!((behind.unwrap() - 1100.0 / 1400.0).abs() < 1e-9, "{behind:?}");
        assert!(!of(true).0, "where all waits begin on themselves, that tells nothing of pages");
    }
}
