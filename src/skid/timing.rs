//! What time has against executions.
//!
//! In: executions, and how long each node was waited for. Out: waits beyond their limits, blocks whose pace is unlike the usual, and
//! waits behind choices that are unlike what is expected, as residuals; or, for derivatives, the same to first order near there.

use super::circulation::Rates;
use super::likelihood::Model;
use super::pace::{self, Seen};
use super::{choices, limits};

/// What time has against executions near some.
pub struct Near<'a> {
    model: &'a Model,
    limits: limits::Near,
    paces: pace::Near,
    choices: Option<choices::Near<'a>>,
}

impl Model {
    /// What time has against `rates` if so many cycles were `waited` for each node, as residuals: waits beyond their limits, then
    /// blocks whose pace is unlike the usual, then waits behind choices; none where no time was observed.
    pub fn timing(&self, rates: &Rates, waited: &[f64]) -> Vec<f64> {
        let Some(seen) = self.seen(rates, waited) else { return Vec::new() };
        let width = self.reporting.shape.width;
        let mut residuals = limits::residuals(&seen, width);
        residuals.extend(seen.residuals(self.paces, width));
        residuals.extend(self.choices.iter().flat_map(|choices| choices.residuals(&seen)));
        residuals
    }

    /// The same near those `rates` and waits; `None` where no time was observed.
    pub fn timing_near(&self, rates: &Rates, waited: &[f64]) -> Option<Near<'_>> {
        let (seen, width) = (self.seen(rates, waited)?, self.reporting.shape.width);
        Some(Near {
            model: self,
            limits: limits::Near::new(&seen, width),
            paces: pace::Near::new(&seen, self.paces, width),
            choices: self.choices.as_ref().map(|choices| choices::Near::new(choices, &seen)),
        })
    }

    fn seen<'a>(&'a self, rates: &'a Rates, waited: &'a [f64]) -> Option<Seen<'a>> {
        let (region, ideal, doubt) = (&self.region, &self.ideal, self.doubt);
        Some(Seen { region, ideal, rates, waited, period: self.time.as_ref()?.period, doubt })
    }
}

impl Near<'_> {
    /// What [`Model::timing`] has against `rates` near there, if so many cycles were `waited` for each node.
    pub fn at(&self, rates: &Rates, waited: &[f64]) -> Vec<f64> {
        let Some(seen) = self.model.seen(rates, waited) else { return Vec::new() };
        let mut residuals = self.limits.at(&seen);
        residuals.extend(self.paces.at(&seen));
        residuals.extend(self.choices.iter().flat_map(|choices| choices.at(&seen)));
        residuals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skid::Holds;
    use crate::skid::choices::{Choices, Expected};
    use crate::skid::guesses::Guesses;
    use crate::skid::hold::Reporting;
    use crate::skid::schedule::{Walks, schedule};
    use crate::skid::testing::skipping;

    /// Code whose time is unlike what is expected everywhere, by choices too.
    fn model() -> Model {
        let mut model = skipping([900.0, 300.0, 900.0, 100.0, 2000.0, 1.0], true, Reporting::default());
        let rates = model.rates(&[-0.5, 5.0]).expect("a flow");
        let (guesses, walks) = (Guesses::new(&model.region), Walks::default());
        let schedule = schedule(&model.region, &rates, &guesses, &[], walks);
        model.ideal.clone_from(&schedule.cycles);
        let expected = Expected::new(&schedule, &guesses, walks.shape);
        model.choices = Some(Choices::new(&model.region, expected));
        model
    }

    #[test]
    fn near_by_time_has_the_same_against_executions() {
        let model = model();
        let waited =
            |rates: &Rates| Holds::measure(&model.region, rates, model.time.as_ref(), model.reporting).waited;
        let exact = |z: [f64; 2]| {
            let rates = model.rates(&z).expect("a flow");
            let waited = waited(&rates);
            (model.timing(&rates, &waited), rates, waited)
        };
        let (here, rates, waits) = exact([0.7, 4.0]);
        let near = model.timing_near(&rates, &waits).expect("time was observed");
        assert!(here.iter().filter(|r| r.abs() > 0.1).count() > 5, "{here:?}");
        assert_eq!(near.at(&rates, &waits), here);
        for z in [[0.72, 4.0], [0.7, 4.02]] {
            let (there, rates, waits) = exact(z);
            let apart =
                |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
            let (near, moved) = (near.at(&rates, &waits), apart(&there, &here));
            assert!(apart(&near, &there) < 0.1 * moved, "{} of {moved}", apart(&near, &there));
        }
    }
}
