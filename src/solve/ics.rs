//! The formulation of *Can We Trust Profiling Results?* (Xu, Wang, Song, John, Liu; ICS'19), done literally as a baseline.
//!
//! Control flow is decomposed into simple loops; the unknowns are how often each ran, **F**. An instruction's time per
//! execution is its cycles over its executions (equation 5); within each loop an overflow is reported a constant *S* cycles
//! later (equation 1); the counts that this emulates (equations 2 and 6) are to come near the observed ones, block by block:
//! φ(**F**). Gibbs sampling draws each *F* in turn from its distribution given the others, with the last loop's taking up
//! what equation 3 leaves (algorithm 1; its line 13 stops when φ has *not* converged, a slip that is put right here).
//!
//! What the paper leaves open and how it is read here: the distribution of *F* is exp(−φ/2|E|) over a grid of its range,
//! |E| being the variance of Poisson counts; φ is stable when five sweeps have not bettered the least by a hundredth, and
//! the answer is the **F** of that least; where there are more loops than can be handled, the shortest through each transfer
//! are taken, most sampled first; a skid longer than a loop goes round again; *S* is that of the file, or as given. Line 6 means all *F* but the one to be drawn. The paper's loops are inlined; where code
//! calls, a circuit may return to behind another call than it came from.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::circuits::circuits;
use crate::skid::region::By;
use crate::skid::{Model, Rates, Region};

/// Loops, at most.
const MOST_LOOPS: usize = 64;
/// Candidate values of an *F*.
const GRID: usize = 24;
const MOST_SWEEPS: usize = 60;

/// Frequencies of simple loops and what follows.
#[derive(Clone, Debug)]
pub struct Loops {
    /// Executions and transfers.
    pub rates: Rates,
    /// How many loops there are, and whether some were left out.
    pub loops: (usize, bool),
    /// φ at the end, in samples².
    pub misfit: f64,
}

/// Solves `model` for a skid of `skid` cycles. `None` if the region has no loop.
pub fn solve(model: &Model, skid: f64, seed: u64) -> Option<Loops> {
    let graph = Graph::of(&model.region);
    let (circuits, more) = match circuits(&graph.next, MOST_LOOPS) {
        (_, true) => (graph.shortest(model), true),
        all => all,
    };
    let loops: Vec<Vec<usize>> = circuits.iter().map(|c| graph.nodes(c)).collect();
    if loops.is_empty() {
        return None;
    }
    let mut search = Search::new(model, loops, skid, seed);
    search.run();
    let misfit = search.misfit(&search.times);
    let rates = graph.rates(&model.region, &circuits, &search.times);
    Some(Loops { rates, loops: (circuits.len(), more), misfit })
}

/// Runs of nodes that are always executed together, and the steps between them. What leaves the region comes back at its
/// roots.
struct Graph {
    runs: Vec<std::ops::Range<usize>>,
    next: Vec<Vec<usize>>,
}

impl Graph {
    fn of(region: &Region) -> Graph {
        let single = |n: usize| matches!(region.steps_of(n), [s] if s.by == By::Sure && s.to == n + 1);
        let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
        let mut start = 0;
        for n in 0..region.nodes.len() {
            let block_ends = n + 1 == region.blocks[region.nodes[n].block].nodes.end;
            if block_ends || !single(n) {
                runs.push(start..n + 1);
                start = n + 1;
            }
        }
        let run_at = |n: usize| runs.partition_point(|r| r.end <= n);
        let roots: Vec<usize> = region.roots.iter().map(|&b| run_at(region.blocks[b].nodes.start)).collect();
        let successors = |run: &std::ops::Range<usize>| {
            let mut to: Vec<usize> = region.steps_of(run.end - 1).iter().map(|s| run_at(s.to)).collect();
            if to.is_empty() {
                to.extend(&roots);
            }
            to.sort_unstable();
            to.dedup();
            to
        };
        let next = runs.iter().map(successors).collect();
        Graph { runs, next }
    }

    /// The shortest circuit through each transfer, of the most sampled ones.
    fn shortest(&self, model: &Model) -> Vec<Vec<usize>> {
        let samples: Vec<f64> = model.events[0].samples().collect();
        let density = |run: usize| {
            let nodes = self.runs[run].clone();
            samples[nodes.clone()].iter().sum::<f64>() / nodes.len() as f64
        };
        let mut transfers: Vec<(f64, usize, usize)> = Vec::new();
        for (from, next) in self.next.iter().enumerate() {
            transfers.extend(next.iter().map(|&to| (density(from).min(density(to)), from, to)));
        }
        transfers.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let mut found: Vec<Vec<usize>> = Vec::new();
        for (_, from, to) in transfers {
            if let Some(mut circuit) = self.way(to, from).filter(|_| found.len() < MOST_LOOPS) {
                let least = circuit.iter().enumerate().min_by_key(|r| r.1).map_or(0, |r| r.0);
                circuit.rotate_left(least);
                if !found.contains(&circuit) {
                    found.push(circuit);
                }
            }
        }
        found
    }

