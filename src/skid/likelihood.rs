//! How likely the observed samples are: a quasi-Poisson likelihood of the reports the kernel expects.

use super::choices::Choices;
use super::circulation::{Circulation, Rates};
use super::distribution::Skid;
use super::guesses::Guesses;
use super::hold::{Holds, Reporting, TimeSamples};
use super::kernel::{Kernel, LANES, Origin, Walk};
use super::pace::Paces;
use super::patience::Due;
use super::region::Region;
use super::schedule::{Schedule, approach};
use super::shares::{self, Shared};
use super::usual::{Usual, usual};
use super::{levels, recursions};

/// Share of samples that may stand anywhere: stray addresses must not make a good path impossible.
const STRAY: f64 = 0.005;

/// Samples of one retirement event, folded per node.
#[derive(Clone, Debug)]
pub struct Observation {
    /// Weight reported per node: sum of periods, in events.
    pub weight: Vec<f64>,
    /// Mean period, events per sample.
    pub period: f64,
    /// Nodes whose execution this event counts.
    pub counts: Vec<bool>,
    /// Whether its samples stand where they arose: no skid is between them and what ran.
    pub exact: bool,
}

impl Observation {
    /// Samples per node.
    pub fn samples(&self) -> impl Iterator<Item = f64> + '_ {
        self.weight.iter().map(|w| w / self.period)
    }

    /// Samples in the region.
    pub fn total(&self) -> f64 {
        self.samples().sum()
    }

    /// Samples per block of `region`, to whose nodes the weights belong.
    pub fn of_blocks(&self, region: &Region) -> Vec<f64> {
        let samples: Vec<f64> = self.samples().collect();
        region.blocks.iter().map(|b| samples[b.nodes.clone()].iter().sum()).collect()
    }
}

/// A region and what was seen in it.
#[derive(Clone, Debug)]
pub struct Model {
    /// The code.
    pub region: Region,
    /// Retirement events; the first one sets the scale of the executions.
    pub events: Vec<Observation>,
    /// Time, if some event measured it.
    pub time: Option<TimeSamples>,
    /// What the interrupt reports.
    pub reporting: Reporting,
    /// Cycles for which each node would hold the head if nothing stalled it ([`schedule`](super::schedule)).
    pub ideal: Vec<f64>,
    /// How far its pace is taken to differ from that.
    pub paces: Paces,
    /// What is waited for behind choices of two ways, where they are judged by that.
    pub choices: Option<Choices>,
    /// How many times as far as usual waits and paces may be from what is expected, ≥ 1: a search that knows little yet does not
    /// trust what it expects.
    pub doubt: f64,
    /// Functions of which callchains tell who calls them.
    pub shared: Vec<Shared>,
}

/// Everything that follows from parameters and a skid.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// Executions and walk.
    pub rates: Rates,
    /// Head times.
    pub holds: Holds,
    /// For each event and bin of the skid, the share of its samples reported per node; sums to 1 over nodes.
    pub bins: Vec<Vec<Vec<f64>>>,
}

impl Model {
    /// Instructions executed in the region, by the first event's samples.
    pub fn total(&self) -> f64 {
        self.events[0].weight.iter().sum()
    }

    /// Samples that tell how often blocks ran as they stand: exact ones, where there are any.
    pub fn counted(&self) -> &Observation {
        let exact = self.events.iter().find(|event| event.exact && event.total() > 0.0);
        exact.unwrap_or(&self.events[0])
    }

    /// For each arm, the probability that it was not expected when it was taken, by what time tells of that.
    pub fn risks(&self, rates: &Rates) -> Vec<f64> {
        let learnt = self.choices.as_ref().map(|choices| choices.guesses(&self.region));
        learnt.unwrap_or_else(|| Guesses::new(&self.region)).risks(&self.region, rates)
    }

    /// How long each node should be waited for, by now.
    pub fn due(&self) -> Due {
        self.time.as_ref().map_or_else(Due::default, |time| time.due.clone())
    }

    /// Expects the time that a `schedule` has.
    pub fn expect_all(&mut self, schedule: &Schedule) {
        self.ideal.clone_from(&schedule.cycles);
        if let Some(time) = &mut self.time {
            time.due = Due::of(schedule);
        }
    }

    /// Expects the time that a `schedule` has, by this `part` of the way from what is expected by now.
    pub fn expect(&mut self, schedule: &Schedule, part: f64) {
        approach(&mut self.ideal, &schedule.cycles, part);
        if let Some(time) = &mut self.time {
            time.due.approach(&Due::of(schedule), part);
        }
    }

    /// Expects the time that `other` does, which has the same code, by this `part` of the way.
    pub fn expect_as(&mut self, other: &Model, part: f64) {
        approach(&mut self.ideal, &other.ideal, part);
        if let (Some(time), Some(other)) = (&mut self.time, &other.time) {
            time.due.approach(&other.due, part);
        }
        if let (Some(choices), Some(other)) = (&mut self.choices, &other.choices) {
            choices.expected.approach(&other.expected, part);
        }
    }

    /// What is known of branches before anything is weighed.
    pub fn usual(&self) -> Usual {
        usual(&self.region, &self.events[0])
    }

