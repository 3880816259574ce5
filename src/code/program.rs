//! Functions and the calls between them, across images: what is where, who calls whom.

use std::collections::{BTreeMap, BTreeSet};

use super::function::Function;
use super::inst::Flow;

/// Functions with code of their own that may lie inside of another.
pub(crate) const MOST_INSIDE: usize = 64;

/// Index into [`Program::functions`].
pub type FunctionIx = usize;

/// An address in one of the images, which are only numbers here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The image's number.
    pub space: u32,
    /// The address in it.
    pub address: u64,
}

/// A function a call may enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The function.
    pub function: FunctionIx,
    /// How often it was seen to go there, 0 where code alone says so.
    pub seen: u64,
    /// See [`Seen::inside`](super::Seen::inside).
    pub inside: u64,
}

/// A call, or a jump that leaves its function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// Function it is in.
    pub caller: FunctionIx,
    /// Index of the instruction in the caller.
    pub inst: usize,
    /// It does not come back here: a tail call, or a call of what never returns.
    pub tail: bool,
    /// The sampled functions it may enter; where code alone says which, that comes first.
    pub targets: Vec<Target>,
    /// Whether it may enter code outside the program too.
    pub open: bool,
}

impl CallSite {
    /// The function that code alone says it enters.
    pub(super) fn known(&self) -> Option<FunctionIx> {
        self.targets.first().filter(|_| !self.open).map(|target| target.function)
    }
}

/// Sampled functions and the calls between them.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The functions, each with the number of its image.
    pub functions: Vec<(u32, Function)>,
    /// Calls and tail calls, by caller and instruction.
    pub calls: Vec<CallSite>,
    /// Functions that nothing in the code calls, and that are called by what was not seen besides what was.
    pub hidden: BTreeSet<FunctionIx>,
    /// Samples in the second of two functions and below, called by the first, nobody knows from where in it.
    pub skipped: BTreeMap<(FunctionIx, FunctionIx), u64>,
    /// Whether the recording would have shown an indirect call: [`Told::complete`](super::Told::complete).
    pub complete: bool,
    pub(super) entries: BTreeMap<Place, FunctionIx>,
    /// For each function, the calls that may enter it, as indices into `calls`, ascending.
    pub(super) entered: Vec<Vec<usize>>,
}

impl Program {
    /// The function that starts at `place`.
    pub fn function_at(&self, place: Place) -> Option<FunctionIx> {
        self.entries.get(&place).copied()
    }

    /// The innermost function whose range holds `place` and that has an instruction there, and that instruction's index.
    pub fn find(&self, place: Place) -> Option<(FunctionIx, usize)> {
        self.holding(place).find_map(|ix| Some((ix, self.functions[ix].1.at(place.address)?)))
    }

    /// The innermost function whose range holds `place`.
    pub fn around(&self, place: Place) -> Option<FunctionIx> {
        self.holding(place).next()
    }

    /// The functions whose ranges hold `place`, the last to start first.
    fn holding(&self, place: Place) -> impl Iterator<Item = FunctionIx> {
        let from = Place { space: place.space, address: 0 };
        let before = self.entries.range(from..=place).rev().take(MOST_INSIDE).map(|(_, &ix)| ix);
        before.filter(move |&ix| self.functions[ix].1.range.contains(&place.address))
    }

    /// The call whose return address is `back`.
    pub fn call_before(&self, back: Place) -> Option<&CallSite> {
        let caller = self.around(Place { address: back.address.checked_sub(1)?, ..back })?;
        let insts = &self.functions[caller].1.insts;
        let inst = insts.partition_point(|i| i.address < back.address).checked_sub(1)?;
        self.site(caller, inst).filter(|s| self.pushes(s) && insts[inst].end() == back.address)
    }

    /// Whether it leaves a return address: a call, not a jump.
    pub fn pushes(&self, site: &CallSite) -> bool {
        self.functions[site.caller].1.insts[site.inst].is_call()
    }

    /// Whether nothing but a guess tells where an indirect call or jump goes.
    pub fn is_unseen(&self, site: &CallSite) -> bool {
        let flow = self.functions[site.caller].1.insts[site.inst].flow;
        let indirect = matches!(flow, Flow::IndirectCall { .. } | Flow::IndirectJump { .. });
        indirect && site.open && site.targets.iter().all(|target| target.seen == 0)
    }

