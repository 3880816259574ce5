//! The flow that samples and time agree on best: the mean of what some searches come to.
//!
//! A schedule is a mean over walks. With other walks a recording's block distance differs by .0065 (root of the mean square over 86
//! recordings, most of it in seven of them). And some of what cores do is not known; so each [`Search`] has walks of its own, and
//! takes what is not known another way. They begin at unlike places, and meet where the code is large: what one of them misses
//! another may have found. Means of models err less than any of them: paces taken two ways, block distance by argmin .0501 → .0489
//! over 44 recordings, .0558 → .0545 over 37 others, .0274 → .0256 over five programs; units to compete for, the mean of two
//! answers without and two with, .0480 → .0483, .0485 → .0462, .0253 → .0251; copies renamed .0465 → .0450, .0438 → .0423, .0258 →
//! .0256; all else in `docs/refuted.md` (searches that meet).

use rayon::prelude::*;

use super::conserve::{Belief, Conservation};
use super::energy::{Energy, value};
use super::search::{Search, Sought};
use super::whole::TRUST;
use crate::skid::circulation::mean;
use crate::skid::core::Manner;
use crate::skid::pace::Paces;
use crate::skid::schedule::Walks;
use crate::skid::{Holds, Model, Rates};

/// Searches whose mean is the answer.
pub const SEARCHES: u64 = 4;
/// Free branches of code in which one search finds what others miss. With fewer, what their ends have in common once they have met is
/// worth less than that they came to them by themselves (`docs/refuted.md`).
const LARGE: usize = 60;

/// Log-likelihood that choices all foreseen have to gain, and for each free branch. Over 86 recordings of flow and time, by function and
/// block: not tried .0130, .0400; for .5 .0127, .0402; as here .0125, .0398, three of them moved by
/// more than .01 by block.
const LEAST_GAIN: f64 = 0.5;
const GAIN_OF_EACH: f64 = 0.1;

/// Parameters of that flow, under this `belief`, by so many `searches` from `start` or from where all ways are as likely; where that is
/// no flow the first schedule is at these `rates`. Leaves what is expected in `model`. `None` if there is no flow.
pub fn timed(
    model: &mut Model,
    start: &[f64],
    rates: &Rates,
    belief: Belief,
    searches: u64,
) -> Option<Vec<f64>> {
    let task = Task { model, start, rates, belief, searches };
    let mut found = meet(task.run()).into_iter();
    let first = found.next()?;
    (model.ideal, model.choices, model.time) = (first.model.ideal, first.model.choices, first.model.time);
    let mut flows = vec![first.z];
    for Search { model: other, z, .. } in found {
        flows.push(z);
        let part = 1.0 / flows.len() as f64;
        model.expect_as(&other, part);
    }
    let equal: Vec<(f64, &[f64])> = flows.iter().map(|z| (1.0, z.as_slice())).collect();
    mean(&model.region, &equal)
}

/// What is searched.
struct Task<'a> {
    model: &'a Model,
    start: &'a [f64],
    rates: &'a Rates,
    belief: Belief,
    searches: u64,
}

