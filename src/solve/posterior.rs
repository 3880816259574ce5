//! The energy of branch probabilities given all that was seen: the negative logarithm of their posterior.
//!
//! Residuals are those of the expected reports (variance-stabilised Poisson, widened by a dispersion), of time (head times
//! within classes, limits of waits, the pace of plain instructions), of the samples of loops, of the calls of recursive
//! functions, of who called where callchains tell, and of the prior, which is centred on the flow that samples and time agree
//! on best.

use super::energy::{Change, Energy, Near};
use crate::skid::likelihood::{Observation, Prediction};
use crate::skid::nests::Nests;
use crate::skid::region::Region;
use crate::skid::{Circulation, Model, Rates, Skid};

/// How strongly each kind of evidence speaks.
#[derive(Clone, Copy, Debug)]
pub struct Trust {
    /// Variance of samples over Poisson's, ≥ 1 …
    pub dispersion: f64,
    /// … and by which share of what it expects in a block the kernel errs besides, ≥ 0 (standard deviation).
    pub error: f64,
    /// Standard deviation of the log head times within a class.
    pub spread: f64,
    /// Standard deviation of branch logits around the centre.
    pub prior: f64,
}

/// Variance over Poisson's of samples that stand where they arose: instructions are not all of one op.
const EXACT: f64 = 2.0;
/// Standard deviation of log rates of roots around the centre.
const ROOT_PRIOR: f64 = 2.0;

/// See the module.
pub struct Posterior<'a> {
    /// What was seen.
    pub model: &'a Model,
    /// Where the prior is centred.
    pub centre: &'a [f64],
    /// The skid that reports are expected under.
    pub skid: Skid,
    /// See [`Trust`].
    pub trust: Trust,
    circulation: Circulation,
    /// √samples per event and block.
    seen: Vec<Vec<f64>>,
    nests: Nests,
    /// Standard deviations of the prior.
    deviations: Vec<f64>,
}

impl<'a> Posterior<'a> {
    /// The energy, with all that does not depend on the parameters.
    pub fn new(model: &'a Model, centre: &'a [f64], skid: Skid, trust: Trust) -> Posterior<'a> {
        let seen = model.events.iter().map(|e| settled(&model.region, e)).collect();
        let circulation = Circulation::new(&model.region);
        let nests = Nests::new(&model.region, &model.events[0].samples().collect::<Vec<_>>());
        let branch = |known: Option<f64>| known.unwrap_or(trust.prior);
        let mut deviations: Vec<f64> = model.usual().deviations.into_iter().map(branch).collect();
        deviations.resize(centre.len(), ROOT_PRIOR);
        Posterior { model, centre, skid, trust, circulation, seen, nests, deviations }
    }

    /// Executions, head times and reports at `z`.
    pub fn predict(&self, z: &[f64]) -> Option<Prediction> {
        let rates = self.circulation.rates(&self.model.region, z, self.model.total())?;
        let [prediction] = self.model.predict([rates], &self.skid);
        Some(prediction)
    }

    /// Samples that fall to each bin of the skid, by how well it explains them.
    pub fn allotted(&self, prediction: &Prediction) -> Vec<f64> {
        let mut allotted = vec![0.0; self.skid.weights.len()];
        for (ix, event) in self.model.events.iter().enumerate().filter(|(_, event)| !event.exact) {
            let expected = self.model.expected(prediction, &self.skid, ix);
            let total = event.total();
            for (k, bin) in prediction.bins[ix].iter().enumerate() {
                let shares = event.samples().zip(bin).zip(&expected).map(|((o, m), x)| o * m / x);
                allotted[k] += total * self.skid.weights[k] * shares.sum::<f64>();
            }
        }
        allotted
    }

    /// Residuals at `z`, whose prediction is given.
    pub fn residuals_of(&self, z: &[f64], prediction: &Prediction) -> Vec<f64> {
        let region = &self.model.region;
        let mut residuals = self.misfits(prediction, &self.skid);
        if let Some(time) = &self.model.time {
            let (rates, holds) = (&prediction.rates, &prediction.holds);
            residuals.extend(holds.deviations(region, rates, time.period, self.trust.spread));
            residuals.extend(self.model.timing(rates, &holds.waited));
        }
        let period = self.model.events[0].period;
        residuals.extend(self.nests.residuals(region, &prediction.rates, period));
        residuals.extend(self.model.ties(&prediction.rates, period));
        for (k, (z, centre)) in z.iter().zip(self.centre).enumerate() {
            residuals.push((z - centre) / self.deviations[k]);
        }
        residuals
    }

    /// The part of the residuals that is of the samples: for each event and block, how far those expected under `skid` are
    /// off. Inside a block all instructions run equally often; where in it samples stand says how it waits, which time says
    /// better.
    pub fn misfits(&self, prediction: &Prediction, skid: &Skid) -> Vec<f64> {
        let mut misfits = Vec::with_capacity(self.seen.len() * self.model.region.blocks.len());
        for (event, seen) in self.seen.iter().enumerate() {
            let expected = self.model.expected(prediction, skid, event);
            let exact = self.model.events[event].exact;
            let (dispersion, error) =
                if exact { (EXACT, 0.0) } else { (self.trust.dispersion, self.trust.error) };
            for (block, seen) in self.model.region.blocks.iter().zip(seen) {
                let scale = 2.0 / (dispersion + (error * seen).powi(2)).sqrt();
                let expected: f64 = expected[block.nodes.clone()].iter().sum();
                misfits.push(scale * ((expected + 0.375).sqrt() - seen));
            }
        }
        misfits
    }
}

