//! How often choices of ways are guessed wrong.
//!
//! In: how often each way is taken, for how long its first instruction was waited for, and for how long a [`Schedule`] under the
//! guesses so far waits there. Out: guesses that wait as was seen.
//!
//! Wrong guesses cost from where a branch is decided. That may be long before what stands ahead of it has left; then nothing is
//! waited for at the first instruction of the right way, and what shows is that chains of operations behind it begin anew. So
//! they can't be read off the waits there alone, and where these are hidden, what was thought of them before stays.
//!
//! What is learnt here is for the schedule, and tells which branches a counter of wrong guesses may have counted; whether a flow agrees with what is waited is judged with that share left open
//! ([`choices`](super::choices)).
//!
//! It knows no predictor, but that a counter of two bits (Smith, "A study of branch prediction strategies", 1981) goes by the usual
//! way: where a choice of two ways goes by chance, the rarer one is hardly ever expected and the usual one nearly always. And choices
//! are foreseen or not. Of the wrong guesses at 2,594 choices of two ways on the simulator's out-of-order cores, recordings
//! counted alike, half are at choices guessed wrong .8 to 1.1 times as often as they go the rarer way, and a tenth at such as are so
//! less than .43 times. So a choice that seems to be guessed wrong a third of what a counter would be is taken for one that is not
//! foreseen, and whose rarer way runs less often than thought. Block distance by argmin, with two searches instead of four: over 37
//! recordings .0546 → .0485, over 44 .0488 → .0480, over five programs .0262 → .0253. Switches are foreseen in part: with the same for
//! them two of `interp` are .109 → .145 and .140 → .177.
//!
//! Guesses that are paid for where the branch leaves, as long as is waited behind it, took `enter`'s short loop with its chain of
//! sums for one that runs much longer: block distance of flow and time .0655 → .0609 over 44 recordings, .0788 → .0692 over
//! 28 that nothing was chosen by, .0257 → .0272 over five programs. The true shares of wrong guesses in place of what is learnt:
//! .0603, .0686. Refuted: ways of a counter of two bits whose share may still be anything (.0577 and .0663 where it was .0558 and
//! .0637; later .0252, .0502 and .0521 where it was .0262, .0488 and .0546); shares that change by the square root of what they should
//! (.0557 and .0630).

use super::circulation::Rates;
use super::region::{Decision, Region};
use super::schedule::{Schedule, approach};

/// What is guessed wrong at a choice of two ways, of what a counter of two bits would, before anything is seen.
const START: f64 = 1.0;
/// Of more than this a choice of two ways is not foreseen at all. With .2 and .6 instead, two searches by argmin are .0501 and .0487
/// off over the 44, .0495 and .0488 over the 37, .0267 and .0242 over the five.
const FORESEEN: f64 = 0.35;
/// What is guessed wrong of the executions that do not go the usual way of many, before anything is seen; .3 and .8 are .001 worse.
const START_OF_MANY: f64 = 0.5;
/// … and at most. Predictors that learn from what goes by chance are wrong more often than if they always guessed the usual way. When
/// choices of two ways were taken like these, 1, 1.5 and 2 gave .0509, .0495 and .0509 over 44 recordings, .0615, .0583 and
/// .0602 over 28 others.
const MOST_OF_MANY: f64 = 1.5;
/// … and how many times that changes at most in one turn.
const FASTEST: f64 = 4.0;
/// What is guessed wrong at least.
const LEAST: f64 = 0.02;
/// Cycles, of those seen and of those expected, that are not evidence.
const CHANCE: f64 = 0.5;

/// For each decision, what is guessed wrong: of two ways, of what a counter of two bits would; of many, of the executions that do not
/// go the usual one.
#[derive(Clone, Debug)]
pub struct Guesses {
    shares: Vec<f64>,
    /// Choices of two ways are all taken for foreseen, whatever is seen.
    foreseen: bool,
}

impl Guesses {
    /// Before anything is seen.
    pub fn new(region: &Region) -> Guesses {
        let start = |decision: &Decision| if decision.arms.len() == 2 { START } else { START_OF_MANY };
        Guesses { shares: region.decisions.iter().map(start).collect(), foreseen: false }
    }

