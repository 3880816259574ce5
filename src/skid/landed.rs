//! What late samples of instructions tell of time, where no time was sampled.
//!
//! In: how often each step is taken, how long each node is expected to be waited for, and the samples as reported. Out: time per node,
//! as a clock would have reported it, and the skid that brings the samples there.
//!
//! The interrupt finds what is waited for, so samples that slip far stand where time goes. Two things are in the way of taking them
//! for time: a loop has as many as it runs instructions, however long these take, and what is waited for for longer than the skid
//! has those of what ran before it, not more the longer it takes. The [`kernel`](super::kernel) knows both: with the waits that are
//! expected it says how many samples would stand on each node, and where there are more, time is longer by as much. The skid's
//! distribution is the mixture of its bins that explains the samples best (proportions of a mixture by EM; Dempster, Laird and Rubin,
//! "Maximum likelihood from incomplete data via the EM algorithm", 1977, section 4.3), sought along with the rest, a few steps each
//! time. It does not know how long a cycle is: time comes in the schedule's.
//!
//! Of 86 recordings without their time flow conservation is .0389 off by function and .1043 by block, with this .0276 and .0780
//! (`docs/refuted.md`, "Instructions alone").

use super::circulation::Rates;
use super::distribution::Skid;
use super::folded::{Counts, Folded};
use super::fusion;
use super::hold::Holds;
use super::kernel::{Kernel, Origin, Walk};
use super::likelihood::Model;
use super::region::Region;
use super::schedule::Schedule;
use crate::code::Program;

/// Length of a tick and longest skid, cycles.
const TICK: f64 = 1.0;
const LONGEST: f64 = 160.0;
/// Steps of EM each time.
const STEPS: usize = 3;
/// A sample is worth so many times as much time as on average, or as little, at most.
const MOST: f64 = 4.0;
/// Samples that are added to what is seen and to what is expected: neither is known better.
const FLOOR: f64 = 0.5;

/// The samples among the `retired` that stand for time where none was sampled: late ones of instructions. A core that makes one operation
/// of no compare and its branch may issue in order; such are told by their pace, which these do not show.
pub fn stand_in<'a>(program: &Program, retired: &'a [Folded]) -> Option<&'a Folded> {
    let late: Vec<&Folded> = retired.iter().filter(|event| !event.exact).collect();
    let first = retired.first().filter(|first| first.counts == Counts::Instructions && !first.exact);
    first.filter(|_| fusion::is_fused(program, &late))
}

/// Samples of instructions that stand for time.
#[derive(Clone, Debug)]
pub struct Landed {
    /// Weight per node, as reported.
    seen: Vec<f64>,
    /// Mean period.
    period: f64,
    /// How far they slip, by now.
    skid: Skid,
}

/// What the schedule leads to: time per node as reported, and samples per node for each bin of the skid.
struct Led {
    spent: Vec<f64>,
    bins: Vec<Vec<f64>>,
}

impl Landed {
    /// Of these samples.
    pub fn new(seen: &[f64], period: f64) -> Landed {
        Landed { seen: seen.to_vec(), period, skid: Skid::broad(TICK, LONGEST) }
    }

    /// Time per node, and how much one sample is worth on average; `None` if nothing was seen or is expected.
    fn time(&mut self, led: &Led) -> Option<(Vec<f64>, f64)> {
        let (seen, spent) = (self.seen.iter().sum::<f64>(), led.spent.iter().sum::<f64>());
        if !(seen > 0.0 && spent > 0.0) {
            return None;
        }
        (0..STEPS).for_each(|_| self.explain(led));
        let (worth, floor) = (spent / seen, FLOOR * self.period);
        let gain = |(spent, expected): (&f64, f64)| (spent / worth + floor) / (expected + floor);
        let gains = led.spent.iter().zip(self.expected(led)).map(gain);
        let time = self.seen.iter().zip(gains).map(|(o, gain)| o * worth * gain.clamp(1.0 / MOST, MOST));
        Some((time.collect(), worth * self.period))
    }