    /// The way with the fewest runs.
    fn way(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut back = vec![None; self.runs.len()];
        let mut queue = std::collections::VecDeque::from([from]);
        back[from] = Some(from);
        while let Some(at) = queue.pop_front().filter(|_| back[to].is_none()) {
            for &next in &self.next[at] {
                if back[next].is_none() {
                    back[next] = Some(at);
                    queue.push_back(next);
                }
            }
        }
        let mut way = vec![to];
        while *way.last()? != from {
            way.push(back[*way.last()?]?);
        }
        way.reverse();
        Some(way)
    }

    fn nodes(&self, circuit: &[usize]) -> Vec<usize> {
        circuit.iter().flat_map(|&run| self.runs[run].clone()).collect()
    }

    /// Executions and step probabilities from the loops' frequencies.
    fn rates(&self, region: &Region, circuits: &[Vec<usize>], times: &[f64]) -> Rates {
        let mut executions = vec![0.0; region.nodes.len()];
        let mut taken = vec![0.0; region.steps.len()];
        for (circuit, times) in circuits.iter().zip(times) {
            for (k, &run) in circuit.iter().enumerate() {
                self.runs[run].clone().for_each(|n| executions[n] += times);
                let to = self.runs[circuit[(k + 1) % circuit.len()]].start;
                let last = self.runs[run].end - 1;
                if let Some(at) =
                    (region.starts[last]..region.starts[last + 1]).find(|&s| region.steps[s].to == to)
                {
                    taken[at] += times;
                }
            }
        }
        let mut steps = vec![0.0; region.steps.len()];
        for (n, executions) in executions.iter().enumerate() {
            for at in region.starts[n]..region.starts[n + 1] {
                let sure = region.steps[at].by == By::Sure;
                steps[at] = if sure { 1.0 } else { taken[at] / f64::max(*executions, 1e-300) };
            }
        }
        let mut arms = vec![0.0; region.arms.len()];
        for (step, p) in region.steps.iter().zip(&steps) {
            if let By::Arm(arm) = step.by {
                arms[arm] = *p;
            }
        }
        let blocks = region.blocks.iter().map(|b| executions[b.nodes.start]).collect();
        Rates { arms, blocks, steps }
    }
}

struct Search<'a> {
    model: &'a Model,
    loops: Vec<Vec<usize>>,
    skid: f64,
    /// **F**, in instructions' weight.
    times: Vec<f64>,
    /// |E|.
    total: f64,
    rng: Xoshiro256PlusPlus,
}

impl<'a> Search<'a> {
    fn new(model: &'a Model, loops: Vec<Vec<usize>>, skid: f64, seed: u64) -> Search<'a> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let total = model.total();
        let mut times: Vec<f64> = loops.iter().map(|_| rng.random::<f64>()).collect();
        let sum: f64 = times.iter().zip(&loops).map(|(t, l)| t * l.len() as f64).sum();
        times.iter_mut().for_each(|t| *t *= total / sum.max(f64::MIN_POSITIVE));
        Search { model, loops, skid, times, total, rng }
    }

    /// Algorithm 1.
    fn run(&mut self) {
        let mut best = (self.misfit(&self.times), self.times.clone());
        let mut stable = 0;
        for _ in 0..MOST_SWEEPS {
            for l in 0..self.loops.len().saturating_sub(1) {
                self.draw(l);
            }
            let misfit = self.misfit(&self.times);
            stable = if misfit < 0.99 * best.0 { 0 } else { stable + 1 };
            if misfit < best.0 {
                best = (misfit, self.times.clone());
            }
            if stable == 5 {
                break;
            }
        }
        self.times = best.1;
    }

    /// Lines 6 to 11: a new value of one loop's frequency, the last loop's taking up the rest.
    fn draw(&mut self, l: usize) {
        let Some(last) = self.loops.len().checked_sub(1) else { return };
        let (own, rest) = (self.loops[l].len() as f64, self.loops[last].len() as f64);
        let room = self.times[l] * own + self.times[last] * rest;
        let candidate = |k: usize| {
            let share = k as f64 / (GRID - 1) as f64;
            let mut times = self.times.clone();
            times[l] = share * room / own;
            times[last] = (1.0 - share) * room / rest;
            times
        };
        let period = self.model.events[0].period;
        let variance = 2.0 * self.total / period;
        let misfits: Vec<f64> = (0..GRID).map(|k| self.misfit(&candidate(k))).collect();
        let least = misfits.iter().copied().fold(f64::INFINITY, f64::min);
        let weights: Vec<f64> = misfits.iter().map(|m| (-(m - least) / variance).exp()).collect();
        let mut ticket = self.rng.random::<f64>() * weights.iter().sum::<f64>();
        let drawn = weights.iter().position(|w| {
            ticket -= w;
            ticket <= 0.0
        });
        self.times = candidate(drawn.unwrap_or(GRID - 1));
    }

