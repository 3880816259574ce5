//! Immediate dominators by Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001), figure 3.

use super::cfg::{BlockIx, Cfg};

/// The dominator tree, and the reverse postorder it was found in.
#[derive(Clone, Debug, Default)]
pub struct Dominators {
    /// Blocks in reverse postorder, unreachable ones behind the rest in address order.
    pub order: Vec<BlockIx>,
    rank: Vec<usize>,
    parent: Vec<Option<BlockIx>>,
}

impl Dominators {
    /// Finds the dominators. Blocks that nothing reaches are roots of their own.
    pub fn find(cfg: &Cfg) -> Dominators {
        let order = reverse_postorder(cfg);
        let mut rank = vec![0; cfg.blocks.len()];
        for (r, &block) in order.iter().enumerate() {
            rank[block] = r;
        }
        let mut found = Dominators { parent: vec![None; cfg.blocks.len()], order, rank };
        found.settle(&cfg.predecessors());
        found
    }

    /// The immediate dominator; `None` for roots and for blocks that two roots reach.
    pub fn parent(&self, block: BlockIx) -> Option<BlockIx> {
        self.parent[block]
    }

    /// Whether every way to `below` leads through `above`.
    pub fn dominates(&self, above: BlockIx, below: BlockIx) -> bool {
        let mut at = Some(below);
        while let Some(block) = at {
            if block == above {
                return true;
            }
            at = self.parent[block];
        }
        false
    }

    /// These blocks in reverse postorder.
    pub fn in_order(&self, blocks: impl Iterator<Item = BlockIx>) -> Vec<BlockIx> {
        let mut blocks: Vec<BlockIx> = blocks.collect();
        blocks.sort_unstable_by_key(|&block| self.rank[block]);
        blocks
    }

    /// Whether `from → to` goes against the order: every cycle has such an edge.
    pub fn is_retreating(&self, from: BlockIx, to: BlockIx) -> bool {
        self.rank[to] <= self.rank[from]
    }

    fn settle(&mut self, predecessors: &[Vec<BlockIx>]) {
        // a root's own mark: distinct from "not yet seen"
        let mut seen = vec![false; self.parent.len()];
        let roots: Vec<bool> = (0..self.parent.len()).map(|b| self.is_root(b, predecessors)).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for &block in &self.order {
                if roots[block] {
                    seen[block] = true;
                    continue;
                }
                let mut known = predecessors[block].iter().copied().filter(|&p| seen[p]);
                let Some(first) = known.next() else { continue };
                let parent = known.try_fold(first, |a, b| self.meet(a, b));
                if !seen[block] || self.parent[block] != parent {
                    self.parent[block] = parent;
                    seen[block] = true;
                    changed = true;
                }
            }
        }
    }

    /// The entry, and the first block of each part that nothing earlier in the order leads to.
    fn is_root(&self, block: BlockIx, predecessors: &[Vec<BlockIx>]) -> bool {
        block == 0 || !predecessors[block].iter().any(|&p| self.rank[p] < self.rank[block])
    }

    /// The last block that every way to either of two leads through.
    pub fn meet(&self, mut a: BlockIx, mut b: BlockIx) -> Option<BlockIx> {
        while a != b {
            if self.rank[a] > self.rank[b] {
                a = self.parent[a]?;
            } else {
                b = self.parent[b]?;
            }
        }
        Some(a)
    }
}

fn reverse_postorder(cfg: &Cfg) -> Vec<BlockIx> {
    let mut seen = vec![false; cfg.blocks.len()];
    let mut order = Vec::with_capacity(cfg.blocks.len());
    for root in 0..cfg.blocks.len() {
        let mut post = postorder(cfg, root, &mut seen);
        post.reverse();
        order.extend(post);
    }
    order
}

fn postorder(cfg: &Cfg, root: BlockIx, seen: &mut [bool]) -> Vec<BlockIx> {
    let mut post = Vec::new();
    if std::mem::replace(&mut seen[root], true) {
        return post;
    }
    let mut stack = vec![(root, cfg.successors(root).map(|e| e.to).collect::<Vec<_>>())];
    while let Some((block, rest)) = stack.last_mut() {
        match rest.pop() {
            Some(next) if !std::mem::replace(&mut seen[next], true) => {
                stack.push((next, cfg.successors(next).map(|e| e.to).collect()));
            }
            Some(_) => {}
            None => {
                post.push(*block);
                stack.pop();
            }
        }
    }
    post
}

#[cfg(test)]
mod tests {
    use super::super::explore::explore;
    use super::super::testing::Bytes;

    #[test]
    fn the_branch_of_a_diamond_dominates_its_join() {
        // 0: je 4; 2: nop; 3: nop -> falls to 4? make arms: 0: je 5; 2: nop; 3: jmp 6; 5: nop; 6: ret
        let f = explore(&Bytes(0, vec![0x74, 0x03, 0x90, 0xeb, 0x01, 0x90, 0xc3]), 0..7, &[]);
        let dominators = super::Dominators::find(&f.cfg);
        assert_eq!(f.cfg.blocks.len(), 4);
        assert_eq!(dominators.parent(3), Some(0));
        assert!(dominators.dominates(0, 3) && !dominators.dominates(1, 3));
        assert_eq!(dominators.parent(0), None);
    }
}
