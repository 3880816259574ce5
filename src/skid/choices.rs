//! Choices of two ways are judged by what is waited for behind them.
//!
//! In: how often each way goes, for how long its first instruction was waited for, and for how long a [`Schedule`] waits there
//! behind a right guess and behind a wrong one. Out: how unlikely that is, as residuals, whatever share of the guesses is wrong. Of the
//! two ways the rarer is hardly ever expected ([`guesses`](super::guesses)), so that two waits tell of one share and of how often
//! each way goes. It knows no predictor.
//!
//! At the truth (the five, the 44, the 37, with the true shares), half of 594 first instructions that do not load are waited for
//! between .82 and 1.21 times as long as this has it, of those that mostly wait for a wrong guess between .80 and 1.14 times. With
//! the true waits in place of what the schedule has, block distance would be .0314 over the 44 and .0270 over the 37, by argmin, where
//! it is .0427 and .0357 without what is here: half of what time has to say stands at these instructions.

use std::sync::LazyLock;

use super::core::Shape;
use super::expansion::Expansion;
use super::guesses::{Guesses, unexpected};
use super::pace::{Kin, Seen};
use super::region::{Decision, Region};
use super::schedule::{Schedule, approach};

/// Cycles of each run that the leader of a retirement group may hide, or that more may wait.
const HIDDEN: f64 = 1.0;
/// Samples that make a wait known to that.
const SETTLED: f64 = 20.0;
/// What weighs less is not judged.
const LEAST_WEIGHT: f64 = 0.02;

/// How waits differ from what is expected.
const PLAIN: Kin = Kin { spread: 0.28, freedom: 3.0, quick: 3.0 };
const LOADS: Kin = Kin { spread: 0.4, freedom: 1.5, quick: 1.5 };

/// Of 1,421 choices that go their rarer way once in a hundred times or more, half are guessed wrong .8 to 1.2 times as often as by a
/// counter of two bits, an eighth less than .03 times, the others evenly in between: standard deviations around 1 …
const UNFORESEEN: f64 = 0.12;
/// … and around 0, …
const FORESEEN: f64 = 0.12;
/// … how likely that is beside the former, …
const HALF: f64 = 0.5;
/// … and the logarithm of how much likelier 1 is than what is far from both.
const KNOWN: f64 = 1.8;
/// Shares that are looked at, and steps of the search between them (Kiefer, "Sequential minimax search for a maximum", 1953), at
/// whose end a parabola is laid through what is left.
const SHARES: [f64; 12] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1];
const STEPS: usize = 4;
const GOLDEN: f64 = 0.618_034;
/// How unlikely each of these is.
static DOUBTS: LazyLock<[f64; SHARES.len()]> = LazyLock::new(|| SHARES.map(doubt));

/// What is waited for behind choices of two ways.
#[derive(Clone, Debug)]
pub struct Choices {
    /// What should be.
    pub expected: Expected,
    /// Ways of choices that lead to each block: the decision, the arm.
    into: Vec<Vec<(usize, usize)>>,
}

/// What a schedule waits for.
#[derive(Clone, Debug)]
pub struct Expected {
    /// Cycles for each node behind a right guess …
    right: Vec<f64>,
    /// … and what a wrong one adds.
    wrong: Vec<f64>,
    /// What is guessed wrong.
    guesses: Guesses,
}

/// The first instruction of a way.
#[derive(Clone, Copy)]
struct First {
    /// Cycles for which it was waited, …
    waited: f64,
    /// … for which it should have been if this choice were never guessed wrong, …
    right: f64,
    /// … and what is added if it is as a counter of two bits would.
    wrong: f64,
    /// How well that is known, 0 to 1.
    weight: f64,
    kin: Kin,
}

impl Expected {
    /// Under a `schedule` that was made with these `guesses`, on a core of this `shape`.
    pub fn new(schedule: &Schedule, guesses: &Guesses, shape: Shape) -> Expected {
        let (refills, refill) = (schedule.refills.iter(), shape.refill() as f64);
        Expected {
            right: schedule.right().collect(),
            wrong: refills.map(|r| if r.share > 0.0 { r.cycles } else { refill }).collect(),
            guesses: guesses.clone(),
        }
    }

