//! Interrupts that let the instruction that is waited for finish only where that has taken long.
//!
//! In: time as reported, how often each step is taken, and how long each instruction takes where nothing stalls it. Out: how much of
//! what is reported on each node was waited for there, and how much for what ran before. It does not know how long is long.
//!
//! The beginning of every wait is reported on what is waited for. What may be waited for for long is a load, a slow unit, or the
//! first instruction behind a choice, where a wrong guess is paid for. What is reported behind such is shared between the instruction
//! there, by how long it takes itself, and the one before, by how much that has on itself beyond what it takes when nothing stalls it.
//!
//! Of 14 recordings of such interrupts, taken for late or not late, and as here: time .253 off → .082, blocks .109 → .062, functions
//! .043 → .018, by argmin. The constants were chosen by these; others, and what else was tried, stand in `docs/refuted.md`.

use super::circulation::Rates;
use super::hold::{Reporting, typical};
use super::region::{Node, Region};
use super::schedule::{Schedule, approach};
use crate::code::Kind;

/// Cycles of each run that are reported on what is waited for, at most.
const BEGINNING: f64 = 8.0;
/// Cycles that an instruction takes where nothing stalls it, at least and at most.
const SHORT: (f64, f64) = (0.02, 5.0);
/// How many times as long as usual an instruction is taken to be waited for before its schedule is known: links of chains are.
const UNKNOWN: f64 = 2.0;
/// Part of what a wrong guess costs that is reported on the first instruction behind it.
const EARLY: f64 = 0.5;

/// How long each node is expected to be waited for where nothing else stalls it, cycles; empty before it has a schedule.
#[derive(Clone, Debug, Default)]
pub struct Due {
    /// Behind a right guess.
    right: Vec<f64>,
    /// On average.
    mean: Vec<f64>,
}

impl Due {
    /// By a `schedule`.
    pub fn of(schedule: &Schedule) -> Due {
        Due { right: schedule.right().collect(), mean: schedule.cycles.clone() }
    }

    /// Makes it come nearer to `other` of the same code, by this `part` of the way.
    pub fn approach(&mut self, other: &Due, part: f64) {
        approach(&mut self.right, &other.right, part);
        approach(&mut self.mean, &other.mean, part);
    }

    /// For node `i`, which is this one: cycles behind a right guess, and of all those that are reported on itself.
    fn short(&self, i: usize, node: &Node) -> (f64, f64) {
        let (least, most) = SHORT;
        match (self.right.get(i), self.mean.get(i)) {
            (Some(right), Some(mean)) => {
                (right.clamp(least, most), (right + EARLY * (mean - right)).clamp(least, most))
            }
            _ => (UNKNOWN * typical(node.latency), UNKNOWN * typical(node.latency)),
        }
    }
}

/// How long something may be waited for.
#[derive(Clone, Copy, Debug)]
struct Long {
    /// How many times as much of it is reported behind as on itself …
    times: f64,
    /// … where that is at least so many cycles a run.
    least: f64,
}

/// What is waited for for long, if it ever is.
fn long(node: &Node) -> Option<Long> {
    let slow = [Kind::Divide, Kind::FloatDivide, Kind::Atomic, Kind::System].contains(&node.kind);
    match node {
        _ if slow => Some(Long { times: 3.0, least: 0.5 }),
        _ if node.loads => Some(Long { times: 2.0, least: 0.1 }),
        _ if node.chosen => Some(Long { times: 1.0, least: 0.05 }),
        _ => None,
    }
}

/// What was reported, and where it may have been waited for.
#[derive(Clone, Debug)]
pub struct Patience {
    reported: Vec<f64>,
    due: Due,
    /// The node that is waited for in place of each.
    leaders: Vec<usize>,
    ways: Vec<Way>,
    /// Nodes that are not waited for for long, nor stand behind such.
    plain: Vec<usize>,
}

/// A step behind what may be waited for for long.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// The node left.
    node: usize,
    /// The node that was waited for, …
    waited: usize,
    /// … and for how long that may be.
    long: Long,
    /// Where it leads.
    to: usize,
    /// The step's number in the region.
    step: usize,
}

/// Where what is reported was waited for.
struct Shares {
    /// Of what is reported on each node, the share that was waited for there.
    own: Vec<f64>,
    /// What is reported behind each way was waited for before it.
    late: Vec<f64>,
}

