//! One search for the flow that samples and time agree on, and for the schedule that it runs by.
//!
//! The schedule needs to know how often each way is taken, what is guessed wrong and what stalls; the flow needs the schedule.
//! They are found in turns, each flow from the one before, until it stays. (Each from the same start takes twice as many steps and
//! comes to the same: block distance .0540 and .0543 over 44 recordings, .0634 and .0626 over 28 others, .0286 and .0274 over five.)

use std::ops::Range;

use super::conserve::{Belief, Conservation, ITERATIONS};
use super::energy::Energy;
use super::levenberg::{Effort, descend};
use crate::skid::choices::{Choices, Expected};
use crate::skid::guesses::Guesses;
use crate::skid::region::Block;
use crate::skid::schedule::{Schedule, Walks, schedule, stalls};
use crate::skid::{Holds, Model, Rates};

/// Turns at most. Six instead of three gain .002 of block distance, eight .001 more; twelve or eighteen nothing.
const TURNS: usize = 8;
/// How far each schedule moves what is expected, for they swing; all the way: block distance .0575 instead of .0558 over 44
/// recordings, .0661 instead of .0637 over 28 others, .0286 instead of .0294 over five programs; .3: .0569, .0654, .0275.
const LEARNT: f64 = 0.5;
/// Share of executions that may still go elsewhere in the last turn.
const SETTLED: f64 = 2e-3;
/// Steps of the search in a turn: the next schedule moves where it leads anyhow, and only what the last turn comes to is told. With
/// this, and cores told apart by one search each, flow and time take 36 to 60 % less, and what their block distance changes by over
/// 44 recordings, 37 others and five programs is chance (.0517, .0606, .0283 → .0518, .0622, .0290).
const STEPS: usize = 4;

/// In the first turn anything may be so many times as far again from what is expected (block distance by argmin .0465 → .0451 over 44
/// recordings, .0438 → .0434 over 37 others, .0258 → .0255 over five programs) …
const DOUBT: f64 = 1.0;
/// … and in this turn as far as usual.
const SURE_FROM: f64 = 6.0;
const SURE: f64 = 1.0;

/// Log-likelihood that another search's end must gain, …
const LEAST_GAIN: f64 = 0.5;
/// … turns that are taken from there, …
const MORE: usize = 2;
/// … and share of executions that it must have elsewhere.
const UNLIKE: f64 = 5e-3;

/// What is sought, and how carefully.
#[derive(Clone, Copy, Debug)]
pub struct Sought {
    /// What is believed.
    pub belief: Belief,
    /// Choices are judged by what is waited for behind them, and first turns doubt what they expect. Where cores are told apart
    /// neither is done: by choices a core that does not issue in order can be taken for one that does.
    pub careful: bool,
    /// Choices of two ways are taken for foreseen, whatever is waited for behind them.
    pub foreseen: bool,
}

/// A search under way.
#[derive(Clone)]
pub struct Search {
    sought: Sought,
    walks: Walks,
    guesses: Guesses,
    schedule: Schedule,
    rates: Rates,
    /// What was seen, and what is expected by now.
    pub model: Model,
    /// Parameters of the flow.
    pub z: Vec<f64>,
}

impl Search {
    /// Begins at parameters `start`, with a schedule by these `walks` at `rates`. `None` if there is no flow.
    pub fn begin(
        mut model: Model,
        start: Vec<f64>,
        rates: &Rates,
        sought: Sought,
        walks: Walks,
    ) -> Option<Search> {
        let guesses = if sought.foreseen { Guesses::foreseen } else { Guesses::new }(&model.region);
        let schedule = schedule(&model.region, rates, &guesses, &[], walks);
        model.doubt = sought.doubt(0);
        model.expect_all(&schedule);
        model.land(rates, &schedule, 1.0);
        let expected = Expected::new(&schedule, &guesses, walks.shape);
        model.choices = sought.careful.then(|| Choices::new(&model.region, expected));
        let z = descend(&Conservation::at(&model, &start, sought.belief), start, Effort::thorough(STEPS))?.z;
        let rates = model.rates(&z)?;
        Some(Search { sought, walks, guesses, schedule, rates, model, z })
    }

    /// Goes on until the flow stays.
    pub fn run(mut self) -> Search {
        self.turn(1..TURNS);
        self
    }

    /// Goes on from where that of `others` ended which leads lowest here, if its own end does not.
    pub fn meet(self, others: &[Search]) -> Search {
        let unlike = others.iter().filter(|other| changed(&self.model, &self.rates, &other.rates) > UNLIKE);
        let ends = unlike.filter_map(|other| self.taking_over(other)).map(|end| (end.height(), end));
        let (lowest, own) = (ends.min_by(|a, b| a.0.total_cmp(&b.0)), self.height());
        let Some((_, mut lowest)) = lowest.filter(|&(height, _)| height < own) else { return self };
        lowest.turn(TURNS..TURNS + MORE);
        if lowest.height() < own - LEAST_GAIN { lowest } else { self }
    }

