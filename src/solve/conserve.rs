//! Flow conservation: the executions that satisfy Kirchhoff's law and lie nearest to the samples as they stand.
//!
//! The floor under every other solver, and with what time has to say ([`TIMED`]) where they start from. A block's samples are
//! taken as Poisson, widened by a dispersion for skid moves them by blocks; 2 √(μ/X) then has variance 1. Branch logits have
//! a weak prior at what the shape of the code suggests.
//!
//! Refuted, mean distance at function and block level over 36 generated recordings: variances that grow faster than the
//! mean, φ μ^{3/2} (.127 .180) or Xμ + (κμ)² with κ = .5 (.177 .235), forgive whole functions too much; Poisson's gives
//! .099 .154, whatever the dispersion from 1 to 50 and the prior's width from 2 to 9. That was before loops were held to
//! their samples; now block distance is .109 for flow alone and .088 to .099 with time (dispersion 100 to 500), .119 and
//! .095 to .074 on five programs of another simulator. Since time goes by the schedule of the code, samples inside loops are
//! best believed even less: over settings of the rest, dispersions of 250 gave .058 to .081 on the five and .083 to .095 on
//! 44, 500 gave .048 to .074 and .083 to .101, 1000 gave .025 to .040 and .083 to .091. In proportion to all samples, as
//! below where few blocks have them, it is .0263 and .0682 where 1000 is .0248 and .0700 (half of it: .0318, .0675; twice: .0250, .0717); in proportion to
//! those of a block's loops .0256 to .0340 and .0687 to .0751. The best of five values for each recording would be .0229 and
//! .0524, but nothing seen tells which: the least misfit under a broad kernel gives .113 and .079.

use super::energy::{Change, Energy, Near};
use super::levenberg::{Effort, descend};
use crate::skid::around::Around;
use crate::skid::hold::Reported;
use crate::skid::nests::Nests;
use crate::skid::region::LEAVES_LOOP;
use crate::skid::{Circulation, Model, Rates, timing};

/// How much is believed of what.
#[derive(Clone, Copy, Debug)]
pub struct Belief {
    /// What it puts first.
    pub name: &'static str,
    /// Variance of a block's samples over Poisson's, if there were no others …
    dispersion: f64,
    /// … and for each other around: skid moves a share of these, however many they are.
    moved: f64,
    /// Standard deviation of the prior on branch logits.
    prior: f64,
    /// Whether time counts: that waits have their limits and plain instructions their pace.
    pub(super) timed: bool,
}

/// Flow conservation alone.
pub const FLOW: Belief =
    Belief { name: "flow conservation alone", dispersion: 5.0, moved: 0.0, prior: 4.5, timed: false };
/// Flow conservation and time. Samples count for little inside a loop, for they stand where time was spent.
pub const TIMED: Belief =
    Belief { name: "time before samples", dispersion: 5.0, moved: 0.05, prior: 1.2, timed: true };
/// The same for recordings whose samples stand nearer to where they arose ([`choose`](super::beliefs::choose)).
pub const BESIDES: [Belief; 2] = [
    Belief { name: "samples beside time", moved: 0.02, prior: 2.5, ..TIMED },
    Belief { name: "samples before time", moved: 0.001, prior: 1.2, ..TIMED },
];

impl Belief {
    /// The same with a prior that is so many times as wide.
    pub fn wider(self, times: f64) -> Belief {
        Belief { prior: self.prior * times, ..self }
    }

    /// Variance of a block's samples over Poisson's, where blocks have so many.
    fn dispersion(self, model: &Model, blocks: &[f64]) -> f64 {
        // those that stand where they arose are believed, whatever time has to say
        let moved = if model.counted().exact { 0.0 } else { self.moved };
        self.dispersion + moved * nearby(blocks)
    }

    /// Standard deviation of the prior of a branch `logit` around the `usual` one, at a choice of so many `ways`.
    fn deviation(self, logit: f64, usual: f64, ways: usize) -> f64 {
        let seldom = usual.abs() >= -LEAVES_LOOP && (logit - usual) * usual > 0.0;
        let longer = if seldom { LONGER } else { 0.0 };
        let switch = if ways > 2 { SWITCH } else { 0.0 };
        self.prior.max(longer).max(switch)
    }
}

/// Blocks whose samples skid may bring to another. Block distance of flow and time over 13 recordings of real code, over 44 and 37
/// others, with samples of all blocks of a region: .1504, .0524, .0605; of 30 .1493; of 10 .1454, .0517, .0609; of 5 .1434,
/// .0508, .0613, and functions .0189 and .0177 off instead of .0180 and .0171.
const REACH: f64 = 10.0;
/// Standard deviation of the prior on log rates of roots, around what their samples say.
const ROOT_PRIOR: f64 = 5.0;
/// Standard deviation of the prior of what is as seldom as leaving a loop, or more, where it is more seldom yet: some loops run ten
/// times, others a million times. Block distance with it, and in brackets without, for flow and time alone over 72 recordings of 500
/// samples: .0812 (.0872), of 2,000: .0717 (.0736), of 30 from the five programs with 500 to 5,000: .0520 (.0535), 44 of 500 to
/// 50,000: .0545 (.0560), 28 others: .0631 (.0620). With 2 it is .0832, .0723, .0519, .0537, .0628.
const LONGER: f64 = 3.0;
/// Standard deviation of the prior of ways of a switch, of which nothing is known before but that some run often and some never.
/// Block distance of flow and time with it, and in brackets without: .1281 (.1310) over ten larger programs, four of which
/// interpret, .0535 (.0542) over 44 recordings, .0649 (.0656) over 28 others.
const SWITCH: f64 = 2.2;
/// Steps of a search, at most.
pub(super) const ITERATIONS: usize = 80;