/// √(samples + ⅜) per block, whose variance is ¼ (Anscombe, "The transformation of Poisson, binomial and negative-binomial
/// data", 1948).
fn settled(region: &Region, event: &Observation) -> Vec<f64> {
    event.of_blocks(region).into_iter().map(|samples| (samples + 0.375).sqrt()).collect()
}

impl Energy for Posterior<'_> {
    fn residuals(&self, z: &[f64]) -> Option<Vec<f64>> {
        Some(self.residuals_of(z, &self.predict(z)?))
    }

    fn around<'a>(&'a self, z: &'a [f64]) -> Near<'a> {
        let around = self.circulation.around(&self.model.region, z);
        Box::new(move |changes| {
            let moved = |change: &Change| around.moved(change.k, change.step, self.model.total());
            let rates: Vec<Option<Rates>> = changes.iter().map(moved).collect();
            let flows: Vec<bool> = rates.iter().map(Option::is_some).collect();
            let mut predictions =
                self.model.predict_all(rates.into_iter().flatten().collect(), &self.skid).into_iter();
            let there = |(change, flows): (&Change, bool)| {
                let prediction = flows.then(|| predictions.next()).flatten()?;
                Some(self.residuals_of(&change.of(z), &prediction))
            };
            changes.iter().zip(flows).map(there).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skid::hold::Reporting;
    use crate::skid::testing::skipping;

    /// Half the squared residuals of samples that the kernel expects a fifth off, `times` as many.
    fn misfit(times: f64, error: f64) -> f64 {
        let samples = [100.0, 60.0, 60.0, 100.0, 100.0, 1.0].map(|n| times * n);
        let model = skipping(samples, false, Reporting::default());
        let trust = Trust { dispersion: 4.0, error, spread: 0.4, prior: 1.0 };
        let posterior = Posterior::new(&model, &[0.0, 7.0], Skid::fixed(1.0, 1.0, 1.0), trust);
        let prediction = posterior.predict(&[0.0, 7.0]).expect("a flow");
        posterior.misfits(&prediction, &posterior.skid).iter().map(|r| 0.5 * r * r).sum()
    }

    #[test]
    fn more_samples_do_not_make_the_kernel_righter_than_it_is() {
        assert!(misfit(1e4, 0.0) > 50.0 * misfit(100.0, 0.0), "without an error of its own");
        assert!(misfit(1e4, 0.1) < 2.0 * misfit(100.0, 0.1));
        assert!(misfit(1.0, 0.1) > 0.5 * misfit(1.0, 0.0), "few samples are believed as before");
    }
}