    /// A step towards the skid that explains the samples best.
    fn explain(&mut self, led: &Led) {
        let (floor, expected) = (FLOOR * self.period, self.expected(led));
        let more = |bin: &Vec<f64>| {
            let each = bin.iter().zip(&expected).zip(&self.seen);
            each.map(|((bin, expected), seen)| seen * (bin + floor) / (expected + floor)).sum::<f64>()
        };
        let gains: Vec<f64> = led.bins.iter().map(more).collect();
        self.skid.weights.iter_mut().zip(gains).for_each(|(weight, gain)| *weight *= gain);
        self.skid.normalise();
    }

    /// Weight per node.
    fn expected(&self, led: &Led) -> Vec<f64> {
        let mut expected = vec![0.0; self.seen.len()];
        for (bin, weight) in led.bins.iter().zip(&self.skid.weights) {
            expected.iter_mut().zip(bin).for_each(|(x, bin)| *x += weight * bin);
        }
        expected
    }
}

impl Model {
    /// Takes its samples of instructions for time from now on.
    pub fn take_for_time(&mut self) {
        let event = &self.events[0];
        if let Some(time) = &mut self.time {
            time.landed = Some(Landed::new(&event.weight, event.period));
        }
    }

    /// Whether samples of instructions stand for time.
    pub fn is_landed(&self) -> bool {
        self.time.as_ref().is_some_and(|time| time.landed.is_some())
    }

    /// Takes anew what samples of instructions tell of time, at `rates` and by this `schedule`; goes this `part` of the way.
    pub fn land(&mut self, rates: &Rates, schedule: &Schedule, part: f64) {
        let Some(mut landed) = self.time.as_mut().and_then(|time| time.landed.take()) else { return };
        let found = landed.time(&self.led(rates, schedule, &landed));
        let Some(time) = &mut self.time else { return };
        if let Some((anew, period)) = found {
            let longer = period / time.period;
            let cycles = time.cycles.iter().zip(anew);
            time.cycles = cycles.map(|(before, anew)| (1.0 - part) * longer * before + part * anew).collect();
            time.period = period;
        }
        time.landed = Some(landed);
    }

    /// What the schedule leads to, of so many samples as have landed.
    fn led(&self, rates: &Rates, schedule: &Schedule, landed: &Landed) -> Led {
        let region = &self.region;
        let holds = Holds { mean: schedule.cycles.clone(), ..Holds::default() };
        let walk = Walk { region, rates, holds: &holds, reporting: self.reporting };
        let mut origin = self.origin(&self.events[0], rates);
        let all = landed.seen.iter().sum::<f64>() / origin.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        origin.iter_mut().for_each(|runs| *runs *= all);
        let mut kernel = Kernel::<1>::default();
        let [bins] = kernel.reports(&[walk], &landed.skid, [Origin::Behind(&origin)]);
        Led { spent: kernel.reported(walk, &waited(region, rates, schedule)), bins }
    }
}