/// Parameters of the flow nearest to the first event's samples, searched from branch `logits`; `None` if there is no flow.
pub fn conserve(model: &Model, logits: &[f64], belief: Belief) -> Option<Vec<f64>> {
    let (fit, start) = Conservation::new(model, logits, belief);
    Some(descend(&fit, start, Effort::thorough(ITERATIONS))?.z)
}

/// Parameters with branch `logits`, of which the samples tell no more than how often roots run.
pub fn unsearched(model: &Model, logits: &[f64]) -> Vec<f64> {
    let blocks = model.counted().of_blocks(&model.region);
    start(model, &Circulation::new(&model.region), &blocks, logits)
}

/// The energy of a flow, given the samples as they stand.
pub struct Conservation<'a> {
    model: &'a Model,
    circulation: Circulation,
    /// Samples per block.
    blocks: Vec<f64>,
    total: f64,
    expected: Vec<f64>,
    /// Ways of the choice that each branch logit is of.
    ways: Vec<usize>,
    /// Standard deviations of the branch logits that the code says.
    known: Vec<Option<f64>>,
    nests: Nests,
    /// What was waited for, where time counts.
    waits: Option<Reported>,
    dispersion: f64,
    belief: Belief,
}

impl<'a> Conservation<'a> {
    /// The energy where a flow is at parameters `z`: roots are expected to run as they would by its branches.
    pub fn at(model: &'a Model, z: &[f64], belief: Belief) -> Conservation<'a> {
        Conservation::new(model, &z[..model.region.freedom()], belief).0
    }

    /// The energy, and a start near branch `logits`.
    pub fn new(model: &'a Model, logits: &[f64], belief: Belief) -> (Conservation<'a>, Vec<f64>) {
        let circulation = Circulation::new(&model.region);
        let samples: Vec<f64> = model.counted().samples().collect();
        let blocks = model.counted().of_blocks(&model.region);
        let start = start(model, &circulation, &blocks, logits);
        let usual = model.usual();
        let mut expected = usual.logits;
        expected.extend(&start[expected.len()..]);
        let total = samples.iter().sum();
        let ways = model.region.per_logit(|decision, _| decision.arms.len() as f64);
        let dispersion = belief.dispersion(model, &blocks);
        let nests = Nests::new(&model.region, &samples);
        let time = model.time.as_ref().filter(|_| belief.timed);
        let waits = time.map(|time| time.reported(&model.region, model.reporting));
        (
            Conservation {
                model,
                circulation,
                blocks,
                total,
                expected,
                ways: ways.into_iter().map(|ways| ways as usize).collect(),
                known: usual.deviations,
                nests,
                waits,
                dispersion,
                belief,
            },
            start,
        )
    }
}

/// Samples around a block: all, where few blocks have them, or those of [`REACH`] of as many equal ones as are as uncertain (the
/// exponential of their entropy; Hill, "Diversity and evenness: a unifying notation and its consequences", 1973).
fn nearby(blocks: &[f64]) -> f64 {
    let total: f64 = blocks.iter().sum();
    let entropy: f64 = blocks.iter().map(|b| b / total).filter(|&p| p > 0.0).map(|p| -p * p.ln()).sum();
    total * (REACH / entropy.exp()).min(1.0)
}

/// A start at `logits`, with the roots at rates that give what they feed its samples.
fn start(model: &Model, circulation: &Circulation, blocks: &[f64], logits: &[f64]) -> Vec<f64> {
    let mut z = logits.to_vec();
    let fed = circulation.fed(&model.region, &z, blocks);
    z.extend(fed.iter().skip(1).map(|f| (f / fed[0]).ln()));
    z
}

impl Conservation<'_> {
    /// Standard deviations of the priors of branch `logits`, around those expected.
    pub fn deviations(&self, logits: &[f64]) -> impl Iterator<Item = f64> {
        let branches = logits.iter().zip(&self.expected).zip(&self.ways).zip(&self.known);
        branches.map(|(((logit, usual), ways), known)| {
            known.unwrap_or_else(|| self.belief.deviation(*logit, *usual, *ways))
        })
    }

    /// Standard deviations of the priors of branch logits, as they enter the density: where both sides of what is expected differ,
    /// the mean of the two.
    pub fn scales(&self) -> impl Iterator<Item = f64> {
        let off = |by: f64| {
            let logits: Vec<f64> = self.expected.iter().map(|usual| usual + by).collect();
            self.deviations(&logits).collect::<Vec<f64>>()
        };
        off(-1.0).into_iter().zip(off(1.0)).map(|(below, above)| 0.5 * (below + above))
    }

