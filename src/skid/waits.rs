//! Which instruction was waited for, where always the one after it is reported.
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
use super::hold::Reporting;
use super::region::Region;

/// Turns of the iteration: more fit the noise.
const TURNS: usize = 8;
/// Cycles that no wait is taken to be below: what seemed to be nothing may come back.
const LEAST: f64 = 0.05;
/// No way is taken more seldom: if none seems to be, what is reported behind them came from somewhere all the same.
const SELDOM: f64 = 1e-12;

/// What was reported, and where it may have been waited for.
#[derive(Clone, Debug)]
pub struct Waits {
    /// Time that was waited for each node, of what can have come from nowhere else.
    sure: Vec<f64>,
    /// Ways that meet where something is reported.
    ways: Vec<Way>,
    /// Nodes that may have been waited for before ways meet.
    waited: Vec<usize>,
    /// What is reported where ways meet.
    met: Vec<f64>,
}

/// A step to where others go as well.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// The node left.
    node: usize,
    /// The node that was waited for before, among those that may have been.
    waited: usize,
    /// Where it meets others, among those places.
    to: usize,
    /// The step's number in the region.
    step: usize,
}

impl Waits {
    /// Sorts what is `reported` per node of `region`.
    pub fn new(region: &Region, reported: &[f64], reporting: Reporting) -> Waits {
        let mut ways = Vec::new();
        for node in (0..region.nodes.len()).filter(|_| reporting.late) {
            let steps = region.steps_of(node).iter().zip(region.starts[node]..);
            let waited = |to| reporting.waited(region, node, to);
            ways.extend(steps.map(|(s, step)| Way { node, waited: waited(s.to), to: s.to, step }));
        }
        let mut came: Vec<(usize, usize)> = vec![(0, 0); reported.len()];
        ways.iter().for_each(|way| came[way.to] = (came[way.to].0 + 1, way.waited));
        let mut sure = vec![0.0; reported.len()];
        for (i, reported) in reported.iter().enumerate().filter(|(i, _)| came[*i].0 < 2) {
            let (ways, from) = came[i];
            sure[if ways == 1 { from } else { reporting.leader(region, i) }] += reported;
        }
        ways.retain(|way| came[way.to].0 > 1 && reported[way.to] > 0.0);
        let numbered = |node: fn(&mut Way) -> &mut usize, ways: &mut [Way]| {
            let mut nodes: Vec<usize> = ways.iter_mut().map(|way| *node(way)).collect();
            nodes.sort_unstable();
            nodes.dedup();
            ways.iter_mut().for_each(|way| *node(way) = nodes.partition_point(|&n| n < *node(way)));
            nodes
        };
        let waited = numbered(|way| &mut way.waited, &mut ways);
        let met = numbered(|way| &mut way.to, &mut ways).into_iter().map(|node| reported[node]).collect();
        Waits { sure, ways, waited, met }
    }

    /// Time per node that was waited for, at `rates`; sums to what was reported.
    pub fn at(&self, region: &Region, rates: &Rates) -> Vec<f64> {
        let runs = |i: usize| rates.blocks[region.nodes[i].block].max(1e-9);
        let flow = |w: &Way| (runs(w.node) * rates.steps[w.step]).max(SELDOM);
        let flows: Vec<f64> = self.ways.iter().map(flow).collect();
        let sure: Vec<f64> = self.waited.iter().map(|&node| self.sure[node]).collect();
        let often: Vec<f64> = self.waited.iter().map(|&node| runs(node)).collect();
        let (mut waits, mut inflow) = (vec![1.0; sure.len()], vec![0.0; self.met.len()]);
        let mut waited = sure.clone();
        for _ in 0..=TURNS {
            waited.copy_from_slice(&sure);
            self.share(&flows, &waits, &mut inflow, &mut waited);
            for (wait, (waited, often)) in waits.iter_mut().zip(waited.iter().zip(&often)) {
                *wait = waited / often + LEAST;
            }
        }
        let mut all = self.sure.clone();
        self.waited.iter().zip(&waited).for_each(|(&node, waited)| all[node] = *waited);
        all
    }

    /// Adds to what was `waited` what is reported where ways meet, in proportion to how often each is taken and how long is waited
    /// there.
    fn share(&self, flows: &[f64], waits: &[f64], inflow: &mut [f64], waited: &mut [f64]) {
        inflow.fill(0.0);
        for (way, flow) in self.ways.iter().zip(flows) {
            inflow[way.to] += flow * waits[way.waited];
        }
        for (way, flow) in self.ways.iter().zip(flows) {
            waited[way.waited] += self.met[way.to] * flow * waits[way.waited] / inflow[way.to];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Program, explore};
    use crate::skid::classes::Classes;
    use crate::skid::hold::TimeSamples;
    use crate::skid::patience::Due;
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
        let found = Waits::new(&region, &reported, reporting).at(&region, &rates);
        assert!((found.iter().sum::<f64>() - 30.0 * runs).abs() < 1e-6 * runs);
        // shares in proportion to flow alone would leave a quarter with mov
        assert!(found[2] > 27.0 * runs && found[3] < 3.0 * runs, "{found:?}");
        // precise samples of time stand where was waited, whatever late ones do
        let time = |exact| TimeSamples { cycles: reported.clone(), period: 1.0, exact, due: Due::default() };
        let of = |exact| Holds::measure(&region, &rates, Some(&time(exact)), reporting).waited;
        assert_eq!((of(true), of(false)), (reported.clone(), found));
        let on_it =
            Waits::new(&region, &reported, Reporting { late: false, ..reporting }).at(&region, &rates);
        assert_eq!(on_it, reported);
    }

    #[test]
    fn what_is_reported_on_a_string_or_the_second_of_one_operation_was_waited_for_there() {
        // 0: mov %rsi,%rax; 3: cqo; 5: idiv %rcx; 8: rep stos; b: add %rax,%r8; e: dec %edi; 10: jne 0; 12: ret
        let code = [
            0x48, 0x89, 0xf0, 0x48, 0x99, 0x48, 0xf7, 0xf9, 0xf3, 0x48, 0xab, 0x49, 0x01, 0xc0, 0xff, 0xcf,
            0x75, 0xee, 0xc3,
        ];
        let function = explore(&Bytes(0, code.to_vec()), 0..code.len() as u64, &[]);
        let program = Program::link(vec![(0, function)], &NoStubs, &crate::code::Told::default());
        let region = Region::build(&program, &Classes::of(&program), &[0], &|_, _| true);
        let rates = Circulation::new(&region).rates(&region, &[3.0], 1e6).expect("a flow");
        let (mut reported, mut waited) = ([0.0; 8], [0.0; 8]);
        let [cqo, idiv, stos, add, dec] = [1, 2, 3, 4, 5];
        for (report, cause, time) in
            [(cqo, 0, 5.0), (idiv, idiv, 90.0), (stos, stos, 70.0), (add, stos, 7.0), (dec, add, 3.0)]
        {
            reported[report] += time;
            waited[cause] += time;
        }
        let late = Reporting { late: true, ..Reporting::default() };
        assert_eq!(Waits::new(&region, &reported, late).at(&region, &rates), waited);
    }
}
