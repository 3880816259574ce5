//! Linked functions → a region.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::expectation::{OUTSIDE, expectation};
use super::{Arm, ArmKind, Block, By, Decision, Recursion, Region, Step};
use crate::code::{CallSite, Exit, FunctionIx, Program};
use crate::skid::classes::Classes;
use crate::skid::components::Components;
use crate::skid::fusion;
use crate::skid::outside::Outside;

impl Region {
    /// Builds the region of `functions`. `keep` says which instructions (function, index of its first instruction's block)
    /// are wanted: blocks it refuses are left out, as if control never went there.
    pub fn build(
        program: &Program,
        classes: &Classes,
        functions: &[FunctionIx],
        keep: &dyn Fn(FunctionIx, usize) -> bool,
    ) -> Region {
        Region::within(program, classes, functions, keep, &Outside::default())
    }

    /// The same where something is known of what is `outside`: functions that are called from there have a rate of their own.
    pub fn within(
        program: &Program,
        classes: &Classes,
        functions: &[FunctionIx],
        keep: &dyn Fn(FunctionIx, usize) -> bool,
        outside: &Outside,
    ) -> Region {
        let mut region = Region { classes: classes.count(), ..Region::default() };
        let mut index = Index { blocks: BTreeMap::new(), nodes: BTreeMap::new(), closed: &outside.closed };
        for &f in functions {
            region.add_function(program, classes, f, keep, &mut index);
        }
        for b in 0..region.blocks.len() {
            region.add_arms(program, b, &index);
        }
        region.decide();
        region.find_turns(program, functions, &index);
        region.find_chances(program, functions, &index);
        region.find_levels(program, functions, &index);
        region.find_roots(functions, &index, &|f| program.hidden.contains(&f) || outside.fed.contains(&f));
        region.find_recursions();
        let entries: Vec<usize> = functions.iter().filter_map(|&f| index.entry(f).copied()).collect();
        region.find_returns(&entries);
        region.add_steps(program);
        region
    }

    fn add_function(
        &mut self,
        program: &Program,
        classes: &Classes,
        f: FunctionIx,
        keep: &dyn Fn(FunctionIx, usize) -> bool,
        index: &mut Index<'_>,
    ) {
        let function = &program.functions[f].1;
        for (b, block) in function.cfg.blocks.iter().enumerate() {
            if !keep(f, b) {
                continue;
            }
            let first = self.nodes.len();
            index.blocks.insert((f, b), self.blocks.len());
            let mut loaded = 0u64;
            for inst in block.first..block.end {
                index.nodes.insert((f, inst), self.nodes.len());
                let fused = inst > block.first
                    && function.insts[inst].is_conditional()
                    && (function.insts[inst - 1].fuses || function.insts[inst - 1].fuses_constant);
                let mut node = classes.node(program, f, inst, self.blocks.len(), fused);
                let (reads, writes) = (function.insts[inst].reads.0, function.insts[inst].writes.0);
                node.fed = reads & loaded != 0;
                node.stays = fusion::may_stay(&function.insts[block.first..], inst - block.first);
                loaded = if node.loads { loaded | writes } else { loaded & !writes };
                self.nodes.push(node);
            }
            let nodes = first..self.nodes.len();
            self.blocks.push(Block { events: nodes.len() as f64, nodes, function: f });
        }
    }

    /// Arms of the calls in a block, then those at its end.
    fn add_arms(&mut self, program: &Program, b: usize, index: &Index<'_>) {
        let (f, nodes) = (self.blocks[b].function, self.blocks[b].nodes.clone());
        let function = &program.functions[f].1;
        for node in nodes.clone() {
            let inst = self.nodes[node].inst;
            if let Some(site) = program.site(f, inst).filter(|s| !s.tail) {
                let after = index.nodes.get(&(f, inst + 1)).copied();
                self.add_call(site, node, after, index);
            }
        }
        let last = nodes.end - 1;
        let origin = function.cfg.block_of(self.nodes[last].inst);
        for edge in function.cfg.successors(origin) {
            if let Some(&to) = index.blocks.get(&(f, edge.to)) {
                let prior = expectation(function, origin, edge.to);
                self.arms.push(Arm { node: last, to: Some(to), kind: ArmKind::Edge, again: false, prior });
            }
        }
        let site = program.site(f, self.nodes[last].inst).filter(|s| s.tail);
        for target in site.iter().flat_map(|site| &site.targets) {
            if let Some(&to) = index.entry(target.function) {
                self.arms.push(Arm {
                    node: last,
                    to: Some(to),
                    kind: ArmKind::Tail,
                    again: false,
                    prior: 0.0,
                });
            }
        }
        let leaves = !matches!(function.cfg.blocks[origin].exit, Exit::None | Exit::Return);
        if leaves && !site.is_some_and(|site| index.holds(site)) {
            self.arms.push(Arm { node: last, to: None, kind: ArmKind::Edge, again: false, prior: OUTSIDE });
        }
    }

