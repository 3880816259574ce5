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
//! Refuted: loads believed like plain instructions (block distance .058 and .095 on five programs and 44 recordings, against
//! .062 and .084), choices of ways judged by their pace as well (.055 and .089), blocks held to no more than they can do as a
//! whole (.082 and .085 against .078 and .087).

use super::circulation::Rates;
use super::region::Region;

/// How instructions are judged that are judged together.
struct Kin {
    /// Standard deviation of the logarithm of a block's pace.
    spread: f64,
    /// Degrees of freedom of Student's t around the usual, of what is slower …
    freedom: f64,
    /// … and of what is quicker.
    quick: f64,
}

const PLAIN: Kin = Kin { spread: 0.2, freedom: 20.0, quick: 20.0 };
const LOADS: Kin = Kin { spread: 0.4, freedom: 1.0, quick: 3.0 };

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
}

/// For each block, by how much the pace of its plain instructions is unlike the usual, then the same of its loads, as
/// residuals. `ideal` is the schedule, `waited` the cycles waited for each node, `period` that of the samples of time.
pub fn residuals(region: &Region, ideal: &[f64], rates: &Rates, waited: &[f64], period: f64) -> Vec<f64> {
    let seen = Seen { region, ideal, rates, waited, period };
    let (plain, loads): (Vec<Pace>, Vec<Pace>) = (0..region.blocks.len()).map(|b| seen.paces(b)).unzip();
    let usual = usual(&plain);
    let of_loads = loads.iter().map(|pace| LOADS.residual(pace, usual));
    plain.iter().map(|pace| PLAIN.residual(pace, usual)).chain(of_loads).collect()
}

impl Kin {
    fn residual(&self, pace: &Pace, usual: f64) -> f64 {
        let units = (pace.log - usual) / self.spread;
        let freedom = if units < 0.0 { self.quick } else { self.freedom };
        let tail = (freedom + 1.0) * (units * units / freedom).ln_1p();
        units.signum() * (pace.weight * tail).sqrt()
    }
}

/// What paces are made from.
struct Seen<'a> {
    region: &'a Region,
    ideal: &'a [f64],
    rates: &'a Rates,
    waited: &'a [f64],
    period: f64,
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
