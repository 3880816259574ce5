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

use super::decomposition::Graph;
use crate::skid::{Model, Rates};

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
    let (circuits, more) = graph.loops(model, MOST_LOOPS);
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
}
