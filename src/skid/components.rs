//! Strongly connected components of a region: what can lead back to itself.

use std::collections::BTreeMap;

use super::region::{ArmKind, Region};
use crate::code::FunctionIx;

/// Strongly connected components of the blocks along all arms, calls going on behind themselves included.
pub(super) struct Components {
    pub(super) of: Vec<usize>,
    pub(super) count: usize,
}

impl Components {
    /// Along steps `next` of each block.
    pub(super) fn along(next: Vec<Vec<usize>>) -> Components {
        Components::search(next)
    }

    /// Along all arms.
    pub(super) fn of(region: &Region) -> Components {
        let mut next = vec![Vec::new(); region.blocks.len()];
        for arm in &region.arms {
            next[region.nodes[arm.node].block].extend(arm.to);
        }
        Components::search(next)
    }

    /// Of whole functions, along calls and tail calls.
    pub(super) fn of_calls(region: &Region) -> Components {
        let mut next = vec![Vec::new(); region.blocks.len()];
        let mut first: BTreeMap<FunctionIx, usize> = BTreeMap::new();
        for (b, block) in region.blocks.iter().enumerate() {
            let head = *first.entry(block.function).or_insert(b);
            next[b].push(head);
            next[head].push(b);
        }
        for arm in region.arms.iter().filter(|a| a.kind != ArmKind::Edge) {
            next[region.nodes[arm.node].block].extend(arm.to);
        }
        Components::search(next)
    }

    fn search(next: Vec<Vec<usize>>) -> Components {
        let blocks = next.len();
        let mut search = Tarjan {
            next,
            rank: vec![usize::MAX; blocks],
            low: vec![0; blocks],
            stack: Vec::new(),
            found: Components { of: vec![usize::MAX; blocks], count: 0 },
            time: 0,
        };
        for block in 0..blocks {
            search.visit(block);
        }
        search.found
    }
}

/// The blocks that the walk may go to from each block: a loop and what it calls are one.
pub(super) fn next_of_walk(region: &Region) -> Vec<Vec<usize>> {
    let mut next = vec![Vec::new(); region.blocks.len()];
    for (n, node) in region.nodes.iter().enumerate() {
        let last = region.blocks[node.block].nodes.end == n + 1;
        let to = region.steps_of(n).iter().map(|s| region.nodes[s.to].block);
        next[node.block].extend(to.filter(|&t| last || t != node.block));
    }
    next.iter_mut().for_each(|n| {
        n.sort_unstable();
        n.dedup();
    });
    next
}

/// Tarjan's algorithm, on a stack of its own so that long chains don't overflow the thread's.
struct Tarjan {
    next: Vec<Vec<usize>>,
    rank: Vec<usize>,
    low: Vec<usize>,
    stack: Vec<usize>,
    found: Components,
    time: usize,
}

impl Tarjan {
    fn visit(&mut self, root: usize) {
        if self.rank[root] != usize::MAX {
            return;
        }
        let mut path = vec![(root, 0)];
        self.open(root);
        while let Some(&(at, edge)) = path.last() {
            match self.next[at].get(edge).copied() {
                Some(to) => {
                    if let Some(top) = path.last_mut() {
                        top.1 += 1;
                    }
                    if self.rank[to] == usize::MAX {
                        self.open(to);
                        path.push((to, 0));
                    } else if self.found.of[to] == usize::MAX {
                        self.low[at] = self.low[at].min(self.rank[to]);
                    }
                }
                None => {
                    path.pop();
                    if let Some(&(above, _)) = path.last() {
                        self.low[above] = self.low[above].min(self.low[at]);
                    }
                    self.close(at);
                }
            }
        }
    }

    fn open(&mut self, at: usize) {
        self.rank[at] = self.time;
        self.low[at] = self.time;
        self.time += 1;
        self.stack.push(at);
    }

    fn close(&mut self, at: usize) {
        if self.low[at] != self.rank[at] {
            return;
        }
        while let Some(member) = self.stack.pop() {
            self.found.of[member] = self.found.count;
            if member == at {
                break;
            }
        }
        self.found.count += 1;
    }
}