    /// Standard deviations of the priors of all parameters `z`, around those expected.
    fn spreads(&self, z: &[f64]) -> impl Iterator<Item = f64> {
        let (branches, roots) = z.split_at(self.model.region.freedom());
        self.deviations(branches).chain(roots.iter().map(|_| ROOT_PRIOR))
    }

    /// Events for which rates stand that sum to the samples, where time is judged.
    fn events(&self, mut rates: Rates) -> Rates {
        let events = self.model.total() / self.total;
        rates.blocks.iter_mut().for_each(|e| *e *= events);
        rates
    }

    /// What time says near the flow `around`, as [`Model::timing`] does.
    fn near(&self, around: &Around<'_>) -> Option<timing::Near<'_>> {
        let (waits, rates) = (self.waits.as_ref()?, self.events(around.here(self.total)?));
        self.model.timing_near(&rates, &waits.waited(&self.model.region, &rates))
    }

    /// Residuals at `z`, of which `rates` follow; `timing` tells what time says of rates and of what was waited.
    fn residuals_of(&self, z: &[f64], rates: Rates, timing: impl Fn(&Rates, &[f64]) -> Vec<f64>) -> Vec<f64> {
        let region = &self.model.region;
        let settled = |samples: f64| 2.0 * ((samples + 0.375) / self.dispersion).sqrt();
        let mut residuals = Vec::with_capacity(region.blocks.len() + z.len());
        for (b, block) in region.blocks.iter().enumerate() {
            residuals.push(settled(rates.blocks[b] * block.events) - settled(self.blocks[b]));
        }
        residuals.extend(self.nests.residuals(region, &rates, 1.0));
        residuals.extend(self.model.ties(&rates, 1.0));
        if let Some(waits) = &self.waits {
            let rates = self.events(rates);
            residuals.extend(timing(&rates, &waits.waited(region, &rates)));
        }
        let off = z.iter().zip(&self.expected).map(|(z, expected)| z - expected);
        residuals.extend(off.zip(self.spreads(z)).map(|(off, spread)| off / spread));
        residuals
    }
}

impl Energy for Conservation<'_> {
    fn residuals(&self, z: &[f64]) -> Option<Vec<f64>> {
        let rates = self.circulation.rates(&self.model.region, z, self.total)?;
        Some(self.residuals_of(z, rates, |rates, waited| self.model.timing(rates, waited)))
    }

    fn prior(&self, z: &[f64]) -> Vec<f64> {
        self.spreads(z).map(|spread| spread.powi(-2)).collect()
    }

    fn around<'a>(&'a self, z: &'a [f64]) -> Near<'a> {
        let around = self.circulation.around(&self.model.region, z);
        let near = self.near(&around);
        Box::new(move |changes| {
            let timing = |rates: &Rates, waited: &[f64]| {
                near.as_ref().map_or_else(Vec::new, |near| near.at(rates, waited))
            };
            let there = |change: &Change| {
                let rates = around.moved(change.k, change.step, self.total)?;
                Some(self.residuals_of(&change.of(z), rates, timing))
            };
            changes.iter().map(there).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::levenberg::precision;
    use super::*;
    use crate::skid::hold::Reporting;
    use crate::skid::testing::skipping;

    #[test]
    fn ways_of_a_switch_are_free_of_what_was_usual() {
        assert!(TIMED.deviation(3.0, 0.0, 3) > 1.5 * TIMED.deviation(3.0, 0.0, 2));
        assert_eq!(
            FLOW.deviation(3.0, 0.0, 3),
            FLOW.deviation(3.0, 0.0, 2),
            "where the prior is wide anyway"
        );
    }

    #[test]
    fn the_prior_is_what_each_branch_has_by_itself() {
        let model = skipping([9.0, 5.0, 5.0, 9.0, 9.0, 1.0], false, Reporting::default());
        // away from what is usual, where the prior has a kink
        let z = [0.5, 1.0];
        let fit = Conservation::at(&model, &z, TIMED);
        let (prior, precision) = (fit.prior(&z), precision(&fit, &z).expect("a flow"));
        assert_eq!(prior.len(), z.len());
        for (k, own) in prior.iter().enumerate() {
            assert!(*own > 0.0 && precision[k][k] >= own - 1e-9, "{own} of {}", precision[k][k]);
        }
    }

    #[test]
    fn of_many_blocks_few_are_around_each() {
        assert_eq!(nearby(&[30.0, 0.0, 10.0]), 40.0);
        let many = nearby(&[7.0; 100]);
        assert!((many - 7.0 * REACH).abs() < 1e-9, "{many}");
        assert_eq!(nearby(&[0.0, 0.0]), 0.0);
    }

    #[test]
    fn what_is_seldom_may_be_more_seldom_yet() {
        let at = |logit| TIMED.deviation(logit, LEAVES_LOOP, 2);
        assert!(at(LEAVES_LOOP - 3.0) > 1.5 * at(LEAVES_LOOP + 3.0));
    }
}
