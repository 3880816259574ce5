//! How long each instruction keeps the head of the retirement queue.
//!
//! A cycles counter's interrupt finds, at a time that depends on nothing but the clock, the instruction that is waited for
//! (NIST TN 1826, 8.4: an equal delay everywhere biases nothing) and reports it, or the one after it. So *h* = cycles /
//! executions. Instructions of one class take like time, which keeps *h* finite where few samples fell, and is what tells
//! "often and fast" from "seldom and slow".

use super::circulation::Rates;
use super::core::Shape;
use super::landed::Landed;
use super::patience::{Due, Patience};
use super::region::{Node, Region};
use super::waits::Waits;

/// What a file says about the processor: which address an interrupt reports, and how instructions issue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reporting {
    /// The instruction after the one waited for is reported.
    pub late: bool,
    /// That is so only where it has been waited for for long ([`Patience`]).
    pub patient: bool,
    /// A compare and the conditional branch behind it retire as one.
    pub fused: bool,
    /// Also where it compares memory with a constant.
    pub fused_constants: bool,
    /// The core.
    pub shape: Shape,
}

impl Reporting {
    /// The node that is waited for in place of node `i`: the first of a fused pair for both.
    pub fn leader(self, region: &Region, i: usize) -> usize {
        if self.fused && region.nodes[i].fused { i.saturating_sub(1) } else { i }
    }

    /// The node that was waited for where `to` is reported late and `from` ran before it. A string is interrupted between its
    /// elements. Of two instructions that it makes one operation of ([`Inst::joins`](crate::code::Inst::joins)), Zen 4 reports
    /// waits on the second.
    pub fn waited(self, region: &Region, from: usize, to: usize) -> usize {
        if region.nodes[to].stays { to } else { self.leader(region, from) }
    }
}

/// Head times.
#[derive(Clone, Debug, Default)]
pub struct Holds {
    /// Cycles that were spent waiting for each node: sums to the cycles observed.
    pub waited: Vec<f64>,
    /// Mean head time of each node, cycles, ≥ 0.
    pub mean: Vec<f64>,
    /// Share of the time for which each node is waited that late interrupts report behind it; all, where it is empty.
    pub behind: Vec<f64>,
}

/// Observed time, in cycles per node, and how many cycles one sample stands for.
#[derive(Clone, Debug)]
pub struct TimeSamples {
    /// Cycles per node as reported.
    pub cycles: Vec<f64>,
    /// Mean period.
    pub period: f64,
    /// They stand on what was waited for, whichever address late interrupts report.
    pub exact: bool,
    /// How long each node should be waited for, by now.
    pub due: Due,
    /// The samples of instructions that stand for it, where it was not sampled.
    pub landed: Option<Landed>,
}

/// What was reported, and where it may have been waited for.
#[derive(Clone, Debug)]
pub enum Reported {
    /// On what was waited for, or all of it behind that.
    Alike(Waits),
    /// Behind it where it was waited for for long.
    Patiently(Patience),
}

impl TimeSamples {
    /// What can have been waited for, where such is reported.
    pub fn reported(&self, region: &Region, reporting: Reporting) -> Reported {
        let late = reporting.late && !self.exact;
        match late && reporting.patient {
            true => Reported::Patiently(Patience::new(region, &self.cycles, reporting, &self.due)),
            false => Reported::Alike(Waits::new(region, &self.cycles, Reporting { late, ..reporting })),
        }
    }
}

impl Reported {
    /// Time per node that was waited for, at `rates`; sums to what was reported.
    pub fn waited(&self, region: &Region, rates: &Rates) -> Vec<f64> {
        match self {
            Reported::Alike(waits) => waits.at(region, rates),
            Reported::Patiently(patience) => patience.at(region, rates),
        }
    }

    /// The same, and what of it is reported behind ([`Holds::behind`]).
    fn divided(&self, region: &Region, rates: &Rates) -> (Vec<f64>, Vec<f64>) {
        match self {
            Reported::Alike(waits) => (waits.at(region, rates), Vec::new()),
            Reported::Patiently(patience) => patience.divided(region, rates),
        }
    }
}

/// Pseudo-samples that a class's mean head time counts as.
const CLASS_SAMPLES: f64 = 0.5;

