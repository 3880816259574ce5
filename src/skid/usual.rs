//! What is known of branches before anything is weighed: static prediction, loops that run as often as their code says, and branches
//! that go by what a loop computes.
//!
//! In: a region, and the samples as they stand. Out: for each branch logit what is usual, and how sure that is where the code
//! says it. A loop that was entered so seldom while it was recorded that it was mostly seen in part is not sure: of a long one
//! that is entered once, as many turns were recorded as there was time for.

use super::likelihood::Observation;
use super::region::Region;

/// Standard deviation of the logit by which a loop is left that runs as often as the code says. Block distance of flow conservation
/// over 44 recordings and over 37 others is .0971 and .0982 with it, .0988 and .1023 with .05; by argmin .0512 and .0572, .0502 and
/// .0570, which is chance.
const COUNTED: f64 = 0.02;
/// Entries that the ends of the recording may have cut.
const CUT: f64 = 3.0;
/// Turns of a loop from which on what holds in the long run holds, though it begins at the same number each time.
const LONG: f64 = 30.0;
/// What is less sure is not known.
const UNSURE: f64 = 1.0;

/// What is known of branch logits.
#[derive(Clone, Debug, PartialEq)]
pub struct Usual {
    /// The logits, relative to each decision's first arm.
    pub logits: Vec<f64>,
    /// Standard deviations of those that the code says.
    pub deviations: Vec<Option<f64>>,
}

/// What is known of the branches of `region`, in which `event` was sampled.
pub fn usual(region: &Region, event: &Observation) -> Usual {
    let mut logits = region.expectation();
    let mut deviations = vec![None; logits.len()];
    for turns in &region.turns {
        let logit = region.decisions[turns.decision].first;
        let executions = executions(region, event, &turns.blocks);
        let deviation = COUNTED.hypot(CUT * turns.passes / executions.max(f64::MIN_POSITIVE));
        if deviation < UNSURE {
            deviations[logit] = Some(deviation);
        } else {
            // as seldom as it could be seen
            let seldom = executions.max(2.0).ln();
            logits[logit] = logits[logit].clamp(-seldom, seldom);
        }
    }
    for chance in &region.chances {
        let entered = chance.before.map_or(0.0, |before| executions(region, event, &[before]));
        if entered * LONG <= executions(region, event, &chance.blocks) {
            let logit = region.decisions[chance.decision].first;
            (logits[logit], deviations[logit]) = (chance.logit, Some(chance.deviation));
        }
    }
    Usual { logits, deviations }
}

/// How often `blocks` ran on average, by the samples that stand in them.
fn executions(region: &Region, event: &Observation, blocks: &[usize]) -> f64 {
    let nodes = || blocks.iter().flat_map(|&b| region.blocks[b].nodes.clone());
    let weight: f64 = nodes().map(|node| event.weight[node]).sum();
    weight / nodes().filter(|&node| event.counts[node]).count().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Program, Told, explore};
    use crate::skid::classes::Classes;

    /// What is usual in a loop of a thousand turns that ran so often.
    fn of(executions: f64) -> (f64, Option<f64>) {
        // 0: mov $1000,%ecx; 5: dec %ecx; 7: jne 5; 9: ret
        let code = vec![0xb9, 0xe8, 3, 0, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3];
        let functions = vec![(0, explore(&Bytes(0, code), 0..10, &[]))];
        let program = Program::link(functions, &NoStubs, &Told::default());
        let region = Region::build(&program, &Classes::of(&program), &[0], &|_, _| true);
        let weight = vec![0.0, executions, executions, 0.0];
        let event = Observation { weight, period: 1.0, counts: vec![true; 4], exact: false };
        let usual = usual(&region, &event);
        (usual.logits[0].abs(), usual.deviations[0])
    }

    #[test]
    fn a_loop_that_was_entered_often_is_left_as_often_as_its_code_says() {
        let (logit, deviation) = of(1e7);
        assert!((logit - 999f64.ln()).abs() < 1e-9 && deviation.is_some_and(|d| d < 0.03), "{deviation:?}");
        assert!(of(1e5).1 > Some(0.02));
    }

    #[test]
    fn one_that_was_seen_in_part_tells_nothing() {
        let (logit, deviation) = of(100.0);
        assert!((logit - 100f64.ln()).abs() < 1e-9 && deviation.is_none());
    }

    /// What is known of a branch on a counter modulo four in a loop that is entered so often for each thousand of its turns.
    fn of_counter(entered: f64) -> Option<(f64, f64)> {
        // 0: xor %ecx,%ecx; 2: test $3,%cl; jne 9; inc %eax; 9: inc %ecx; cmp %ecx,%edx; jne 2; ret
        let mut code = vec![0x31, 0xc9, 0xf6, 0xc1, 3, 0x75, 2, 0xff, 0xc0];
        code.extend([0xff, 0xc1, 0x39, 0xca, 0x75, 0xf3, 0xc3]);
        let functions = vec![(0, explore(&Bytes(0, code), 0..16, &[]))];
        let program = Program::link(functions, &NoStubs, &Told::default());
        let region = Region::build(&program, &Classes::of(&program), &[0], &|_, _| true);
        let weight = [vec![entered], vec![1000.0; 6], vec![entered]].concat();
        let event = Observation { weight, period: 1.0, counts: vec![true; 8], exact: false };
        let usual = usual(&region, &event);
        let first = region.decisions[region.chances[0].decision].first;
        Some((usual.logits[first].abs(), usual.deviations[first]?))
    }

    #[test]
    fn a_counter_goes_round_evenly_in_a_loop_that_is_long() {
        let (logit, deviation) = of_counter(10.0).expect("known");
        assert!((logit - 3f64.ln()).abs() < 1e-9 && deviation < 0.05, "{logit} {deviation}");
        assert_eq!(of_counter(300.0), None, "three turns begin at 0 each time");
    }
}
