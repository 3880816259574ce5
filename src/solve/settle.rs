//! One group's answer under a model of skid, by the solver asked for or the next one that works.

use rayon::prelude::*;

use super::answer::{Answer, Settings};
use super::beliefs::choose;
use super::descend::minimise;
use super::diagnose::{effective_size, split_r_hat};
use super::draws::{DRAWS, around, walks};
use super::floor::{doubts, flow, timed, under};
use super::gibbs::{Chain, Length, chain};
use super::group::Group;
use super::identified::Identified;
use super::laplace::Gaussian;
use super::levenberg::Mode;
use super::posterior::{Posterior, Trust};
use super::solver::Solver;
use super::{gate, ics, pool};
use crate::skid::Skid;
use crate::skid::circulation::{self, Logits};
use crate::skid::likelihood::Prediction;

/// Chains per group.
const CHAINS: usize = 4;
/// Sweeps per chain: no more are needed, and no fewer are believed.
const SWEEPS: std::ops::RangeInclusive<usize> = 24..=150;
/// Steps of the walk (nodes × ticks × evaluations) that all groups' chains, or all gradients of argmin, may take together.
const BUDGET: f64 = 1.5e9;
/// Evaluations that one coordinate of one sweep takes, by experience.
const EVALUATIONS: f64 = 2.3;
/// Chains that disagree more have not mixed (a stricter 1.01 is for reporting tails, these are means).
const MOST_R_HAT: f64 = 1.2;
/// The scatter that is left at a mode understates what is wrong with the model: parameters have bent to hide it.
const MISTRUST: f64 = 2.0;
/// Gradients that argmin may take, if the budget is good for them: it begins at a mode.
const GRADIENTS: usize = 20;

/// Why there is no answer where parameters admit none.
const NO_FLOW: &str = "no flow explains the samples";

/// What settling a group takes.
pub struct Bench<'a> {
    /// What was asked.
    pub settings: &'a Settings,
    /// The skid of the file.
    pub skid: &'a Skid,
    /// How strongly each kind of evidence speaks.
    pub trust: Trust,
    /// Samples of all groups together.
    pub samples: f64,
}

impl Bench<'_> {
    /// The answer for group number `ix`, searched from parameters `near`.
    pub fn settle(&self, ix: usize, group: &Group, near: &[f64]) -> Answer {
        let seed = self.settings.seed ^ (ix as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if self.settings.solver == Solver::Ics {
            return self.ics(group, seed);
        }
        self.modelled(group, near, seed).unwrap_or_else(|reason| match choose(group, self.skid) {
            Some((z, belief)) => {
                under(group, &z, belief, format!("{reason}; what fits best besides is {}", belief.name), seed)
            }
            None => timed(group, reason, seed),
        })
    }

    /// The answer of the model of skid, or why it is refused.
    fn modelled(&self, group: &Group, near: &[f64], seed: u64) -> Result<Answer, String> {
        let before = self.posterior(group, self.trust).predict(group.start()).ok_or(NO_FLOW)?;
        let (trust, best) = self.search(group, near, &before)?;
        let sampled = match self.settings.solver {
            Solver::Gibbs => self.sample(group, trust, &[&best.z, near], seed),
            _ => Err("asked for".into()),
        };
        let answer = sampled.unwrap_or_else(|reason| self.mode(group, trust, &best, reason, seed));
        gate::stays(&group.model, &answer.rates, &before.rates)?;
        Ok(answer)
    }

    /// The mode, with the samples believed as far as they scatter at the one where they are believed as usual; or why it is refused
    /// beside the flow, which predicts `before`. Under less belief it does not gain more, so it need not be sought where the former
    /// gains too little.
    fn search(&self, group: &Group, near: &[f64], before: &Prediction) -> Result<(Trust, Mode), String> {
        let mut posterior = self.posterior(group, self.trust);
        let first = pool::mode(&posterior, &[near, group.start()]).ok_or(NO_FLOW)?;
        let found = posterior.predict(&first.z).ok_or(NO_FLOW)?;
        let scatter = group.model.dispersion(&found, self.skid);
        posterior.trust.dispersion = (MISTRUST * scatter).max(self.trust.dispersion);
        gate::gains(&posterior, &found, before)?;
        let best = pool::mode(&posterior, &[&first.z]).ok_or(NO_FLOW)?;
        let found = posterior.predict(&best.z).ok_or(NO_FLOW)?;
        gate::gains(&posterior, &found, before)?;
        gate::stays(&group.model, &found.rates, &before.rates)?;
        Ok((posterior.trust, best))
    }

    fn posterior<'g>(&self, group: &'g Group, trust: Trust) -> Posterior<'g> {
        Posterior::new(&group.model, group.start(), self.skid.clone(), trust)
    }

    /// Gibbs sampling; the reason if chains can't run or do not mix.
    fn sample(&self, group: &Group, trust: Trust, starts: &[&[f64]], seed: u64) -> Result<Answer, String> {
        let sweeps = self.sweeps(group);
        if sweeps < *SWEEPS.start() {
            return Err("too large to sample".into());
        }
        let length = Length { burn: sweeps / 4, keep: sweeps - sweeps / 4 };
        let run = |k: usize| {
            let mut posterior = self.posterior(group, trust);
            chain(&mut posterior, starts[k % starts.len()], length, seed.wrapping_add(k as u64))
        };
        let chains: Option<Vec<Chain>> = (0..CHAINS).into_par_iter().map(run).collect();
        let chains = chains.ok_or("the posterior has no shape at its mode")?;
        let (r_hat, ess) = diagnose(group, &chains);
        if r_hat > MOST_R_HAT {
            return Err(format!("chains did not mix: split R-hat {r_hat:.2}"));
        }
        let reason = format!("{CHAINS} chains of {sweeps} sweeps mixed: split R-hat {r_hat:.2}");
        let mut answer =
            from_chains(group, &chains, reason, seed).ok_or("the mean of the chains has no flow")?;
        (answer.r_hat, answer.ess) = (Some(r_hat), Some(ess));
        answer.identified = Some(identified(group, &scatter(group, &chains), trust));
        Ok(answer)
    }

    /// Sweeps that the group's part of the budget is good for.
    fn sweeps(&self, group: &Group) -> usize {
        let sweep = CHAINS as f64 * EVALUATIONS * group.flow.len().max(1) as f64;
        ((self.evaluations(group) / sweep) as usize).min(*SWEEPS.end())
    }

    /// Walks that the group's part of the budget is good for.
    fn evaluations(&self, group: &Group) -> f64 {
        let samples: f64 = group.model.events.iter().map(|e| e.total()).sum();
        let ticks = self.skid.edges.last().copied().unwrap_or(1).max(1) as f64;
        let walk = ticks * (group.model.region.nodes.len() * group.model.events.len()) as f64;
        BUDGET * samples / self.samples / walk
    }

    /// The mode under the file's skid, by argmin, with the intervals of its curvature.
    fn mode(&self, group: &Group, trust: Trust, start: &Mode, reason: String, seed: u64) -> Answer {
        let posterior = self.posterior(group, trust);
        let affordable = (self.evaluations(group) / (start.z.len() + 1) as f64) as usize;
        let effort = pool::effort(affordable.min(GRADIENTS));
        let Some(mode) = minimise(&posterior, start.z.clone(), effort) else {
            return timed(group, NO_FLOW.into(), seed);
        };
        let gaussian = Gaussian::at(&posterior, &mode.z);
        let mut draws = gaussian.as_ref().map_or_else(Vec::new, |g| around(group, g, &mode.z, 1.0, seed));
        draws.extend(doubts(group, seed));
        let free = group.model.region.freedom();
        let identified = gaussian.map(|g| identified(group, &g.variances(free), trust));
        let fallback = format!("the mode: {reason}");
        match group.model.rates(&mode.z) {
            Some(rates) => {
                Answer { identified, ..Answer::new(group, rates, draws, Solver::Argmin, fallback) }
            }
            None => timed(group, fallback, seed),
        }
    }

    fn ics(&self, group: &Group, seed: u64) -> Answer {
        match ics::solve(&group.model, self.skid.mean(), seed) {
            None => flow(group, "no loop to decompose".into(), seed),
            Some(found) => {
                let more = if found.loops.1 { ", and more were left out" } else { "" };
                let reason =
                    format!("{} simple loops{more}; misfit {:.0} samples²", found.loops.0, found.misfit);
                Answer::new(group, found.rates, Vec::new(), Solver::Ics, reason)
            }
        }
    }
}

