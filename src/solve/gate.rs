//! Whether the kernel earns its place in a group, or flow conservation stays.

use crate::skid::likelihood::Prediction;
use crate::skid::{Model, Skid};

/// Samples scatter so many times as much as Poisson's at most, where the kernel is believed.
const MOST_DISPERSION: f64 = 15.0;

/// Why the kernel is refused; `None` where it is believed.
pub fn refuse(model: &Model, prediction: &Prediction, skid: &Skid) -> Option<String> {
    let dispersion = model.dispersion(prediction, skid);
    (dispersion > MOST_DISPERSION)
        .then(|| format!("the samples scatter {dispersion:.0} times as much as the skid model allows"))
}