    /// Makes it come nearer to `other` of the same code, by this `part` of the way.
    pub fn approach(&mut self, other: &Expected, part: f64) {
        approach(&mut self.right, &other.right, part);
        approach(&mut self.wrong, &other.wrong, part);
        self.guesses.approach(&other.guesses, part);
    }
}

impl Choices {
    /// Those of `region`.
    pub fn new(region: &Region, expected: Expected) -> Choices {
        let mut into = vec![Vec::new(); region.blocks.len()];
        for (ix, decision) in region.decisions.iter().enumerate().filter(|(_, d)| judged(region, d)) {
            for arm in decision.arms.clone() {
                if let Some(to) = region.arms[arm].to {
                    into[to].push((ix, arm));
                }
            }
        }
        Choices { expected, into }
    }

    /// What is guessed wrong in `region`, as far as what is expected tells of misses.
    pub fn guesses(&self, region: &Region) -> Guesses {
        self.expected.guesses.of_misses(region)
    }

    /// For each choice of two ways, by how much what was `seen` behind either is unlike what is expected, and how unlikely the share
    /// guessed wrong is that explains it best.
    pub fn residuals(&self, seen: &Seen<'_>) -> Vec<f64> {
        decisions(seen.region).flat_map(|decision| self.firsts(seen, decision).residuals()).collect()
    }

    /// The first instructions of the ways of `decision`.
    fn firsts(&self, seen: &Seen<'_>, decision: &Decision) -> Firsts {
        Firsts([0, 1].map(|way| self.first(seen, decision, decision.arms.start + way)))
    }

    /// The first instruction of the way by `arm`, if it stands behind choices.
    fn first(&self, seen: &Seen<'_>, decision: &Decision, arm: usize) -> Option<First> {
        let &Seen { region, rates, waited, period, doubt, .. } = seen;
        let Expected { right, wrong, guesses } = &self.expected;
        let to = region.arms[arm].to?;
        let node = region.blocks[to].nodes.start;
        if !region.nodes[node].chosen {
            return None;
        }
        let surprises = |decision: &Decision, arm: usize| {
            rates.taken(region, arm) * unexpected(&rates.arms[decision.arms.clone()], rates.arms[arm])
        };
        let others = self.into[to].iter().filter(|other| other.1 != arm);
        let others =
            others.map(|&(d, arm)| surprises(&region.decisions[d], arm) * guesses.shares()[d].min(1.0));
        let right = rates.blocks[to] * right[node] + others.sum::<f64>() * wrong[node];
        let wrong = surprises(decision, arm) * wrong[node];
        let samples = (waited[node] + right + wrong) / period;
        let own = (rates.taken(region, arm) / rates.blocks[to].max(f64::MIN_POSITIVE)).min(1.0);
        let hidden = HIDDEN * rates.blocks[to] + period;
        Some(First {
            waited: waited[node] + hidden,
            right: right + hidden,
            wrong,
            weight: own * samples / (samples + SETTLED),
            kin: if region.nodes[node].loads { LOADS } else { PLAIN }.doubted(doubt),
        })
    }
}

/// Those of the two ways of a choice, where they stand behind choices.
#[derive(Clone, Copy)]
struct Firsts([Option<First>; 2]);

impl Firsts {
    /// Whether they are judged.
    fn count(&self) -> bool {
        self.0.iter().flatten().any(|first| first.weight >= LEAST_WEIGHT)
    }

    fn residuals(&self) -> [f64; 3] {
        if !self.count() {
            return [0.0; 3];
        }
        let share = likeliest(|share| self.0.iter().flatten().map(|first| first.deviance(share)).sum());
        let [one, other] = self.0.map(|first| first.map_or(0.0, |first| first.residual(share)));
        [one, other, doubt(share).sqrt()]
    }

    /// What they are made of.
    fn numbers(&self) -> [f64; 8] {
        let of = |first: &Option<First>| {
            first.map_or([0.0; 4], |first| [first.waited, first.right, first.wrong, first.weight])
        };
        let [one, other] = self.0.each_ref().map(of);
        std::array::from_fn(|k| if k < 4 { one[k] } else { other[k - 4] })
    }