impl Task<'_> {
    /// The searches, on a core that foresees all choices of two ways if that explains more. Where what a wrong guess costs is hidden
    /// nothing tells a search that there are none, and it stays with those that it began with: 20 recordings of `nist_fn` with 2 to
    /// 50 of a hundred of its samples are .0452 off by block without, and .0243 with it.
    fn run(&self) -> Vec<Search> {
        let found = self.all(0, false);
        if self.searches > 1 { self.foreseen(&found).unwrap_or(found) } else { found }
    }

    /// Searches on such a core, if they explain more than those `found`; one of them is asked before the others are.
    fn foreseen(&self, found: &[Search]) -> Option<Vec<Search>> {
        let gains = |others: &[Search]| {
            let pairs = found.iter().zip(others).map(|(one, other)| one.height() - other.height());
            pairs.sum::<f64>() > others.len() as f64 * self.least_gain()
        };
        let mut others = vec![self.search(0, true).filter(|first| gains(std::slice::from_ref(first)))?];
        others.extend(self.all(1, true));
        (others.len() == found.len() && gains(&others)).then_some(others)
    }

    /// From the search number `first` on.
    fn all(&self, first: u64, foreseen: bool) -> Vec<Search> {
        (first..self.searches).into_par_iter().filter_map(|seed| self.search(seed, foreseen)).collect()
    }

    /// The search with the walks of `seed`.
    fn search(&self, seed: u64, foreseen: bool) -> Option<Search> {
        let way = Way::of(seed, self.searches);
        let sought = Sought { belief: self.belief, careful: self.searches > 1, foreseen };
        let walks = Walks { shape: self.model.reporting.shape, manner: way.manner, seed };
        let start = if way.even { even(self.model, self.belief) } else { self.start.to_vec() };
        let rates = self.model.rates(&start).unwrap_or_else(|| self.rates.clone());
        let own = Model { paces: way.paces, ..self.model.clone() };
        Some(Search::begin(own, start, &rates, sought, walks)?.run())
    }

    /// Log-likelihood that choices all foreseen have to gain.
    fn least_gain(&self) -> f64 {
        LEAST_GAIN + GAIN_OF_EACH * self.model.region.freedom() as f64
    }
}

/// The same searches, in large code each gone on from where another ended if that leads lower.
fn meet(searches: Vec<Search>) -> Vec<Search> {
    if searches.first().is_none_or(|search| search.model.region.freedom() <= LARGE) {
        return searches;
    }
    let all = searches.clone();
    searches.into_par_iter().map(|search| search.meet(&all)).collect()
}

/// Parameters at which all ways are as likely, and roots run as their samples say.
fn even(model: &Model, belief: Belief) -> Vec<f64> {
    Conservation::new(model, &vec![0.0; model.region.freedom()], belief).1
}

/// How a search takes what is not known.
#[derive(Clone, Copy)]
struct Way {
    /// How far paces differ.
    paces: Paces,
    /// How the core works.
    manner: Manner,
    /// It begins where all ways are as likely.
    even: bool,
}

impl Way {
    /// That of the search with the walks of `seed`, one of so many `searches`: each thing is one way in half of four (a fraction of a
    /// factorial design; Box and Hunter, "The 2^(k-p) fractional factorial designs", 1961).
    fn of(seed: u64, searches: u64) -> Way {
        let (by_number, crowded) = (seed % 2 == 1, seed / 2 % 2 == 1);
        let paces = if by_number { Paces::ByNumber } else { Paces::Alike };
        let renames = by_number != crowded;
        Way { paces, manner: Manner { crowded, renames }, even: searches > 1 && renames }
    }
}

/// Half the sum of the squared residuals at parameters `z`: those of the search, and of what waits unlike others of its class.
pub fn strain(model: &Model, z: &[f64], belief: Belief) -> f64 {
    let (Some(time), Some(rates)) = (&model.time, model.rates(z)) else { return 0.0 };
    let holds = Holds::measure(&model.region, &rates, Some(time), model.reporting);
    let classes = holds.deviations(&model.region, &rates, time.period, TRUST.spread);
    value(&classes) + Conservation::at(model, z, belief).height(z)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_is_taken_one_way_by_half_of_the_searches() {
        let all: Vec<Way> = (0..SEARCHES).map(|seed| Way::of(seed, SEARCHES)).collect();
        let half = |taken: &dyn Fn(&Way) -> bool| all.iter().filter(|way| taken(way)).count();
        assert_eq!(half(&|way| way.paces == Paces::ByNumber), 2);
        assert_eq!(half(&|way| way.manner.crowded), 2);
        assert_eq!(half(&|way| way.manner.renames), 2);
        assert_eq!(half(&|way| way.even), 2);
        assert_eq!(half(&|way| way.manner.renames && way.manner.crowded), 1, "whatever else they take");
    }
}
