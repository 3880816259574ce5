//! The kernel run backwards: how likely what overflows behind each node is reported where samples are.
//!
//! In: a walk, a skid, and some reports. Out: for each of them, the probability that an event which overflows behind a node is
//! reported there, per node. Tick by tick it is the transpose of [`Kernel`](super::Kernel), but for the least masses, which
//! that drops. Samples stand on far fewer nodes than there are causes (in regions of SQLite on 120 to 640
//! of 1,000 to 3,300), and [`LANES`] reports go through the code at once.

use super::border::Border;
use super::circulation::Rates;
use super::distribution::Skid;
use super::kernel::{LANES, Walk};
use super::region::Region;
use super::stays::{LATER, STAGES, Stay};

/// A value for each of the reports that are followed at once.
pub type Lanes = [f64; LANES];

/// For each node, the probability that what overflows behind it is reported on each of `reports`, nodes of which there are up to
/// [`LANES`].
pub fn likely(walk: &Walk<'_>, skid: &Skid, reports: &[usize]) -> Vec<Lanes> {
    let border = Border::of(walk.region, walk.rates);
    let shown = waited(walk, &border, reports);
    let mut backwards = Backwards {
        region: walk.region,
        rates: walk.rates,
        border,
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
    backwards.gone_on()
}

/// The probability that what is waited for when the interrupt arrives is reported on each of `reports`, per node.
fn waited(walk: &Walk<'_>, border: &Border, reports: &[usize]) -> Vec<Lanes> {
    let Walk { region, rates, reporting, .. } = *walk;
    let mut on = vec![[0.0; LANES]; region.nodes.len()];
    for (lane, &node) in reports.iter().take(LANES).enumerate() {
        on[node][lane] = 1.0;
    }
    if !reporting.late {
        return on;
    }
    let outside = entering(border, &on);
    let behind = |i| onward(region, rates, i, times(border.leaves[i], &outside), |to| &on[to]);
    let mut waited: Vec<Lanes> = (0..on.len()).map(behind).collect();
    for i in (1..waited.len()).rev().filter(|&i| reporting.fused && region.nodes[i].fused) {
        waited[i - 1] = waited[i];
    }
    for ((waited, behind), on) in waited.iter_mut().zip(&walk.holds.behind).zip(&on) {
        *waited = between(*behind, waited, on);
    }
    waited
}

/// What entering the region is worth, where arriving at each node is worth so much.
fn entering(border: &Border, worth: &[Lanes]) -> Lanes {
    let mut sum = [0.0; LANES];
    for &(node, share) in &border.enters {
        add(&mut sum, share, &worth[node]);
    }
    sum
}

/// What is behind node `i`, by how likely each step is; `outside`, if it goes there.
fn onward<'a>(
    region: &Region,
    rates: &Rates,
    i: usize,
    outside: Lanes,
    of: impl Fn(usize) -> &'a Lanes,
) -> Lanes {
    let mut sum = outside;
    for at in region.starts[i]..region.starts[i + 1] {
        add(&mut sum, rates.steps[at], of(region.steps[at].to));
    }
    sum
}

fn times(part: f64, a: &Lanes) -> Lanes {
    a.map(|a| part * a)
}

fn add(sum: &mut Lanes, part: f64, a: &Lanes) {
    sum.iter_mut().zip(a).for_each(|(sum, a)| *sum += part * a);
}

/// `a`, and of `b` the rest.
fn between(part: f64, a: &Lanes, b: &Lanes) -> Lanes {
    std::array::from_fn(|lane| part * a[lane] + (1.0 - part) * b[lane])
}

