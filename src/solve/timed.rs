//! The flow that samples and time agree on best, and the schedule that it runs by.
//!
//! The schedule needs to know how often each way is taken, what is guessed wrong and what stalls; the flow needs the schedule.
//! They are found in turns, each flow from the one before, until it stays. (Each from the same start takes twice as many steps and
//! comes to the same: block distance .0540 and .0543 over 44 recordings, .0634 and .0626 over 28 others, .0286 and .0274 over five.)

use super::conserve::{Belief, Conservation, ITERATIONS};
use super::energy::{Energy, value};
use super::levenberg::{Effort, descend};
use super::whole::TRUST;
use crate::skid::choices::{Choices, Expected};
use crate::skid::circulation::mean;
use crate::skid::core::Manner;
use crate::skid::guesses::Guesses;
use crate::skid::pace::Paces;
use crate::skid::region::Block;
use crate::skid::schedule::{Walks, approach, schedule, stalls};
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
/// In the first turn anything may be so many times as far again from what is expected …
const DOUBT: f64 = 1.0;
/// … and in this turn as far as usual.
const SURE_FROM: f64 = 6.0;
const SURE: f64 = 1.0;

/// Searches whose mean is the answer, each with walks of its own.
pub const SEARCHES: u64 = 4;

/// How that flow is sought.
#[derive(Clone, Copy, Debug)]
pub struct Sought {
    /// What is believed.
    pub belief: Belief,
    /// Searches that are made: 1, or [`SEARCHES`].
    pub searches: u64,
}

impl Sought {
    /// Whether choices are judged by what is waited for behind them. Where one search each tells cores apart they are not: a core of
    /// `trips-shared-150` that does not issue in order would be taken for one that does (block distance .054 → .093).
    fn judges_choices(self) -> bool {
        self.searches > 1
    }
}

/// Parameters of that flow, `sought` from `start` with a schedule at `rates` first; leaves the schedule in `model`. `None` if
/// there is no flow.
///
/// A schedule is a mean over walks. With other walks a recording's block distance differs by .0065 (root of the mean square over 86
/// recordings, most of it in seven of them), so what is told is the mean of the flows that some searches come to, each of which takes
/// what is not known of cores another way ([`ways`]).
pub fn timed(model: &mut Model, start: &[f64], rates: &Rates, sought: Sought) -> Option<Vec<f64>> {
    let shape = model.reporting.shape;
    let search = |seed| {
        let (paces, manner) = ways(seed);
        model.paces = paces;
        model.choices = None;
        let z = search(model, start.to_vec(), rates, sought, Walks { shape, manner, seed })?;
        Some((z, model.ideal.clone(), model.choices.take()))
    };
    let mut found = (0..sought.searches).filter_map(search).collect::<Vec<_>>().into_iter();
    (model.paces, model.doubt) = (Paces::default(), SURE);
    let (z, mut ideal, mut choices) = found.next()?;
    let mut flows = vec![z];
    for (z, schedule, judged) in found {
        flows.push(z);
        let part = 1.0 / flows.len() as f64;
        approach(&mut ideal, &schedule, part);
        if let (Some(choices), Some(judged)) = (&mut choices, &judged) {
            choices.expected.approach(&judged.expected, part);
        }
    }
    (model.ideal, model.choices) = (ideal, choices);
    mean(&model.region, &flows)
}

/// How the search with the walks of `seed` takes paces to differ, and the core to work: each of three things one way in half of four
/// searches (a fraction of a factorial design; Box and Hunter, "The 2^(k-p) fractional factorial designs", 1961).
fn ways(seed: u64) -> (Paces, Manner) {
    let (by_number, crowded) = (seed % 2 == 1, seed / 2 % 2 == 1);
    let paces = if by_number { Paces::ByNumber } else { Paces::Alike };
    (paces, Manner { crowded, renames: by_number != crowded })
}

/// How many times as far as usual anything may be from what is expected in a `turn`. What the first turns expect is wrong, and what they
/// come to is hardly left again (graduated non-convexity; Blake and Zisserman, "Visual Reconstruction", 1987).
fn doubt(sought: Sought, turn: usize) -> f64 {
    let left = 1.0 - turn as f64 / SURE_FROM;
    if sought.searches > 1 { SURE + DOUBT * left.max(0.0) } else { SURE }
}

