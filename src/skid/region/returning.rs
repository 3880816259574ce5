//! Which calls the functions of a region return behind.
//!
//! In: the region's arms. Out: contexts, each of functions that lead to each other by tail calls, with the calls that lead to them,
//! directly or by tail calls from other contexts. How often they return behind which call follows from flows
//! ([`Context::share`]); within a context it is taken to be the same for all of its functions, as if tail calls had mixed them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::{ArmKind, Region};
use crate::skid::components::Components;

/// A context that more calls lead to returns behind those alone that lead to it directly: runs of others leave the region.
const MOST_CALLS: usize = 2000;

/// Functions that lead to each other by tail calls, which return behind the same calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// Their entry blocks, in ascending order.
    pub entries: Vec<usize>,
    /// Calls that lead to them: a part of [`Region::returns`], in ascending order.
    pub calls: Range<usize>,
    /// Tail arms that lead to them from other contexts, and which these are: they stand before this one.
    pub entered: Vec<(usize, usize)>,
    /// Tail arms that lead from them to them.
    pub within: Vec<usize>,
}

impl Region {
    /// Finds the contexts of functions with these `entries`, blocks by which of their functions.
    pub(super) fn find_returns(&mut self, entries: &[usize]) {
        let mut at: BTreeMap<_, usize> = BTreeMap::new();
        let mut of: BTreeMap<usize, usize> = BTreeMap::new();
        for (ix, &entry) in entries.iter().enumerate() {
            at.insert(self.blocks[entry].function, ix);
            of.insert(entry, ix);
        }
        let ends = |ix: usize| {
            let arm = &self.arms[ix];
            let tail = arm.kind == ArmKind::Tail;
            let from = at.get(&self.nodes[arm.node].function).filter(|_| tail)?;
            Some((ix, *from, *of.get(&arm.to?)?))
        };
        let tails: Vec<(usize, usize, usize)> = (0..self.arms.len()).filter_map(ends).collect();
        let mut next = vec![Vec::new(); entries.len()];
        tails.iter().for_each(|&(_, from, to)| next[from].push(to));
        let components = Components::along(next);
        // components are found after all that they lead to
        let context = |function: usize| components.count - 1 - components.of[function];
        let empty = Context { entries: Vec::new(), calls: 0..0, entered: Vec::new(), within: Vec::new() };
        let mut contexts = vec![empty; components.count];
        let mut calls: Vec<Vec<usize>> = vec![Vec::new(); components.count];
        entries.iter().enumerate().for_each(|(ix, &entry)| contexts[context(ix)].entries.push(entry));
        for (tail, from, to) in tails {
            match (context(from), context(to)) {
                (from, to) if from == to => contexts[to].within.push(tail),
                (from, to) => contexts[to].entered.push((tail, from)),
            }
        }
        for (ix, arm) in self.arms.iter().enumerate() {
            let to = arm.to.and_then(|to| of.get(&to));
            if let (ArmKind::Call { .. }, Some(&to)) = (arm.kind, to) {
                calls[context(to)].push(ix);
            }
        }
        for (mut context, direct) in contexts.into_iter().zip(calls) {
            context.entries.sort_unstable();
            self.add_calls(&mut context, direct);
            self.contexts.push(context);
        }
    }

    /// Adds the calls that lead to a context: those that do so directly, and those that lead to what enters it.
    fn add_calls(&mut self, context: &mut Context, direct: Vec<usize>) {
        let before = context.entered.iter().map(|&(_, from)| from).collect::<BTreeSet<_>>();
        let by_tails = before.iter().flat_map(|&from| &self.returns[self.contexts[from].calls.clone()]);
        let all: BTreeSet<usize> = direct.iter().chain(by_tails).copied().collect();
        let start = self.returns.len();
        if all.len() > MOST_CALLS {
            context.entered.clear();
            self.returns.extend(direct);
        } else {
            self.returns.extend(all);
        }
        context.calls = start..self.returns.len();
    }
}

