//! GCC's smoothing of inconsistent counts, `-fprofile-correction`: Levin, Newman, Haber, "Complementing missing and inaccurate
//! profiling using a minimum cost circulation algorithm", HiPEAC'08, in the form of GCC's `mcf.c` (Ramasamy, Yuan, Chen,
//! Hundt, GCC Summit'08).
//!
//! Blocks and edges both have a count *w*, an edge that of the block it leaves times the probability that the shape of the
//! code suggests. Raising one costs k⁺ / ln(w + 2), lowering it k⁻ / ln(w + 2), with k⁺ = b, k⁻ = 50 b and b the root of the
//! mean count: samples miss, they do not invent. What is out of balance at a node, D = Σ out − Σ in, is made up by the
//! cheapest flow from a source to a sink, and *w\** = *w* + flow forth − flow back. As in `mcf.c`, the arc that raises a count
//! that can also fall costs half, and the one that lowers it bears the other half; and a function is run through as often as
//! its entries or its exits say, whichever say more.
//!
//! Otherwise than there: logarithms are exact and costs kept to six digits rather than cut to whole numbers, so that *b*
//! cancels; the cheapest flow is found rather than neared by a limited number of negative cycles; and the one count that
//! `mcf.c` adds to an entry, lest a function be never entered, is left out.

use super::graph::{Counts, Graph};
use super::network::{ArcIx, Network};

/// k⁻ / k⁺.
const LOWERING: f64 = 50.0;
/// Costs are whole multiples of k⁺ over this.
const RESOLUTION: f64 = 1e6;

/// The cheapest correction of `graph`'s counts.
pub fn mcf(graph: &Graph) -> Counts {
    let blocks = 0..graph.counts.len();
    let mut fixup = Fixup::new(blocks.len());
    let within = |e: &super::graph::Edge| graph.counts[e.from] * e.likely;
    let splits: Vec<Split> = blocks.clone().map(|b| fixup.count(2 * b, 2 * b + 1, graph.counts[b])).collect();
    let edges: Vec<Split> =
        graph.edges.iter().map(|e| fixup.count(2 * e.from + 1, 2 * e.to, within(e))).collect();
    let rest = |b: usize, of: fn(&super::graph::Edge) -> usize| {
        let known: f64 = graph.edges.iter().filter(|e| of(e) == b).map(within).sum();
        (graph.counts[b] - known).max(0.0)
    };
    let ends = ends(graph);
    for b in blocks {
        if graph.entries[b] {
            let count = if ends[b] { rest(b, |e| e.to) } else { 0.0 };
            fixup.count(fixup.enter, 2 * b, count);
        }
        if graph.exits[b] {
            fixup.count(2 * b + 1, fixup.leave, rest(b, |e| e.from));
        }
    }
    fixup.run();
    Counts {
        blocks: splits.iter().map(|s| fixup.corrected(s)).collect(),
        edges: edges.iter().map(|s| fixup.corrected(s)).collect(),
    }
}

/// Blocks from which an exit can be reached: nothing is counted in where nothing gets out.
fn ends(graph: &Graph) -> Vec<bool> {
    let mut ends = graph.exits.clone();
    let mut work: Vec<usize> = (0..ends.len()).filter(|&b| ends[b]).collect();
    while let Some(block) = work.pop() {
        for edge in graph.edges.iter().filter(|e| e.to == block) {
            if !std::mem::replace(&mut ends[edge.from], true) {
                work.push(edge.from);
            }
        }
    }
    ends
}

/// A count, and the arcs that change it.
struct Split {
    count: f64,
    raise: ArcIx,
    lower: ArcIx,
}

/// The network of corrections ("fixup graph").
struct Fixup {
    network: Network,
    /// D of each node.
    excess: Vec<f64>,
    enter: usize,
    leave: usize,
}

impl Fixup {
    fn new(blocks: usize) -> Fixup {
        let (enter, leave) = (2 * blocks, 2 * blocks + 1);
        Fixup { network: Network::new(2 * blocks + 4), excess: vec![0.0; 2 * blocks + 2], enter, leave }
    }