    fn add_call(&mut self, site: &CallSite, node: usize, after: Option<usize>, index: &Index<'_>) {
        for target in &site.targets {
            // a callee that is left out of the region costs no time here
            if let Some(&to) = index.entry(target.function) {
                self.arms.push(Arm {
                    node,
                    to: Some(to),
                    kind: ArmKind::Call { after },
                    again: false,
                    prior: 0.0,
                });
            }
        }
        if !index.holds(site) {
            self.arms.push(Arm {
                node,
                to: None,
                kind: ArmKind::Skip { after },
                again: false,
                prior: OUTSIDE,
            });
        }
    }

    fn decide(&mut self) {
        let (mut start, mut first) = (0, 0);
        while start < self.arms.len() {
            let (node, is_call) = (self.arms[start].node, self.arms[start].is_call());
            let len =
                self.arms[start..].iter().take_while(|a| a.node == node && a.is_call() == is_call).count();
            if len > 1 {
                self.decisions.push(Decision { arms: start..start + len, first });
                first += len - 1;
                for to in self.arms[start..start + len].iter().filter_map(|a| a.to) {
                    let first = self.blocks[to].nodes.start;
                    self.nodes[first].chosen = true;
                }
            }
            start += len;
        }
    }

    /// Functions whose entry no other function's arm leads to, or not all that call it, and entry blocks that nothing leads to at all.
    fn find_roots(&mut self, functions: &[FunctionIx], index: &Index<'_>, fed: &dyn Fn(FunctionIx) -> bool) {
        let components = Components::of(self);
        let mut entered = vec![false; components.count];
        for arm in &self.arms {
            if let Some(to) = arm.to {
                let (a, b) = (components.of[self.nodes[arm.node].block], components.of[to]);
                entered[b] |= a != b;
            }
        }
        for &f in functions {
            if let Some(&entry) = index.entry(f) {
                let component = components.of[entry];
                if !std::mem::replace(&mut entered[component], true) || fed(f) {
                    self.roots.push(entry);
                }
            }
        }
        for block in 0..self.blocks.len() {
            if !std::mem::replace(&mut entered[components.of[block]], true) {
                self.roots.push(block);
            }
        }
    }

    /// Calls of functions by what they call, and a root for each such function.
    fn find_recursions(&mut self) {
        let components = Components::of_calls(self);
        for ix in 0..self.arms.len() {
            let (from, arm) = (self.nodes[self.arms[ix].node].block, &mut self.arms[ix]);
            let Some(entry) = arm.to.filter(|&to| components.of[from] == components.of[to]) else { continue };
            arm.again = arm.kind != ArmKind::Edge;
            if arm.again && self.recursions.iter().all(|r| r.entry != entry) {
                let into = self.arms.iter().enumerate().filter(|(_, arm)| arm.to == Some(entry));
                let calls = into.map(|(ix, _)| ix).collect();
                self.recursions.push(Recursion { entry, calls, open: self.roots.contains(&entry) });
            }
        }
        let closed = self.recursions.iter().filter(|r| !r.open).map(|r| r.entry);
        self.roots.extend(closed);
    }

    fn add_steps(&mut self, program: &Program) {
        let mut returns: BTreeMap<FunctionIx, Range<usize>> = BTreeMap::new();
        for context in &self.contexts {
            let functions = context.entries.iter().map(|&entry| self.blocks[entry].function);
            returns.extend(functions.map(|function| (function, context.calls.clone())));
        }
        let mut arm = 0;
        for node in 0..self.nodes.len() {
            self.starts.push(self.steps.len());
            let first = arm;
            while arm < self.arms.len() && self.arms[arm].node == node {
                arm += 1;
            }
            let calls = self.arms[first..arm].iter().any(Arm::is_call);
            for ix in first..arm {
                if self.arms[ix].is_call() == calls {
                    self.add_step(ix);
                }
            }
            let in_block = node + 1 < self.blocks[self.nodes[node].block].nodes.end;
            if first == arm && in_block {
                self.steps.push(Step { to: node + 1, by: By::Sure });
            } else if self.returns_at(program, node) || self.goes_on_outside(program, first..arm) {
                for ix in returns.get(&self.nodes[node].function).cloned().into_iter().flatten() {
                    if let ArmKind::Call { after: Some(to) } = self.arms[self.returns[ix]].kind {
                        self.steps.push(Step { to, by: By::Return(ix) });
                    }
                }
            }
        }
        self.starts.push(self.steps.len());
    }

