//! Which instruction was waited for, where always the one after it is reported.
//!
//! In: time as reported, and how often each step is taken. Out: time per instruction that was waited for. What is reported
//! where ways meet was waited for on one of them; which one, only the other ends of these ways can tell, for an instruction
//! is waited for equally long whichever way is taken behind it. Those waits are found by the iteration of Richardson
//! ("Bayesian-based iterative method of image restoration", 1972, eq. 2) and Lucy: shares in proportion to flow × wait,
//! from equal waits. What enters the region is one of these ways; what was waited for before it has no node here.
//!
//! Shares in proportion to flow alone gave a load that missed before a branch only as much of the time behind the merge as
//! the quick ways beside it: with shares by waits block distance came from .0846 to .0801 over 44 recordings (from .153 to
//! .036 on one of them), from .0271 to .0262 over five programs. 1, 4, 8 and 20 turns give .0828, .0804, .0801 and .0809.

use std::collections::BTreeSet;

use super::border::from_outside;
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
    /// Ways that meet where something is reported, by the numbers of what was waited for and where they meet.
    ways: Vec<Way<usize>>,
    /// What may have been waited for before ways meet.
    waited: Vec<Waited>,
    /// What is reported where ways meet.
    met: Vec<f64>,
}

/// A way to where others may go as well.
#[derive(Clone, Copy, Debug)]
struct Way<W> {
    /// The node left, and the step's number in the region; none from outside.
    step: Option<(usize, usize)>,
    /// What was waited for before.
    waited: W,
    /// Where it leads.
    to: usize,
}

/// What may have been waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Waited {
    /// This node.
    Node(usize),
    /// What enters the region at this one of its roots: its time stays with the first node there.
    Outside { root: usize, first: usize },
}

impl Waits {
    /// Sorts what is `reported` per node of `region`.
    pub fn new(region: &Region, reported: &[f64], reporting: Reporting) -> Waits {
        let all = if reporting.late { ways(region, reporting) } else { Vec::new() };
        let mut came: Vec<(usize, Waited)> =
            (0..reported.len()).map(|i| (0, Waited::Node(reporting.leader(region, i)))).collect();
        all.iter().for_each(|way| came[way.to] = (came[way.to].0 + 1, way.waited));
        let mut sure = vec![0.0; reported.len()];
        for (&(_, waited), reported) in came.iter().zip(reported).filter(|((ways, _), _)| *ways < 2) {
            sure[waited.node()] += reported;
        }
        let met = |to: usize| came[to].0 > 1 && reported[to] > 0.0;
        let all: Vec<Way<Waited>> = all.into_iter().filter(|way| met(way.to)).collect();
        let waited = Vec::from_iter(all.iter().map(|way| way.waited).collect::<BTreeSet<_>>());
        let places = Vec::from_iter(all.iter().map(|way| way.to).collect::<BTreeSet<_>>());
        let number = |way: Way<Waited>| Way {
            step: way.step,
            waited: waited.partition_point(|w| *w < way.waited),
            to: places.partition_point(|p| *p < way.to),
        };
        let ways = all.into_iter().map(number).collect();
        Waits { sure, ways, waited, met: places.into_iter().map(|to| reported[to]).collect() }
    }

    /// Time per node that was waited for, at `rates`; sums to what was reported.
    pub fn at(&self, region: &Region, rates: &Rates) -> Vec<f64> {
        let runs = |i: usize| rates.blocks[region.nodes[i].block].max(1e-9);
        let enters = self.waited.last().is_some_and(|w| matches!(w, Waited::Outside { .. }));
        let entered = if enters { from_outside(region, rates) } else { Vec::new() };
        let of = |waited: &Waited| match *waited {
            Waited::Node(node) => (runs(node), self.sure[node]),
            Waited::Outside { root, .. } => (entered[root].max(1e-9), 0.0),
        };
        let (often, sure): (Vec<f64>, Vec<f64>) = self.waited.iter().map(of).unzip();
        let flow = |w: &Way<usize>| match w.step {
            Some((node, step)) => (runs(node) * rates.steps[step]).max(SELDOM),
            None => often[w.waited],
        };
        let flows: Vec<f64> = self.ways.iter().map(flow).collect();
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
        let added = self.waited.iter().zip(waited.iter().zip(&sure));
        added.for_each(|(waited, (of, sure))| all[waited.node()] += of - sure);
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

impl Waited {
    /// The node that has its time.
    fn node(self) -> usize {
        match self {
            Waited::Node(node) | Waited::Outside { first: node, .. } => node,
        }
    }
}

/// All ways of `region`.
fn ways(region: &Region, reporting: Reporting) -> Vec<Way<Waited>> {
    let mut ways = Vec::new();
    for node in 0..region.nodes.len() {
        let steps = region.steps_of(node).iter().zip(region.starts[node]..);
        let waited = |to| Waited::Node(reporting.waited(region, node, to));
        ways.extend(steps.map(|(s, step)| Way { step: Some((node, step)), waited: waited(s.to), to: s.to }));
    }
    for (root, &block) in region.roots.iter().enumerate() {
        let to = region.blocks[block].nodes.start;
        ways.push(Way {
            step: None,
            waited: Waited::Outside { root, first: reporting.leader(region, to) },
            to,
        });
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Program, explore};
    use crate::skid::classes::Classes;
    use crate::skid::hold::TimeSamples;
    use crate::skid::outside::Outside;
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
        let time = |exact| TimeSamples {
            cycles: reported.clone(),
            period: 1.0,
            exact,
            due: Due::default(),
            landed: None,
        };
        let of = |exact| Holds::measure(&region, &rates, Some(&time(exact)), reporting).waited;
        assert_eq!((of(true), of(false)), (reported.clone(), found));
        let on_it =
            Waits::new(&region, &reported, Reporting { late: false, ..reporting }).at(&region, &rates);
        assert_eq!(on_it, reported);
    }

    #[test]
    fn what_is_reported_at_an_entry_is_the_calls_from_inside_as_far_as_they_make_it() {
        // 0: call 10; 5: ret — 10: nop; 11: ret, which is called from elsewhere as well, three times as often
        let mut code = vec![0xe8, 0x0b, 0, 0, 0, 0xc3];
        code.resize(0x10, 0xcc);
        code.extend([0x90, 0xc3]);
        let functions = [0..6, 0x10..0x12].map(|r| (0, explore(&Bytes(0, code.clone()), r, &[])));
        let program = Program::link(functions.into(), &NoStubs, &crate::code::Told::default());
        let region = Region::within(
            &program,
            &Classes::of(&program),
            &[0, 1],
            &|_, _| true,
            &Outside { fed: [1].into(), ..Outside::default() },
        );
        let rates = Circulation::new(&region).rates(&region, &[3f64.ln()], 100.0).expect("a flow");
        let entry = region.nodes.iter().position(|node| node.function == 1).expect("it");
        let mut reported = vec![0.0; region.nodes.len()];
        reported[entry] = 80.0;
        let late = Reporting { late: true, ..Reporting::default() };
        let found = Waits::new(&region, &reported, late).at(&region, &rates);
        assert!((found[0] - 20.0).abs() < 0.1 && (found[entry] - 60.0).abs() < 0.1, "{found:?}");
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
        let time = TimeSamples {
            cycles: reported.to_vec(),
            period: 1.0,
            exact: false,
            due: Due::default(),
            landed: None,
        };
        let behind = Holds::measure(&region, &rates, Some(&time), late).behind;
        assert_eq!([behind[add], behind[idiv], behind[stos]], [1.0, 0.0, 1.0 - 70.0 / 77.0]);
    }
}
