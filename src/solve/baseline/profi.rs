//! LLVM's profile inference: He, Mestre, Pupyrev, Wang, Yu, "Profile inference revisited", POPL'22, as
//! `SampleProfileInference.cpp` has it.
//!
//! Executions per block that obey flow conservation at the least cost, which is linear in how far each block's count must
//! rise or fall: Σ (inc_b max(x_b − w_b, 0) + dec_b max(w_b − x_b, 0)), plus a cost per edge taken. As a network, each block
//! is an arc from its inlet to its outlet (a rise, without bound) and one back (a fall, of at most its count *w*); *w* enters
//! at the outlet and leaves at the inlet, so that the maximum flow of least cost is the cheapest repair.
//!
//! Left out, for neither changes a share: joining isolated loops to the entry (by a count of one), and rebalancing what no
//! block's count bounds, which here the even sending of [`super::network`] does.

use super::graph::{Counts, Graph};
use super::network::{ArcIx, Network};

/// Costs of changing a count by one.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// Raising a block.
    pub raise: i64,
    /// Lowering a block.
    pub lower: i64,
    /// Raising a block whose count is zero.
    pub raise_zero: i64,
    /// Raising the entry block.
    pub raise_entry: i64,
    /// Lowering the entry block.
    pub lower_entry: i64,
    /// Taking an edge to the next block in memory.
    pub fall_through: i64,
    /// Taking another edge.
    pub jump: i64,
}

/// The compiler's defaults: samples miss executions rather than invent them, so that lowering costs twice as much.
pub const COMPILER: Costs = Costs {
    raise: 10,
    lower: 20,
    raise_zero: 11,
    raise_entry: 40,
    lower_entry: 10,
    fall_through: 0,
    jump: 0,
};

/// Those of BOLT's stale profile matching (Ayupov, Panchenko, Pupyrev, CC'24): lowering costs as much as raising, a block
/// without a count is unknown rather than cold, and unknown edges cost something, most if they jump.
pub const BOLT: Costs = Costs {
    raise: 150,
    lower: 150,
    raise_zero: 1,
    raise_entry: 150,
    lower_entry: 150,
    fall_through: 3,
    jump: 140,
};

/// The cheapest repair of `graph`'s counts.
pub fn profi(graph: &Graph, costs: &Costs) -> Counts {
    let n = graph.counts.len();
    let [inward, outward, source, sink] = [2 * n, 2 * n + 1, 2 * n + 2, 2 * n + 3];
    let mut network = Network::new(2 * n + 4);
    let mut blocks: Vec<(ArcIx, ArcIx)> = Vec::with_capacity(n);
    for (b, &count) in graph.counts.iter().enumerate() {
        let (inlet, outlet) = (2 * b, 2 * b + 1);
        if graph.entries[b] {
            network.add(inward, inlet, f64::INFINITY, 0);
        }
        if graph.exits[b] {
            network.add(outlet, outward, f64::INFINITY, 0);
        }
        let (raise, lower) = costs.of_block(graph.entries[b], count);
        blocks.push((
            network.add(inlet, outlet, f64::INFINITY, raise),
            network.add(outlet, inlet, count, lower),
        ));
        network.add(source, outlet, count, 0);
        network.add(inlet, sink, count, 0);
    }
    let edge = |e: &super::graph::Edge| {
        let cost = if e.to == e.from + 1 { costs.fall_through } else { costs.jump };
        network.add(2 * e.from + 1, 2 * e.to, f64::INFINITY, cost)
    };
    let edges: Vec<ArcIx> = graph.edges.iter().map(edge).collect();
    network.add(outward, inward, f64::INFINITY, 0);
    network.run(source, sink);
    let changed = |(b, &(up, down)): (usize, &(ArcIx, ArcIx))| {
        (graph.counts[b] + network.flow(up) - network.flow(down)).max(0.0)
    };
    Counts {
        blocks: blocks.iter().enumerate().map(changed).collect(),
        edges: edges.into_iter().map(|e| network.flow(e)).collect(),
    }
}