    /// How far `rates` are from what calls, stacks and callers tie together, as residuals, where `period` is that of a sample of
    /// executions.
    pub fn ties(&self, rates: &Rates, period: f64) -> Vec<f64> {
        let mut residuals = recursions::residuals(&self.region, rates, period);
        residuals.extend(levels::residuals(&self.region, rates, period));
        residuals.extend(shares::residuals(&self.region, rates, &self.shared));
        residuals
    }

    /// Executions and walk at parameters `z`; `None` where they admit no flow.
    pub fn rates(&self, z: &[f64]) -> Option<Rates> {
        Circulation::new(&self.region).rates(&self.region, z, self.total())
    }

    /// Expected reports where each of `rates` are the executions.
    pub fn predict<const L: usize>(&self, rates: [Rates; L], skid: &Skid) -> [Prediction; L] {
        let held = |rates: &Rates| Holds::measure(&self.region, rates, self.time.as_ref(), self.reporting);
        let holds = rates.each_ref().map(held);
        let walks: [Walk<'_>; L] = std::array::from_fn(|lane| Walk {
            region: &self.region,
            rates: &rates[lane],
            holds: &holds[lane],
            reporting: self.reporting,
        });
        let mut bins: [Vec<Vec<Vec<f64>>>; L] =
            std::array::from_fn(|_| Vec::with_capacity(self.events.len()));
        for event in &self.events {
            let origins = rates.each_ref().map(|rates| self.origin(event, rates));
            let reports = match event.exact {
                true => origins.map(|origin| vec![origin; skid.weights.len()]),
                false => {
                    Kernel::default().reports(&walks, skid, origins.each_ref().map(|o| Origin::Behind(o)))
                }
            };
            for (bins, mut reports) in bins.iter_mut().zip(reports) {
                reports.iter_mut().for_each(|bin| normalise(bin));
                bins.push(reports);
            }
        }
        let mut behind = holds.into_iter().zip(bins);
        rates.map(|rates| {
            let (holds, bins) = behind.next().unwrap_or_default();
            Prediction { rates, holds, bins }
        })
    }

    /// The same for any number, [`LANES`] at once.
    pub fn predict_all(&self, mut rates: Vec<Rates>, skid: &Skid) -> Vec<Prediction> {
        let mut predictions = Vec::with_capacity(rates.len());
        while !rates.is_empty() {
            let some: Vec<Rates> = rates.drain(..rates.len().min(LANES)).collect();
            if some.len() < LANES / 2 {
                predictions.extend(some.into_iter().flat_map(|rates| self.predict([rates], skid)));
            } else {
                let lanes = std::array::from_fn(|lane| some[lane.min(some.len() - 1)].clone());
                predictions.extend(self.predict::<LANES>(lanes, skid).into_iter().take(some.len()));
            }
        }
        predictions
    }

    /// Executions that `event` counts, per node.
    pub fn origin(&self, event: &Observation, rates: &Rates) -> Vec<f64> {
        let nodes = self.region.nodes.iter().zip(&event.counts);
        nodes.map(|(node, &counts)| if counts { rates.blocks[node.block] } else { 0.0 }).collect()
    }

    /// Pearson's χ² of the blocks over its degrees of freedom, at least 1: how much more the samples scatter than Poisson's.
    pub fn dispersion(&self, prediction: &Prediction, skid: &Skid) -> f64 {
        let (mut chi, mut cells) = (0.0, 0.0);
        for (ix, event) in self.events.iter().enumerate().filter(|(_, event)| !event.exact) {
            let expected = self.expected(prediction, skid, ix);
            let seen: Vec<f64> = event.samples().collect();
            for block in &self.region.blocks {
                let x: f64 = expected[block.nodes.clone()].iter().sum();
                let o: f64 = seen[block.nodes.clone()].iter().sum();
                chi += (o - x) * (o - x) / x.max(0.5);
                cells += if x > 0.5 || o > 0.0 { 1.0 } else { 0.0 };
            }
        }
        let free = self.region.freedom() as f64;
        (chi / (cells - free).max(cells * 0.25).max(1.0)).max(1.0)
    }

    /// Expected samples per node of event `event`.
    pub fn expected(&self, prediction: &Prediction, skid: &Skid, event: usize) -> Vec<f64> {
        mixed(&prediction.bins[event], &skid.weights, self.events[event].total())
    }
}

fn normalise(bin: &mut [f64]) {
    let sum: f64 = bin.iter().sum();
    let even = 1.0 / bin.len() as f64;
    bin.iter_mut().for_each(|m| *m = if sum > 0.0 { *m / sum } else { even });
}

fn mixed(bins: &[Vec<f64>], weights: &[f64], total: f64) -> Vec<f64> {
    let n = bins.first().map_or(0, Vec::len);
    let mut expected = vec![STRAY * total / n as f64; n];
    for (bin, weight) in bins.iter().zip(weights) {
        for (x, m) in expected.iter_mut().zip(bin) {
            *x += (1.0 - STRAY) * total * weight * m;
        }
    }
    expected.iter_mut().for_each(|x| *x = x.max(1e-9));
    expected
}
