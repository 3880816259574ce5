//! How often choices of ways are guessed wrong.
//!
//! In: how often each way is taken, for how long its first instruction was waited for, and for how long a [`Schedule`] under the
//! guesses so far waits there. Out: guesses that wait as was seen.
//!
//! Wrong guesses cost from where a branch is decided. That may be long before what stands ahead of it has left; then nothing is
//! waited for at the first instruction of the right way, and what shows is that chains of operations behind it begin anew. So
//! they can't be read off the waits there alone, and where these are hidden, what was thought of them before stays. It knows no
//! predictor: choices that go by chance are taken to be wrong in proportion to how often they do not go the usual way, which any
//! predictor is about as good as (Smith, "A study of branch prediction strategies", 1981).
//!
//! Guesses that are paid for where the branch leaves, as long as is waited behind it, took `enter`'s short loop with its chain of
//! sums for one that runs much longer: block distance of flow and time .0655 → .0609 over 44 recordings, .0788 → .0692 over
//! 28 that nothing was chosen by, .0257 → .0272 over five programs. The true shares of wrong guesses in place of what is learnt:
//! .0603, .0686. Refuted: what is guessed wrong divided between the ways as a counter of two bits would, 1 − p² / Σ p² of each
//! (.0577 and .0663 where it was .0558 and .0637); shares that change by the square root of what they should (.0557 and .0630).

use super::circulation::Rates;
use super::region::{Decision, Region};
use super::schedule::Schedule;

/// What is guessed wrong of the executions that do not go the usual way, before anything is seen; .3 and .8 are .001 worse.
const START: f64 = 0.5;
/// … and at least and at most. Predictors that learn from what goes by chance are wrong more often than if they always guessed the
/// usual way: counters of two bits 1.2 times as often where three in ten go the other. With 1, 1.5 and 2 block distance is .0509,
/// .0495 and .0509 over 44 recordings, .0615, .0583 and .0602 over 28 others (flow and time alone: .0558 and .0557, .0637 and .0613).
const LEAST: f64 = 0.02;
const MOST: f64 = 1.5;
/// It changes so many times at most in one turn.
const FASTEST: f64 = 4.0;
/// Cycles, of those seen and of those expected, that are not evidence.
const CHANCE: f64 = 0.5;

/// For each decision, what is guessed wrong of the executions that do not go the usual way.
#[derive(Clone, Debug)]
pub struct Guesses(Vec<f64>);

/// What is guessed wrong at one instruction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Risk {
    /// Share of its executions.
    wrong: f64,
    /// Σ p (1 − p) over its ways.
    spread: f64,
}

impl Risk {
    /// Probability that a way, itself taken with probability `p`, was not expected when it was taken.
    pub fn of(self, p: f64) -> f64 {
        if self.spread > 0.0 { (self.wrong * (1.0 - p) / self.spread).min(1.0) } else { 0.0 }
    }
}

impl Guesses {
    /// Before anything is seen.
    pub fn new(region: &Region) -> Guesses {
        Guesses(vec![START; region.decisions.len()])
    }

    /// The risk at each node.
    pub fn risks(&self, region: &Region, rates: &Rates) -> Vec<Risk> {
        let mut risks = vec![Risk::default(); region.nodes.len()];
        for (decision, share) in region.decisions.iter().zip(&self.0) {
            let node = region.arms[decision.arms.start].node;
            if region.nodes[node].predicted {
                let ways = &rates.arms[decision.arms.clone()];
                let rarer = 1.0 - ways.iter().copied().fold(0.0, f64::max);
                let spread = ways.iter().map(|p| p * (1.0 - p)).sum();
                risks[node] = Risk { wrong: share * rarer, spread };
            }
        }
        risks
    }

    /// Makes them such that the waits of `schedule` come nearer to those `seen` per node.
    pub fn learn(&mut self, region: &Region, rates: &Rates, schedule: &Schedule, seen: &[f64]) {
        for (decision, share) in region.decisions.iter().zip(&mut self.0) {
            let change = change(region, decision, rates, schedule, seen);
            *share = (*share * change.clamp(1.0 / FASTEST, FASTEST)).clamp(LEAST, MOST);
        }
    }
}

