//! Where the head of the retirement queue stands some time after a counter overflowed.
//!
//! Time goes in ticks of the time one instruction takes at full retire width. A node with head time *h* below one tick is
//! passed at once with probability 1 − *h*/tick: it retires in the shadow of its group's leader, and zero samples on it are
//! right. Up to [`STAGES`] ticks the hold is geometric; longer ones are Erlang, for fixed latencies vary less. A distribution
//! of the skid enters linearly, as weights of time bins.
//!
//! Refuted: loads held seldom and for 60, 120 or 190 cycles instead of always for their mean (misfit at the truth of a program
//! that misses often: 129 nats, then 181, 236 and 188), wrong guesses for 12 or 18 (137, 142).

use super::circulation::Rates;
use super::hold::{Holds, Reporting, each_step};
use super::region::Region;

/// Stages of a long hold: its coefficient of variation is 1/√STAGES.
const STAGES: usize = 4;

/// Distribution of the time between overflow and report.
#[derive(Clone, Debug, PartialEq)]
pub struct Skid {
    /// Length of a tick, cycles.
    pub tick: f64,
    /// Bin `k` holds the ticks `edges[k]..edges[k + 1]`, all alike.
    pub edges: Vec<usize>,
    /// Probability of each bin; sums to 1.
    pub weights: Vec<f64>,
}

impl Skid {
    /// Bins from 0 to `longest` cycles, each a little wider than the one before, with equal weight per logarithm of time.
    pub fn broad(tick: f64, longest: f64) -> Skid {
        let mut edges = vec![0usize];
        let mut at = 0.0f64;
        while at < longest {
            at += (at * 0.12).max(1.0);
            edges.push((at / tick).round() as usize);
        }
        edges.dedup();
        let bins = edges.len() - 1;
        let mut skid = Skid { tick, edges, weights: vec![1.0; bins] };
        for k in 0..bins {
            let (a, b) = (skid.edges[k] as f64 * tick + 2.0, skid.edges[k + 1] as f64 * tick + 2.0);
            let from_typical = ((a * b).sqrt() / 40.0).ln() / 1.0;
            skid.weights[k] = (b / a).ln() * (-0.5 * from_typical * from_typical).exp();
        }
        skid.normalise();
        skid
    }

    /// A skid of `cycles`, give or take `jitter`.
    pub fn fixed(tick: f64, cycles: f64, jitter: f64) -> Skid {
        let first = (cycles / tick).floor() as usize;
        let last = ((cycles + jitter) / tick).floor() as usize + 1;
        Skid { tick, edges: vec![first, last.max(first + 1)], weights: vec![1.0] }
    }

    /// Makes the weights sum to 1.
    pub fn normalise(&mut self) {
        let sum: f64 = self.weights.iter().sum();
        let bins = self.weights.len() as f64;
        self.weights.iter_mut().for_each(|w| *w = if sum > 0.0 { *w / sum } else { 1.0 / bins });
    }

    /// Mean, cycles.
    pub fn mean(&self) -> f64 {
        self.middles().zip(&self.weights).map(|(m, w)| m * w).sum()
    }

    /// Standard deviation, cycles.
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        self.middles().zip(&self.weights).map(|(m, w)| w * (m - mean) * (m - mean)).sum::<f64>().sqrt()
    }

    /// The time, cycles, below which the skid lies with probability `q`.
    pub fn quantile(&self, q: f64) -> f64 {
        let mut below = 0.0;
        for (edge, weight) in self.edges.windows(2).zip(&self.weights) {
            if below + weight >= q && *weight > 0.0 {
                let part = (q - below) / weight;
                return (edge[0] as f64 + part * (edge[1] - edge[0]) as f64) * self.tick;
            }
            below += weight;
        }
        self.edges.last().map_or(0.0, |&e| e as f64 * self.tick)
    }

    fn middles(&self) -> impl Iterator<Item = f64> + '_ {
        self.edges.windows(2).map(|e| (e[0] + e[1]) as f64 * 0.5 * self.tick)
    }

    /// Cuts off bins at both ends that hold together less than `mass`.
    pub fn trimmed(&self, mass: f64) -> Skid {
        let (mut first, mut last) = (0, self.weights.len());
        let mut cut = 0.0;
        while first + 1 < last {
            let (low, high) = (self.weights[first], self.weights[last - 1]);
            let (weight, step) = if low < high { (low, &mut first) } else { (high, &mut last) };
            cut += weight;
            if cut > mass {
                break;
            }
            if low < high { *step += 1 } else { *step -= 1 }
        }
        let mut skid = Skid {
            tick: self.tick,
            edges: self.edges[first..=last].to_vec(),
            weights: self.weights[first..last].to_vec(),
        };
        skid.normalise();
        skid
    }
}

/// What the processor goes through while a sample slips.
#[derive(Clone, Copy)]
pub struct Walk<'a> {
    /// The code.
    pub region: &'a Region,
    /// How often each step is taken.
    pub rates: &'a Rates,
    /// Head times.
    pub holds: &'a Holds,
    /// What is reported of what is waited for.
    pub reporting: Reporting,
}

