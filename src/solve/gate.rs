//! Whether the kernel earns its place in a group, or the flow that samples and time agree on stays.

use super::energy::value;
use super::posterior::Posterior;
use crate::skid::likelihood::Prediction;

/// Samples scatter so many times as much as Poisson's at most, where the kernel is believed.
const MOST_DISPERSION: f64 = 60.0;
/// Log-likelihood, its dispersion taken into account, that the kernel's answer gains over the flow's at least.
const LEAST_GAIN: f64 = 1.0;

/// Why the kernel is refused that predicts `found` at its mode and `before` at the flow; `None` where it is believed.
pub fn refuse(posterior: &Posterior<'_>, found: &Prediction, before: &Prediction) -> Option<String> {
    let dispersion = posterior.trust.dispersion;
    if dispersion > MOST_DISPERSION {
        return Some(format!("the samples scatter {dispersion:.0} times as much as the skid model allows"));
    }
    let misfit = |p: &Prediction| value(&posterior.misfits(p, &posterior.skid));
    let gain = misfit(before) - misfit(found);
    (gain < LEAST_GAIN).then(|| format!("the skid model explains the samples no better ({gain:.1} nats)"))
}
