//! Natural loops, how they nest, and regions with more than one entry.
//!
//! A back edge is one whose target dominates its source (Aho, Lam, Sethi, Ullman, "Compilers", 9.6); loops of one header
//! are merged. Loops of two headers have no block in common or lie one in the other: each block is kept once, with the
//! innermost around it, so that memory grows with blocks and not with how deep they lie. A retreating edge whose target does
//! not dominate its source makes an irreducible region.

use std::collections::BTreeMap;
use std::ops::Range;

use super::cfg::{BlockIx, Cfg};
use super::dominators::Dominators;

/// Index into [`Loops::all`].
pub type LoopIx = usize;

/// A natural loop. Its blocks are [`Loops::blocks`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loop {
    /// The block by which it is entered.
    pub header: BlockIx,
    /// Those of its blocks that lead back to the header, sorted.
    pub latches: Vec<BlockIx>,
    /// The innermost loop around it.
    pub parent: Option<LoopIx>,
    /// Nesting depth, 1 for an outermost loop.
    pub depth: u32,
    /// How many blocks it has, those of inner loops included.
    size: usize,
    /// From its first block to behind its last; others may stand between.
    reach: Range<BlockIx>,
    /// Its number, and those of the loops in it, where each is counted ahead of what is in it.
    numbers: Range<usize>,
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
        let mut nest = Nest::new(cfg);
        // a header comes ahead of those that it dominates
        for &header in dominators.order.iter().rev() {
            if let Some(mut latches) = latches.remove(&header) {
                latches.sort_unstable();
                latches.dedup();
                nest.add(header, latches);
            }
        }
        Loops { irreducible, ..nest.finish() }
    }

    /// The innermost loop around `block`.
    pub fn of(&self, block: BlockIx) -> Option<LoopIx> {
        self.innermost.get(block).copied().flatten()
    }

    /// How many loops are around `block`.
    pub fn depth(&self, block: BlockIx) -> u32 {
        self.of(block).map_or(0, |l| self.all[l].depth)
    }

    /// Whether `block` is in the loop, or in one inside it.
    pub fn holds(&self, around: &Loop, block: BlockIx) -> bool {
        self.of(block).is_some_and(|inner| around.numbers.contains(&self.all[inner].numbers.start))
    }

    /// The blocks of a loop, sorted, those of inner loops included.
    pub fn blocks(&self, around: &Loop) -> impl Iterator<Item = BlockIx> {
        around.reach.clone().filter(move |&block| self.holds(around, block))
    }
}

/// Loops as they are found, inner before outer.
struct Nest {
    predecessors: Vec<Vec<BlockIx>>,
    found: Vec<Loop>,
    innermost: Vec<Option<LoopIx>>,
    /// For each loop itself, or one that was found around it.
    around: Vec<LoopIx>,
}

impl Nest {
    fn new(cfg: &Cfg) -> Nest {
        let innermost = vec![None; cfg.blocks.len()];
        Nest { predecessors: cfg.predecessors(), found: Vec::new(), innermost, around: Vec::new() }
    }

    /// Adds the loop of all blocks that reach a latch without passing the header; it holds inner ones if it holds their headers.
    fn add(&mut self, header: BlockIx, latches: Vec<BlockIx>) {
        let own = self.found.len();
        let mut work = latches.clone();
        self.around.push(own);
        self.innermost[header] = Some(own);
        self.found.push(Loop { header, latches, reach: header..header + 1, ..Loop::default() });
        while let Some(block) = work.pop() {
            let entered = match self.innermost[block] {
                None => {
                    self.innermost[block] = Some(own);
                    block
                }
                Some(inner) => match self.outermost(inner) {
                    outer if outer == own => continue,
                    outer => {
                        (self.around[outer], self.found[outer].parent) = (own, Some(own));
                        self.found[outer].header
                    }
                },
            };
            work.extend(&self.predecessors[entered]);
        }
    }

    /// The outermost loop around one that was found so far.
    fn outermost(&mut self, mut at: LoopIx) -> LoopIx {
        while self.around[at] != at {
            self.around[at] = self.around[self.around[at]];
            at = self.around[at];
        }
        at
    }

