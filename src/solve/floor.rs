//! Answers without a model of skid: flow conservation, with and without time, and the baselines.
//!
//! They are what is asked for, or where a group stays on which the model of skid is not tried or not believed.

use super::answer::Answer;
use super::conserve::{Belief, Conservation, FLOW, TIMED};
use super::energy::{Energy, value};
use super::group::Group;
use super::identified::Identified;
use super::laplace::Gaussian;
use super::solver::Solver;
use crate::skid::{Circulation, Rates};

/// Variance of a Gaussian approximation over what its curvature says: models err where data do not. With 2.5, 3, 3.5 and 4 the
/// intervals of 44 recordings hold 94.1, 94.4, 94.5 and 94.8 % of the executions, and those of 94.9, 95.5, 95.7 and 95.9 % of
/// the instructions; those of five programs 99 to 100 % and 94, 95, 98 and 99 %, but with 2.5 how often matmul's inner loop goes
/// round is just outside. (All this when intervals had twice the part of counting that they have now, `solve/answer.rs`.)
const DOUBT: f64 = 3.0;
/// The same where samples stand where they arose: no model stands between them and the answer.
const EXACT_DOUBT: f64 = 2.0;
/// Draws from a Gaussian approximation.
pub const DRAWS: usize = 80;

/// By how much the variance around an answer for `group` is more than its curvature says.
pub fn doubt(group: &Group) -> f64 {
    if group.model.counted().exact { EXACT_DOUBT } else { DOUBT }
}

/// A baseline's answer, which has no intervals; `None` if `solver` is none, or has nothing to say.
pub fn baseline(group: &Group, solver: Solver) -> Option<Answer> {
    let rates = super::baseline::rates(&group.model, solver)?;
    Some(Answer::new(group, rates, Vec::new(), solver, "asked for".into()))
}

/// Flow conservation's answer.
pub fn flow(group: &Group, reason: String, seed: u64) -> Answer {
    Spread::of(group, &group.flow, FLOW, seed).answer(group, group.rates.clone(), Solver::Flow, reason)
}

/// The answer of flow conservation and time, or where no time was observed, of flow conservation.
pub fn timed(group: &Group, reason: String, seed: u64) -> Answer {
    match &group.timed {
        Some(z) => under(group, z, TIMED, reason, seed),
        None => flow(group, reason, seed),
    }
}

/// The answer of the flow at `z`, found under `belief`.
pub fn under(group: &Group, z: &[f64], belief: Belief, reason: String, seed: u64) -> Answer {
    let solver = if belief.timed { Solver::Timed } else { Solver::Flow };
    match group.model.rates(z) {
        Some(rates) => Spread::of(group, z, belief, seed).answer(group, rates, solver, reason),
        None => flow(group, reason, seed),
    }
}

/// Draws of the walk without a model of skid: around the flow that samples and time agree on, or around flow conservation's.
/// An answer under a model of skid has them among its own, for the model may be wrong.
pub fn doubts(group: &Group, seed: u64) -> Vec<Rates> {
    match &group.timed {
        Some(z) => Spread::of(group, z, TIMED, seed).draws,
        None => Spread::of(group, &group.flow, FLOW, seed).draws,
    }
}

/// What may be around a flow.
struct Spread {
    /// Draws of the walk, as wide as the residuals scatter.
    draws: Vec<Rates>,
    identified: Option<Identified>,
}

impl Spread {
    /// Around the flow at `z`.
    fn of(group: &Group, z: &[f64], belief: Belief, seed: u64) -> Spread {
        let free = group.model.region.freedom();
        let (energy, _) = Conservation::new(&group.model, &z[..free], belief);
        let scatter = energy
            .residuals(z)
            .map_or(1.0, |r| 2.0 * value(&r) / (r.len() as f64 - 2.0 * z.len() as f64).max(1.0));
        match Gaussian::at(&energy, z) {
            None => Spread { draws: walks(group, std::iter::once(&z.to_vec())), identified: None },
            Some(gaussian) => Spread {
                draws: walks(group, gaussian.draws(z, doubt(group) * scatter.max(1.0), DRAWS, seed).iter()),
                identified: Some(Identified::new(&gaussian.variances(free), belief.prior)),
            },
        }
    }

    fn answer(self, group: &Group, rates: Rates, solver: Solver, reason: String) -> Answer {
        Answer { identified: self.identified, ..Answer::new(group, rates, self.draws, solver, reason) }
    }
}

/// The walk at each of `draws`.
pub fn walks<'a>(group: &Group, draws: impl Iterator<Item = &'a Vec<f64>>) -> Vec<Rates> {
    let region = &group.model.region;
    let circulation = Circulation::new(region);
    draws.filter_map(|z| circulation.rates(region, z, group.model.total())).collect()
}
