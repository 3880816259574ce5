//! Basic blocks and the edges between them.
//!
//! A call does not end a block: control comes back behind it, unless what it calls never returns. What leaves the function by a
//! jump is kept as the block's [`Exit`], for [`super::Program`] to link.

use std::collections::{BTreeMap, BTreeSet};

use super::inst::{Flow, Inst, Kind};

/// Index into [`Cfg::blocks`].
pub type BlockIx = usize;

/// A run of instructions that is entered only at its first and left only at its last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Index of its first instruction.
    pub first: usize,
    /// Index behind its last instruction.
    pub end: usize,
    /// How control leaves the function from here, if it can.
    pub exit: Exit,
    /// It ends at bytes that do not decode.
    pub low_confidence: bool,
}

/// How control leaves the function at the end of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Not at all.
    None,
    /// By returning.
    Return,
    /// By a jump to this address outside the function, always or, where the block has edges too, sometimes.
    Tail(u64),
    /// By an indirect jump; `via` is the cell that holds its target, where that is constant.
    Indirect {
        /// Address of the cell.
        via: Option<u64>,
    },
    /// By a trap, by a call that does not return, by falling out of the function, or into bytes that do not decode.
    Stop,
}

impl Exit {
    /// Whether control goes on somewhere outside the function.
    pub fn leaves(self) -> bool {
        !matches!(self, Exit::None | Exit::Stop)
    }
}

/// Why control goes along an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeKind {
    /// To the next instruction in memory.
    FallThrough,
    /// A conditional branch taken.
    Taken,
    /// An unconditional jump.
    Jump,
    /// An entry of a jump table.
    Table,
}

/// An edge of the control-flow graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Block left.
    pub from: BlockIx,
    /// Block entered.
    pub to: BlockIx,
    /// Why.
    pub kind: EdgeKind,
}

/// The control-flow graph of a function. Block 0 is the entry.
#[derive(Clone, Debug, Default)]
pub struct Cfg {
    /// Blocks by address.
    pub blocks: Vec<Block>,
    /// Edges, grouped by the block they leave, in the order of `blocks`.
    pub edges: Vec<Edge>,
    /// Where the edges of each block start in `edges`; one longer than `blocks`.
    starts: Vec<usize>,
    block_of: Vec<BlockIx>,
}

impl Cfg {
    /// Builds the graph of `insts` (sorted by address). `tables` has the targets of indirect jumps, by the jump's address;
    /// `roots` are addresses seen to run, which start a block where nothing falls into them.
    pub fn build(insts: &[Inst], tables: &BTreeMap<u64, Vec<u64>>, roots: &[u64]) -> Cfg {
        let leaders = leaders(insts, tables, roots);
        let mut cfg = Cfg { block_of: vec![0; insts.len()], ..Cfg::default() };
        for (ix, inst) in insts.iter().enumerate() {
            if ix == 0
                || leaders.contains(&inst.address)
                || insts[ix - 1].end() != inst.address
                || ends_block(&insts[ix - 1])
            {
                cfg.blocks.push(Block { first: ix, end: ix, exit: Exit::None, low_confidence: false });
            }
            cfg.block_of[ix] = cfg.blocks.len() - 1;
            if let Some(block) = cfg.blocks.last_mut() {
                block.end = ix + 1;
                block.low_confidence |= inst.kind == Kind::Opaque;
            }
        }
        for ix in 0..cfg.blocks.len() {
            cfg.starts.push(cfg.edges.len());
            cfg.link(ix, insts, tables);
        }
        cfg.starts.push(cfg.edges.len());
        cfg
    }

    /// The edges that leave `block`.
    pub fn successors(&self, block: BlockIx) -> impl Iterator<Item = &Edge> {
        self.edges[self.starts[block]..self.starts[block + 1]].iter()
    }

    /// For each block, the blocks whose edges enter it.
    pub fn predecessors(&self) -> Vec<Vec<BlockIx>> {
        let mut predecessors = vec![Vec::new(); self.blocks.len()];
        for edge in &self.edges {
            predecessors[edge.to].push(edge.from);
        }
        predecessors
    }

    /// The block that holds instruction `inst`.
    pub fn block_of(&self, inst: usize) -> BlockIx {
        self.block_of[inst]
    }