    fn add_step(&mut self, ix: usize) {
        let arm = self.arms[ix];
        let to = match arm.kind {
            ArmKind::Skip { after } => after,
            _ => arm.to.map(|b| self.blocks[b].nodes.start),
        };
        if let Some(to) = to {
            self.steps.push(Step { to, by: By::Arm(ix) });
        }
    }

    fn returns_at(&self, program: &Program, node: usize) -> bool {
        node + 1 == self.blocks[self.nodes[node].block].nodes.end && self.exit(program, node) == Exit::Return
    }

    /// Whether `arms`, all of a node, are a jump to a function outside the region. That returns behind the calls of its own, as if it
    /// had been called and stepped over.
    fn goes_on_outside(&self, program: &Program, arms: Range<usize>) -> bool {
        let [Arm { node, to: None, kind: ArmKind::Edge, .. }] = self.arms[arms] else { return false };
        matches!(self.exit(program, node), Exit::Tail(_) | Exit::Indirect { .. })
    }

    /// How control leaves the function of a node behind its block.
    fn exit(&self, program: &Program, node: usize) -> Exit {
        let cfg = &program.functions[self.nodes[node].function].1.cfg;
        cfg.blocks[cfg.block_of(self.nodes[node].inst)].exit
    }
}

/// Where the program's blocks and instructions are in the region.
pub(super) struct Index<'a> {
    pub(super) blocks: BTreeMap<(FunctionIx, usize), usize>,
    pub(super) nodes: BTreeMap<(FunctionIx, usize), usize>,
    /// Calls that enter what they are guessed to, and nothing else.
    closed: &'a BTreeSet<(FunctionIx, usize)>,
}

impl Index<'_> {
    fn entry(&self, f: FunctionIx) -> Option<&usize> {
        self.blocks.get(&(f, 0))
    }

    /// Whether all that `site` enters is in the region, and not merely guessed.
    fn holds(&self, site: &CallSite) -> bool {
        let complete =
            !site.targets.is_empty() && site.targets.iter().all(|t| self.entry(t.function).is_some());
        let seen = || site.targets.iter().any(|t| t.seen > 0);
        complete && (!site.open || seen() || self.closed.contains(&(site.caller, site.inst)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Place, Seen, Told, explore};

    #[test]
    fn a_jump_to_functions_that_are_not_all_in_the_region_may_leave_it() {
        // 0: jmp *%rax — 2: ret — 3: ret
        let code = Bytes(0, vec![0xff, 0xe0, 0xc3, 0xc3]);
        let functions = [0..2, 2..3, 3..4].map(|range| (0, explore(&code, range, &[])));
        let at = |address| Place { space: 0, address };
        let seen = [2, 3].map(|to| Seen { from: at(0), to: at(to), count: 50, inside: 50 });
        let told = Told { seen: seen.into(), complete: true, ..Told::default() };
        let program = Program::link(functions.into(), &NoStubs, &told);
        let ways = |functions: &[FunctionIx]| {
            let region = Region::build(&program, &Classes::of(&program), functions, &|_, _| true);
            let arms = region.arms.iter().filter(|arm| arm.node == 0);
            arms.map(|arm| arm.to.map(|to| region.blocks[to].function)).collect::<Vec<_>>()
        };
        assert_eq!(ways(&[0, 1, 2]), [Some(1), Some(2)]);
        assert_eq!(ways(&[0, 1]), [Some(1), None]);
    }

    /// Where control goes on from the last instruction of function 1, of functions 0 and 1 among those in `code` at these ranges, where
    /// function 0 calls it at 0 and goes on at 5.
    fn behind(code: Vec<u8>, ranges: &[Range<u64>]) -> Vec<u64> {
        let code = Bytes(0, code);
        let functions = ranges.iter().map(|range| (0, explore(&code, range.clone(), &[])));
        let program = Program::link(functions.collect(), &NoStubs, &Told::default());
        let region = Region::build(&program, &Classes::of(&program), &[0, 1], &|_, _| true);
        let last = region.nodes.iter().rposition(|node| node.function == 1).expect("an instruction");
        let address =
            |step: &Step| program.place(region.nodes[step.to].function, region.nodes[step.to].inst).address;
        region.steps_of(last).iter().map(address).collect()
    }

    #[test]
    fn a_jump_to_a_function_outside_returns_behind_the_calls_of_its_own() {
        // 0: call 8; 5: ret — 8: jmp 10 — 10: ret
        let mut code = vec![0xe8, 3, 0, 0, 0, 0xc3, 0xcc, 0xcc, 0xeb, 6];
        code.resize(0x10, 0xcc);
        code.push(0xc3);
        assert_eq!(behind(code.clone(), &[0..6, 8..10, 0x10..0x11]), [5]);
        // 8: jmp *%rax
        code[8..10].copy_from_slice(&[0xff, 0xe0]);
        assert_eq!(behind(code, &[0..6, 8..10]), [5]);
    }
}
