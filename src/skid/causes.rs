//! The kernel run backwards: how likely what overflows behind each node is reported where samples are.
//!
//! In: a walk, a skid, and some reports. Out: for each of them, the probability that an event which overflows behind a node is
//! reported there, per node. Tick by tick it is the transpose of [`Kernel`](super::Kernel), but for the least masses, which
//! that drops. Samples stand on far fewer nodes than there are causes (in regions of SQLite on 120 to 640
//! of 1,000 to 3,300), and [`LANES`] reports go through the code at once.

use super::circulation::Rates;
use super::distribution::Skid;
use super::kernel::{LANES, Walk};
use super::region::Region;
use super::stays::{STAGES, Stay};

/// A value for each of the reports that are followed at once.
pub type Lanes = [f64; LANES];

/// Where something is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// On this node.
    On(usize),
    /// Anywhere in the region.
    Anywhere,
}

/// For each node, the probability that what overflows behind it becomes each of `reports`, of which there are up to [`LANES`].
pub fn likely(walk: &Walk<'_>, skid: &Skid, reports: &[Report]) -> Vec<Lanes> {
    let shown = waited(walk, reports);
    let mut backwards = Backwards {
        region: walk.region,
        rates: walk.rates,
        stays: Stay::all([walk.holds], skid.tick),
        held: vec![[[0.0; LANES]; STAGES]; shown.len()],
        arriving: vec![[0.0; LANES]; shown.len()],
        again: vec![[0.0; LANES]; shown.len()],
    };
    for (edge, weight) in skid.edges.windows(2).zip(&skid.weights).rev() {
        for _ in edge[0]..edge[1] {
            backwards.tick();
            backwards.show(&shown, weight / (edge[1] - edge[0]) as f64);
        }
    }
    (0..skid.edges[0]).for_each(|_| backwards.tick());
    backwards.settle();
    (0..shown.len()).map(|i| backwards.gone_on(i)).collect()
}

/// The probability that what is waited for when the interrupt arrives becomes each of `reports`, per node.
fn waited(walk: &Walk<'_>, reports: &[Report]) -> Vec<Lanes> {
    let Walk { region, rates, reporting, .. } = *walk;
    let mut on = vec![[0.0; LANES]; region.nodes.len()];
    for (lane, report) in reports.iter().take(LANES).enumerate() {
        match *report {
            Report::On(node) => on[node][lane] = 1.0,
            Report::Anywhere => on.iter_mut().for_each(|lanes| lanes[lane] = 1.0),
        }
    }
    if !reporting.late {
        return on;
    }
    let mut waited: Vec<Lanes> = (0..on.len()).map(|i| onward(region, rates, i, |to| &on[to])).collect();
    for i in (1..waited.len()).rev().filter(|&i| reporting.fused && region.nodes[i].fused) {
        waited[i - 1] = waited[i];
    }
    waited
}

/// What is behind node `i`, by how likely each step is.
fn onward<'a>(region: &Region, rates: &Rates, i: usize, of: impl Fn(usize) -> &'a Lanes) -> Lanes {
    let mut sum = [0.0; LANES];
    for at in region.starts[i]..region.starts[i + 1] {
        let rate = rates.steps[at];
        sum.iter_mut().zip(of(region.steps[at].to)).for_each(|(sum, value)| *sum += rate * value);
    }
    sum
}

/// `a`, and of `b` the rest.
fn between(part: f64, a: &Lanes, b: &Lanes) -> Lanes {
    std::array::from_fn(|lane| part * a[lane] + (1.0 - part) * b[lane])
}

/// What standing somewhere at a time is worth: the probability of each report from there on.
struct Backwards<'a> {
    region: &'a Region,
    rates: &'a Rates,
    stays: Vec<Stay<1>>,
    /// Of standing on each stage of a node.
    held: Vec<[Lanes; STAGES]>,
    /// Of arriving at a node.
    arriving: Vec<Lanes>,
    /// Of arriving there from behind, once.
    again: Vec<Lanes>,
}