    /// φ(**F**), in samples².
    fn misfit(&self, times: &[f64]) -> f64 {
        let emulated = self.emulate(times);
        let period = self.model.events[0].period;
        let seen = &self.model.events[0].weight;
        let block = |b: &crate::skid::region::Block| {
            let difference: f64 = b.nodes.clone().map(|n| (seen[n] - emulated[n]) / period).sum();
            difference * difference
        };
        self.model.region.blocks.iter().map(block).sum()
    }

    /// Equation 6: counts per node after the skid.
    fn emulate(&self, times: &[f64]) -> Vec<f64> {
        let n = self.model.region.nodes.len();
        let mut executions = vec![0.0; n];
        for (nodes, times) in self.loops.iter().zip(times) {
            nodes.iter().for_each(|&n| executions[n] += times);
        }
        let cycles = |i: usize| self.model.time.as_ref().map_or(executions[i], |t| t.cycles[i]);
        let each: Vec<f64> = (0..n).map(|i| cycles(i) / f64::max(executions[i], 1e-300)).collect();
        let mut reported = vec![0.0; n];
        for (nodes, times) in self.loops.iter().zip(times).filter(|(_, t)| **t > 0.0) {
            let costs: Vec<f64> = nodes.iter().map(|&n| each[n]).collect();
            for (m, slipped) in slips(&costs, self.skid).into_iter().enumerate() {
                reported[nodes[(m + slipped) % nodes.len()]] += times;
            }
        }
        reported
    }
}

/// Equation 1: for each instruction of a loop with these costs, after how many more the time `skid` is up: none without
/// skid (section 1.1). A loop without cost is passed by once.
fn slips(costs: &[f64], skid: f64) -> Vec<usize> {
    let n = costs.len();
    if skid <= 0.0 {
        return vec![0; n];
    }
    let round: f64 = costs.iter().sum();
    if round <= 0.0 {
        return vec![n; n];
    }
    // a whole number of rounds ends with the last instruction of one, not before the first of the next
    let left = if skid % round > 0.0 { skid % round } else { round };
    // time until each instruction of two rounds is over
    let mut over = Vec::with_capacity(2 * n);
    let mut now = 0.0;
    for cost in costs.iter().chain(costs) {
        now += cost;
        over.push(now);
    }
    let slip = |m: usize| 1 + over[m + 1..m + n].partition_point(|&then| then - over[m] < left);
    (0..n).map(slip).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_follow_the_step_function() {
        // costs of instructions 0..4; from 0, three cycles pass 1 (1 cycle) and end in 2
        assert_eq!(slips(&[1.0, 1.0, 4.0, 1.0], 3.0), [2, 1, 3, 3]);
        assert_eq!(slips(&[1.0, 1.0], 0.5), [1, 1]);
        assert_eq!(slips(&[1.0, 1.0], 4.5), [1, 1], "two whole rounds more");
        assert_eq!(slips(&[0.0, 0.0], 9.0), [2, 2]);
        assert_eq!(slips(&[1.0, 1.0], 4.0), [2, 2], "S up to and with the sum of all costs");
        assert_eq!(slips(&[1.0, 1.0], 0.0), [0, 0], "no skid, no slip");
    }

    #[test]
    fn too_many_loops_leave_the_shortest_through_each_transfer() {
        // twenty diamonds in a ring: a million loops
        let mut next = Vec::new();
        for d in 0..20 {
            next.extend([vec![3 * d + 1, 3 * d + 2], vec![(3 * d + 3) % 60], vec![(3 * d + 3) % 60]]);
        }
        let graph = Graph { runs: (0..60).map(|n| n..n + 1).collect(), next };
        let mut model = Model {
            region: Region::default(),
            events: vec![crate::skid::Observation {
                weight: vec![1.0; 60],
                period: 1.0,
                counts: vec![true; 60],
            }],
            time: None,
            reporting: crate::skid::hold::Reporting { late: true, fused: false },
        };
        model.events[0].weight[32] = 2.0;
        let found = graph.shortest(&model);
        assert!(found.len() > 20 && found.len() <= MOST_LOOPS);
        assert!((0..60).all(|run| found.iter().any(|c| c.contains(&run))), "every run is in some loop");
        assert!(found.iter().all(|c| c.len() == 40 && c[0] == *c.iter().min().expect("a run")));
    }
}
