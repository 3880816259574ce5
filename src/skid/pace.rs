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
use super::expansion::Expansion;
use super::region::{Node, Region};

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
/// How often what they are near is looked for again.
const ROUNDS: usize = 4;

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
        let [plain, loads] = self.sums().map(|sums| self.paces(&sums));
        let usual = usual(&plain, centre(&plain));
        let of = |kin: Kin, pace: &Pace| pace.residual(kin.doubted(self.doubt), usual);
        let of_loads = loads.iter().map(|pace| of(LOADS, pace));
        let of_plain = plain.iter().map(|pace| of(taken.of_plain(pace, width), pace));
        of_plain.chain(of_loads).collect()
    }

    /// What the plain instructions of each block come to, and its loads.
    fn sums(&self) -> [Vec<Sum>; 2] {
        let mut sums = [(); 2].map(|()| vec![Sum::default(); self.region.blocks.len()]);
        for (i, node) in self.region.nodes.iter().enumerate().filter(|(_, node)| !node.chosen) {
            let sum = &mut sums[kind(node)][node.block];
            sum.waited += self.waited[i];
            sum.ideal += self.ideal[i];
            sum.count += 1.0;
        }
        sums
    }

    /// The pace of each block's `sums`.
    fn paces(&self, sums: &[Sum]) -> Vec<Pace> {
        sums.iter().zip(&self.rates.blocks).map(|(sum, runs)| sum.pace(*runs, self.period)).collect()
    }
}

/// 0 for plain instructions, 1 for loads.
fn kind(node: &Node) -> usize {
    usize::from(node.loads || node.fed)
}

impl Sum {
    /// Of what runs so often, where a sample of time stands for a `period`.
    fn pace(&self, runs: f64, period: f64) -> Pace {
        let Sum { waited, ideal, count } = *self;
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

    /// The residual of its pace, judged as its `kin` are, by time waited, runs and the usual pace, near these.
    fn near(&self, [runs, usual]: [f64; 2], kin: Kin, period: f64) -> NearPace {
        let residual = |[waited, runs, usual]: [f64; 3]| {
            [Sum { waited, ..*self }.pace(runs, period).residual(kin, usual)]
        };
        Expansion::around([self.waited, runs, usual], [self.waited, runs, 1.0], residual)
    }

    /// What its pace counts where the usual is sought, times its logarithm, and what it counts, by time waited and runs.
    fn counts(&self, runs: f64, centre: f64, period: f64) -> Expansion<2, 2> {
        let counts = |[waited, runs]: [f64; 2]| {
            let pace = Sum { waited, ..*self }.pace(runs, period);
            let counts = pace.counts(centre);
            [counts * pace.log, counts]
        };
        Expansion::around([self.waited, runs], [self.waited, runs], counts)
    }
}

impl Pace {
    fn residual(&self, kin: Kin, usual: f64) -> f64 {
        kin.residual(self.log - usual, self.weight)
    }

    /// What it counts where the usual is sought, if most are near this `centre`: Tukey's biweight.
    fn counts(&self, centre: f64) -> f64 {
        let off = (self.log - centre) / NEAR;
        if off.abs() < 1.0 { self.executed * (1.0 - off * off).powi(2) } else { 0.0 }
    }
}

/// Paces near those that were seen.
pub struct Near {
    blocks: [Vec<Option<NearPace>>; 2],
    /// What each plain block counts for the usual pace, times its logarithm, and what it counts.
    usual: Vec<Expansion<2, 2>>,
    /// The logarithm that most are near.
    centre: f64,
}

/// The residual of a block's pace, by time waited, runs and the usual pace.
type NearPace = Expansion<3, 1>;

impl Near {
    /// Those that were `seen`, judged as [`Seen::residuals`] does.
    pub fn new(seen: &Seen<'_>, taken: Paces, width: u32) -> Near {
        let [plain, loads] = seen.sums();
        let runs = &seen.rates.blocks;
        let paces = seen.paces(&plain);
        let centre = centre(&paces);
        let usual = usual(&paces, centre);
        let near = |sum: &Sum, runs: f64, kin: Kin| {
            (sum.count > 0.0).then(|| sum.near([runs, usual], kin.doubted(seen.doubt), seen.period))
        };
        let kins = paces.iter().map(|pace| taken.of_plain(pace, width));
        let of_plain = plain.iter().zip(runs).zip(kins).map(|((sum, runs), kin)| near(sum, *runs, kin));
        let of_loads = loads.iter().zip(runs).map(|(sum, runs)| near(sum, *runs, LOADS));
        let counts = plain.iter().zip(runs).map(|(sum, runs)| sum.counts(*runs, centre, seen.period));
        Near { blocks: [of_plain.collect(), of_loads.collect()], usual: counts.collect(), centre }
    }

    /// What [`Seen::residuals`] are of what was `seen` near there.
    pub fn at(&self, seen: &Seen<'_>) -> Vec<f64> {
        let mut waited = [(); 2].map(|()| vec![0.0; seen.region.blocks.len()]);
        for (node, own) in seen.region.nodes.iter().zip(seen.waited).filter(|(node, _)| !node.chosen) {
            waited[kind(node)][node.block] += own;
        }
        let runs = &seen.rates.blocks;
        let (mut logs, mut counts) = (0.0, 0.0);
        for (near, (waited, runs)) in self.usual.iter().zip(waited[0].iter().zip(runs)) {
            let [log, count] = near.at([*waited, *runs]);
            (logs, counts) = (logs + log, counts + count);
        }
        let usual = if counts > 0.0 { logs / counts } else { self.centre };
        let mut residuals = Vec::with_capacity(2 * runs.len());
        for (blocks, waited) in self.blocks.iter().zip(&waited) {
            let residual = |(near, (waited, runs)): (&Option<NearPace>, (&f64, &f64))| {
                near.as_ref().map_or(0.0, |near| near.at([*waited, *runs, usual])[0])
            };
            residuals.extend(blocks.iter().zip(waited.iter().zip(runs)).map(residual));
        }
        residuals
    }
}

/// Mean logarithm of those that are near this `centre`.
fn usual(paces: &[Pace], centre: f64) -> f64 {
    let total: f64 = paces.iter().map(|pace| pace.counts(centre)).sum();
    let sum = paces.iter().map(|pace| pace.counts(centre) * pace.log).sum::<f64>();
    if total > 0.0 { sum / total } else { centre }
}

/// The logarithm that most executions are near: their mean, without what is far from it.
fn centre(paces: &[Pace]) -> f64 {
    let executed: f64 = paces.iter().map(|pace| pace.executed).sum();
    let sum: f64 = paces.iter().map(|pace| pace.executed * pace.log).sum();
    let mean = if executed > 0.0 { sum / executed } else { 0.0 };
    (0..ROUNDS).fold(mean, |centre, _| usual(paces, centre))
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
