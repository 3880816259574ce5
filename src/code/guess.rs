//! Where an indirect call may go that neither the code nor the recording explains.
//!
//! In: linked functions, how many samples each has, and what the images know of words. Out: targets of such calls, none of which is
//! certain. A call through a variable goes where that leads when the program starts; one through a word of an object to what stands, or
//! is put, as far into objects or elements of arrays (tables of virtual functions and of handlers are such), or, if that has next to no
//! samples, to functions that nothing is known to call and whose address something holds; a call through what the function was given to
//! such whose address code takes. None enters a function that (indirectly) calls the caller, and none is made by code far colder than
//! what it would enter: a function that is called elsewhere would be held to how seldom that runs.

use std::collections::{BTreeMap, BTreeSet};

use super::inst::Flow;
use super::link::{Linker, Slot};
use super::program::{CallSite, FunctionIx, Place, Program, Target};
use super::through::{Through, through};
use crate::divisor::gcd;

/// More candidates than this for one unexplained call tell nothing, unless
const MOST_GUESSES: usize = 6;
/// the others have fewer samples than this share of theirs. Nor does a call whose function has less than that of theirs.
const NEGLIGIBLE: f64 = 0.05;

/// Functions that can be called indirectly.
#[derive(Default)]
struct Takens {
    /// Where in objects their addresses stand.
    slots: Vec<(Slot, FunctionIx)>,
    /// Which may stand so far into one, as far as that was asked.
    at: BTreeMap<i64, Vec<FunctionIx>>,
    /// Those that nothing is known to call …
    orphans: Vec<FunctionIx>,
    /// … and of these those whose address code takes.
    handed: Vec<FunctionIx>,
}

impl Takens {
    /// Those that stand where calls find their targets so.
    fn at(&mut self, through: Through) -> &[FunctionIx] {
        let Through::Slot(offset) = through else { return &[] };
        self.at.entry(offset).or_insert_with(|| {
            let there = self.slots.iter().filter(|(slot, _)| slot.may_be_at(offset)).map(|(_, f)| *f);
            there.collect::<BTreeSet<_>>().into_iter().collect()
        })
    }
}

impl Slot {
    /// Whether it may be so many bytes into an element of an array that its object is, or into the object.
    fn may_be_at(&self, offset: i64) -> bool {
        let before = self.offset.wrapping_sub(offset);
        // what is before, and all of the object, are whole elements of this size, or of a part of it
        let element = gcd(self.size.unsigned_abs(), before.unsigned_abs());
        let elements = before > 0 && offset >= 0 && self.size > 0;
        before == 0 || elements && element > offset.unsigned_abs()
    }
}

impl Program {
    /// Lets unexplained indirect calls enter functions, which have so many `samples`: first those that are surest of it, for what is
    /// guessed must not lead back.
    pub(super) fn guess(&mut self, samples: &BTreeMap<Place, f64>, linker: &dyn Linker) {
        let open = (0..self.calls.len()).filter(|&call| self.is_unexplained(call));
        let open: Vec<(usize, Through)> = open.map(|call| (call, self.through(call))).collect();
        if open.is_empty() {
            return;
        }
        let load = |f| samples.get(&self.entry(f)).copied().unwrap_or(0.0);
        let loads: Vec<f64> = (0..self.functions.len()).map(load).collect();
        let mut takens = self.takens(linker);
        let mut guesses = Guesses { program: self, loads, above: None };
        for &(call, through) in &open {
            if let Through::Cell(address) = through {
                guesses.enter_held(call, address, linker);
            }
        }
        for &(call, through) in &open {
            guesses.enter_there(call, takens.at(through));
        }
        for &(call, through) in &open {
            guesses.enter_any(call, through, &mut takens);
        }
        self.entered.iter_mut().for_each(|calls| calls.sort_unstable());
    }

    fn is_unexplained(&self, call: usize) -> bool {
        let site = &self.calls[call];
        let flow = self.functions[site.caller].1.insts[site.inst].flow;
        site.targets.is_empty() && matches!(flow, Flow::IndirectCall { .. } | Flow::IndirectJump { .. })
    }

    fn through(&self, call: usize) -> Through {
        let CallSite { caller, inst, .. } = self.calls[call];
        through(&self.functions[caller].1, inst)
    }

    fn takens(&self, linker: &dyn Linker) -> Takens {
        let called: BTreeSet<FunctionIx> =
            self.calls.iter().flat_map(|c| &c.targets).map(|t| t.function).collect();
        let entries: BTreeSet<Place> = (0..self.functions.len()).map(|f| self.entry(f)).collect();
        let mut takens = Takens::default();
        for (at, taken) in linker.taken(&entries) {
            let Some(function) = self.function_at(at) else { continue };
            takens.slots.extend(taken.slots.into_iter().map(|slot| (slot, function)));
            if !called.contains(&function) && !linker.begins(at) {
                takens.orphans.push(function);
                takens.handed.extend(taken.by_code.then_some(function));
            }
        }
        takens
    }
}

