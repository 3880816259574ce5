//! What code says of how often it runs, told of the arms of a region: loops that it counts, and stacks.

use super::build::Index;
use super::{Chance, Level, Region, Turns};
use crate::code::{self, BlockIx, EdgeKind, FunctionIx, Loop, LoopIx, Program, Stack};

impl Region {
    /// The loops of `functions` that their code counts, where both ways are in the region.
    pub(super) fn find_turns(&mut self, program: &Program, functions: &[FunctionIx], index: &Index<'_>) {
        for &f in functions {
            let function = &program.functions[f].1;
            for counted in function.counted.iter().filter(|counted| counted.only) {
                let Some(decision) = self.decision(program, (f, counted.exit), index) else { continue };
                let blocks = own_blocks(program, f, counted.of, index);
                self.turns.push(Turns { decision, passes: counted.passes, blocks });
            }
        }
    }

    /// The branches of `functions` that go by what their loop computes, where both ways are in the region.
    pub(super) fn find_chances(&mut self, program: &Program, functions: &[FunctionIx], index: &Index<'_>) {
        for &f in functions {
            let told = program.functions[f].1.chances.iter();
            let found: Vec<Chance> = told.filter_map(|told| self.chance(program, f, told, index)).collect();
            self.chances.extend(found);
        }
    }

    fn chance(
        &self,
        program: &Program,
        f: FunctionIx,
        told: &code::Chance,
        index: &Index<'_>,
    ) -> Option<Chance> {
        let function = &program.functions[f].1;
        let decision = self.decision(program, (f, told.block), index)?;
        let second = self.arms[self.decisions[decision].arms.start + 1].to?;
        let edge =
            function.cfg.successors(told.block).find(|e| index.blocks.get(&(f, e.to)) == Some(&second))?;
        let logit = (told.taken / (1.0 - told.taken)).ln();
        let before = function.dominators.parent(function.loops.all[told.of].header);
        let before = before.filter(|_| !told.whole).and_then(|b| index.blocks.get(&(f, b)).copied());
        Some(Chance {
            decision,
            logit: if edge.kind == EdgeKind::Taken { logit } else { -logit },
            deviation: told.deviation,
            blocks: own_blocks(program, f, told.of, index),
            before,
        })
    }

    /// The decision at the end of a block, if both ways are in the region.
    fn decision(
        &self,
        program: &Program,
        (f, block): (FunctionIx, BlockIx),
        index: &Index<'_>,
    ) -> Option<usize> {
        let branch = program.functions[f].1.cfg.blocks[block].end - 1;
        let &node = index.nodes.get(&(f, branch))?;
        self.decisions.iter().position(|d| self.arms[d.arms.start].node == node && d.arms.len() == 2)
    }

    /// The stacks that loops of `functions` keep, as far as their moves are in the region.
    pub(super) fn find_levels(&mut self, program: &Program, functions: &[FunctionIx], index: &Index<'_>) {
        for &f in functions {
            let stacks = program.functions[f].1.stacks.iter();
            let found: Vec<Level> = stacks.filter_map(|stack| self.level(program, f, stack, index)).collect();
            self.levels.extend(found);
        }
    }

    /// A `stack` of function `f`; `None` if no way that pushes or none that pops is in the region.
    fn level(&self, program: &Program, f: FunctionIx, stack: &Stack, index: &Index<'_>) -> Option<Level> {
        let function = &program.functions[f].1;
        let arm = |from: BlockIx, to: BlockIx| {
            let from = *index.nodes.get(&(f, function.cfg.blocks[from].end - 1))?;
            let to = *index.blocks.get(&(f, to))?;
            self.arms.iter().position(|arm| arm.node == from && arm.to == Some(to))
        };
        let moves = stack.moves.iter().filter_map(|&(from, to, by)| Some((arm(from, to)?, by as f64)));
        let (up, down): (Vec<_>, Vec<_>) = moves.partition(|(_, by)| *by > 0.0);
        let Loop { header, latches, .. } = &function.loops.all[stack.of];
        (!up.is_empty() && !down.is_empty()).then_some(Level {
            up,
            down: down.into_iter().map(|(arm, by)| (arm, -by)).collect(),
            header: *index.blocks.get(&(f, *header))?,
            back: latches.iter().filter_map(|&latch| arm(latch, *header)).collect(),
            anew: stack.anew.iter().filter_map(|&(from, to)| arm(from, to)).collect(),
        })
    }
}

/// The blocks of a loop of function `f` that are in no inner loop, as far as they are in the region.
fn own_blocks(program: &Program, f: FunctionIx, of: LoopIx, index: &Index<'_>) -> Vec<usize> {
    let loops = &program.functions[f].1.loops;
    let own = loops.blocks(&loops.all[of]).filter(|&b| loops.of(b) == Some(of));
    own.filter_map(|b| index.blocks.get(&(f, b)).copied()).collect()
}