/// The mean of the chains' flows.
fn from_chains(group: &Group, chains: &[Chain], reason: String, seed: u64) -> Option<Answer> {
    let kept = || chains.iter().flat_map(|chain| &chain.z);
    let alike: Vec<(f64, &Logits)> = kept().map(|z| (1.0, z.as_slice())).collect();
    let rates = group.model.rates(&circulation::mean(&group.model.region, &alike)?)?;
    let every = kept().count().div_ceil(DRAWS).max(1);
    let mut draws = walks(group, kept().step_by(every));
    draws.extend(doubts(group, seed));
    Some(Answer::new(group, rates, draws, Solver::Gibbs, reason))
}

/// How many branches the evidence decides, whose logits have these `variances`.
fn identified(group: &Group, variances: &[f64], trust: Trust) -> Identified {
    Identified::new(variances, std::iter::repeat(trust.prior), &group.model.usual().deviations)
}

/// Variance of each branch logit over the chains.
fn scatter(group: &Group, chains: &[Chain]) -> Vec<f64> {
    let kept = || chains.iter().flat_map(|chain| &chain.z);
    let centre = mean(kept());
    let squares: Vec<Vec<f64>> =
        kept().map(|z| z.iter().zip(&centre).map(|(z, m)| (z - m) * (z - m)).collect()).collect();
    mean(squares.iter())[..group.model.region.freedom()].to_vec()
}

fn mean<'a>(draws: impl Iterator<Item = &'a Vec<f64>>) -> Vec<f64> {
    let mut sum: Vec<f64> = Vec::new();
    let mut count = 0.0;
    for draw in draws {
        sum.resize(draw.len(), 0.0);
        sum.iter_mut().zip(draw).for_each(|(s, d)| *s += d);
        count += 1.0;
    }
    sum.iter_mut().for_each(|s| *s /= count);
    sum
}

/// Worst split R̂ and least effective size over blocks with a noticeable share.
fn diagnose(group: &Group, chains: &[Chain]) -> (f64, f64) {
    let total = group.model.total();
    let (mut r_hat, mut ess) = (1.0f64, f64::INFINITY);
    for (b, block) in group.model.region.blocks.iter().enumerate() {
        let series: Vec<Vec<f64>> =
            chains.iter().map(|c| c.blocks.iter().map(|e| e[b].max(1e-300).ln()).collect()).collect();
        let typical = chains.iter().flat_map(|c| c.blocks.last()).map(|e| e[b]).fold(0.0, f64::max);
        if typical * block.events > 0.01 * total {
            r_hat = r_hat.max(split_r_hat(&series));
            ess = ess.min(effective_size(&series));
        }
    }
    (r_hat, if ess.is_finite() { ess } else { 0.0 })
}