/// When the counter overflows, as executions per node that may make it do so.
#[derive(Clone, Copy)]
pub enum Origin<'a> {
    /// As these retire.
    Behind(&'a [f64]),
    /// As these are about to be the head.
    Entering(&'a [f64]),
    /// While these are waited for, from the beginning of that wait.
    Waiting(&'a [f64]),
}

/// The walk, with room to run it again and again.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    /// Mass per stage and node, stage-major.
    mass: Vec<f64>,
    moving: Vec<f64>,
    pass: Vec<f64>,
    leave: Vec<f64>,
    long: Vec<bool>,
}

impl Kernel {
    /// For each bin of `skid`, where the head stands during it when an overflow happened at `origin`: expected reports per
    /// node, averaged over the bin's ticks. Each sums to what `origin` does, less what has left the region.
    pub fn reports(&mut self, walk: &Walk<'_>, skid: &Skid, origin: Origin<'_>) -> Vec<Vec<f64>> {
        let Walk { region, rates, holds, reporting } = *walk;
        self.prepare(region, holds, skid.tick);
        match origin {
            Origin::Behind(executions) => {
                for (from, &executions) in executions.iter().enumerate() {
                    self.go_on(region, rates, from, executions);
                }
                self.settle(region, rates);
            }
            Origin::Entering(entered) => {
                self.moving.copy_from_slice(entered);
                self.settle(region, rates);
            }
            Origin::Waiting(waited) => {
                self.mass.iter_mut().zip(waited).for_each(|(mass, &executions)| *mass += executions);
            }
        }
        self.run(region, rates, skid, reporting)
    }

    fn run(&mut self, region: &Region, rates: &Rates, skid: &Skid, reporting: Reporting) -> Vec<Vec<f64>> {
        let mut bins = vec![vec![0.0; region.nodes.len()]; skid.weights.len()];
        let last = skid.edges.last().copied().unwrap_or(0);
        let mut bin = 0;
        for tick in 0..last {
            while tick >= skid.edges[bin + 1] {
                bin += 1;
            }
            if tick >= skid.edges[bin] {
                self.look(&mut bins[bin]);
            }
            self.tick(region, rates);
        }
        for (bin, edge) in bins.iter_mut().zip(skid.edges.windows(2)) {
            let ticks = (edge[1] - edge[0]) as f64;
            bin.iter_mut().for_each(|m| *m /= ticks);
            *bin = report(region, rates, bin, reporting);
        }
        bins
    }

    fn prepare(&mut self, region: &Region, holds: &Holds, tick: f64) {
        let n = region.nodes.len();
        self.mass.clear();
        self.mass.resize(STAGES * n, 0.0);
        self.moving.clear();
        self.moving.resize(n, 0.0);
        self.pass = holds.mean.iter().map(|h| (1.0 - h / tick).max(0.0)).collect();
        self.long = holds.mean.iter().map(|&h| h >= STAGES as f64 * tick).collect();
        self.leave = (0..n)
            .map(|i| {
                let stages = if self.long[i] { STAGES as f64 } else { 1.0 };
                (stages * tick / holds.mean[i].max(1e-9)).min(1.0)
            })
            .collect();
    }

    /// One tick: what leaves its node moves on, and passes the nodes that retire at once.
    fn tick(&mut self, region: &Region, rates: &Rates) {
        let n = region.nodes.len();
        self.moving.fill(0.0);
        for i in 0..n {
            let mut out = self.mass[i] * self.leave[i];
            self.mass[i] -= out;
            if self.long[i] {
                for stage in 1..STAGES {
                    let at = stage * n + i;
                    let next = self.mass[at] * self.leave[i];
                    self.mass[at] += out - next;
                    out = next;
                }
            }
            if out > 0.0 {
                self.go_on(region, rates, i, out);
            }
        }
        self.settle(region, rates);
    }

    /// Lets `mass` that leaves node `i` arrive where it goes.
    fn go_on(&mut self, region: &Region, rates: &Rates, i: usize, mass: f64) {
        for at in region.starts[i]..region.starts[i + 1] {
            self.moving[region.steps[at].to] += mass * rates.steps[at];
        }
    }

    /// Lets moving mass pass what retires at once. Mass that comes round backwards more than once a tick waits there.
    fn settle(&mut self, region: &Region, rates: &Rates) {
        for _ in 0..2 {
            for i in 0..region.nodes.len() {
                let arrived = self.moving[i];
                if arrived == 0.0 {
                    continue;
                }
                self.moving[i] = 0.0;
                let on = arrived * self.pass[i];
                self.mass[i] += arrived - on;
                if on > 0.0 {
                    self.go_on(region, rates, i, on);
                }
            }
        }
        for (mass, moving) in self.mass.iter_mut().zip(&self.moving) {
            *mass += moving;
        }
    }

    fn look(&self, into: &mut [f64]) {
        let n = into.len();
        for stage in self.mass.chunks_exact(n) {
            for (sum, mass) in into.iter_mut().zip(stage) {
                *sum += mass;
            }
        }
    }
}

/// From what is waited for to what is reported.
fn report(region: &Region, rates: &Rates, waited: &[f64], reporting: Reporting) -> Vec<f64> {
    if !reporting.late {
        return waited.to_vec();
    }
    let mut waited = waited.to_vec();
    if reporting.fused {
        for i in 1..waited.len() {
            if region.nodes[i].fused {
                waited[i] += std::mem::take(&mut waited[i - 1]);
            }
        }
    }
    let mut reported = vec![0.0; waited.len()];
    let unit =
        Rates { blocks: vec![1.0; region.blocks.len()], steps: rates.steps.clone(), ..Rates::default() };
    each_step(region, &unit, |from, to, p| reported[to] += waited[from] * p);
    reported
}