impl Holds {
    /// Head times from observed time; from the latencies alone where there is none.
    pub fn measure(
        region: &Region,
        rates: &Rates,
        time: Option<&TimeSamples>,
        reporting: Reporting,
    ) -> Holds {
        match time {
            None => {
                Holds { mean: region.nodes.iter().map(|n| typical(n.latency)).collect(), ..Holds::default() }
            }
            Some(time) => {
                let (waited, mut behind) = time.reported(region, reporting).divided(region, rates);
                if reporting.late && !time.exact && behind.is_empty() {
                    behind = left(region, &time.cycles, &waited);
                }
                let mean = shrunk(region, rates, &waited, time.period);
                Holds { waited, mean, behind }
            }
        }
    }

    /// How unlike the head times within each class are: for each node the deviation of log head time from its class's
    /// mean, in units of `spread`, times the square root of its weight; capped at three units so that a load that misses
    /// may differ from one that hits.
    pub fn deviations(&self, region: &Region, rates: &Rates, period: f64, spread: f64) -> Vec<f64> {
        if self.waited.is_empty() {
            return Vec::new();
        }
        let mut classes = vec![(0.0f64, 0.0f64, 0usize); region.classes];
        let logs: Vec<(f64, f64)> = (0..region.nodes.len())
            .map(|i| {
                let executions = rates.blocks[region.nodes[i].block].max(1e-9);
                // behind a choice of ways it is the wrong guesses that take time
                let settled = if region.nodes[i].chosen { 0.0 } else { self.waited[i] / period / 20.0 };
                let weight = settled.min(1.0);
                (weight, ((self.waited[i] + period) / (executions + period)).max(1e-3).ln())
            })
            .collect();
        for (node, &(weight, log)) in region.nodes.iter().zip(&logs) {
            let class = &mut classes[node.class];
            *class = (class.0 + weight, class.1 + weight * log, class.2 + 1);
        }
        let deviation = |(node, &(weight, log)): (&Node, &(f64, f64))| {
            let (sum, total, members) = classes[node.class];
            if sum < 1.5 || members < 2 {
                return 0.0;
            }
            weight.sqrt() * ((log - total / sum) / spread).clamp(-3.0, 3.0)
        };
        region.nodes.iter().zip(&logs).map(deviation).collect()
    }
}

/// What of the time for which each node is `waited` late interrupts report behind it, by what is `reported` on those where they
/// need not ([`Node::stays`](super::region::Node::stays)); nothing where there are none.
fn left(region: &Region, reported: &[f64], waited: &[f64]) -> Vec<f64> {
    if !region.nodes.iter().any(|node| node.stays) {
        return Vec::new();
    }
    let share = |((node, reported), waited): ((&Node, &f64), &f64)| match node.stays && *waited > 0.0 {
        true => 1.0 - (reported / waited).min(1.0),
        false => 1.0,
    };
    region.nodes.iter().zip(reported).zip(waited).map(share).collect()
}

/// Calls `visit` with each step's two nodes and how often it is taken.
pub fn each_step(region: &Region, rates: &Rates, mut visit: impl FnMut(usize, usize, f64)) {
    for from in 0..region.nodes.len() {
        let executions = rates.blocks[region.nodes[from].block];
        for at in region.starts[from]..region.starts[from + 1] {
            visit(from, region.steps[at].to, executions * rates.steps[at]);
        }
    }
}

/// Posterior mean of *h* under a Poisson count of samples and a gamma prior at the class's mean.
fn shrunk(region: &Region, rates: &Rates, waited: &[f64], period: f64) -> Vec<f64> {
    let mut class = vec![(0.0f64, 0.0f64); region.classes];
    for (i, node) in region.nodes.iter().enumerate() {
        class[node.class].0 += waited[i];
        class[node.class].1 += rates.blocks[node.block];
    }
    let mean = |i: usize| {
        let node = &region.nodes[i];
        let (cycles, executions) = class[node.class];
        let prior = ((cycles + period) / (executions + period)).max(1e-3);
        let samples = waited[i] / period;
        let exposure = rates.blocks[node.block] / period;
        (CLASS_SAMPLES + samples) / (CLASS_SAMPLES / prior + exposure)
    };
    (0..region.nodes.len()).map(mean).collect()
}

/// Head time of an instruction of this latency on a superscalar core, where most latency is hidden.
pub(super) fn typical(latency: f64) -> f64 {
    0.15 + 0.6 * (latency - 1.0).max(0.0)
}