    /// Those of a core that foresees all choices of two ways.
    pub fn foreseen(region: &Region) -> Guesses {
        let shares = vec![LEAST; region.decisions.len()];
        Guesses { foreseen: true, ..Guesses::of_two_ways(region, &shares) }
    }

    /// With these `shares` at choices of two ways.
    fn of_two_ways(region: &Region, shares: &[f64]) -> Guesses {
        let mut guesses = Guesses::new(region);
        let two = region.decisions.iter().zip(shares).zip(&mut guesses.shares);
        two.filter(|((decision, _), _)| decision.arms.len() == 2).for_each(|((_, share), own)| *own = *share);
        guesses
    }

    #[cfg(test)]
    pub(super) fn of(region: &Region, share: f64) -> Guesses {
        Guesses { shares: vec![share; region.decisions.len()], foreseen: false }
    }

    /// What is guessed wrong at each decision, of what would be by a counter of two bits or if the usual way were always guessed.
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// What they tell of which choices miss: that all are foreseen says of none that it is, and what time tells of switches is too little.
    pub fn of_misses(&self, region: &Region) -> Guesses {
        if self.foreseen { Guesses::new(region) } else { Guesses::of_two_ways(region, &self.shares) }
    }

    /// Makes them come nearer to `other` of the same code, by this `part` of the way.
    pub fn approach(&mut self, other: &Guesses, part: f64) {
        approach(&mut self.shares, &other.shares, part);
    }

    /// For each arm, the probability that it was not expected when it was taken.
    pub fn risks(&self, region: &Region, rates: &Rates) -> Vec<f64> {
        let mut risks = vec![0.0; region.arms.len()];
        for (decision, share) in region.decisions.iter().zip(&self.shares) {
            if region.nodes[region.arms[decision.arms.start].node].predicted {
                let ways = &rates.arms[decision.arms.clone()];
                let wrong = share * scale(ways);
                for arm in decision.arms.clone() {
                    risks[arm] = (wrong * unexpected(ways, rates.arms[arm])).min(1.0);
                }
            }
        }
        risks
    }

    /// Makes them such that the waits of `schedule` come nearer to those `seen` per node.
    pub fn learn(&mut self, region: &Region, rates: &Rates, schedule: &Schedule, seen: &[f64]) {
        let judged = |decision: &Decision| !(self.foreseen && decision.arms.len() == 2);
        let shares = region.decisions.iter().zip(&mut self.shares);
        for (decision, share) in shares.filter(|(decision, _)| judged(decision)) {
            let change = change(region, decision, rates, schedule, seen);
            *share = match decision.arms.len() {
                2 => (*share * change / FORESEEN).clamp(LEAST, 1.0),
                _ => (*share * change.clamp(1.0 / FASTEST, FASTEST)).clamp(LEAST, MOST_OF_MANY),
            };
        }
    }
}

/// How far a way that is taken with probability `p`, one of `ways`, is not expected: of two, by a counter of two bits that goes to and
/// fro between its inner states.
pub(crate) fn unexpected(ways: &[f64], p: f64) -> f64 {
    match ways.len() {
        2 => 1.0 - p * p / squares(ways).max(f64::MIN_POSITIVE),
        _ => 1.0 - p,
    }
}

/// How many times that is guessed wrong where the share that is is 1.
fn scale(ways: &[f64]) -> f64 {
    if ways.len() == 2 {
        return 1.0;
    }
    let rarer = 1.0 - ways.iter().copied().fold(0.0, f64::max);
    let spread = 1.0 - squares(ways);
    if spread > 0.0 { rarer / spread } else { 0.0 }
}

fn squares(ways: &[f64]) -> f64 {
    ways.iter().map(|p| p * p).sum()
}