    /// The same made of other numbers.
    fn made_of(mut self, numbers: [f64; 8]) -> Firsts {
        for (first, own) in self.0.iter_mut().zip(numbers.chunks_exact(4)) {
            if let (Some(first), &[waited, right, wrong, weight]) = (first, own) {
                *first = First { waited, right, wrong, weight, ..*first };
            }
        }
        self
    }
}

/// Choices near where they were seen.
pub struct Near<'a> {
    choices: &'a Choices,
    /// The residuals of those that are judged.
    judged: Vec<Option<Expansion<8, 3>>>,
}

impl<'a> Near<'a> {
    /// What `choices` say of what was `seen`.
    pub fn new(choices: &'a Choices, seen: &Seen<'_>) -> Near<'a> {
        let judge = |decision: &Decision| {
            let firsts = choices.firsts(seen, decision);
            let numbers = firsts.numbers();
            let residuals = |numbers| firsts.made_of(numbers).residuals();
            firsts.count().then(|| Expansion::around(numbers, numbers, residuals))
        };
        Near { choices, judged: decisions(seen.region).map(judge).collect() }
    }

    /// What [`Choices::residuals`] are of what was `seen` near there.
    pub fn at(&self, seen: &Seen<'_>) -> Vec<f64> {
        let judge = |(decision, near): (&Decision, &Option<Expansion<8, 3>>)| {
            near.as_ref().map_or([0.0; 3], |near| near.at(self.choices.firsts(seen, decision).numbers()))
        };
        decisions(seen.region).zip(&self.judged).flat_map(judge).collect()
    }
}

impl First {
    /// Where this `share` of the guesses is wrong.
    fn residual(&self, share: f64) -> f64 {
        self.kin.residual(self.off(share), self.weight)
    }

    /// Its square.
    fn deviance(&self, share: f64) -> f64 {
        self.weight * self.kin.deviance(self.off(share))
    }

    fn off(&self, share: f64) -> f64 {
        (self.waited / (self.right + share * self.wrong)).ln()
    }
}

/// The decisions that are judged.
fn decisions(region: &Region) -> impl Iterator<Item = &Decision> {
    region.decisions.iter().filter(|decision| judged(region, decision))
}

/// Whether `decision` is one between two ways that are guessed.
fn judged(region: &Region, decision: &Decision) -> bool {
    decision.arms.len() == 2 && region.nodes[region.arms[decision.arms.start].node].predicted
}

/// How unlikely it is that this `share` of the guesses is wrong, of what a counter of two bits would have: a deviance.
fn doubt(share: f64) -> f64 {
    let near = |centre: f64, deviation: f64| (-0.5 * ((share - centre) / deviation).powi(2)).exp();
    let likely = near(1.0, UNFORESEEN).max(HALF * near(0.0, FORESEEN));
    2.0 * KNOWN * (1.0 - likely)
}

/// The share of wrong guesses that is the likeliest where waits have such a `deviance` by it.
fn likeliest(deviance: impl Fn(f64) -> f64) -> f64 {
    let costs: [f64; SHARES.len()] = std::array::from_fn(|k| deviance(SHARES[k]) + DOUBTS[k]);
    let best = (0..SHARES.len()).fold(0, |best, k| if costs[k] < costs[best] { k } else { best });
    let (mut low, mut high) = (SHARES[best.saturating_sub(1)], SHARES[(best + 1).min(SHARES.len() - 1)]);
    let cost = |share: f64| (share, deviance(share) + doubt(share));
    let within = |low: f64, high: f64| low + GOLDEN * (high - low);
    let (mut one, mut other) = (cost(within(high, low)), cost(within(low, high)));
    for _ in 0..STEPS {
        if one.1 < other.1 {
            (high, other) = (other.0, one);
            one = cost(within(high, low));
        } else {
            (low, one) = (one.0, other);
            other = cost(within(low, high));
        }
    }
    let found = lowest([low, 0.5 * (low + high), high].map(cost));
    if cost(found).1 < costs[best] { found } else { SHARES[best] }
}