    /// The return address of a call.
    pub fn behind(&self, call: &CallSite) -> Place {
        let (space, function) = &self.functions[call.caller];
        Place { space: *space, address: function.insts[call.inst].end() }
    }

    /// Where instruction `inst` of function `f` is.
    pub fn place(&self, f: FunctionIx, inst: usize) -> Place {
        let (space, function) = &self.functions[f];
        Place { space: *space, address: function.insts[inst].address }
    }

    /// The call or tail call at instruction `inst` of `caller`.
    pub fn site(&self, caller: FunctionIx, inst: usize) -> Option<&CallSite> {
        Some(&self.calls[self.site_ix(caller, inst)?])
    }

    /// The number of the call or tail call at a place.
    pub(super) fn call_at(&self, place: Place) -> Option<usize> {
        let (caller, inst) = self.find(place)?;
        self.site_ix(caller, inst)
    }

    fn site_ix(&self, caller: FunctionIx, inst: usize) -> Option<usize> {
        self.calls.binary_search_by_key(&(caller, inst), |c| (c.caller, c.inst)).ok()
    }

    /// The calls and tail calls in `caller`, by instruction.
    pub fn calls_in(&self, caller: FunctionIx) -> &[CallSite] {
        let first = self.calls.partition_point(|c| c.caller < caller);
        let own = self.calls[first..].partition_point(|c| c.caller == caller);
        &self.calls[first..first + own]
    }

    /// The calls and tail calls that may enter `function`, by caller and instruction.
    pub fn calls_of(&self, function: FunctionIx) -> impl Iterator<Item = &CallSite> {
        self.entered[function].iter().map(|&call| &self.calls[call])
    }

    /// The entries of functions that nothing is known to call.
    pub fn orphans(&self) -> impl Iterator<Item = Place> {
        (0..self.functions.len()).filter(|&f| self.is_orphan(f)).map(|f| self.entry(f))
    }

    /// Whether nothing is known to call function `f`: no code that was decoded does, nor was it seen.
    pub fn is_orphan(&self, f: FunctionIx) -> bool {
        let seen = |call: &CallSite| call.targets.iter().any(|t| t.function == f && t.seen > 0);
        self.calls_of(f).all(|call| call.open && !seen(call))
    }

    /// Where function `f` starts.
    pub fn entry(&self, f: FunctionIx) -> Place {
        let (space, function) = &self.functions[f];
        Place { space: *space, address: function.range.start }
    }

    /// All functions that calls lead to from those in `from`; of these, those that calls lead back to.
    pub fn below(&self, from: &BTreeSet<FunctionIx>) -> BTreeSet<FunctionIx> {
        closure(from, |f| self.calls_in(f).iter().flat_map(|call| &call.targets).map(|t| t.function))
    }

    /// All functions from which calls lead to those in `to`; of these, those that are called from there.
    pub fn above(&self, to: &BTreeSet<FunctionIx>) -> BTreeSet<FunctionIx> {
        closure(to, |f| self.calls_of(f).map(|call| call.caller))
    }
}

/// All that steps `next` lead to from what is in `from`; of these, what they lead back to.
pub(crate) fn closure<I: Iterator<Item = usize>>(
    from: &BTreeSet<usize>,
    next: impl Fn(usize) -> I,
) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut work: Vec<usize> = from.iter().copied().collect();
    while let Some(f) = work.pop() {
        work.extend(next(f).filter(|&to| found.insert(to)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::code::{Told, explore};

    #[test]
    fn behind_a_function_inside_of_another_is_that_again() {
        // 0: nop; 1: nop; 2: nop; 3: ret — of these 1 has a name of its own
        let code = Bytes(0, vec![0x90, 0x90, 0x90, 0xc3]);
        let functions = [0..4, 1..2].map(|range| (0, explore(&code, range, &[])));
        let program = Program::link(functions.into(), &NoStubs, &Told::default());
        let found = |address| program.find(Place { space: 0, address });
        assert_eq!(
            [0, 1, 2, 3, 4].map(found),
            [Some((0, 0)), Some((1, 0)), Some((0, 2)), Some((0, 3)), None]
        );
        assert_eq!(program.around(Place { space: 1, address: 0 }), None);
    }
}
