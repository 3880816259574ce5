//! A maximum flow of minimum cost, by successive shortest paths with potentials (Ahuja, Magnanti, Orlin, "Network flows",
//! 1993, section 9.7).
//!
//! Where several ways cost the same they share the flow evenly, as in LLVM's profile inference ("even flow distribution"):
//! each round sends flow along an acyclic part of the ways that are shortest, every node dividing what it gets among its
//! arcs. No crate that is kept up and permissively licensed does that: those that give one cheapest flow leave it open which.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Flow below this share of what the source could send is rounding.
const ROUNDING: f64 = 1e-12;
/// Rounds of even sending per distance and arc, before single paths take over: these end for certain.
const EVEN_ROUNDS: usize = 2;

/// Index of an arc as [`Network::add`] returned it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArcIx(usize);

#[derive(Clone, Copy, Debug)]
struct Arc {
    to: usize,
    /// Capacity left.
    left: f64,
    cost: i64,
}

/// Nodes and arcs; an arc and its reverse are neighbours in `arcs`.
#[derive(Clone, Debug)]
pub struct Network {
    arcs: Vec<Arc>,
    out: Vec<Vec<usize>>,
    potential: Vec<i64>,
    least: f64,
}

impl Network {
    /// A network of `nodes` nodes without arcs.
    pub fn new(nodes: usize) -> Network {
        Network { arcs: Vec::new(), out: vec![Vec::new(); nodes], potential: vec![0; nodes], least: 0.0 }
    }

    /// Adds an arc. `capacity` ≥ 0 may be infinite, `cost` per unit of flow is ≥ 0.
    pub fn add(&mut self, from: usize, to: usize, capacity: f64, cost: i64) -> ArcIx {
        let ix = self.arcs.len();
        self.arcs.push(Arc { to, left: capacity, cost });
        self.arcs.push(Arc { to: from, left: 0.0, cost: -cost });
        self.out[from].push(ix);
        self.out[to].push(ix + 1);
        ArcIx(ix)
    }

    /// Flow along an arc, ≥ 0.
    pub fn flow(&self, arc: ArcIx) -> f64 {
        self.arcs[arc.0 + 1].left
    }

    /// Sends as much as can be sent from `source` to `sink` at the least cost. What leaves the source is bounded.
    pub fn run(&mut self, source: usize, sink: usize) {
        let supply: f64 = self.out[source].iter().map(|&a| self.arcs[a].left).sum();
        self.least = ROUNDING * supply;
        while self.find_distances(source, sink) {
            for _ in 0..EVEN_ROUNDS * self.arcs.len() {
                if !self.send_evenly(source, sink) {
                    break;
                }
            }
            while self.send_along_path(source, sink) {}
        }
    }

    fn from(&self, arc: usize) -> usize {
        self.arcs[arc ^ 1].to
    }

    fn is_open(&self, arc: usize) -> bool {
        self.arcs[arc].left > self.least
    }

    fn reduced_cost(&self, arc: usize) -> i64 {
        self.arcs[arc].cost + self.potential[self.from(arc)] - self.potential[self.arcs[arc].to]
    }

    /// On a shortest way from the source, by the potentials as they are.
    fn is_tight(&self, arc: usize) -> bool {
        self.is_open(arc) && self.reduced_cost(arc) == 0
    }

    fn push(&mut self, arc: usize, flow: f64) {
        self.arcs[arc].left -= flow;
        self.arcs[arc ^ 1].left += flow;
    }

    /// Dijkstra's algorithm over reduced costs; `false` if the sink is out of reach.
    fn find_distances(&mut self, source: usize, sink: usize) -> bool {
        let mut distance = vec![i64::MAX; self.out.len()];
        let mut queue = BinaryHeap::from([Reverse((0i64, source))]);
        distance[source] = 0;
        while let Some(Reverse((so_far, at))) = queue.pop() {
            if so_far > distance[at] {
                continue;
            }
            for &arc in &self.out[at] {
                let to = self.arcs[arc].to;
                if self.is_open(arc) && so_far + self.reduced_cost(arc) < distance[to] {
                    distance[to] = so_far + self.reduced_cost(arc);
                    queue.push(Reverse((distance[to], to)));
                }
            }
        }
        let furthest = distance[sink];
        if furthest == i64::MAX {
            return false;
        }
        self.potential.iter_mut().zip(distance).for_each(|(p, d)| *p += d.min(furthest));
        true
    }

    /// Sends along all tight ways at once until one arc is full; `false` if there is no way.
    fn send_evenly(&mut self, source: usize, sink: usize) -> bool {
        let (order, rank) = self.order(source, sink);
        if order.first() != Some(&source) {
            return false;
        }
        let ahead = |network: &Network, at: usize| -> Vec<usize> {
            let along = |&&a: &&usize| network.is_tight(a) && rank[network.arcs[a].to] < rank[at];
            network.out[at].iter().filter(along).copied().collect()
        };
        let mut share = vec![0.0; self.out.len()];
        let mut sent: Vec<(usize, f64)> = Vec::new();
        share[source] = 1.0;
        for &at in order.iter().filter(|&&at| at != sink) {
            let arcs = ahead(self, at);
            let each = share[at] / arcs.len() as f64;
            for arc in arcs {
                share[self.arcs[arc].to] += each;
                sent.push((arc, each));
            }
        }
        let full = |&(arc, share): &(usize, f64)| self.arcs[arc].left / share;
        let flow = sent.iter().filter(|s| s.1 > 0.0).map(full).fold(f64::INFINITY, f64::min);
        if !flow.is_finite() {
            return false;
        }
        sent.into_iter().for_each(|(arc, share)| self.push(arc, flow * share));
        true
    }

