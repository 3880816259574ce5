//! Where an indirect call may go that neither the code nor the recording explains.
//!
//! In: linked functions, how many samples each has, and what the images know of words. Out: targets of such calls, none of which is
//! certain. A call through a variable goes where that leads when the program starts; one through a word of an object to what stands, or
//! is put, as far into objects or elements of arrays (tables of virtual functions and of handlers are such), or, if that has next to no
//! samples, to functions that nothing is known to call and whose address something holds; a call through what the function was given to
//! such whose address code takes. None enters a function that (indirectly) calls the caller, and none is made by code far colder than
//! what it would enter: a function that is called elsewhere would be held to how seldom that runs. What is known to have been passed to
//! the function of a call ([`callbacks`](super::callbacks)) comes first, and may lead back.

use std::collections::{BTreeMap, BTreeSet};

use super::function::Through;
use super::link::{Linker, Slot, Told};
use super::program::{FunctionIx, Place, Program, Target};
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
    /// Lets unexplained indirect calls enter functions, by what the recording `told`: first those that are surest of it, for what is
    /// guessed must not lead back.
    pub(super) fn guess(&mut self, told: &Told, linker: &dyn Linker) {
        let load = |f| told.samples.get(&self.entry(f)).copied().unwrap_or(0.0);
        let loads: Vec<f64> = (0..self.functions.len()).map(load).collect();
        let mut open: Vec<usize> = (0..self.calls.len()).filter(|&call| self.is_unexplained(call)).collect();
        if open.is_empty() {
            return;
        }
        let mut takens = self.takens(linker);
        let only = self.complete.then(|| self.hidden.clone());
        let mut guesses = Guesses { program: self, loads, only, above: None };
        let passed = guesses.enter_passed(&told.callbacks, linker);
        open.retain(|call| !passed.contains(call));
        let through = |call: usize| (call, guesses.program.through(call));
        let open: Vec<(usize, Through)> = open.into_iter().map(through).collect();
        guesses.enter_likely(&open, &mut takens, linker);
        self.entered.iter_mut().for_each(|calls| calls.sort_unstable());
    }

    fn is_unexplained(&self, call: usize) -> bool {
        let site = &self.calls[call];
        site.targets.is_empty() && self.is_unseen(site)
    }

    /// What a call goes through.
    fn through(&self, call: usize) -> Through {
        let site = &self.calls[call];
        self.functions[site.caller].1.through(site.inst)
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
    /// Functions that may be entered, where not all may: those whose callers a recording that would have shown such calls does not show. A
    /// chain of frame pointers skips the caller of what has no frame.
    only: Option<BTreeSet<FunctionIx>>,
    /// The caller asked about last, and whether each function leads to it. What it is let enter does not.
    above: Option<(FunctionIx, Vec<bool>)>,
}

impl Guesses<'_> {
    /// Lets calls enter the likely ones of those that were passed there, those without samples only if none has any; and these calls,
    /// which enter nothing else. The only one of a call is called as surely as if that said so.
    fn enter_passed(
        &mut self,
        callbacks: &BTreeMap<Place, BTreeSet<Place>>,
        linker: &dyn Linker,
    ) -> BTreeSet<usize> {
        let mut known = BTreeSet::new();
        for (at, passed) in callbacks {
            let Some(call) = self.program.call_at(*at).filter(|&call| self.program.is_unexplained(call))
            else {
                continue;
            };
            let function = |at: &Place| self.program.through_stub(*at, linker);
            let passed: BTreeSet<FunctionIx> = passed.iter().filter_map(function).collect();
            let mut warm = self.warm(self.caller(call), passed.into_iter().collect());
            let sampled = warm.iter().take_while(|&&f| self.loads[f] > 0.0).count();
            warm.truncate(if sampled > 0 { sampled } else { warm.len() });
            let found = likely(&warm, &self.loads).to_vec();
            self.link_to(call, &found);
            if let [only] = found[..] {
                self.program.hidden.remove(&only);
            }
            known.insert(call);
        }
        known
    }

    /// Lets `open` calls enter what they most likely do, by what they go through.
    fn enter_likely(&mut self, open: &[(usize, Through)], takens: &mut Takens, linker: &dyn Linker) {
        for &(call, through) in open {
            if let Through::Cell(address) = through {
                self.enter_held(call, address, linker);
            }
        }
        for &(call, through) in open {
            self.enter_there(call, takens.at(through));
        }
        for &(call, through) in open {
            self.enter_any(call, through, takens);
        }
    }

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
        let fitting = self.leading_on(caller, self.warm(caller, candidates.to_vec()));
        likely(&fitting, &self.loads).to_vec()
    }

    /// Those of `functions` that code as cold as `caller` may enter, those with most samples first.
    fn warm(&self, caller: FunctionIx, mut functions: Vec<FunctionIx>) -> Vec<FunctionIx> {
        let loads = &self.loads;
        functions.retain(|&f| loads[caller] >= NEGLIGIBLE * loads[f]);
        functions.retain(|f| self.only.as_ref().is_none_or(|only| only.contains(f)));
        functions.sort_by(|&a, &b| loads[b].total_cmp(&loads[a]).then(a.cmp(&b)));
        functions
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
    use super::super::explore;
    use super::super::testing::{Bytes, NoStubs};
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

    #[test]
    fn a_call_enters_what_was_passed_there_even_if_that_leads_back() {
        // 0: call *%rsi; ret — 8: call 0; ret — 10: ret
        let mut code = vec![0xff, 0xd6, 0xc3];
        code.resize(8, 0xcc);
        code.extend([0xe8, 0xf3, 0xff, 0xff, 0xff, 0xc3]);
        code.resize(0x10, 0xcc);
        code.push(0xc3);
        let source = Bytes(0, code);
        let at = |address| Place { space: 0, address };
        let entered = |callbacks| {
            let functions = [0..3, 8..14, 0x10..0x11].map(|range| (0, explore(&source, range, &[])));
            let told = Told { callbacks, hidden: BTreeSet::from([at(8)]), ..Told::default() };
            let program = Program::link(functions.into(), &NoStubs, &told);
            assert_eq!(program.hidden.contains(&1), program.calls[0].targets.iter().all(|t| t.function != 1));
            assert_eq!(
                program.calls_of(1).count(),
                program.calls[0].targets.iter().filter(|t| t.function == 1).count()
            );
            program.calls[0].targets.iter().map(|target| target.function).collect::<Vec<_>>()
        };
        assert_eq!(entered(BTreeMap::new()), [2], "a guess");
        assert_eq!(entered(BTreeMap::from([(at(0), BTreeSet::from([at(8)]))])), [1]);
        let elsewhere = BTreeMap::from([(at(0), BTreeSet::from([at(0x100)]))]);
        assert_eq!(entered(elsewhere), [0; 0], "it is known not to be the guess");
    }
}