/// Time that each node is expected to be waited for.
fn waited(region: &Region, rates: &Rates, schedule: &Schedule) -> Vec<f64> {
    region
        .nodes
        .iter()
        .zip(&schedule.cycles)
        .map(|(node, cycles)| rates.blocks[node.block] * cycles)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Told, explore};
    use crate::skid::core::Shape;
    use crate::skid::guesses::Guesses;
    use crate::skid::hold::Reporting;
    use crate::skid::schedule::{Walks, schedule};
    use crate::skid::testing::skipping;

    /// Two nodes, on which samples stand by a short skid or by a long one.
    fn led() -> Led {
        let bins = Skid::broad(TICK, LONGEST).weights.len();
        let at = |bin| if bin < bins / 2 { vec![800.0, 200.0] } else { vec![300.0, 700.0] };
        Led { spent: vec![2000.0, 4000.0], bins: (0..bins).map(at).collect() }
    }

    /// Time that so many samples tell of, and their skid.
    fn told(seen: [f64; 2], turns: usize) -> (Vec<f64>, Skid) {
        let mut landed = Landed::new(&seen, 1.0);
        let mut time = None;
        (0..turns).for_each(|_| time = landed.time(&led()));
        let (time, period) = time.expect("time");
        assert!((period - 6000.0 / seen.iter().sum::<f64>()).abs() < 1e-9);
        (time, landed.skid)
    }

    #[test]
    fn time_is_that_of_the_schedule_where_samples_stand_as_it_expects_whatever_it_takes() {
        for (seen, short) in [([300.0, 700.0], false), ([800.0, 200.0], true)] {
            let (time, skid) = told(seen, 100);
            assert!((time[0] - 2000.0).abs() < 40.0 && (time[1] - 4000.0).abs() < 80.0, "{time:?}");
            let half = skid.weights.len() / 2;
            let below: f64 = skid.weights[..half].iter().sum();
            assert!(if short { below > 0.95 } else { below < 0.05 }, "{below}");
        }
    }

    #[test]
    fn where_more_samples_stand_time_is_longer_within_bounds() {
        let (time, _) = told([100.0, 900.0], 30);
        assert!(time[0] < 0.5 * 2000.0 && time[1] > 1.2 * 4000.0, "{time:?}");
        assert!(time[0] > 100.0 * 6.0 / MOST - 1e-9 && time[1] < 900.0 * 6.0 * MOST + 1e-9, "{time:?}");
    }

    #[test]
    fn nothing_seen_or_expected_tells_nothing() {
        assert!(Landed::new(&[0.0, 0.0], 1.0).time(&led()).is_none());
        let nothing = Led { spent: vec![0.0; 2], ..led() };
        assert!(Landed::new(&[1.0, 1.0], 1.0).time(&nothing).is_none());
    }

    #[test]
    fn only_late_instructions_of_a_core_that_fuses_stand_for_time() {
        // 0: test %eax,%eax; 2: jne 0; 4: ret
        let code = vec![0x85, 0xc0, 0x75, 0xfc, 0xc3];
        let function = explore(&Bytes(0, code), 0..5, &[]);
        let program = Program::link(vec![(0, function)], &NoStubs, &Told::default());
        let stands = |on_branch: f64, counts, exact| {
            let weight = [((0, 0), 900.0), ((0, 1), on_branch)].into();
            let event = Folded { weight, period: 1.0, counts, exact, stray: 0.0 };
            stand_in(&program, &[event]).is_some()
        };
        assert!(stands(0.0, Counts::Instructions, false));
        assert!(!stands(300.0, Counts::Instructions, false), "its branches have samples of their own");
        assert!(!stands(0.0, Counts::Instructions, true));
        assert!(!stands(0.0, Counts::Transfers, false));
    }

    #[test]
    fn a_loops_samples_become_time_in_the_cycles_of_its_schedule() {
        let mut model = skipping([900.0, 500.0, 500.0, 900.0, 900.0, 1.0], true, Reporting::default());
        let rates = model.rates(&[0.0, 7.0]).expect("a flow");
        let walks = Walks { shape: Shape::default(), ..Walks::default() };
        let schedule = schedule(&model.region, &rates, &Guesses::new(&model.region), &[], walks);
        let before = model.time.clone().expect("time").cycles;
        model.land(&rates, &schedule, 1.0);
        assert_eq!(model.time.as_ref().expect("time").cycles, before, "time was sampled");
        model.take_for_time();
        assert!(model.is_landed());
        model.land(&rates, &schedule, 1.0);
        let time = model.time.expect("time");
        let due: f64 = waited(&model.region, &rates, &schedule).iter().sum();
        let samples = model.events[0].total();
        assert!((time.period * samples / due - 1.0).abs() < 1e-9, "a sample is worth its share of all time");
        let all: f64 = time.cycles.iter().sum();
        assert!(all > 0.5 * due && all < 2.0 * due, "{all} of {due}");
    }
}