    /// A count along an arc.
    fn count(&mut self, from: usize, to: usize, count: f64) -> Split {
        let cost = |k: f64| (RESOLUTION * k / (count + 2.0).ln()).round() as i64;
        let up = if count > 0.0 { cost(0.5) } else { cost(1.0) };
        self.excess[from] += count;
        self.excess[to] -= count;
        Split {
            count,
            raise: self.network.add(from, to, f64::INFINITY, up),
            lower: self.network.add(to, from, count, cost(LOWERING) + up),
        }
    }

    fn run(&mut self) {
        let (source, sink) = (self.leave + 1, self.leave + 2);
        let (mut asked, mut given) = (0.0, 0.0);
        for (node, &excess) in self.excess[..self.enter].iter().enumerate() {
            if excess > 0.0 {
                self.network.add(node, sink, excess, 0);
                asked += excess;
            } else {
                self.network.add(source, node, -excess, 0);
                given -= excess;
            }
        }
        self.network.add(source, self.enter, f64::max(asked - given, 0.0), 0);
        self.network.add(self.leave, sink, f64::max(given - asked, 0.0), 0);
        self.network.run(source, sink);
    }

    fn corrected(&self, split: &Split) -> f64 {
        (split.count + self.network.flow(split.raise) - self.network.flow(split.lower)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::baseline::graph::testing::{DIAMOND, near};
    use proptest::prelude::*;

    #[test]
    fn a_diamond_is_filled_up_where_it_lacks() {
        // edges have 50, 50, 50 and 20: 30 are over before block 2 and 30 missing behind it, which costs
        // 30 · 2 · ½ / ln 22, where lowering an edge would cost 30 · 50 / ln 52 and more
        let counts = mcf(&Graph::sketch(&[100.0, 50.0, 20.0, 100.0], &DIAMOND));
        near(&counts.blocks, &[100.0, 50.0, 50.0, 100.0]);
        near(&counts.edges, &[50.0; 4]);
    }

    #[test]
    fn a_block_without_samples_is_raised_before_one_with_samples_falls() {
        // 50 arrive at the cold arm and 10 are missing on the warm one: only the edges can give those
        let counts = mcf(&Graph::sketch(&[100.0, 60.0, 0.0, 100.0], &DIAMOND));
        near(&counts.blocks, &[100.0, 60.0, 40.0, 100.0]);
    }

    #[test]
    fn a_function_runs_as_often_as_its_ends_say() {
        let chain = [(0, 1), (1, 2)];
        near(&mcf(&Graph::sketch(&[100.0, 30.0, 100.0], &chain)).blocks, &[100.0; 3]);
        near(&mcf(&Graph::sketch(&[30.0, 30.0, 100.0], &chain)).blocks, &[100.0; 3]);
        // a pile between them has nowhere to go
        near(&mcf(&Graph::sketch(&[30.0, 100.0, 30.0], &chain)).blocks, &[30.0; 3]);
    }

    #[test]
    fn a_loop_takes_the_larger_of_its_counts() {
        // 39 of the 40 that the even edge out of block 1 counts are too many. They go back over it and round the loop,
        // 20 as far as block 2, 19 as far as block 1, for lowering block 1 would cost 50 / ln 82
        let counts = mcf(&Graph::sketch(&[1.0, 80.0, 60.0, 1.0], &[(0, 1), (1, 2), (2, 1), (1, 3)]));
        near(&counts.blocks, &[1.0, 80.0, 79.0, 1.0]);
        near(&counts.edges, &[1.0, 79.0, 79.0, 1.0]);
    }

    proptest! {
        #[test]
        fn flow_is_conserved(
            counts in prop::collection::vec(prop_oneof![Just(0.0), 0.0..1e4], 2..9),
            jumps in prop::collection::vec((0usize..9, 0usize..9), 0..9),
        ) {
            let n = counts.len();
            let mut edges: Vec<(usize, usize)> = (1..n).map(|b| (b - 1, b)).collect();
            edges.extend(jumps.into_iter().map(|(a, b)| (a % n, b % n)));
            edges.sort_unstable();
            edges.dedup();
            let graph = Graph::sketch(&counts, &edges);
            let found = mcf(&graph);
            prop_assert!(graph.imbalance(&found) < 1e-5, "{found:?}");
        }
    }
}