/// Guesses under way.
struct Guesses<'a> {
    program: &'a mut Program,
    /// Samples of each function.
    loads: Vec<f64>,
    /// The caller asked about last, and whether each function leads to it. What it is let enter does not.
    above: Option<(FunctionIx, Vec<bool>)>,
}

impl Guesses<'_> {
    /// Lets a call enter what a variable holds when the program starts.
    fn enter_held(&mut self, call: usize, address: u64, linker: &dyn Linker) {
        let caller = self.caller(call);
        let held = linker.initial(Place { space: self.program.functions[caller].0, address });
        let target = held.and_then(|at| self.program.function_at(at));
        let target = self.leading_on(caller, target.into_iter().collect());
        self.link_to(call, &target);
    }

    /// Lets a call enter the likely ones of those that are where it finds its target, if they have samples beside its function's.
    fn enter_there(&mut self, call: usize, there: &[FunctionIx]) {
        let found = self.likely(call, there);
        let own = self.loads[self.caller(call)];
        if found.iter().map(|&f| self.loads[f]).sum::<f64>() >= NEGLIGIBLE * own && !found.is_empty() {
            self.link_to(call, &found);
        }
    }

    /// Lets a call that enters nothing yet enter the likely ones of all that may be called so.
    fn enter_any(&mut self, call: usize, through: Through, takens: &mut Takens) {
        if self.program.calls[call].targets.is_empty() {
            let there = takens.at(through).to_vec();
            let others = if through == Through::Unknown { &takens.handed } else { &takens.orphans };
            let all: BTreeSet<FunctionIx> = others.iter().copied().chain(there).collect();
            let found = self.likely(call, &all.into_iter().collect::<Vec<_>>());
            self.link_to(call, &found);
        }
    }

    fn caller(&self, call: usize) -> FunctionIx {
        self.program.calls[call].caller
    }

    /// Those of `functions` in the image of the `caller` that do not lead back to it.
    fn leading_on(&mut self, caller: FunctionIx, mut functions: Vec<FunctionIx>) -> Vec<FunctionIx> {
        let all = &self.program.functions;
        functions.retain(|&f| f != caller && all[f].0 == all[caller].0);
        if functions.is_empty() {
            return functions;
        }
        if self.above.as_ref().is_none_or(|above| above.0 != caller) {
            let mut leads = vec![false; all.len()];
            self.program.above(&BTreeSet::from([caller])).into_iter().for_each(|f| leads[f] = true);
            self.above = Some((caller, leads));
        }
        functions.retain(|&f| self.above.as_ref().is_none_or(|(_, leads)| !leads[f]));
        functions
    }

    /// The likely ones of `candidates` for a call to enter.
    fn likely(&mut self, call: usize, candidates: &[FunctionIx]) -> Vec<FunctionIx> {
        let caller = self.caller(call);
        let warm = |&f: &FunctionIx| self.loads[caller] >= NEGLIGIBLE * self.loads[f];
        let warm = candidates.iter().copied().filter(warm).collect();
        let (mut fitting, loads) = (self.leading_on(caller, warm), &self.loads);
        fitting.sort_by(|&a, &b| loads[b].total_cmp(&loads[a]).then(a.cmp(&b)));
        likely(&fitting, loads).to_vec()
    }

    fn link_to(&mut self, call: usize, targets: &[FunctionIx]) {
        let target = |&function: &FunctionIx| Target { function, seen: 0, inside: 0 };
        self.program.calls[call].targets = targets.iter().map(target).collect();
        // calls guessed later must not lead back by this one
        targets.iter().for_each(|&f| self.program.entered[f].push(call));
    }
}

/// The first of `candidates`, which are sorted by their samples, unless too many others have samples as well.
fn likely<'a>(candidates: &'a [FunctionIx], loads: &[f64]) -> &'a [FunctionIx] {
    let (first, others) = candidates.split_at(candidates.len().min(MOST_GUESSES));
    let samples = |of: &[FunctionIx]| of.iter().map(|&f| loads[f]).sum::<f64>();
    if !others.is_empty() && samples(others) >= NEGLIGIBLE * samples(first) { &[] } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_may_be_one_of_each_element() {
        // three elements of 24 bytes
        let within = |offset| Slot { offset, size: 72 };
        assert!(within(56).may_be_at(8) && within(8).may_be_at(8) && within(56).may_be_at(56));
        assert!(!within(56).may_be_at(16), "in the third it is the second word");
        assert!(!within(8).may_be_at(56), "behind it");
        let put = Slot { offset: 56, size: 0 };
        assert!(put.may_be_at(56) && !put.may_be_at(8), "nobody knows of what");
    }
}