/// Where the parabola through three costs of shares that are as far apart is lowest between them; so it moves as they do.
fn lowest([low, middle, high]: [(f64, f64); 3]) -> f64 {
    let (apart, bend) = (middle.0 - low.0, low.1 - 2.0 * middle.1 + high.1);
    let ends = if low.1 < high.1 { low.0 } else { high.0 };
    if bend > 0.0 { (middle.0 + 0.5 * apart * (low.1 - high.1) / bend).clamp(low.0, high.0) } else { ends }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skid::hold::Reporting;
    use crate::skid::schedule::{Walks, schedule};
    use crate::skid::testing::skipping;
    use crate::skid::{Circulation, Rates};

    /// A loop around two instructions that the logit `skipped` of its runs skip.
    fn flow(region: &Region, skipped: f64) -> Rates {
        Circulation::new(region).rates(region, &[skipped, 7.0], 1e6).expect("a flow")
    }

    /// Half the sum of the squares of what is against `other` of the runs skipped, where `truly` are and the share `wrong` of
    /// guesses is.
    fn against(truly: f64, wrong: f64, other: f64) -> f64 {
        let region = skipping([1.0; 6], false, Reporting::default()).region;
        let (there, here) = (flow(&region, truly), flow(&region, other));
        let under = |rates: &Rates, share: f64| {
            let guesses = Guesses::of(&region, share);
            let walks = Walks { seed: 1, ..Walks::default() };
            (schedule(&region, rates, &guesses, &[], walks), guesses)
        };
        let truth = under(&there, wrong).0.cycles;
        let waited: Vec<f64> =
            truth.iter().zip(&region.nodes).map(|(cycles, node)| cycles * there.blocks[node.block]).collect();
        let (ideal, guesses) = under(&here, 1.0);
        let choices = Choices::new(&region, Expected::new(&ideal, &guesses, Shape::default()));
        let seen =
            Seen { region: &region, ideal: &[], rates: &here, waited: &waited, period: 100.0, doubt: 1.0 };
        choices.residuals(&seen).iter().map(|r| 0.5 * r * r).sum()
    }

    #[test]
    fn waits_that_follow_from_the_flow_are_likely() {
        let [unforeseen, in_part, foreseen] = [1.0, 0.5, 0.0].map(|wrong| against(1.5, wrong, 1.5));
        assert!(unforeseen < 1.0, "{unforeseen}");
        for other in [in_part, foreseen] {
            assert!((unforeseen + 1.0..4.0).contains(&other), "what is less usual: {other}");
        }
    }

    #[test]
    fn ways_that_go_more_or_less_often_than_they_are_waited_for_are_not() {
        let right = against(2.5, 1.0, 2.5);
        let (often, seldom) = (against(2.5, 1.0, 1.0), against(2.5, 1.0, 4.0));
        assert!(often > right + 1.0 && seldom > right + 1.0, "{right} {often} {seldom}");
    }

    #[test]
    fn what_hardly_ran_is_not_judged() {
        let region = skipping([1.0; 6], false, Reporting::default()).region;
        let rates = flow(&region, 0.0);
        let guesses = Guesses::new(&region);
        let ideal = schedule(&region, &rates, &guesses, &[], Walks::default());
        let choices = Choices::new(&region, Expected::new(&ideal, &guesses, Shape::default()));
        let waited = vec![0.0; region.nodes.len()];
        let seen =
            Seen { region: &region, ideal: &[], rates: &rates, waited: &waited, period: 1e9, doubt: 1.0 };
        assert_eq!(choices.residuals(&seen), vec![0.0; 6]);
    }

    #[test]
    fn either_all_or_no_guesses_are_what_was_usual() {
        assert!(doubt(1.0) < 1e-6 && doubt(0.95) < doubt(0.8));
        assert!(doubt(0.0) < doubt(0.5) && doubt(1.0) < doubt(0.0));
    }

    #[test]
    fn shares_between_those_looked_at_are_found() {
        let found = likeliest(|share| 1e4 * (share - 0.734).powi(2));
        assert!((found - 0.734).abs() < 0.01, "{found}");
        assert_eq!(likeliest(|share| 1e4 * share), 0.0);
    }
}
