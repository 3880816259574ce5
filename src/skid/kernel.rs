//! Where the head of the retirement queue stands some time after a counter overflowed.
//!
//! Time goes in ticks of the time one instruction takes at full retire width. A node with head time *h* below one tick is
//! passed at once with probability 1 − *h*/tick: it retires in the shadow of its group's leader, and zero samples on it are
//! right ([`Stays`]). A distribution of the skid enters linearly, as weights of time bins.
//!
//! Refuted: loads held seldom and for 60, 120 or 190 cycles instead of always for their mean (misfit at the truth of a program
//! that misses often: 129 nats, then 181, 236 and 188), wrong guesses for 12 or 18 (137, 142).

use super::circulation::Rates;
use super::hold::{Holds, Reporting};
use super::marked::Marked;
use super::region::Region;
use super::stays::{STAGES, Stays};

/// Part of what overflowed that is dropped where no more of it is left on a node.
const GONE: f64 = 1e-7;

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

    /// The same in ticks `times` as long, bins that are shorter than those put together.
    pub fn coarser(&self, times: usize) -> Skid {
        let mut skid =
            Skid { tick: self.tick * times as f64, edges: vec![self.edges[0] / times], weights: Vec::new() };
        let mut sum = 0.0;
        for (edge, weight) in self.edges[1..].iter().zip(&self.weights) {
            sum += weight;
            let (edge, last) = (edge.div_ceil(times), *skid.edges.last().unwrap_or(&0));
            if edge > last {
                skid.edges.push(edge);
                skid.weights.push(std::mem::take(&mut sum));
            }
        }
        if let Some(last) = skid.weights.last_mut() {
            *last += sum;
        }
        skid
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
    /// Mass per stage of each node.
    mass: Vec<[f64; STAGES]>,
    /// Nodes that have mass.
    held: Marked,
    /// Mass that arrives at each node.
    moving: Vec<f64>,
    /// Nodes where mass arrives.
    reached: Marked,
    /// Least mass that stays on a node.
    least: f64,
    stays: Stays,
}

impl Kernel {
    /// For each bin of `skid`, where the head stands during it when an overflow happened at `origin`: expected reports per
    /// node, averaged over the bin's ticks. Each sums to what `origin` does, less what has left the region.
    pub fn reports(&mut self, walk: &Walk<'_>, skid: &Skid, origin: Origin<'_>) -> Vec<Vec<f64>> {
        let mut bins = vec![vec![0.0; walk.region.nodes.len()]; skid.weights.len()];
        self.run(walk, skid, origin, |kernel, bin, part| kernel.look(part, &mut bins[bin]));
        bins.iter_mut().for_each(|bin| *bin = report(walk, std::mem::take(bin)));
        bins
    }

    /// The same, averaged over the whole of `skid`.
    pub fn reported(&mut self, walk: &Walk<'_>, skid: &Skid, origin: Origin<'_>) -> Vec<f64> {
        let mut sum = vec![0.0; walk.region.nodes.len()];
        self.run(walk, skid, origin, |kernel, bin, part| kernel.look(part * skid.weights[bin], &mut sum));
        report(walk, sum)
    }

    /// Shows every tick: its bin, and which part of that it is.
    fn run(
        &mut self,
        walk: &Walk<'_>,
        skid: &Skid,
        origin: Origin<'_>,
        mut show: impl FnMut(&Kernel, usize, f64),
    ) {
        let Walk { region, rates, holds, .. } = *walk;
        self.prepare(region, holds, skid.tick);
        self.begin(region, rates, origin);
        let mut tick = 0;
        for (bin, edge) in skid.edges.windows(2).enumerate() {
            while tick < edge[1] {
                if tick >= edge[0] {
                    show(self, bin, 1.0 / (edge[1] - edge[0]) as f64);
                }
                self.tick(region, rates);
                tick += 1;
            }
        }
    }