impl Context {
    /// Sets the shares of its runs that return behind each of its calls, in all `shares` of `region`, of which those of the contexts
    /// before are set; by the `flow` of an arm, and by how often `blocks` run.
    pub(crate) fn share(
        &self,
        region: &Region,
        flow: impl Fn(usize) -> f64,
        blocks: &[f64],
        shares: &mut [f64],
    ) {
        let calls = &region.returns[self.calls.clone()];
        let (before, own) = shares.split_at_mut(self.calls.start);
        for (share, &call) in own.iter_mut().zip(calls) {
            let direct = region.arms[call].to.is_some_and(|to| self.entries.binary_search(&to).is_ok());
            *share = if direct { flow(call) } else { 0.0 };
        }
        for &(tail, from) in &self.entered {
            let (through, from) = (flow(tail), region.contexts[from].calls.clone());
            for (call, share) in region.returns[from.clone()].iter().zip(&before[from]) {
                if let Ok(at) = calls.binary_search(call) {
                    own[at] += through * share;
                }
            }
        }
        let runs: f64 = self.entries.iter().map(|&entry| blocks[entry]).sum();
        let inside: f64 = self.within.iter().map(|&tail| flow(tail)).sum();
        let begun = (runs - inside).max(1e-12);
        own[..calls.len()].iter_mut().for_each(|share| *share = (*share / begun).min(1.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Program, Told, explore};
    use crate::skid::classes::Classes;

    /// The region of these functions.
    fn region(code: Vec<u8>, functions: &[Range<u64>]) -> Region {
        let code = Bytes(0, code);
        let functions: Vec<_> =
            functions.iter().map(|range| (0, explore(&code, range.clone(), &[]))).collect();
        let all: Vec<usize> = (0..functions.len()).collect();
        let program = Program::link(functions, &NoStubs, &Told::default());
        Region::build(&program, &Classes::of(&program), &all, &|_, _| true)
    }

    fn shares(region: &Region, flow: impl Fn(usize) -> f64 + Copy, blocks: &[f64]) -> Vec<f64> {
        let mut shares = vec![0.0; region.returns.len()];
        region.contexts.iter().for_each(|context| context.share(region, flow, blocks, &mut shares));
        shares
    }

    #[test]
    fn what_is_reached_by_a_tail_call_returns_behind_the_calls_of_what_made_it() {
        // 0: call 10; 5: call 20; a: ret — 10: jmp 20 — 20: ret
        let mut code = vec![0xe8, 0x0b, 0, 0, 0, 0xe8, 0x16, 0, 0, 0, 0xc3];
        code.resize(0x10, 0xcc);
        code.extend([0xe9, 0x0b, 0, 0, 0]);
        code.resize(0x20, 0xcc);
        code.push(0xc3);
        let region = region(code, &[0..0xb, 0x10..0x15, 0x20..0x21]);
        let last = region.contexts.iter().find(|c| !c.entered.is_empty()).expect("what a tail call leads to");
        assert_eq!((last.entries.len(), last.calls.len(), last.within.len()), (1, 2, 0));
        let by_first = region.contexts.iter().find(|c| c.calls.len() == 1).expect("what makes it");
        // each call is made as often as the tail call: half of the last function's runs are by each
        let mut blocks = vec![1.0; region.blocks.len()];
        blocks[last.entries[0]] = 2.0;
        let shares = shares(&region, |_| 1.0, &blocks);
        assert_eq!(shares[by_first.calls.clone()], [1.0]);
        assert_eq!(shares[last.calls.clone()], [0.5, 0.5]);
    }

    #[test]
    fn functions_that_call_each_other_last_return_behind_what_called_the_first() {
        // 0: call 10; 5: ret — 10: dec %edi; 12: jne 20; 14: ret — 20: jmp 10
        let mut code = vec![0xe8, 0x0b, 0, 0, 0, 0xc3];
        code.resize(0x10, 0xcc);
        code.extend([0xff, 0xcf, 0x75, 0x0c, 0xc3]);
        code.resize(0x20, 0xcc);
        code.extend([0xe9, 0xeb, 0xff, 0xff, 0xff]);
        let region = region(code, &[0..6, 0x10..0x15, 0x20..0x25]);
        let both = region.contexts.iter().find(|c| c.entries.len() == 2).expect("both in one");
        assert_eq!((both.calls.len(), both.within.len(), both.entered.len()), (1, 2, 0));
        // they are called once, and lead to each other nine times
        let flow = |arm: usize| if region.arms[arm].kind == ArmKind::Tail { 9.0 } else { 1.0 };
        let mut blocks = vec![1.0; region.blocks.len()];
        (blocks[both.entries[0]], blocks[both.entries[1]]) = (10.0, 9.0);
        assert_eq!(shares(&region, flow, &blocks)[both.calls.clone()], [1.0]);
    }
}