impl Backwards<'_> {
    /// One tick earlier.
    fn tick(&mut self) {
        self.settle();
        for i in 0..self.held.len() {
            let Stay { leave: [leave], staged, .. } = self.stays[i];
            let last = if staged { STAGES - 1 } else { 0 };
            let on = self.gone_on(i);
            let stages = &mut self.held[i];
            for stage in 0..last {
                stages[stage] = between(leave, &stages[stage + 1], &stages[stage]);
            }
            stages[last] = between(leave, &on, &stages[last]);
        }
    }

    /// From what is held to what arrives, which passes nodes that retire at once. Mass that comes round backwards more than twice
    /// a tick waits there.
    fn settle(&mut self) {
        let (again, arriving) = (std::mem::take(&mut self.again), std::mem::take(&mut self.arriving));
        self.again = self.passing(again, |to| &self.held[to][0]);
        self.arriving = self.passing(arriving, |to| &self.again[to]);
    }

    /// Of arriving at each node, put into `worth`, where going back is worth so much.
    fn passing<'b>(&self, mut worth: Vec<Lanes>, back: impl Fn(usize) -> &'b Lanes) -> Vec<Lanes> {
        for i in (0..worth.len()).rev() {
            let on = onward(self.region, self.rates, i, |to| if to > i { &worth[to] } else { back(to) });
            worth[i] = between(self.stays[i].pass[0], &on, &self.held[i][0]);
        }
        worth
    }

    /// Of leaving node `i`.
    fn gone_on(&self, i: usize) -> Lanes {
        onward(self.region, self.rates, i, |to| &self.arriving[to])
    }

    /// Adds a `part` of what is `shown` to what stands there.
    fn show(&mut self, shown: &[Lanes], part: f64) {
        for (stages, shown) in self.held.iter_mut().zip(shown) {
            for stage in stages {
                stage.iter_mut().zip(shown).for_each(|(value, shown)| *value += part * shown);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skid::Holds;
    use crate::skid::hold::Reporting;
    use crate::skid::kernel::{Kernel, Origin};
    use crate::skid::testing::skipping;

    #[test]
    fn backwards_it_is_as_likely_as_forwards() {
        for late in [false, true] {
            let reporting = Reporting { late, fused: late, ..Reporting::default() };
            let model = skipping([100.0, 50.0, 50.0, 100.0, 100.0, 1.0], true, reporting);
            let rates = model.rates(&[0.0, 7.0]).expect("a flow");
            let nodes = model.region.nodes.len();
            // nodes that are passed, that hold for a while, and for long
            let mean: Vec<f64> = (0..nodes).map(|i| [0.2, 3.0, 9.0, 0.0][i % 4]).collect();
            let holds = Holds { mean, ..Holds::default() };
            let walk = Walk { region: &model.region, rates: &rates, holds: &holds, reporting };
            let skid = Skid { tick: 1.0, edges: vec![1, 2, 5, 11], weights: vec![0.2, 0.5, 0.3] };
            let mut reports: Vec<Report> = (0..nodes.min(LANES - 1)).map(Report::On).collect();
            reports.push(Report::Anywhere);
            let likely = likely(&walk, &skid, &reports);
            for (cause, backwards) in likely.iter().enumerate() {
                let mut origin = vec![0.0; nodes];
                origin[cause] = 1.0;
                let [bins] = Kernel::default().reports(&[walk], &skid, [Origin::Behind(&origin)]);
                let mean = |node: usize| bins.iter().zip(&skid.weights).map(|(bin, w)| w * bin[node]).sum();
                let forwards: Vec<f64> = (0..nodes).map(mean).collect();
                for (report, backwards) in reports.iter().zip(backwards) {
                    let forwards = match *report {
                        Report::On(node) => forwards[node],
                        Report::Anywhere => forwards.iter().sum(),
                    };
                    assert!(
                        (forwards - backwards).abs() < 1e-5,
                        "{cause} {report:?}: {forwards} {backwards}"
                    );
                }
            }
        }
    }
}
