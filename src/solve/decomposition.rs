//! Control flow as simple loops: each a circuit of the graph in which what leaves the region comes back at its roots.

use super::circuits::circuits;
use crate::skid::region::By;
use crate::skid::{Model, Rates, Region};

/// Runs of nodes that are always executed together, and the steps between them. What leaves the region comes back at its
/// roots.
pub struct Graph {
    runs: Vec<std::ops::Range<usize>>,
    next: Vec<Vec<usize>>,
}

impl Graph {
    /// The graph of a region.
    pub fn of(region: &Region) -> Graph {
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
        let outer = region.roots.iter().filter(|&&b| !region.closed(b));
        let roots: Vec<usize> = outer.map(|&b| run_at(region.blocks[b].nodes.start)).collect();
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

    /// All simple loops as circuits of runs; where there are more than `most`, as many of the shortest through the most
    /// sampled transfers. The second value tells whether some were left out.
    pub fn loops(&self, model: &Model, most: usize) -> (Vec<Vec<usize>>, bool) {
        match circuits(&self.next, most) {
            (_, true) => (self.shortest(model, most), true),
            all => all,
        }
    }

    /// The shortest circuit through each transfer, of the most sampled ones.
    fn shortest(&self, model: &Model, most: usize) -> Vec<Vec<usize>> {
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
            if let Some(mut circuit) = self.way(to, from).filter(|_| found.len() < most) {
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

    /// Nodes along a circuit.
    pub fn nodes(&self, circuit: &[usize]) -> Vec<usize> {
        circuit.iter().flat_map(|&run| self.runs[run].clone()).collect()
    }

    /// Executions and step probabilities from the loops' frequencies.
    pub fn rates(&self, region: &Region, circuits: &[Vec<usize>], times: &[f64]) -> Rates {
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

#[cfg(test)]
mod tests {
    use super::*;

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
                exact: false,
            }],
            time: None,
            reporting: crate::skid::hold::Reporting { late: true, ..Default::default() },
            ideal: vec![0.25; 60],
            paces: Default::default(),
            choices: None,
            doubt: 1.0,
            shared: Vec::new(),
        };
        model.events[0].weight[32] = 2.0;
        let found = graph.shortest(&model, 64);
        assert!(found.len() > 20 && found.len() <= 64);
        assert!((0..60).all(|run| found.iter().any(|c| c.contains(&run))), "every run is in some loop");
        assert!(found.iter().all(|c| c.len() == 40 && c[0] == *c.iter().min().expect("a run")));
    }
}
