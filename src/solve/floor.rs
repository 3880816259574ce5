//! Answers without a model of skid: flow conservation, with and without time, and the baselines.
//!
//! They are what is asked for, or where a group stays on which the model of skid is not tried or not believed.

use super::answer::Answer;
use super::conserve::{Belief, Conservation, FLOW};
use super::draws::{around, walks};
use super::energy::{Energy, value};
use super::group::Group;
use super::identified::Identified;
use super::laplace::Gaussian;
use super::solver::Solver;
use crate::skid::Rates;

/// A baseline's answer, which has no intervals; `None` if `solver` is none, or has nothing to say.
pub fn baseline(group: &Group, solver: Solver) -> Option<Answer> {
    let rates = super::baseline::rates(&group.model, solver)?;
    Some(Answer::new(group, rates, Vec::new(), solver, "asked for".into()))
}

/// Flow conservation's answer.
pub fn flow(group: &Group, reason: String, seed: u64) -> Answer {
    Spread::of(group, &group.flow, FLOW, seed).answer(group, group.rates.clone(), Solver::Flow, reason)
}

/// Flow conservation's answer where it is only wanted to tell which way control came: it has no intervals.
pub fn ways(group: &Group) -> Answer {
    let reason = "only time was sampled: it tells which way control came";
    Answer::new(group, group.rates.clone(), Vec::new(), Solver::Flow, reason.into())
}

/// The answer of flow conservation and time, or where no time was observed, of flow conservation.
pub fn timed(group: &Group, reason: String, seed: u64) -> Answer {
    match &group.timed {
        Some(z) => under(group, z, group.belief, reason, seed),
        None => flow(group, reason, seed),
    }
}

/// The answer of the flow at `z`, found under `belief`.
pub fn under(group: &Group, z: &[f64], belief: Belief, reason: String, seed: u64) -> Answer {
    let solver = if belief.timed { Solver::Timed } else { Solver::Flow };
    let reason = match belief.timed && group.model.is_landed() {
        true => format!("{reason}; samples of instructions stand for time"),
        false => reason,
    };
    match group.model.rates(z) {
        Some(rates) => Spread::with_time(group, z, belief, seed).answer(group, rates, solver, reason),
        None => flow(group, reason, seed),
    }
}

/// Draws of the walk without a model of skid: around the flow that samples and time agree on, or around flow conservation's.
/// An answer under a model of skid has them among its own, for the model may be wrong.
pub fn doubts(group: &Group, seed: u64) -> Vec<Rates> {
    match &group.timed {
        Some(z) => Spread::with_time(group, z, group.belief, seed).draws,
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
        let energy = Conservation::at(&group.model, z, belief);
        let scatter = energy
            .residuals(z)
            .map_or(1.0, |r| 2.0 * value(&r) / (r.len() as f64 - 2.0 * z.len() as f64).max(1.0));
        match Gaussian::at(&energy, z) {
            None => Spread { draws: walks(group, std::iter::once(&z.to_vec())), identified: None },
            Some(gaussian) => Spread {
                draws: around(group, &gaussian, z, scatter.max(1.0), seed),
                identified: Some(Identified::new(
                    &gaussian.variances(free),
                    energy.deviations(&z[..free]),
                    &group.model.usual().deviations,
                )),
            },
        }
    }

    /// The same, and where samples of instructions stand for time, which they do roughly, what may be around the flow without it.
    fn with_time(group: &Group, z: &[f64], belief: Belief, seed: u64) -> Spread {
        let mut spread = Spread::of(group, z, belief, seed);
        if group.model.is_landed() {
            spread.draws.extend(Spread::of(group, &group.flow, FLOW, seed).draws);
        }
        spread
    }

    fn answer(self, group: &Group, rates: Rates, solver: Solver, reason: String) -> Answer {
        Answer { identified: self.identified, ..Answer::new(group, rates, self.draws, solver, reason) }
    }
}
