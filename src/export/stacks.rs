//! Distinct stacks, stored once: a tree whose nodes are frames and whose edges lead from callee to caller.

use super::{CorrectedSample, StackFrame};
use hashbrown::{DefaultHashBuilder, HashMap};

/// Stacks that are known by number at a time.
const KNOWN: usize = 1 << 18;

/// A stack: its leaf's node. Numbered in order of first appearance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct StackId(u32);

#[derive(Default)]
pub(super) struct Stacks {
    nodes: Vec<(Option<StackId>, StackFrame)>,
    index: HashMap<(Option<StackId>, StackFrame), StackId, DefaultHashBuilder>,
    known: HashMap<u64, Option<StackId>, DefaultHashBuilder>,
}

impl Stacks {
    /// The node for a sample's stack; `None` for the empty stack.
    pub(super) fn of(&mut self, sample: &CorrectedSample<'_>) -> Option<StackId> {
        let Some(same) = sample.same else { return self.intern(sample.stack) };
        if let Some(known) = self.known.get(&same) {
            return *known;
        }
        if self.known.len() == KNOWN {
            self.known.clear();
        }
        let stack = self.intern(sample.stack);
        self.known.insert(same, stack);
        stack
    }

    /// The node for a stack given leaf first; `None` for the empty stack.
    pub(super) fn intern(&mut self, stack: &[StackFrame]) -> Option<StackId> {
        stack.iter().rev().fold(None, |caller, frame| Some(self.node(caller, frame.place())))
    }

    fn node(&mut self, caller: Option<StackId>, frame: StackFrame) -> StackId {
        *self.index.entry((caller, frame)).or_insert_with(|| {
            self.nodes.push((caller, frame));
            StackId(u32::try_from(self.nodes.len() - 1).expect("fewer than 2^32 distinct stacks"))
        })
    }

    /// The nodes of a stack, leaf first.
    pub(super) fn ids(&self, stack: Option<StackId>) -> impl Iterator<Item = StackId> + '_ {
        std::iter::successors(stack, |id| self.nodes[id.index()].0)
    }

    /// The frames of a stack, leaf first.
    pub(super) fn frames(&self, stack: Option<StackId>) -> impl Iterator<Item = &StackFrame> {
        self.ids(stack).map(|id| &self.nodes[id.index()].1)
    }

    /// All nodes, callers before callees: each with its caller and frame.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (Option<StackId>, &StackFrame)> {
        self.nodes.iter().map(|(caller, frame)| (*caller, frame))
    }
}

impl StackId {
    /// Position among [`Stacks::nodes`].
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::FrameKind;
    use super::*;
    use crate::image::{ImageId, Location, Svma};
    use crate::perfdata::CpuMode;

    fn frame(address: u64, svma: Option<u64>) -> StackFrame {
        let location = svma.map(|s| Location { image: ImageId(0), svma: Svma(s) });
        StackFrame { address, mode: CpuMode::User, location, kind: FrameKind::Leaf }
    }

    #[test]
    fn equal_places_at_different_run_time_addresses_are_one_stack() {
        let mut stacks = Stacks::default();
        let one = stacks.intern(&[frame(0x5000, Some(0x10)), frame(0x6000, Some(0x20))]);
        let two = stacks.intern(&[frame(0x7000, Some(0x10)), frame(0x8000, Some(0x20))]);
        assert_eq!(one, two);
        assert_ne!(stacks.intern(&[frame(1, None)]), stacks.intern(&[frame(2, None)]));
    }

    #[test]
    fn frames_come_back_leaf_first() {
        let mut stacks = Stacks::default();
        let stack = [frame(1, None), frame(2, None), frame(3, None)];
        let id = stacks.intern(&stack);
        assert_eq!(stacks.frames(id).copied().collect::<Vec<_>>(), stack);
        assert_eq!(stacks.frames(None).count(), 0);
    }
}