    /// This search where `other` ended, with what was expected there, of which a schedule by its own walks is made.
    fn taking_over(&self, other: &Search) -> Option<Search> {
        let mut taken = self.clone();
        taken.model.ideal.clone_from(&other.model.ideal);
        taken.model.choices.clone_from(&other.model.choices);
        taken.model.time.clone_from(&other.model.time);
        taken.guesses.clone_from(&other.guesses);
        taken.schedule.clone_from(&other.schedule);
        taken.goes_to(other.z.clone())?;
        taken.learn(1.0);
        taken.descend(STEPS)?;
        Some(taken)
    }

    fn turn(&mut self, turns: Range<usize>) {
        let last = turns.end - 1;
        for turn in turns {
            self.model.doubt = self.sought.doubt(turn);
            self.learn(LEARNT);
            let Some(change) = self.descend(if turn == last { ITERATIONS } else { STEPS }) else { break };
            if change < SETTLED && self.model.doubt == SURE {
                break;
            }
        }
        self.model.doubt = SURE;
    }

    /// The share of executions that change in so many steps down; `None`, and nothing changes, if none leads down.
    fn descend(&mut self, steps: usize) -> Option<f64> {
        let mode = descend(&self.energy(), self.z.clone(), Effort::thorough(steps))?;
        self.goes_to(mode.z)
    }

    /// The share of executions that change if the flow is that at `z`; `None`, and nothing changes, if that is none.
    fn goes_to(&mut self, z: Vec<f64>) -> Option<f64> {
        let rates = self.model.rates(&z)?;
        let change = changed(&self.model, &self.rates, &rates);
        (self.z, self.rates) = (z, rates);
        Some(change)
    }

    fn energy(&self) -> Conservation<'_> {
        Conservation::at(&self.model, &self.z, self.sought.belief)
    }

    /// Half the sum of the squared residuals where it is.
    pub fn height(&self) -> f64 {
        self.energy().height(&self.z)
    }

    /// The schedule at the flow by now, and what is expected by it, which moves that far.
    fn learn(&mut self, part: f64) {
        let (model, walks) = (&mut self.model, self.walks);
        let holds = Holds::measure(&model.region, &self.rates, model.time.as_ref(), model.reporting);
        self.guesses.learn(&model.region, &self.rates, &self.schedule, &holds.mean);
        let stalls = stalls(model, &holds);
        self.schedule = schedule(&model.region, &self.rates, &self.guesses, &stalls, walks);
        model.expect(&self.schedule, part);
        model.land(&self.rates, &self.schedule, part);
        if let Some(choices) = &mut model.choices {
            choices.expected.approach(&Expected::new(&self.schedule, &self.guesses, walks.shape), part);
        }
    }
}

impl Sought {
    /// How many times as far as usual anything may be from what is expected in a `turn`. What the first turns expect is wrong, and
    /// what they come to is hardly left again (graduated non-convexity; Blake and Zisserman, "Visual Reconstruction", 1987).
    fn doubt(self, turn: usize) -> f64 {
        let left = (1.0 - turn as f64 / SURE_FROM).max(0.0);
        if self.careful { SURE + DOUBT * left } else { SURE }
    }
}

/// Total variation distance of events.
fn changed(model: &Model, from: &Rates, to: &Rates) -> f64 {
    let moved = |(b, block): (usize, &Block)| (from.blocks[b] - to.blocks[b]).abs() * block.events;
    let sum: f64 = model.region.blocks.iter().enumerate().map(moved).sum();
    0.5 * sum / model.total().max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skid::hold::Reporting;
    use crate::skid::testing::skipping;
    use crate::solve::conserve::TIMED;

    /// Where a search ends among instructions of which half of the runs of a loop skip two.
    fn run() -> Search {
        let model = skipping([1000.0, 500.0, 500.0, 1000.0, 1000.0, 1.0], true, Reporting::default());
        let start = vec![0.0, 7.0];
        let rates = model.rates(&start).expect("a flow");
        let sought = Sought { belief: TIMED, careful: true, foreseen: false };
        Search::begin(model, start, &rates, sought, Walks::default()).expect("a flow").run()
    }

    #[test]
    fn a_search_goes_on_from_where_another_ended_only_if_that_leads_lower() {
        let (near, mut far) = (run(), run());
        far.goes_to(vec![40.0, 7.0]).expect("a flow");
        let here = near.z.clone();
        let (near, far) = (near.clone().meet(&[far.clone()]), far.meet(&[near]));
        assert_eq!(near.z, here);
        assert!((far.z[0] - here[0]).abs() < 0.3, "{:?} {here:?}", far.z);
    }

    #[test]
    fn what_is_expected_is_trusted_more_from_turn_to_turn() {
        let careful = Sought { belief: TIMED, careful: true, foreseen: false };
        let doubts: Vec<f64> = (0..TURNS).map(|turn| careful.doubt(turn)).collect();
        assert!(doubts.is_sorted_by(|a, b| a >= b) && doubts[0] > 1.5, "{doubts:?}");
        assert_eq!(doubts[TURNS - 2..], [SURE; 2]);
        assert_eq!(Sought { careful: false, ..careful }.doubt(0), SURE, "where cores are told apart");
    }
}