    fn begin(&mut self, region: &Region, rates: &Rates, origin: Origin<'_>) {
        let (Origin::Behind(of) | Origin::Entering(of) | Origin::Waiting(of)) = origin;
        self.least = GONE * of.iter().sum::<f64>();
        for (node, &mass) in of.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
            match origin {
                Origin::Behind(_) => self.go_on(region, rates, node, mass),
                Origin::Entering(_) => self.reach(node, mass),
                Origin::Waiting(_) => self.hold(node, mass),
            }
        }
        self.settle(region, rates);
    }

    fn prepare(&mut self, region: &Region, holds: &Holds, tick: f64) {
        let n = region.nodes.len();
        self.mass.clear();
        self.mass.resize(n, [0.0; STAGES]);
        self.held.clear(n);
        self.moving.clear();
        self.moving.resize(n, 0.0);
        self.reached.clear(n);
        self.stays = Stays::new(holds, tick);
    }

    /// One tick: what leaves its node moves on, and passes the nodes that retire at once.
    fn tick(&mut self, region: &Region, rates: &Rates) {
        let mut from = 0;
        while let Some(i) = self.held.next(from) {
            from = i + 1;
            let mass = &mut self.mass[i];
            let mut out = mass[0] * self.stays.leave[i];
            mass[0] -= out;
            if self.stays.long[i] {
                for stage in &mut mass[1..] {
                    let next = *stage * self.stays.leave[i];
                    *stage += out - next;
                    out = next;
                }
            }
            if mass.iter().sum::<f64>() < self.least {
                *mass = [0.0; STAGES];
                self.held.remove(i);
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
            self.reach(region.steps[at].to, mass * rates.steps[at]);
        }
    }

    fn reach(&mut self, i: usize, mass: f64) {
        self.moving[i] += mass;
        self.reached.insert(i);
    }

    fn hold(&mut self, i: usize, mass: f64) {
        self.mass[i][0] += mass;
        self.held.insert(i);
    }

    /// Lets moving mass pass what retires at once. Mass that comes round backwards more than twice a tick waits there.
    fn settle(&mut self, region: &Region, rates: &Rates) {
        for round in 0..3 {
            let mut from = 0;
            while let Some(i) = self.reached.next(from) {
                from = i + 1;
                self.reached.remove(i);
                let arrived = std::mem::take(&mut self.moving[i]);
                let on = if round < 2 { arrived * self.stays.pass[i] } else { 0.0 };
                self.hold(i, arrived - on);
                if on > 0.0 {
                    self.go_on(region, rates, i, on);
                }
            }
        }
    }

    /// Adds a `part` of where the head stands.
    fn look(&self, part: f64, into: &mut [f64]) {
        let mut from = 0;
        while let Some(i) = self.held.next(from) {
            from = i + 1;
            into[i] += part * self.mass[i].iter().sum::<f64>();
        }
    }
}

/// From what is waited for to what is reported.
fn report(walk: &Walk<'_>, mut waited: Vec<f64>) -> Vec<f64> {
    let Walk { region, rates, reporting, .. } = *walk;
    if !reporting.late {
        return waited;
    }
    if reporting.fused {
        for i in 1..waited.len() {
            if region.nodes[i].fused {
                waited[i] += std::mem::take(&mut waited[i - 1]);
            }
        }
    }
    let mut reported = vec![0.0; waited.len()];
    for (from, waited) in waited.iter().enumerate().filter(|(_, waited)| **waited > 0.0) {
        for at in region.starts[from]..region.starts[from + 1] {
            reported[region.steps[at].to] += waited * rates.steps[at];
        }
    }
    reported
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skid::testing::skipping;

    #[test]
    fn a_coarser_skid_is_as_long() {
        let mut fine = Skid::broad(1.0, 160.0);
        fine.weights = (0..fine.weights.len()).map(|k| 1.0 / (k + 1) as f64).collect();
        fine.normalise();
        for times in 1..=4 {
            let coarse = fine.coarser(times);
            assert!((coarse.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert!((coarse.mean() - fine.mean()).abs() < 0.7 * times as f64, "{times}: {}", coarse.mean());
            assert!(coarse.edges.windows(2).all(|e| e[0] < e[1]));
        }
        let one = Skid::fixed(1.0, 5.0, 0.5).coarser(4);
        assert_eq!((one.edges.len(), one.weights.as_slice()), (2, &[1.0][..]));
    }

    #[test]
    fn what_is_reported_is_the_mean_over_the_skid_and_loses_nothing() {
        let model = skipping([100.0, 50.0, 50.0, 100.0, 100.0, 1.0], true, Reporting::default());
        let rates = model.rates(&[0.0, 7.0]).expect("a flow");
        let holds = Holds::measure(&model.region, &rates, model.time.as_ref(), model.reporting);
        let walk = Walk { region: &model.region, rates: &rates, holds: &holds, reporting: model.reporting };
        let skid = Skid::broad(1.0, 20.0);
        let mut origin = vec![0.0; model.region.nodes.len()];
        origin[1] = 3.0;
        let bins = Kernel::default().reports(&walk, &skid, Origin::Behind(&origin));
        let sum = Kernel::default().reported(&walk, &skid, Origin::Behind(&origin));
        for (node, sum) in sum.iter().enumerate() {
            let mean: f64 = bins.iter().zip(&skid.weights).map(|(bin, weight)| bin[node] * weight).sum();
            assert!((sum - mean).abs() < 1e-9);
        }
        // the loop is left once in a thousand rounds
        let left = sum.iter().sum::<f64>();
        assert!(left > 2.9 && left <= 3.0 + 1e-9, "{left}");
    }
}