impl Patience {
    /// Sorts what is `reported` per node of `region`.
    pub fn new(region: &Region, reported: &[f64], reporting: Reporting, due: &Due) -> Patience {
        let mut ways = Vec::new();
        for node in 0..region.nodes.len() {
            for (step, number) in region.steps_of(node).iter().zip(region.starts[node]..) {
                let (to, waited) = (step.to, reporting.waited(region, node, step.to));
                // nothing is reported between the two of a fused pair
                let apart = waited != to && reporting.leader(region, to) == to;
                let long = long(&region.nodes[waited]).filter(|_| apart);
                ways.extend(long.map(|long| Way { node, waited, long, to, step: number }));
            }
        }
        let mut plain: Vec<bool> = region.nodes.iter().map(|node| long(node).is_none()).collect();
        ways.iter().for_each(|way| plain[way.to] = false);
        Patience {
            reported: reported.to_vec(),
            due: due.clone(),
            leaders: (0..region.nodes.len()).map(|i| reporting.leader(region, i)).collect(),
            ways,
            plain: (0..plain.len()).filter(|&i| plain[i]).collect(),
        }
    }

    /// Time per node that was waited for, at `rates`; sums to what was reported.
    pub fn at(&self, region: &Region, rates: &Rates) -> Vec<f64> {
        self.waited(&self.shares(region, rates))
    }

    /// The same, and for each node the share of it that is reported behind.
    pub fn divided(&self, region: &Region, rates: &Rates) -> (Vec<f64>, Vec<f64>) {
        let shares = self.shares(region, rates);
        let mut behind = vec![0.0; self.reported.len()];
        self.ways.iter().zip(&shares.late).for_each(|(way, late)| behind[way.waited] += late);
        let waited = self.waited(&shares);
        let share = |(behind, waited): (f64, &f64)| if *waited > 0.0 { behind / waited } else { 0.0 };
        let behind = behind.into_iter().zip(&waited).map(share).collect();
        (waited, behind)
    }

    /// For each node, what was waited for where it is reported, and how likely each is.
    pub fn causes(&self, region: &Region, rates: &Rates) -> Vec<Vec<(usize, f64)>> {
        let shares = self.shares(region, rates);
        let own = self.leaders.iter().zip(&shares.own);
        let mut causes: Vec<Vec<(usize, f64)>> = own.map(|(&leader, &share)| vec![(leader, share)]).collect();
        for (way, late) in self.ways.iter().zip(&shares.late).filter(|(_, late)| **late > 0.0) {
            add(&mut causes[way.to], way.waited, late / self.reported[way.to]);
        }
        causes
    }

    fn waited(&self, shares: &Shares) -> Vec<f64> {
        let mut waited = vec![0.0; self.reported.len()];
        for ((&leader, own), reported) in self.leaders.iter().zip(&shares.own).zip(&self.reported) {
            waited[leader] += own * reported;
        }
        self.ways.iter().zip(&shares.late).for_each(|(way, late)| waited[way.waited] += late);
        waited
    }

    fn shares(&self, region: &Region, rates: &Rates) -> Shares {
        let scale = self.scale(region, rates);
        let runs = |i: usize| runs(region, rates, i);
        let short = |i: usize| self.due.short(i, &region.nodes[i]);
        let expected = |way: &Way| {
            let beyond = self.reported[way.waited] / runs(way.waited) - scale * short(way.waited).0;
            runs(way.node) * rates.steps[way.step] * way.long.times * beyond.max(scale * way.long.least)
        };
        let expected: Vec<f64> = self.ways.iter().map(expected).collect();
        let mut behind = vec![0.0; self.reported.len()];
        self.ways.iter().zip(&expected).for_each(|(way, expected)| behind[way.to] += expected);
        let own = |i: usize| {
            if behind[i] <= 0.0 {
                return 1.0;
            }
            let own = scale * short(i).1 * runs(i);
            (own / (own + behind[i]))
                .min(scale * BEGINNING * runs(i) / self.reported[i].max(f64::MIN_POSITIVE))
        };
        let own: Vec<f64> = (0..self.reported.len()).map(own).collect();
        let late = |(way, expected): (&Way, &f64)| {
            self.reported[way.to] * (1.0 - own[way.to]) * expected / behind[way.to].max(f64::MIN_POSITIVE)
        };
        let late = self.ways.iter().zip(&expected).map(late).collect();
        Shares { own, late }
    }

    /// How long a cycle of what should be is in what is reported, which may be of a clock, and of a core that is wider or narrower.
    fn scale(&self, region: &Region, rates: &Rates) -> f64 {
        let sum = |of: &dyn Fn(usize) -> f64| self.plain.iter().map(|&i| of(i)).sum::<f64>();
        let due = sum(&|i| self.due.right.get(i).copied().unwrap_or(0.0) * runs(region, rates, i));
        let seen = sum(&|i| self.reported[i]);
        if seen > 0.0 && due > 0.0 { seen / due } else { 1.0 }
    }
}