/// How many times as much is waited behind `decision` as `schedule` has it, of what wrong guesses add; by how often each way is
/// taken unexpectedly and how much that adds there.
fn change(region: &Region, decision: &Decision, rates: &Rates, schedule: &Schedule, seen: &[f64]) -> f64 {
    let (mut sum, mut weight) = (0.0, 0.0);
    for arm in decision.arms.clone() {
        let Some(to) = region.arms[arm].to else { continue };
        let first = region.blocks[to].nodes.start;
        let refill = schedule.refills[first];
        let expected = refill.share * refill.cycles;
        let waited = (seen[first] - (schedule.cycles[first] - expected)).max(0.0);
        let times = (waited + CHANCE) / (expected + CHANCE);
        // a load may be what is waited for
        let times = if region.nodes[first].loads { times.min(1.0) } else { times };
        let counts = rates.arms[arm] * (1.0 - rates.arms[arm]) * refill.cycles;
        sum += counts * times;
        weight += counts;
    }
    if weight > 0.0 { sum / weight } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Program, Told, explore};
    use crate::skid::Circulation;
    use crate::skid::classes::Classes;
    use crate::skid::core::Shape;
    use crate::skid::schedule::schedule;

    /// A loop around `body` and around two instructions that every other run skips.
    fn skipping(body: &[u8]) -> (Region, Rates) {
        // …; je 4; nop; nop; dec %edi; jne …; ret
        let back = (body.len() as u8 + 8).wrapping_neg();
        let code = [body, &[0x74, 0x02, 0x90, 0x90, 0xff, 0xcf, 0x75, back, 0xc3]].concat();
        let function = explore(&Bytes(0, code.clone()), 0..code.len() as u64, &[]);
        let program = Program::link(vec![(0, function)], &NoStubs, &Told::default());
        let region = Region::build(&program, &Classes::of(&program), &[0], &|_, _| true);
        let rates = Circulation::new(&region).rates(&region, &[0.0, -7.0], 1e6).expect("a flow");
        (region, rates)
    }

    /// What is learnt of the first choice in a loop around `body` that is guessed wrong as `truly`.
    fn learnt(body: &[u8], truly: f64) -> f64 {
        let (region, rates) = skipping(body);
        let under = |guesses: &Guesses| schedule(&region, &rates, guesses, &[], Shape::default(), 1);
        let seen = under(&Guesses(vec![truly; 2])).cycles;
        let mut guesses = Guesses::new(&region);
        for _ in 0..8 {
            let schedule = under(&guesses);
            guesses.learn(&region, &rates, &schedule, &seen);
        }
        guesses.0[0]
    }

    #[test]
    fn guesses_are_learnt_from_what_is_waited_for_behind_them() {
        for truly in [0.1, 0.9] {
            let found = learnt(&[], truly);
            assert!((found / truly).ln().abs() < 0.25, "{truly}: {found}");
        }
    }

    #[test]
    fn what_is_hidden_stays_as_it_was_thought() {
        // mov (%rax),%rax (eight times) takes longer than all that a wrong guess costs, for the branch does not wait for it
        let chain = [0x48, 0x8b, 0x00].repeat(8);
        let (region, rates) = skipping(&chain);
        let under = |share| schedule(&region, &rates, &Guesses(vec![share; 2]), &[], Shape::default(), 1);
        let cycles = |share: f64| under(share).cycles.iter().sum::<f64>();
        assert!(cycles(0.5) - cycles(0.0) < 4.0, "{} {}", cycles(0.5), cycles(0.0));
        let found = learnt(&chain, 0.1);
        assert!(found > 0.25, "{found}");
    }

    #[test]
    fn the_rarer_way_is_the_one_not_expected() {
        let (region, rates) = skipping(&[]);
        let risks = Guesses(vec![1.0; 2]).risks(&region, &rates);
        let node = region.arms[region.decisions[1].arms.start].node;
        let (rare, usual) = (risks[node].of(1e-3), risks[node].of(1.0 - 1e-3));
        assert!(rare > 100.0 * usual, "{rare} {usual}");
        assert!(risks.iter().all(|risk| risk.of(0.5) <= 1.0));
    }
}