/// How many times as much is waited behind `decision` as `schedule` has it, of what wrong guesses add; by how often each way is
/// taken unexpectedly and how much that adds there.
fn change(region: &Region, decision: &Decision, rates: &Rates, schedule: &Schedule, seen: &[f64]) -> f64 {
    let (mut sum, mut weight) = (0.0, 0.0);
    let ways = &rates.arms[decision.arms.clone()];
    for arm in decision.arms.clone() {
        let Some(to) = region.arms[arm].to else { continue };
        let first = region.blocks[to].nodes.start;
        let refill = schedule.refills[first];
        let expected = refill.share * refill.cycles;
        let waited = (seen[first] - (schedule.cycles[first] - expected)).max(0.0);
        let times = (waited + CHANCE) / (expected + CHANCE);
        // a load may be what is waited for
        let times = if region.nodes[first].loads { times.min(1.0) } else { times };
        let counts = rates.arms[arm] * unexpected(ways, rates.arms[arm]) * refill.cycles;
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
    use crate::skid::schedule::{Walks, schedule};

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

    /// The schedule at `rates` under these `guesses`.
    fn under(region: &Region, rates: &Rates, guesses: &Guesses) -> Schedule {
        schedule(region, rates, guesses, &[], Walks { seed: 1, ..Walks::default() })
    }

    /// What is learnt of the first choice in a loop around `body` that is guessed wrong as `truly`.
    fn learnt(body: &[u8], truly: f64) -> f64 {
        let (region, rates) = skipping(body);
        let seen = under(&region, &rates, &Guesses::of(&region, truly)).cycles;
        let mut guesses = Guesses::new(&region);
        for _ in 0..8 {
            let schedule = under(&region, &rates, &guesses);
            guesses.learn(&region, &rates, &schedule, &seen);
        }
        guesses.shares[0]
    }

    #[test]
    fn guesses_are_learnt_from_what_is_waited_for_behind_them() {
        let [foreseen, seldom, hardly] = [0.0, 0.1, 0.6].map(|truly| learnt(&[], truly));
        assert!(foreseen < 0.6 && foreseen < seldom && seldom < 0.8, "{foreseen} {seldom}");
        assert_eq!(hardly, 1.0);
    }

    #[test]
    fn what_is_hidden_stays_as_it_was_thought() {
        // mov (%rax),%rax (eight times) takes longer than all that a wrong guess costs, for the branch does not wait for it
        let chain = [0x48, 0x8b, 0x00].repeat(8);
        let (region, rates) = skipping(&chain);
        let cycles =
            |share: f64| under(&region, &rates, &Guesses::of(&region, share)).cycles.iter().sum::<f64>();
        assert!(cycles(0.5) - cycles(0.0) < 4.0, "{} {}", cycles(0.5), cycles(0.0));
        let found = learnt(&chain, 0.1);
        assert!(found > 0.25, "{found}");
    }

    #[test]
    fn a_core_that_foresees_all_learns_of_no_wrong_guess() {
        let (region, rates) = skipping(&[]);
        let seen = under(&region, &rates, &Guesses::of(&region, 1.0)).cycles;
        let mut guesses = Guesses::foreseen(&region);
        let schedule = under(&region, &rates, &guesses);
        guesses.learn(&region, &rates, &schedule, &seen);
        assert_eq!(guesses.shares(), [LEAST; 2]);
        assert!(guesses.risks(&region, &rates).iter().all(|risk| *risk <= LEAST));
    }

    #[test]
    fn the_rarer_way_is_the_one_not_expected() {
        let (region, rates) = skipping(&[]);
        let risks = Guesses::of(&region, 1.0).risks(&region, &rates);
        let arms = region.decisions[1].arms.clone();
        let (rarer, usual) = match rates.arms[arms.start] < 0.5 {
            true => (arms.start, arms.start + 1),
            false => (arms.start + 1, arms.start),
        };
        assert!(rates.arms[rarer] < 0.01 && risks[rarer] > 0.99 && risks[usual] < 1e-4, "{risks:?}");
        let even = region.decisions[0].arms.clone();
        assert!(risks[even].iter().all(|risk| (risk - 0.5).abs() < 0.01), "{risks:?}");
    }

    #[test]
    fn ways_of_a_switch_are_wrong_in_proportion_to_what_else_is_taken() {
        let ways = [0.5, 0.3, 0.2];
        let wrong = |p: f64| scale(&ways) * unexpected(&ways, p);
        let sum: f64 = ways.iter().map(|&p| p * wrong(p)).sum();
        assert!((sum - 0.5).abs() < 1e-9, "as often as the usual way is not taken: {sum}");
        assert!(wrong(0.2) > wrong(0.5));
    }
}