fn runs(region: &Region, rates: &Rates, i: usize) -> f64 {
    rates.blocks[region.nodes[i].block].max(1e-9)
}

/// Makes a `cause` so much likelier among `causes`.
pub fn add(causes: &mut Vec<(usize, f64)>, cause: usize, weight: f64) {
    match causes.iter_mut().find(|known| known.0 == cause) {
        Some(known) => known.1 += weight,
        None => causes.push((cause, weight)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Program, Told, explore};
    use crate::skid::Circulation;
    use crate::skid::classes::Classes;

    /// `mov (%rsi),%ecx; add %ecx,%edx; imul %edx,%edx; dec %edi; jne` to its start; `ret`.
    const LOOP: [u8; 12] = [0x8b, 0x0e, 0x01, 0xca, 0x0f, 0xaf, 0xd2, 0xff, 0xcf, 0x75, 0xf5, 0xc3];
    const LOAD: usize = 0;
    const ADD: usize = 1;
    const MULTIPLY: usize = 2;
    const DECREMENT: usize = 3;

    /// Where time was waited for, in cycles a run, and which share of it was reported behind, if so much is `reported` in the loop.
    fn waited(reported: [f64; 6]) -> ([f64; 6], [f64; 6]) {
        let function = explore(&Bytes(0, LOOP.to_vec()), 0..LOOP.len() as u64, &[]);
        let program = Program::link(vec![(0, function)], &NoStubs, &Told::default());
        let region = Region::build(&program, &Classes::of(&program), &[0], &|_, _| true);
        let rates = Circulation::new(&region).rates(&region, &[5.0], 1e6).expect("a flow");
        let runs = runs(&region, &rates, ADD);
        let reporting = Reporting { late: true, patient: true, fused: true, ..Reporting::default() };
        let patience = Patience::new(&region, &reported.map(|r| r * runs), reporting, &Due::default());
        let causes = patience.causes(&region, &rates);
        assert!(
            causes.iter().all(|of| (of.iter().map(|c| c.1).sum::<f64>() - 1.0).abs() < 1e-9),
            "{causes:?}"
        );
        let (waited, behind) = patience.divided(&region, &rates);
        assert_eq!(waited, patience.at(&region, &rates));
        let by_causes = |node: usize| {
            let of = |(at, causes): (usize, &Vec<(usize, f64)>)| {
                causes.iter().filter(|c| c.0 == node).map(|c| c.1 * reported[at]).sum::<f64>()
            };
            causes.iter().enumerate().map(of).sum::<f64>()
        };
        let waited: [f64; 6] = std::array::from_fn(|node| waited[node] / runs);
        assert!((0..6).all(|node| (waited[node] - by_causes(node)).abs() < 1e-9), "{waited:?}");
        (waited, std::array::from_fn(|node| behind[node]))
    }

    #[test]
    fn a_load_that_misses_has_what_stands_behind_it_and_what_is_quick_its_own() {
        let (waited, behind) = waited([8.0, 30.0, 3.0, 1.0, 0.0, 0.0]);
        assert!(waited[LOAD] > 36.0 && waited[ADD] < 2.0, "{waited:?}");
        assert_eq!((waited[MULTIPLY], waited[DECREMENT]), (3.0, 1.0));
        assert!((behind[LOAD] - 0.78).abs() < 0.03 && behind[MULTIPLY] == 0.0, "{behind:?}");
    }

    #[test]
    fn what_is_quick_is_not_taken_for_the_end_of_a_long_wait_that_has_no_beginning() {
        let (waited, _) = waited([0.1, 0.5, 3.0, 1.0, 0.0, 0.0]);
        assert!(waited[ADD] > 0.25, "{waited:?}");
    }

    #[test]
    fn no_more_than_the_beginning_of_a_wait_stands_on_an_instruction_itself() {
        let (waited, _) = waited([0.0, 60.0, 3.0, 1.0, 0.0, 0.0]);
        assert!(waited[ADD] < BEGINNING + 1e-9 && waited[LOAD] > 50.0, "{waited:?}");
    }

    #[test]
    fn a_fused_pair_is_waited_for_at_its_first() {
        let (waited, _) = waited([0.1, 0.3, 3.0, 1.0, 2.0, 0.0]);
        assert_eq!(waited[DECREMENT..], [3.0, 0.0, 0.0]);
    }
}