    /// The loops with all that is known of them, outer before inner: the larger first, for it cannot be inside.
    fn finish(mut self) -> Loops {
        for (block, of) in self.innermost.iter().enumerate() {
            if let Some(of) = *of {
                self.found[of].size += 1;
                self.found[of].widen(block..block + 1);
            }
        }
        for ix in 0..self.found.len() {
            if let Some(parent) = self.found[ix].parent {
                let (size, reach) = (self.found[ix].size, self.found[ix].reach.clone());
                self.found[parent].size += size;
                self.found[parent].widen(reach);
            }
        }
        let mut order: Vec<LoopIx> = (0..self.found.len()).collect();
        order.sort_by_key(|&ix| (usize::MAX - self.found[ix].size, self.found[ix].header));
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, &ix)| place[ix] = at);
        let mut all: Vec<Loop> = order.iter().map(|&ix| std::mem::take(&mut self.found[ix])).collect();
        all.iter_mut().for_each(|l| l.parent = l.parent.map(|parent| place[parent]));
        number(&mut all);
        Loops {
            innermost: self.innermost.into_iter().map(|of| Some(place[of?])).collect(),
            all,
            irreducible: Vec::new(),
        }
    }
}

impl Loop {
    fn widen(&mut self, by: Range<BlockIx>) {
        self.reach = self.reach.start.min(by.start)..self.reach.end.max(by.end);
    }
}

/// Gives loops, which come after those around them, their depths and numbers.
fn number(all: &mut [Loop]) {
    let mut inside = vec![1; all.len()];
    for ix in (0..all.len()).rev() {
        if let Some(parent) = all[ix].parent {
            inside[parent] += inside[ix];
        }
    }
    let (mut next, mut outermost) = (vec![0; all.len()], 0);
    for ix in 0..all.len() {
        let parent = all[ix].parent;
        all[ix].depth = parent.map_or(1, |parent| all[parent].depth + 1);
        let free = parent.map_or(&mut outermost, |parent| &mut next[parent]);
        let first = *free;
        *free += inside[ix];
        all[ix].numbers = first..first + inside[ix];
        next[ix] = first + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::explore::explore;
    use super::super::function::Function;
    use super::super::testing::Bytes;
    use super::*;
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt, SeedableRng};

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

    /// Jumps, branches, returns and what goes on, two bytes each, at random; some are seen to run.
    fn scrambled(seed: u64) -> Function {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let instructions = random.random_range(2..40u64);
        let mut code = Vec::new();
        for ix in 0..instructions {
            let to = random.random_range(0..instructions).wrapping_sub(ix + 1) as i8;
            code.extend(match random.random_range(0..8) {
                0 => [0xeb, 2u8.wrapping_mul(to as u8)],
                1..5 => [0x75, 2u8.wrapping_mul(to as u8)],
                5 => [0xc3, 0x90],
                _ => [0x31, 0xc0],
            });
        }
        let known: Vec<u64> = (0..3).map(|_| 2 * random.random_range(0..instructions)).collect();
        explore(&Bytes(0, code), 0..2 * instructions, &known)
    }

    /// All blocks that reach a latch without passing the header, as the definition has it.
    fn body(predecessors: &[Vec<BlockIx>], of: &Loop) -> Vec<BlockIx> {
        let mut inside = vec![false; predecessors.len()];
        inside[of.header] = true;
        let mut work = of.latches.clone();
        while let Some(block) = work.pop() {
            if !std::mem::replace(&mut inside[block], true) {
                work.extend(&predecessors[block]);
            }
        }
        (0..inside.len()).filter(|&b| inside[b]).collect()
    }

    #[test]
    fn blocks_nests_and_depths_are_those_of_the_definition_in_any_code() {
        let mut deepest = 0;
        for seed in 0..3000 {
            let Function { cfg, loops, .. } = scrambled(seed);
            let predecessors = cfg.predecessors();
            let bodies: Vec<Vec<BlockIx>> = loops.all.iter().map(|l| body(&predecessors, l)).collect();
            for (ix, l) in loops.all.iter().enumerate() {
                assert_eq!(loops.blocks(l).collect::<Vec<_>>(), bodies[ix], "{seed}");
                let around = (0..ix).rev().find(|&outer| bodies[outer].contains(&l.header));
                assert_eq!((l.parent, l.size), (around, bodies[ix].len()), "{seed}");
                assert_eq!(l.depth, around.map_or(1, |outer| loops.all[outer].depth + 1), "{seed}");
                deepest = deepest.max(l.depth);
            }
            for block in 0..cfg.blocks.len() {
                let innermost = (0..bodies.len()).rev().find(|&ix| bodies[ix].contains(&block));
                assert_eq!(loops.of(block), innermost, "{seed}");
            }
        }
        assert!(deepest > 4, "{deepest}");
    }
}
