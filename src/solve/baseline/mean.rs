//! The mean of each block's samples, and nothing else: neighbours may disagree.
//!
//! What a profile is before any inference. AutoFDO takes the largest count of a line's or block's instructions (Chen, Li,
//! Moseley, "AutoFDO", CGO'16), which suits exact counts with holes; of late samples that is the pile where the processor
//! waited ([`super::graph`] has the figures).

use super::graph::{Counts, Graph};

/// Counts as they are; edges in proportion to the counts they lead to.
pub fn mean(graph: &Graph) -> Counts {
    let ahead = |from: usize| -> f64 {
        graph.edges.iter().filter(|e| e.from == from).map(|e| graph.counts[e.to]).sum()
    };
    let edges = graph
        .edges
        .iter()
        .map(|e| match ahead(e.from) {
            sum if sum > 0.0 => graph.counts[e.from] * graph.counts[e.to] / sum,
            _ => graph.counts[e.from] * e.likely,
        })
        .collect();
    Counts { blocks: graph.counts.clone(), edges }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_keep_their_means_and_arms_share_by_them() {
        let diamond = Graph::sketch(&[10.0, 6.0, 2.0, 7.0], &[(0, 1), (0, 2), (1, 3), (2, 3)]);
        let counts = mean(&diamond);
        assert_eq!(counts.blocks, [10.0, 6.0, 2.0, 7.0]);
        assert_eq!(counts.edges, [7.5, 2.5, 6.0, 2.0]);
    }

    #[test]
    fn where_nothing_was_sampled_the_shape_of_the_code_decides() {
        let fork = Graph::sketch(&[4.0, 0.0, 0.0], &[(0, 1), (0, 2)]);
        assert_eq!(mean(&fork).edges, [2.0, 2.0]);
    }
}
