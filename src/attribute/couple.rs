//! Which causes a report may have, and how likely each is.

use rayon::prelude::*;

use super::Coupling;
use super::deconvolve::deconvolve;
use crate::skid::causes::likely;
use crate::skid::hold::{Reporting, each_step};
use crate::skid::kernel::{LANES, Walk};
use crate::skid::patience::{Due, Patience, add};
use crate::skid::{Rates, Region, Skid};

/// Causes less likely than this share of a report's likeliest are dropped.
const LEAST: f64 = 1e-5;
/// Where skid is long, time goes in steps of several ticks (an interpreter was fixed in 33 s instead of 43): one for so many
/// cycles of its mean …
const STEP: f64 = 16.0;
/// … but not more than this.
const COARSEST: usize = 4;

/// Causes of an event that overflows behind the executions in `origin` (per node) and is reported after `skid`; `reported` has
/// its reports per node. Where nothing is reported there is no cause.
pub fn by_overflow(walk: &Walk, skid: &Skid, origin: &[f64], reported: &[f64]) -> Coupling {
    let skid = &skid.coarser(((skid.mean() / STEP) as usize).clamp(1, COARSEST));
    let reports: Vec<usize> = (0..origin.len()).filter(|&node| reported[node] > 0.0).collect();
    let causes = |of: &[usize]| -> Vec<Vec<(usize, f64)>> {
        let likely = likely(walk, skid, of);
        let joint =
            |lane: usize| origin.iter().zip(&likely).map(move |(origin, likely)| origin * likely[lane]);
        (0..of.len()).map(|lane| probable(joint(lane))).collect()
    };
    let found: Vec<Vec<(usize, f64)>> = reports.par_chunks(LANES).flat_map_iter(causes).collect();
    let mut coupling: Coupling = vec![Vec::new(); origin.len()];
    reports.into_iter().zip(found).for_each(|(report, causes)| coupling[report] = causes);
    coupling
}

/// Causes with their weights, without those that hardly count.
fn probable(weights: impl Iterator<Item = f64> + Clone) -> Vec<(usize, f64)> {
    let likeliest = weights.clone().fold(0.0, f64::max);
    weights.enumerate().filter(|(_, weight)| *weight > LEAST * likeliest).collect()
}

/// How late reports of time are.
pub struct Late {
    /// Which address they have.
    pub reporting: Reporting,
    /// The probability that a report stands two instructions behind what was waited for rather than one.
    pub second: f64,
    /// How long each node should be waited for.
    pub due: Due,
}

/// Causes of reports of time: the instructions that may have been waited for. `reported` is the time per node.
///
/// A report's causes are its predecessors, in proportion to how often each leads there and to how long it is waited for. The
/// reports of all nodes together tell how long that is ([`deconvolve`]); where they don't, the usual latencies do.
pub fn by_waiting(region: &Region, rates: &Rates, late: &Late, reported: &[f64]) -> Coupling {
    let &Late { reporting, second, .. } = late;
    let leader = |i| reporting.leader(region, i);
    let mut coupling: Coupling = vec![Vec::new(); region.nodes.len()];
    if reporting.late && reporting.patient {
        coupling = Patience::new(region, reported, reporting, &late.due).causes(region, rates);
    } else if reporting.late {
        each_step(region, rates, |from, to, flow| {
            // a fused pair retires as one: nothing is reported between the two
            if flow > 0.0 && leader(to) == to {
                add(&mut coupling[to], reporting.waited(region, from, to), flow);
            }
        });
        coupling = weighed(region, &coupling, &leader, second, reported);
    }
    for (i, causes) in coupling.iter_mut().enumerate() {
        if causes.is_empty() {
            causes.push((leader(i), 1.0));
        }
        causes.sort_by_key(|c| c.0);
    }
    coupling
}