/// One such search, by schedules of these `walks`.
fn search(
    model: &mut Model,
    start: Vec<f64>,
    rates: &Rates,
    sought: Sought,
    walks: Walks,
) -> Option<Vec<f64>> {
    let belief = sought.belief;
    model.doubt = doubt(sought, 0);
    let mut guesses = Guesses::new(&model.region);
    let mut ideal = schedule(&model.region, rates, &guesses, &[], walks);
    model.ideal.clone_from(&ideal.cycles);
    model.choices = sought
        .judges_choices()
        .then(|| Choices::new(&model.region, Expected::new(&ideal, &guesses, walks.shape)));
    let (mut z, mut rates) = settle(model, start, belief, STEPS)?;
    for turn in 1..TURNS {
        model.doubt = doubt(sought, turn);
        let holds = Holds::measure(&model.region, &rates, model.time.as_ref(), model.reporting);
        guesses.learn(&model.region, &rates, &ideal, &holds.mean);
        ideal = schedule(&model.region, &rates, &guesses, &stalls(model, &holds), walks);
        approach(&mut model.ideal, &ideal.cycles, LEARNT);
        if let Some(choices) = &mut model.choices {
            choices.expected.approach(&Expected::new(&ideal, &guesses, walks.shape), LEARNT);
        }
        let steps = if turn + 1 == TURNS { ITERATIONS } else { STEPS };
        let Some((next, moved)) = settle(model, z.clone(), belief, steps) else { break };
        let change = changed(model, &rates, &moved);
        (z, rates) = (next, moved);
        if change < SETTLED && model.doubt == SURE {
            break;
        }
    }
    Some(z)
}

/// The flow that the search from `start` comes to in so many `steps`.
fn settle(model: &Model, start: Vec<f64>, belief: Belief, steps: usize) -> Option<(Vec<f64>, Rates)> {
    let (energy, _) = Conservation::new(model, &start[..model.region.freedom()], belief);
    let z = descend(&energy, start, Effort::thorough(steps))?.z;
    let rates = model.rates(&z)?;
    Some((z, rates))
}

/// Half the sum of the squared residuals at parameters `z`: those of the search, and of what waits unlike others of its class.
pub fn strain(model: &Model, z: &[f64], belief: Belief) -> f64 {
    let (Some(time), Some(rates)) = (&model.time, model.rates(z)) else { return 0.0 };
    let holds = Holds::measure(&model.region, &rates, Some(time), model.reporting);
    let classes = holds.deviations(&model.region, &rates, time.period, TRUST.spread);
    let (search, _) = Conservation::new(model, &z[..model.region.freedom()], belief);
    value(&classes) + search.residuals(z).map_or(f64::INFINITY, |r| value(&r))
}

/// Total variation distance of instructions executed.
fn changed(model: &Model, from: &Rates, to: &Rates) -> f64 {
    let moved =
        |(b, block): (usize, &Block)| (from.blocks[b] - to.blocks[b]).abs() * block.nodes.len() as f64;
    let sum: f64 = model.region.blocks.iter().enumerate().map(moved).sum();
    0.5 * sum / model.total().max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_is_taken_one_way_by_half_of_the_searches() {
        let all: Vec<_> = (0..SEARCHES).map(ways).collect();
        let half = |taken: &dyn Fn(&(Paces, Manner)) -> bool| all.iter().filter(|w| taken(w)).count();
        assert_eq!(half(&|w| w.0 == Paces::ByNumber), 2);
        assert_eq!(half(&|w| w.1.crowded), 2);
        assert_eq!(half(&|w| w.1.renames), 2);
        assert_eq!(half(&|w| w.1.renames && w.1.crowded), 1, "whatever else they take");
    }

    #[test]
    fn what_is_expected_is_trusted_more_from_turn_to_turn() {
        let sought = |searches| Sought { belief: super::super::conserve::TIMED, searches };
        let doubts: Vec<f64> = (0..TURNS).map(|turn| doubt(sought(SEARCHES), turn)).collect();
        assert!(doubts.is_sorted_by(|a, b| a >= b) && doubts[0] > 1.5, "{doubts:?}");
        assert_eq!(doubts[TURNS - 2..], [SURE; 2]);
        assert_eq!(doubt(sought(1), 0), SURE, "where cores are told apart");
    }
}
