//! How far a group's samples, taken together, may be from what ran in it.
//!
//! In: an answer and the file's skid. Out: the answer with draws whose totals differ, and with intervals of these. A group is solved
//! as if all its samples had arisen in it; but near its ends skid carries some to code that is solved elsewhere, and some of that
//! code's into it. It knows neither the one nor the other, only how far apart those ends are.
//!
//! Of 257 groups of the 20 recordings of libraries of `benches/simulator` and 187 of the 86 others, with five samples and more, the
//! logarithm of what ran over what was sampled scatters by .9 where fewer than 5 instructions run between one end and the next, by .5
//! to .6 up to 40, .3 to .4 up to 160, .12 to .18 up to 320, and by no more than counting does beyond that. With this, intervals hold
//! .889 of the functions of the libraries instead of .831, .927 of their executions instead of .891.

use super::answer::Answer;
use crate::skid::border::from_outside;
use crate::skid::{Model, Rates, Skid};
use crate::stat::distribution::normal;

/// Standard deviation of the logarithm of a group's total, where its ends are next to each other.
const MOST: f64 = 0.8;
/// Instructions between ends, for each cycle of the mean skid, with which it is half of that.
const HALFWAY: f64 = 0.5;
/// Totals of one draw after another (the golden ratio's additive recurrence: quantiles far from those before).
const NEXT: f64 = 0.618_034;

/// The same answer, as far as its total is known at all under this `skid`, where so many instructions ran in `all` groups.
pub fn unsure(mut answer: Answer, skid: &Skid, all: f64) -> Answer {
    if answer.model.counted().exact {
        return answer;
    }
    let near = HALFWAY * skid.mean();
    let deviation = MOST * near / (near + stretch(&answer.model, &answer.rates));
    let most = all / answer.model.total().max(f64::MIN_POSITIVE);
    let (mut draws, mut totals) = (std::mem::take(&mut answer.draws), std::mem::take(&mut answer.totals));
    for (k, (draw, total)) in draws.iter_mut().zip(&mut totals).enumerate() {
        let times = (deviation * normal::quantile((NEXT * (k as f64 + 0.5)).fract())).exp().min(most);
        draw.blocks.iter_mut().for_each(|runs| *runs *= times);
        *total *= times;
    }
    answer.drawn(draws, totals)
}

/// Instructions that run at these `rates` between one end of the code and the next: where it is entered or left, or calls sampled code
/// outside.
fn stretch(model: &Model, rates: &Rates) -> f64 {
    let region = &model.region;
    let entered =
        region.roots.iter().zip(from_outside(region, rates)).filter(|&(&root, _)| !region.closed(root));
    let away = region.away.iter().map(|call| rates.taken(region, call.arm));
    let ends = entered.map(|(_, entered)| entered).chain(away).sum::<f64>();
    model.total() / ends.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skid::hold::Reporting;
    use crate::skid::testing::skipping;
    use crate::solve::conserve::TIMED;
    use crate::solve::group::Group;
    use crate::solve::solver::Solver;

    /// The answer for a loop of five instructions that turns `turns` times whenever it is entered, whose draws are all alike.
    fn answer(turns: f64, exact: bool) -> Answer {
        let mut model = skipping([1e4, 5e3, 5e3, 1e4, 1e4, 1.0], false, Reporting::default());
        model.events[0].exact = exact;
        let flow = vec![0.0, turns.ln()];
        let rates = model.rates(&flow).expect("a flow");
        let draws = vec![rates.clone(); 80];
        let group =
            Group { functions: vec![0], model, flow, rates: rates.clone(), belief: TIMED, timed: None };
        Answer::new(&group, rates, draws, Solver::Timed, String::new())
    }

    /// Ends of the interval of the first block, of what it has; all that was sampled is so many `times` as much.
    fn ends(turns: f64, exact: bool, skid: f64, times: f64) -> (f64, f64) {
        let answer = answer(turns, exact);
        let all = times * answer.model.total();
        let answer = unsure(answer, &Skid::fixed(1.0, skid, skid), all);
        (answer.low[0] / answer.rates.blocks[0], answer.high[0] / answer.rates.blocks[0])
    }

    fn width(turns: f64, exact: bool, skid: f64) -> f64 {
        let (low, high) = ends(turns, exact, skid, 10.0);
        high - low
    }

    #[test]
    fn totals_of_what_is_soon_left_are_little_known() {
        let (short, long) = (width(2.0, false, 40.0), width(1e4, false, 40.0));
        assert!(short > 1.5 && long < 0.1, "{short} {long}");
        assert!(width(2.0, false, 4.0) < 0.5 * short, "a short skid carries little away");
        assert!(width(2.0, true, 40.0) < 0.1, "samples that stand where they arose were not carried");
    }

    #[test]
    fn a_draw_has_as_much_of_its_total_as_before() {
        let before = answer(2.0, false);
        let (total, runs) = (before.model.total(), before.rates.blocks[0]);
        let after = unsure(before, &Skid::fixed(1.0, 40.0, 40.0), 10.0 * total);
        assert_eq!(after.totals.len(), after.draws.len());
        for (draw, of) in after.draws.iter().zip(&after.totals) {
            assert!((draw.blocks[0] / runs / (of / total) - 1.0).abs() < 1e-9);
        }
        assert!(after.totals.iter().any(|of| *of > 1.2 * total));
    }

    #[test]
    fn nothing_runs_more_than_all() {
        let (low, high) = ends(2.0, false, 40.0, 1.0);
        assert!(low < 0.6 && high < 1.05, "{low} {high}");
    }

    #[test]
    fn what_is_entered_once_in_ten_turns_of_five_runs_fifty_instructions() {
        let Answer { model, rates, .. } = answer(9.0, false);
        assert!((stretch(&model, &rates) - 50.0).abs() < 10.0, "{}", stretch(&model, &rates));
    }
}
