//! Code takes the time that its dependences allow, but for what stalls it.
//!
//! What reads no memory, uses nothing just loaded and does not stand behind a choice of ways has nothing to wait for but the
//! instructions before it, and how long that takes is known ([`schedule`](super::schedule)), up to one factor for the core.
//! Blocks whose plain instructions seem quicker or slower than those of all others ran more often or less often than thought.
//! Loads say so as well, where they hit; they may always miss, so they are believed only near their usual pace, slow ones less than
//! quick ones (block distance of flow and time with quick ones believed no more, and with 3, 5 and 20 degrees of freedom: .0657,
//! .0646, .0646 and .0656 over 28 recordings, .0545, .0544, .0547 and .0562 over 44, .1480, —, .1463 and .1465 over ten larger
//! programs).
//!
//! How far paces differ, where executions are right, is told by nothing in a recording, and two ways to take them ([`Paces`])
//! lead to flows that are as good and err elsewhere; so half of the searches that flow and time are the mean of go by each.
//!
//! Refuted: loads believed like plain instructions (block distance .058 and .095 on five programs and 44 recordings, against
//! .062 and .084), choices of ways judged by their pace as well (.055 and .089), blocks held to no more than they can do as a
//! whole (.082 and .085 against .078 and .087).

use super::circulation::Rates;
use super::region::Region;

/// How instructions are judged that are judged together.
#[derive(Clone, Copy)]
pub(super) struct Kin {
    /// Standard deviation of the logarithm of what is seen over what is expected.
    pub(super) spread: f64,
    /// Degrees of freedom of Student's t around the usual, of what is slower …
    pub(super) freedom: f64,
    /// … and of what is quicker.
    pub(super) quick: f64,
}

/// How far the paces of plain instructions are taken to differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paces {
    /// Those of all blocks as far.
    #[default]
    Alike,
    /// Those of few instructions further, for what one of them does not wait for another may.
    ByNumber,
}

const PLAIN: Kin = Kin { spread: 0.2, freedom: 20.0, quick: 20.0 };
const LOADS: Kin = Kin { spread: 0.4, freedom: 1.0, quick: 3.0 };

/// By number: standard deviation of the logarithm of the pace of many instructions …
const OF_MANY: f64 = 0.08;
/// … and what one alone has besides.
const OF_ONE: f64 = 0.34;
/// That of chains, a cycle for each link, whatever their length, …
const OF_CHAIN: f64 = 0.16;
/// … of which these many cycles are taken as one.
const LINK: std::ops::RangeInclusive<f64> = 0.9..=1.1;
/// Issue slots an instruction takes where nothing but the core's width paces it: fewer hide behind others, more wait for others …
const PACED: std::ops::RangeInclusive<f64> = 0.5..=1.5;
/// … and differ so many times as far.
const UNPACED: f64 = 1.5;

/// Samples, of instructions and of time together, that make a block's pace known to that.
const SETTLED: f64 = 20.0;
/// Cycles that the leader of a retirement group may hide: of each instruction, and of each run through a block.
const HIDDEN: f64 = 0.05;
const HIDDEN_OF_BLOCK: f64 = 0.25;
/// Blocks whose logarithm is further from the usual do not help to find it.
const NEAR: f64 = 2.0;

/// A block's pace.
struct Pace {
    /// Logarithm of its cycles over the ideal ones.
    log: f64,
    /// Samples' worth of such instructions executed.
    executed: f64,
    /// How well it is known, 0 to 1.
    weight: f64,
    /// How many instructions of the block it is of …
    count: f64,
    /// … and the ideal cycles of each.
    each: f64,
}

impl Paces {
    /// How the `pace` of plain instructions is judged.
    fn of_plain(self, pace: &Pace, width: u32) -> Kin {
        let spread = match self {
            Paces::Alike => PLAIN.spread,
            Paces::ByNumber if LINK.contains(&pace.each) => OF_CHAIN,
            Paces::ByNumber => {
                let spread = OF_MANY.hypot(OF_ONE / pace.count.max(1.0).sqrt());
                let paced = PACED.contains(&(pace.each * f64::from(width)));
                if paced { spread } else { UNPACED * spread }
            }
        };
        Kin { spread, ..PLAIN }
    }
}

impl Kin {
    /// The same so many `times` as far apart.
    pub(super) fn doubted(self, times: f64) -> Kin {
        Kin { spread: times * self.spread, ..self }
    }

    /// The residual of what is this logarithm `off` what is expected, and known to a `weight` of 0 to 1.
    pub(super) fn residual(&self, off: f64, weight: f64) -> f64 {
        off.signum() * (weight * self.deviance(off)).sqrt()
    }

    /// Its square, were it known to the full.
    pub(super) fn deviance(&self, off: f64) -> f64 {
        deviance(off / self.spread, if off < 0.0 { self.quick } else { self.freedom })
    }
}