    /// Nodes from which tight arcs lead to the sink, in an order in which the arcs that lead to lower ranks make no cycle;
    /// ranks are `usize::MAX` for all others. Depth first, by time of leaving.
    fn order(&self, source: usize, sink: usize) -> (Vec<usize>, Vec<usize>) {
        let n = self.out.len();
        let mut rank = vec![usize::MAX; n];
        let (mut entered, mut leads) = (vec![false; n], vec![false; n]);
        let mut left = Vec::new();
        let mut path = vec![(source, 0)];
        entered[source] = true;
        while let Some((at, next)) = path.last_mut() {
            let at = *at;
            if let Some(&arc) = self.out[at].get(*next).filter(|_| at != sink) {
                *next += 1;
                let to = self.arcs[arc].to;
                if self.is_tight(arc) && !entered[to] {
                    entered[to] = true;
                    path.push((to, 0));
                } else if self.is_tight(arc) && rank[to] != usize::MAX {
                    leads[at] = true;
                }
                continue;
            }
            path.pop();
            if at == sink || leads[at] {
                rank[at] = left.len();
                left.push(at);
                if let Some(&(above, _)) = path.last() {
                    leads[above] = true;
                }
            }
        }
        left.reverse();
        (left, rank)
    }

    /// Sends along a tight way with the fewest arcs (Edmonds and Karp, 1972); `false` if there is none.
    fn send_along_path(&mut self, source: usize, sink: usize) -> bool {
        let mut by = vec![None; self.out.len()];
        let mut queue = VecDeque::from([source]);
        while let Some(at) = queue.pop_front() {
            for &arc in &self.out[at] {
                let to = self.arcs[arc].to;
                if to != source && by[to].is_none() && self.is_tight(arc) {
                    by[to] = Some(arc);
                    queue.push_back(to);
                }
            }
        }
        let mut path = Vec::new();
        let mut at = sink;
        while at != source {
            let Some(arc) = by[at] else { return false };
            path.push(arc);
            at = self.from(arc);
        }
        let flow = path.iter().map(|&a| self.arcs[a].left).fold(f64::INFINITY, f64::min);
        path.into_iter().for_each(|arc| self.push(arc, flow));
        flow.is_finite()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_cheaper_way_is_filled_first() {
        // 0 → 1 → 3 costs 2 and takes 4; 0 → 2 → 3 costs 5
        let mut network = Network::new(4);
        let cheap = network.add(0, 1, 9.0, 1);
        network.add(1, 3, 4.0, 1);
        let dear = network.add(0, 2, 3.0, 2);
        network.add(2, 3, 9.0, 3);
        network.run(0, 3);
        assert_eq!((network.flow(cheap), network.flow(dear)), (4.0, 3.0));
    }

    #[test]
    fn a_better_way_found_later_takes_flow_back() {
        // the cheapest way 0 → 1 → 2 → 3 must give 1 → 2 back for 7 in all to arrive
        let mut network = Network::new(4);
        network.add(0, 1, 4.0, 0);
        let middle = network.add(1, 2, 4.0, 0);
        network.add(2, 3, 4.0, 0);
        network.add(0, 2, 4.0, 5);
        network.add(1, 3, 3.0, 5);
        network.run(0, 3);
        assert!((network.flow(middle) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn ways_that_cost_the_same_share_evenly() {
        let mut network = Network::new(5);
        network.add(0, 1, 12.0, 0);
        let arms: Vec<ArcIx> = (2..4).map(|n| network.add(1, n, f64::INFINITY, 7)).collect();
        (2..4).for_each(|n| _ = network.add(n, 4, f64::INFINITY, 0));
        network.run(0, 4);
        let flows: Vec<f64> = arms.iter().map(|&a| network.flow(a)).collect();
        assert_eq!(flows, [6.0, 6.0]);
    }

    proptest! {
        #[test]
        fn flow_is_kept_at_every_node_and_no_cycle_would_make_it_cheaper(
            arcs in prop::collection::vec((0usize..7, 0usize..7, 0u32..9, 0i64..6), 1..25)
        ) {
            let mut network = Network::new(7);
            let arcs: Vec<_> = arcs.into_iter().filter(|a| a.0 != a.1).collect();
            let known: Vec<ArcIx> =
                arcs.iter().map(|a| network.add(a.0, a.1, f64::from(a.2), a.3)).collect();
            network.run(0, 6);
            let mut balance = [0.0; 7];
            for (arc, &ix) in arcs.iter().zip(&known) {
                let flow = network.flow(ix);
                prop_assert!((-1e-9..=f64::from(arc.2) + 1e-9).contains(&flow));
                balance[arc.0] -= flow;
                balance[arc.1] += flow;
            }
            prop_assert!(balance[1..6].iter().all(|b| b.abs() < 1e-9), "{balance:?}");
            // optimal: no negative cycle in what is left (Bellman and Ford settle within as many rounds as nodes)
            let mut distance = [0i64; 7];
            let relax = |distance: &mut [i64; 7]| {
                let mut changed = false;
                for (ix, arc) in network.arcs.iter().enumerate().filter(|(_, a)| a.left > 1e-6) {
                    let through = distance[network.from(ix)] + arc.cost;
                    if through < distance[arc.to] {
                        distance[arc.to] = through;
                        changed = true;
                    }
                }
                changed
            };
            let settled = (0..7).any(|_| !relax(&mut distance));
            prop_assert!(settled);
            // maximal: the sink is out of reach
            let mut reached = [true, false, false, false, false, false, false];
            for _ in 0..7 {
                for (ix, arc) in network.arcs.iter().enumerate() {
                    reached[arc.to] |= reached[network.from(ix)] && arc.left > 1e-6;
                }
            }
            prop_assert!(!reached[6]);
        }
    }
}
