//! Natural loops, how they nest, and regions with more than one entry.
//!
//! A back edge is one whose target dominates its source (Aho, Lam, Sethi, Ullman, "Compilers", 9.6); loops of one header
//! are merged. A retreating edge whose target does not dominate its source makes an irreducible region.

use std::collections::BTreeMap;

use super::cfg::{BlockIx, Cfg};
use super::dominators::Dominators;

/// Index into [`Loops::all`].
pub type LoopIx = usize;

/// A natural loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The block by which it is entered.
    pub header: BlockIx,
    /// Its blocks, sorted, those of inner loops included.
    pub blocks: Vec<BlockIx>,
    /// Those of them that lead back to the header, sorted.
    pub latches: Vec<BlockIx>,
    /// The innermost loop around it.
    pub parent: Option<LoopIx>,
    /// Nesting depth, 1 for an outermost loop.
    pub depth: u32,
}

/// A loop that runs as often as its code says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    /// The loop.
    pub of: LoopIx,
    /// The block whose branch leaves it.
    pub exit: BlockIx,
    /// How often that branch runs for each time that the loop is entered, the last time included, ≥ 1; the mean of all times.
    pub passes: f64,
    /// There is no other way out; where there is, it runs so often at most.
    pub only: bool,
}

/// All loops of a function, outer before inner.
#[derive(Clone, Debug, Default)]
pub struct Loops {
    /// The loops.
    pub all: Vec<Loop>,
    /// Retreating edges (from, to) that enter a cycle elsewhere than at a header that dominates it.
    pub irreducible: Vec<(BlockIx, BlockIx)>,
    innermost: Vec<Option<LoopIx>>,
}

impl Loops {
    /// Finds the loops of `cfg`.
    pub fn find(cfg: &Cfg, dominators: &Dominators) -> Loops {
        let mut latches: BTreeMap<BlockIx, Vec<BlockIx>> = BTreeMap::new();
        let mut irreducible = Vec::new();
        for edge in cfg.edges.iter().filter(|e| dominators.is_retreating(e.from, e.to)) {
            if dominators.dominates(edge.to, edge.from) {
                latches.entry(edge.to).or_default().push(edge.from);
            } else {
                irreducible.push((edge.from, edge.to));
            }
        }
        let predecessors = cfg.predecessors();
        let mut all: Vec<Loop> = latches
            .into_iter()
            .map(|(header, mut latches)| {
                latches.sort_unstable();
                latches.dedup();
                let blocks = body(&predecessors, header, &latches);
                Loop { header, blocks, latches, parent: None, depth: 1 }
            })
            .collect();
        all.sort_by_key(|l| (usize::MAX - l.blocks.len(), l.header));
        nest(&mut all);
        let innermost = innermost(&all, cfg.blocks.len());
        Loops { all, irreducible, innermost }
    }

    /// The innermost loop around `block`.
    pub fn of(&self, block: BlockIx) -> Option<LoopIx> {
        self.innermost.get(block).copied().flatten()
    }

    /// How many loops are around `block`.
    pub fn depth(&self, block: BlockIx) -> u32 {
        self.of(block).map_or(0, |l| self.all[l].depth)
    }
}

/// All blocks that reach a latch without passing the header.
fn body(predecessors: &[Vec<BlockIx>], header: BlockIx, latches: &[BlockIx]) -> Vec<BlockIx> {
    let mut inside = vec![false; predecessors.len()];
    inside[header] = true;
    let mut work: Vec<BlockIx> = latches.to_vec();
    while let Some(block) = work.pop() {
        if !std::mem::replace(&mut inside[block], true) {
            work.extend(&predecessors[block]);
        }
    }
    (0..inside.len()).filter(|&b| inside[b]).collect()
}

/// Loops are sorted by size, so the last one before `ix` that holds its header is the innermost around it.
fn nest(all: &mut [Loop]) {
    for ix in 0..all.len() {
        let header = all[ix].header;
        let parent = (0..ix).rev().find(|&outer| all[outer].blocks.binary_search(&header).is_ok());
        all[ix].parent = parent;
        all[ix].depth = parent.map_or(1, |p| all[p].depth + 1);
    }
}

fn innermost(all: &[Loop], blocks: usize) -> Vec<Option<LoopIx>> {
    let mut innermost = vec![None; blocks];
    for (ix, inner) in all.iter().enumerate() {
        for &block in &inner.blocks {
            innermost[block] = Some(ix);
        }
    }
    innermost
}

#[cfg(test)]
mod tests {
    use super::super::explore::explore;
    use super::super::testing::Bytes;

    #[test]
    fn a_loop_in_a_loop_is_nested() {
        // 0: nop; 1: dec %ecx; 3: jne 1; 5: dec %edi; 7: jne 0; 9: ret
        let f =
            explore(&Bytes(0, vec![0x90, 0xff, 0xc9, 0x75, 0xfc, 0xff, 0xcf, 0x75, 0xf7, 0xc3]), 0..10, &[]);
        assert_eq!(f.loops.all.len(), 2);
        assert_eq!(f.loops.all[1].parent, Some(0));
        assert_eq!(f.loops.depth(1), 2);
        assert_eq!(f.loops.depth(3), 0);
        assert!(f.loops.irreducible.is_empty());
    }

    #[test]
    fn a_cycle_with_two_entries_is_irreducible() {
        // 0: je 4; 2: nop; 3: nop; 4: dec %edi; 6: jne 3; 8: ret — enters {3,4} at 3 (falling in) and at 4
        let f = explore(&Bytes(0, vec![0x74, 0x02, 0x90, 0x90, 0xff, 0xcf, 0x75, 0xfb, 0xc3]), 0..9, &[]);
        assert_eq!(f.loops.irreducible.len(), 1);
        assert!(f.loops.all.is_empty());
    }
}