    fn link(&mut self, from: BlockIx, insts: &[Inst], tables: &BTreeMap<u64, Vec<u64>>) {
        let last = &insts[self.blocks[from].end - 1];
        let mut exit = Exit::None;
        let mut join =
            |cfg: &mut Cfg, address: u64, kind: EdgeKind, otherwise: Exit| match find(insts, address) {
                Some(ix) if cfg.blocks[cfg.block_of[ix]].first == ix => {
                    let to = cfg.block_of[ix];
                    if !cfg.edges[cfg.starts[from]..].iter().any(|e| e.to == to) {
                        cfg.edges.push(Edge { from, to, kind });
                    }
                }
                _ => exit = otherwise,
            };
        match last.flow {
            Flow::Jump(to) => join(self, to, EdgeKind::Jump, Exit::Tail(to)),
            Flow::Branch(to) => {
                join(self, last.end(), EdgeKind::FallThrough, Exit::Stop);
                join(self, to, EdgeKind::Taken, Exit::Tail(to));
            }
            Flow::IndirectJump { via } => match tables.get(&last.address) {
                Some(targets) if !targets.is_empty() => {
                    for &to in targets {
                        join(self, to, EdgeKind::Table, Exit::None);
                    }
                }
                _ => exit = Exit::Indirect { via },
            },
            Flow::Return => exit = Exit::Return,
            Flow::Stop => exit = Exit::Stop,
            _ if last.noreturn => exit = Exit::Stop,
            Flow::Next | Flow::Call(_) | Flow::IndirectCall { .. } => {
                join(self, last.end(), EdgeKind::FallThrough, Exit::Stop);
            }
        }
        self.blocks[from].exit = exit;
    }
}

fn ends_block(inst: &Inst) -> bool {
    inst.noreturn || !matches!(inst.flow, Flow::Next | Flow::Call(_) | Flow::IndirectCall { .. })
}

fn find(insts: &[Inst], address: u64) -> Option<usize> {
    insts.binary_search_by_key(&address, |i| i.address).ok()
}

/// Addresses that some jump, branch or table leads to, and roots that nothing falls into.
fn leaders(insts: &[Inst], tables: &BTreeMap<u64, Vec<u64>>, roots: &[u64]) -> BTreeSet<u64> {
    let mut leaders: BTreeSet<u64> = tables.values().flatten().copied().collect();
    for (ix, inst) in insts.iter().enumerate() {
        if let Flow::Jump(to) | Flow::Branch(to) = inst.flow {
            leaders.insert(to);
        }
        // a prefix that some jump over: what follows the instruction with it stands behind that without
        if insts.get(ix + 1).is_some_and(|next| next.address < inst.end()) {
            leaders.insert(inst.end());
        }
    }
    for &root in roots {
        if find(insts, root).is_some_and(|ix| ix > 0 && insts[ix - 1].end() != root) {
            leaders.insert(root);
        }
    }
    leaders
}

#[cfg(test)]
mod tests {
    use super::super::explore::explore;
    use super::super::testing::Bytes;
    use super::*;

    #[test]
    fn a_loop_with_a_call_has_three_blocks_and_the_call_ends_none() {
        // 0: nop; 1: call far; 6: dec %edi; 8: jne 1; a: ret
        let code = vec![0x90, 0xe8, 0xfa, 0x0f, 0, 0, 0xff, 0xcf, 0x75, 0xf7, 0xc3];
        let f = explore(&Bytes(0, code), 0..11, &[]);
        let firsts: Vec<u64> = f.cfg.blocks.iter().map(|b| f.insts[b.first].address).collect();
        assert_eq!(firsts, [0, 1, 10]);
        assert_eq!(f.cfg.successors(1).map(|e| e.to).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(f.cfg.blocks[2].exit, Exit::Return);
    }

    #[test]
    fn a_branch_out_of_the_function_is_an_exit() {
        // 0: je +0x7e; 2: ret
        let f = explore(&Bytes(0, vec![0x74, 0x7e, 0xc3]), 0..3, &[]);
        assert_eq!(f.cfg.blocks[0].exit, Exit::Tail(0x80));
        assert_eq!(f.cfg.successors(0).count(), 1);
    }

    #[test]
    fn a_prefix_that_is_jumped_over_makes_two_ways_that_meet() {
        // 0: je 3; 2: lock; 3: cmpxchg %ecx,(%rdx); 6: ret
        let f = explore(&Bytes(0, vec![0x74, 0x01, 0xf0, 0x0f, 0xb1, 0x0a, 0xc3]), 0..7, &[]);
        let starts: Vec<u64> = f.cfg.blocks.iter().map(|b| f.insts[b.first].address).collect();
        assert_eq!(starts, [0, 2, 3, 6]);
        assert_eq!(f.cfg.successors(1).map(|e| e.to).collect::<Vec<_>>(), [3]);
        assert_eq!(f.cfg.successors(2).map(|e| e.to).collect::<Vec<_>>(), [3]);
        assert!(f.cfg.blocks.iter().all(|b| b.exit != Exit::Stop));
    }
}
