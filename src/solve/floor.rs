//! Answers without a model of skid: flow conservation, with and without time, and the baselines.
//!
//! They are what is asked for, or where a group stays on which the model of skid is not tried or not believed.

use super::answer::Answer;
use super::conserve::{Belief, Conservation, FLOW, TIMED};
use super::energy::{Energy, value};
use super::group::Group;
use super::laplace;
use super::solver::Solver;
use crate::skid::{Circulation, Rates};

/// Variance of a Gaussian approximation over what its curvature says: models err where data do not. With 1, intervals covered
/// 67 % of the executions of 42 recordings, with 5 to 10, 83 %.
pub const DOUBT: f64 = 8.0;
/// Draws from a Gaussian approximation.
pub const DRAWS: usize = 80;

/// A baseline's answer, which has no intervals; `None` if `solver` is none, or has nothing to say.
pub fn baseline(group: &Group, solver: Solver) -> Option<Answer> {
    let rates = super::baseline::rates(&group.model, solver)?;
    Some(Answer::new(group, rates, Vec::new(), solver, "asked for".into()))
}

/// Flow conservation's answer.
pub fn flow(group: &Group, reason: String, seed: u64) -> Answer {
    let draws = conserved(group, &group.flow, FLOW, seed);
    Answer::new(group, group.rates.clone(), draws, Solver::Flow, reason)
}

/// The answer of flow conservation and time, or where no time was observed, of flow conservation.
pub fn timed(group: &Group, reason: String, seed: u64) -> Answer {
    let found = group.timed.as_ref().and_then(|z| Some((z, rates_at(group, z)?)));
    match found {
        Some((z, rates)) => {
            Answer::new(group, rates, conserved(group, z, TIMED, seed), Solver::Timed, reason)
        }
        None => flow(group, reason, seed),
    }
}

/// Draws of the walk around the flow at `z`, as wide as the residuals scatter.
fn conserved(group: &Group, z: &[f64], belief: Belief, seed: u64) -> Vec<Rates> {
    let free = group.model.region.freedom();
    let (mut energy, _) = Conservation::new(&group.model, &z[..free], belief);
    let scatter = energy
        .residuals(z)
        .map_or(1.0, |r| 2.0 * value(&r) / (r.len() as f64 - 2.0 * z.len() as f64).max(1.0));
    walks(group, &laplace::draws(&mut energy, z, DOUBT * scatter.max(1.0), DRAWS, seed))
}

/// The walk at each of `draws`.
pub fn walks(group: &Group, draws: &[Vec<f64>]) -> Vec<Rates> {
    let region = &group.model.region;
    let mut circulation = Circulation::new(region);
    draws.iter().filter_map(|z| circulation.rates(region, z, group.model.total())).collect()
}

/// The walk at parameters `z`.
pub fn rates_at(group: &Group, z: &[f64]) -> Option<Rates> {
    Circulation::new(&group.model.region).rates(&group.model.region, z, group.model.total())
}