/// What standing somewhere at a time is worth: the probability of each report from there on.
struct Backwards<'a> {
    region: &'a Region,
    rates: &'a Rates,
    border: Border,
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
        for (i, on) in self.gone_on().into_iter().enumerate() {
            let Stay { leave: [leave], staged, .. } = self.stays[i];
            let last = if staged.is_some() { LATER } else { 0 };
            let stages = &mut self.held[i];
            for stage in 0..last {
                stages[stage] = between(leave, &stages[stage + 1], &stages[stage]);
            }
            stages[last] = between(leave, &on, &stages[last]);
        }
    }

    /// From what is held to what arrives, which passes nodes that retire at once. Mass that comes round backwards, or in from
    /// outside, more than twice a tick waits there.
    fn settle(&mut self) {
        let (again, arriving) = (std::mem::take(&mut self.again), std::mem::take(&mut self.arriving));
        let held: Vec<Lanes> = self.held.iter().map(|stages| stages[0]).collect();
        self.again = self.passing(again, &held);
        self.arriving = self.passing(arriving, &self.again);
    }

    /// Of arriving at each node, put into `worth`, where arriving there once more is worth so much.
    fn passing(&self, mut worth: Vec<Lanes>, again: &[Lanes]) -> Vec<Lanes> {
        let outside = entering(&self.border, again);
        for i in (0..worth.len()).rev() {
            let on = self.behind(i, &outside, |to| if to > i { &worth[to] } else { &again[to] });
            worth[i] = between(self.stays[i].pass[0], &on, &self.held[i][0]);
        }
        worth
    }

    /// Of leaving each node.
    fn gone_on(&self) -> Vec<Lanes> {
        let outside = entering(&self.border, &self.arriving);
        (0..self.arriving.len()).map(|i| self.behind(i, &outside, |to| &self.arriving[to])).collect()
    }

    fn behind<'b>(&self, i: usize, outside: &Lanes, of: impl Fn(usize) -> &'b Lanes) -> Lanes {
        onward(self.region, self.rates, i, times(self.border.leaves[i], outside), of)
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
        // the region is left seldom, and often
        let late = [(false, false), (true, false), (true, true)];
        for ((late, patient), again) in late.into_iter().flat_map(|late| [(late, 7.0), (late, -0.5)]) {
            let reporting = Reporting { late, patient, fused: late, ..Reporting::default() };
            let model = skipping([100.0, 50.0, 50.0, 100.0, 100.0, 1.0], true, reporting);
            let rates = model.rates(&[0.0, again]).expect("a flow");
            let nodes = model.region.nodes.len();
            // nodes that are passed, that hold for a while, and for long
            let mean: Vec<f64> = (0..nodes).map(|i| [0.2, 3.0, 9.0, 0.0][i % 4]).collect();
            let behind = (0..if patient { nodes } else { 0 }).map(|i| [0.0, 0.3, 1.0][i % 3]).collect();
            let holds = Holds { mean, behind, ..Holds::default() };
            let walk = Walk { region: &model.region, rates: &rates, holds: &holds, reporting };
            let skid = Skid { tick: 1.0, edges: vec![1, 2, 5, 11], weights: vec![0.2, 0.5, 0.3] };
            let reports: Vec<usize> = (0..nodes.min(LANES)).collect();
            let likely = likely(&walk, &skid, &reports);
            for (cause, backwards) in likely.iter().enumerate() {
                let forwards = forwards(&walk, &skid, cause);
                for (&report, backwards) in reports.iter().zip(backwards) {
                    let forwards = forwards[report];
                    assert!((forwards - backwards).abs() < 1e-5, "{cause} {report}: {forwards} {backwards}");
                }
            }
        }
    }

    /// Where what overflows behind `cause` is reported, by the kernel itself.
    fn forwards(walk: &Walk<'_>, skid: &Skid, cause: usize) -> Vec<f64> {
        let mut origin = vec![0.0; walk.region.nodes.len()];
        origin[cause] = 1.0;
        let [bins] = Kernel::default().reports(&[*walk], skid, [Origin::Behind(&origin)]);
        let mean = |node: usize| bins.iter().zip(&skid.weights).map(|(bin, w)| w * bin[node]).sum();
        (0..origin.len()).map(mean).collect()
    }
}