/// Extends a coupling of one step back to two, each report's causes weighted by the time they are found to take.
fn weighed(
    region: &Region,
    once: &Coupling,
    leader: &impl Fn(usize) -> usize,
    second: f64,
    reported: &[f64],
) -> Coupling {
    let mut leaves = vec![0.0; region.nodes.len()];
    once.iter().flatten().for_each(|&(from, flow)| leaves[from] += flow);
    let latency: Vec<f64> = region.nodes.iter().map(|n| n.latency).collect();
    let mut both: Coupling = vec![Vec::new(); once.len()];
    for (to, causes) in once.iter().enumerate() {
        for &(near, flow) in causes {
            add(&mut both[to], near, (1.0 - second) * flow * latency[near]);
            let into: f64 = once[near].iter().map(|c| c.1).sum();
            for &(far, before) in once[near].iter().filter(|_| second > 0.0) {
                if leader(far) == far {
                    add(&mut both[to], far, second * flow * before / into * latency[far]);
                }
            }
        }
    }
    let start: Vec<f64> = leaves.iter().zip(&latency).map(|(l, t)| l * t).collect();
    let taken = deconvolve(&both, reported, &start);
    for (cause, weight) in both.iter_mut().flatten() {
        *weight *= taken[*cause] / start[*cause].max(f64::MIN_POSITIVE);
    }
    both.iter_mut().for_each(|causes| causes.retain(|c| c.1 > 0.0));
    both
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Program, Told, explore};
    use crate::skid::classes::Classes;
    use crate::skid::{Circulation, Holds};

    #[test]
    fn a_fused_pair_is_reported_behind_both() {
        // 0: cmp %eax,%ecx; 2: je 6; 4: nop; 5: nop; 6: dec %edi; 8: jne 0; a: ret
        let code = vec![0x39, 0xc1, 0x74, 0x02, 0x90, 0x90, 0xff, 0xcf, 0x75, 0xf6, 0xc3];
        let program =
            Program::link(vec![(0, explore(&Bytes(0, code), 0..11, &[]))], &NoStubs, &Told::default());
        let region = Region::build(&program, &Classes::of(&program), &[0], &|_, _| true);
        let (compare, branch, nop, merge) = (0, 1, 3, 4);
        assert!(region.nodes[branch].fused);
        let circulation = Circulation::new(&region);
        let flow = |z: f64| circulation.rates(&region, &[z, 7.0], 1e6).expect("a flow");
        let runs = |rates: &Rates, node: usize| rates.blocks[region.nodes[node].block];
        let rates = [flow(6.0), flow(-6.0)].into_iter().min_by(|a, b| runs(a, nop).total_cmp(&runs(b, nop)));
        let rates = rates.expect("either hardly runs the nops");
        let mut reported = vec![0.0; region.nodes.len()];
        reported[merge] = 1000.0;
        let reporting = Reporting { late: true, fused: true, ..Reporting::default() };
        let late = Late { reporting, second: 0.0, due: Due::default() };
        let coupling = by_waiting(&region, &rates, &late, &reported);
        let of = |node| coupling[merge].iter().find(|c| c.0 == node).map_or(0.0, |c| c.1);
        assert!(of(compare) > 20.0 * of(nop), "{:?}", coupling[merge]);
    }

    #[test]
    fn what_is_reported_outside_comes_back() {
        // two instructions and a return, and a skid that is longer
        let code = Bytes(0, vec![0x90, 0x90, 0xc3]);
        let program = Program::link(vec![(0, explore(&code, 0..3, &[]))], &NoStubs, &Told::default());
        let region = Region::build(&program, &Classes::of(&program), &[0], &|_, _| true);
        let rates = Circulation::new(&region).rates(&region, &[], 3e6).expect("a flow");
        let (holds, reporting) = (Holds { mean: vec![2.0; 3], ..Holds::default() }, Reporting::default());
        let walk = Walk { region: &region, rates: &rates, holds: &holds, reporting };
        let coupling = by_overflow(&walk, &Skid::fixed(1.0, 9.0, 0.0), &[1e6; 3], &[0.0, 50.0, 0.0]);
        assert_eq!(coupling[1].iter().map(|c| c.0).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(coupling[0].is_empty() && coupling[2].is_empty(), "where nothing is reported");
    }
}
