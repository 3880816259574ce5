//! How far the branches of a file are from what the shape of their code suggests: one width of their prior for all groups.
//!
//! In: groups with the flow that samples and time agree on. Out: how many times as wide as usual the prior is under which what
//! was seen is likeliest, branches integrated out around the mode (empirical Bayes; MacKay, "Bayesian interpolation", Neural
//! Computation 4, 1992, section 4). Schedules stay as they are while widths are compared.
//!
//! Static prediction suits programs that decide by data; half the branches of libraries look for what hardly ever happens. Flow
//! and time, by block, over 14 recordings of libraries .154 → .138, over 37 others .0608 → .0582 (five of the programs `lex` and
//! `sorts` have it wider; nothing else moves), over 44 .0525 → .0523; intervals of the 14 hold .95 of the instructions, .94 of the
//! executions, .86 of the functions and .90 of the transfers instead of .87, .85, .80 and .79. Refuted: 2.2 times as wide for all
//! files (the 14 .141, the 37 .0589, but the 44 .0585 and five others .0286 → .0419); tails as heavy as Cauchy's instead (.144,
//! .0600, .0588, .0311).

use rayon::prelude::*;

use super::conserve::{Conservation, TIMED};
use super::group::Group;
use super::levenberg::{Effort, descend, precision};
use super::linear::cholesky;
use crate::progress::{Progress, Stage, each};

/// From one width to the next …
const STEP: f64 = 1.5;
/// … and the widest, in such steps.
const STEPS: i32 = 4;
/// Log-likelihood that another width than the usual one has to gain: what one branch or two gain that go the other way a
/// thousand times is no sign of the others.
const LEAST_GAIN: f64 = 20.0;
/// Steps of the search for the mode at the next width.
const ITERATIONS: usize = 20;

/// By how much the prior of branch logits of `groups` is wider than usual, ≥ 1.
pub fn width(groups: &[&Group], progress: &dyn Progress) -> f64 {
    let usual = |&group: &&Group| evidence(group, group.timed.clone()?, 1.0);
    let found = each(progress, Stage::Learn, groups.par_iter(), usual);
    let found = groups.iter().copied().zip(found).filter_map(|(group, found)| Some((group, found?)));
    let (groups, mut known): (Vec<&Group>, Vec<Evidence>) = found.unzip();
    let energy = |of: &[Evidence]| of.iter().map(|e| e.energy).sum::<f64>();
    let (before, mut best) = (energy(&known), 1.0);
    for width in (1..=STEPS).map(|step| STEP.powi(step)) {
        let at = |(&group, near): (&&Group, &Evidence)| evidence(group, near.mode.clone(), width);
        let found = each(progress, Stage::Learn, groups.par_iter().zip(&known), at);
        let found: Option<Vec<Evidence>> = found.into_iter().collect();
        match found.filter(|found| energy(found) < energy(&known)) {
            Some(found) => (known, best) = (found, width),
            None => break,
        }
    }
    if before - energy(&known) < LEAST_GAIN { 1.0 } else { best }
}

/// What a group says of a width.
struct Evidence {
    /// Negative logarithm of the likelihood of what it shows, up to a constant.
    energy: f64,
    /// The likeliest parameters.
    mode: Vec<f64>,
}

/// What `group` says of a prior so many times as wide as usual, where the mode is sought from `start`.
fn evidence(group: &Group, start: Vec<f64>, width: f64) -> Option<Evidence> {
    let energy = Conservation::at(&group.model, &start, TIMED.wider(width));
    let mode = descend(&energy, start, Effort::thorough(ITERATIONS))?;
    let factor = cholesky(&precision(&energy, &mode.z)?)?;
    let volume: f64 = factor.iter().enumerate().map(|(k, row)| row[k].ln()).sum();
    let scale: f64 = energy.scales().map(f64::ln).sum();
    Some(Evidence { energy: mode.energy + volume + scale, mode: mode.z })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;
    use crate::skid::hold::Reporting;
    use crate::skid::testing::skipping;

    /// Sixty times a loop around two instructions that a share `skipped` of its runs skip.
    fn groups(skipped: f64) -> Vec<Group> {
        let run = 1e4 * (1.0 - skipped);
        let model = skipping([1e4, run, run, 1e4, 1e4, 1000.0], true, Reporting::default());
        let flow = vec![(skipped / (1.0 - skipped)).ln(), 9f64.ln()];
        let rates = model.rates(&flow).expect("a flow");
        let timed = Some(flow.clone());
        vec![Group { functions: vec![0], model, flow, rates, belief: TIMED, timed }; 60]
    }

    #[test]
    fn it_is_wider_where_branches_go_one_way_that_look_even() {
        let width = |groups: &[Group]| width(&groups.iter().collect::<Vec<_>>(), &Silent);
        assert_eq!(width(&groups(0.5)), 1.0);
        assert!(width(&groups(0.999)) > 1.0);
        assert_eq!(width(&groups(0.999)[..1]), 1.0, "one branch is no sign of others");
    }
}