/// Deviance of Student's t at so many `units` of its spread, with so many degrees of `freedom`: half of it is the negative logarithm of
/// the density over that at 0.
pub(super) fn deviance(units: f64, freedom: f64) -> f64 {
    (freedom + 1.0) * (units * units / freedom).ln_1p()
}

/// What is judged.
pub struct Seen<'a> {
    /// The code.
    pub region: &'a Region,
    /// The schedule: cycles of each node where nothing stalls it.
    pub ideal: &'a [f64],
    /// Executions.
    pub rates: &'a Rates,
    /// Cycles waited for each node.
    pub waited: &'a [f64],
    /// Cycles that a sample of time stands for.
    pub period: f64,
    /// How many times as far as usual anything may be from what is expected.
    pub doubt: f64,
}

/// What some instructions of a block come to.
#[derive(Clone, Copy, Default)]
struct Sum {
    /// Cycles waited for them.
    waited: f64,
    /// Cycles of one run by the schedule.
    ideal: f64,
    /// Instructions.
    count: f64,
}

impl Seen<'_> {
    /// For each block, by how much the pace of its plain instructions is unlike the usual, then the same of its loads, as
    /// residuals; on a core that retires `width` instructions a cycle.
    pub fn residuals(&self, taken: Paces, width: u32) -> Vec<f64> {
        let (plain, loads): (Vec<Pace>, Vec<Pace>) =
            (0..self.region.blocks.len()).map(|b| self.paces(b)).unzip();
        let usual = usual(&plain);
        let of = |kin: Kin, pace: &Pace| kin.doubted(self.doubt).residual(pace.log - usual, pace.weight);
        let of_loads = loads.iter().map(|pace| of(LOADS, pace));
        let of_plain = plain.iter().map(|pace| of(taken.of_plain(pace, width), pace));
        of_plain.chain(of_loads).collect()
    }

    /// The pace of the plain instructions of block `b`, and that of its loads.
    fn paces(&self, b: usize) -> (Pace, Pace) {
        let (mut plain, mut loads) = (Sum::default(), Sum::default());
        for i in self.region.blocks[b].nodes.clone() {
            let node = &self.region.nodes[i];
            if !node.chosen {
                let sum = if node.loads || node.fed { &mut loads } else { &mut plain };
                sum.waited += self.waited[i];
                sum.ideal += self.ideal[i];
                sum.count += 1.0;
            }
        }
        (self.pace(b, plain), self.pace(b, loads))
    }

    fn pace(&self, b: usize, Sum { waited, ideal, count }: Sum) -> Pace {
        let (runs, period) = (self.rates.blocks[b], self.period);
        let hidden = if count > 0.0 { (HIDDEN * count + HIDDEN_OF_BLOCK) * runs } else { 0.0 };
        let executed = count * runs / period;
        let samples = executed + waited / period;
        Pace {
            log: ((waited + hidden + period) / (ideal * runs + hidden + period)).ln(),
            executed,
            weight: samples / (samples + SETTLED),
            count,
            each: ideal / count.max(1.0),
        }
    }
}

/// The logarithm that most executions are near: Tukey's biweight around the median.
fn usual(paces: &[Pace]) -> f64 {
    let median = median(paces);
    let weight = |p: &Pace| {
        let off = (p.log - median) / NEAR;
        if off.abs() < 1.0 { p.executed * (1.0 - off * off).powi(2) } else { 0.0 }
    };
    let total: f64 = paces.iter().map(weight).sum();
    if total > 0.0 { paces.iter().map(|p| weight(p) * p.log).sum::<f64>() / total } else { median }
}

fn median(paces: &[Pace]) -> f64 {
    let ran = paces.iter().filter(|p| p.executed > 0.0);
    let mut logs: Vec<(f64, f64)> = ran.map(|p| (p.log, p.executed)).collect();
    logs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let half = logs.iter().map(|l| l.1).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    let upper = logs.iter().find(|l| {
        sum += l.1;
        sum >= half
    });
    upper.map_or(0.0, |l| l.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(count: f64, each: f64) -> f64 {
        let pace = Pace { log: 0.0, executed: 1.0, weight: 1.0, count, each };
        Paces::ByNumber.of_plain(&pace, 4).spread
    }

    #[test]
    fn paces_of_many_instructions_differ_less() {
        assert!(spread(30.0, 0.25) < spread(3.0, 0.25));
        assert!(spread(30.0, 0.25) < spread(30.0, 0.7), "which wait for each other");
        assert!(spread(30.0, 0.25) < spread(30.0, 0.01), "which hide behind others");
        assert_eq!(spread(1.0, 1.0), spread(30.0, 1.0), "a chain");
    }
}