impl Costs {
    /// Of raising and lowering a block with this count.
    fn of_block(&self, entry: bool, count: f64) -> (i64, i64) {
        match (entry, count > 0.0) {
            (true, _) => (self.raise_entry, self.lower_entry),
            (false, true) => (self.raise, self.lower),
            (false, false) => (self.raise_zero, self.lower),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::baseline::graph::testing::{DIAMOND, near};
    use proptest::prelude::*;

    #[test]
    fn a_diamond_is_repaired_where_it_is_cheapest() {
        // 100 in and out, 50 and 20 between: raising the arms by 30 costs 300; lowering the ends to 70 costs 300 at the
        // entry and 600 at the exit
        let counts = profi(&Graph::sketch(&[100.0, 50.0, 20.0, 100.0], &DIAMOND), &COMPILER);
        near(
            &[counts.blocks[0], counts.blocks[1] + counts.blocks[2], counts.blocks[3]],
            &[100.0, 100.0, 100.0],
        );
        assert!(counts.blocks[1] >= 50.0 && counts.blocks[2] >= 20.0, "no arm falls: {counts:?}");
    }

    #[test]
    fn a_fall_costs_twice_a_rise_in_the_compiler_and_the_same_in_bolt() {
        // arms of 90 and 30 between ends of 100: raising the ends by 20 costs 20 · (40 + 10), lowering the arms 20 · 20
        let counts = profi(&Graph::sketch(&[100.0, 90.0, 30.0, 100.0], &DIAMOND), &COMPILER);
        near(&[counts.blocks[0], counts.blocks[3]], &[100.0, 100.0]);
        // a chain runs one number of times. Lowering the compiler's first and third block costs 10 + 20 each time, raising
        // the others 10 + 10; in BOLT both cost 300, and an edge not taken is saved
        let chain = Graph::sketch(&[100.0, 30.0, 100.0, 30.0], &[(0, 1), (1, 2), (2, 3)]);
        near(&profi(&chain, &COMPILER).blocks, &[100.0; 4]);
        near(&profi(&chain, &BOLT).blocks, &[30.0; 4]);
    }

    #[test]
    fn a_warm_block_does_not_go_cold_and_a_cold_one_is_raised_last() {
        // one arm without samples: the flow stays on the warm one, for 10 is less than 11
        let counts = profi(&Graph::sketch(&[100.0, 60.0, 0.0, 100.0], &DIAMOND), &COMPILER);
        near(&counts.blocks, &[100.0, 100.0, 0.0, 100.0]);
        // without a count on either, they share
        let counts = profi(&Graph::sketch(&[100.0, 0.0, 0.0, 100.0], &DIAMOND), &COMPILER);
        near(&counts.blocks, &[100.0, 50.0, 50.0, 100.0]);
        // to BOLT a block without samples is unknown: filling it costs 1 and two edges 3 each, emptying the others 300
        let counts = profi(&Graph::sketch(&[100.0, 0.0, 100.0], &[(0, 1), (1, 2)]), &BOLT);
        near(&counts.blocks, &[100.0, 100.0, 100.0]);
    }

    #[test]
    fn a_loop_runs_as_its_blocks_say_whatever_enters_it() {
        // 0 → 1 ⇄ 2, 1 → 3
        let counts =
            profi(&Graph::sketch(&[1.0, 80.0, 80.0, 1.0], &[(0, 1), (1, 2), (2, 1), (1, 3)]), &COMPILER);
        near(&counts.blocks, &[1.0, 81.0, 80.0, 1.0]);
        // a block that jumps to itself needs no entry at all
        let counts = profi(&Graph::sketch(&[0.0, 50.0, 0.0], &[(0, 1), (1, 1), (1, 2)]), &COMPILER);
        near(&counts.blocks, &[0.0, 50.0, 0.0]);
        near(&counts.edges, &[0.0, 50.0, 0.0]);
    }

    proptest! {
        #[test]
        fn flow_is_conserved(
            counts in prop::collection::vec(prop_oneof![Just(0.0), 0.0..1e4], 2..9),
            jumps in prop::collection::vec((0usize..9, 0usize..9), 0..9),
            bolt in any::<bool>(),
        ) {
            let n = counts.len();
            let mut edges: Vec<(usize, usize)> = (1..n).map(|b| (b - 1, b)).collect();
            edges.extend(jumps.into_iter().map(|(a, b)| (a % n, b % n)));
            edges.sort_unstable();
            edges.dedup();
            let graph = Graph::sketch(&counts, &edges);
            let found = profi(&graph, if bolt { &BOLT } else { &COMPILER });
            prop_assert!(graph.imbalance(&found) < 1e-6, "{found:?}");
        }
    }
}
