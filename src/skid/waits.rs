//! Which instruction was waited for, where the one after it is reported.
//!
//! In: time as reported, and how often each step is taken. Out: time per instruction that was waited for. What is reported
//! where ways meet was waited for on one of them; which one, only the other ends of these ways can tell, for an instruction
//! is waited for equally long whichever way is taken behind it. Those waits are found by the iteration of Richardson
//! ("Bayesian-based iterative method of image restoration", 1972, eq. 2) and Lucy: shares in proportion to flow × wait,
//! from equal waits.
//!
//! Shares in proportion to flow alone gave a load that missed before a branch only as much of the time behind the merge as
//! the quick ways beside it: with shares by waits block distance came from .0846 to .0801 over 44 recordings (from .153 to
//! .036 on one of them), from .0271 to .0262 over five programs. 1, 4, 8 and 20 turns give .0828, .0804, .0801 and .0809.

use super::circulation::Rates;
use super::hold::{Reporting, each_step};
use super::region::Region;

/// Turns of the iteration: more fit the noise.
const TURNS: usize = 8;
/// Cycles that no wait is taken to be below: what seemed to be nothing may come back.
const LEAST: f64 = 0.05;

/// Time per node that was waited for; sums to what was `reported`.
pub fn waited(region: &Region, rates: &Rates, reported: &[f64], reporting: Reporting) -> Vec<f64> {
    // the first of a fused pair is waited for in place of both
    let leader = |i: usize| if reporting.fused && region.nodes[i].fused { i.saturating_sub(1) } else { i };
    if !reporting.late {
        let mut waited = vec![0.0; reported.len()];
        reported.iter().enumerate().for_each(|(i, reported)| waited[leader(i)] += reported);
        return waited;
    }
    let joints = Joints::of(region, rates, reported, &leader);
    let runs = |i: usize| rates.blocks[region.nodes[i].block].max(1e-9);
    let mut waited = joints.share(&|_| 1.0);
    for _ in 0..TURNS {
        waited = joints.share(&|from| waited[from] / runs(from) + LEAST);
    }
    waited
}

/// What is reported where ways meet, and what had one way only to come.
struct Joints<'a> {
    reported: &'a [f64],
    /// Time that was waited for each node, of what can have come from nowhere else.
    sure: Vec<f64>,
    /// Ways that meet: from where, to where, and how often each is taken.
    ways: Vec<(usize, usize, f64)>,
}

impl Joints<'_> {
    fn of<'a>(
        region: &Region,
        rates: &Rates,
        reported: &'a [f64],
        leader: &impl Fn(usize) -> usize,
    ) -> Joints<'a> {
        let mut came: Vec<(usize, usize)> = vec![(0, 0); reported.len()];
        let taken = |visit: &mut dyn FnMut(usize, usize, f64)| {
            each_step(region, rates, |from, to, flow| {
                if flow > 0.0 {
                    visit(leader(from), to, flow);
                }
            });
        };
        taken(&mut |from, to, _| came[to] = (came[to].0 + 1, from));
        let mut sure = vec![0.0; reported.len()];
        for (i, reported) in reported.iter().enumerate().filter(|(i, _)| came[*i].0 < 2) {
            let (ways, from) = came[i];
            sure[if ways == 1 { from } else { leader(i) }] += reported;
        }
        let mut ways = Vec::new();
        taken(&mut |from, to, flow| {
            if came[to].0 > 1 && reported[to] > 0.0 {
                ways.push((from, to, flow));
            }
        });
        Joints { reported, sure, ways }
    }

    /// Gives what is reported where ways meet to where they come from, in proportion to how often each is taken and how long
    /// is waited there.
    fn share(&self, wait: &dyn Fn(usize) -> f64) -> Vec<f64> {
        let mut inflow = vec![0.0; self.reported.len()];
        self.ways.iter().for_each(|&(from, to, flow)| inflow[to] += flow * wait(from));
        let mut waited = self.sure.clone();
        for &(from, to, flow) in &self.ways {
            waited[from] += self.reported[to] * flow * wait(from) / inflow[to];
        }
        waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Program, explore};
    use crate::skid::classes::Classes;
    use crate::skid::hold::TimeSamples;
    use crate::skid::{Circulation, Holds};

    #[test]
    fn time_behind_a_merge_is_that_of_the_way_that_is_waited_for() {
        // 0: mov (%rsi),%ecx; 2: test %ecx,%ecx; 4: je 8; 6: mov %eax,%edx; 8: mov %edx,%ecx; a: dec %edi; c: jne 0; e: ret
        let code = [0x8b, 0x0e, 0x85, 0xc9, 0x74, 0x02, 0x89, 0xc2, 0x89, 0xd1, 0xff, 0xcf, 0x75, 0xf2, 0xc3];
        let function = explore(&Bytes(0, code.to_vec()), 0..code.len() as u64, &[]);
        let program = Program::link(vec![(0, function)], &NoStubs, &crate::code::Told::default());
        let region = Region::build(&program, &Classes::of(&program), &[0], &|_, _| true);
        let z = vec![0.0; region.freedom()];
        let rates = Circulation::new(&region).rates(&region, &z, 1e6).expect("a flow");
        // je waits for the load, for 30 cycles, half of which are reported behind each of its ways
        let mut reported = vec![0.0; region.nodes.len()];
        let runs = rates.blocks[region.nodes[2].block];
        (reported[3], reported[4]) = (15.0 * runs, 15.0 * runs);
        let reporting = Reporting { late: true, ..Reporting::default() };
        let found = waited(&region, &rates, &reported, reporting);
        assert!((found.iter().sum::<f64>() - 30.0 * runs).abs() < 1e-6 * runs);
        // shares in proportion to flow alone would leave a quarter with mov
        assert!(found[2] > 27.0 * runs && found[3] < 3.0 * runs, "{found:?}");
        // precise samples of time stand where was waited, whatever late ones do
        let time = |exact| TimeSamples { cycles: reported.clone(), period: 1.0, exact };
        let of = |exact| Holds::measure(&region, &rates, Some(&time(exact)), reporting).waited;
        assert_eq!((of(true), of(false)), (reported.clone(), found));
        let on_it = waited(&region, &rates, &reported, Reporting { late: false, ..reporting });
        assert_eq!(on_it, reported);
    }
}
