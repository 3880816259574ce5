//! Functions that are passed to code which calls them, as comparators are to what sorts: who passes them mostly holds no sample.
//!
//! In: a linked program, and samples of its functions. Out: the functions that indirect calls in hot code enter because they were passed
//! there. Who calls those functions is looked for in all code of the images, from call to call.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::decoding::{Range, function};
use super::transfers::Transfers;
use crate::code::{CallSite, Callbacks, Function, FunctionIx, Linker, Memory, Place, Program, Told};
use crate::image::{ImageId, Images, Svma};

/// Functions with a smaller share of the samples are not hot.
const LEAST_SHARE: f64 = 0.003;
/// Calls, one in another, through which a function may be passed.
const DEEPEST: usize = 8;
/// Functions that may call one, beyond which it is not looked at what they pass …
const MOST_CALLERS: usize = 64;
/// … and instructions that are looked at in all, besides a third as many of hot functions: a compiler has three thousand such calls.
const MOST_INSTRUCTIONS: usize = 60_000;

/// For each indirect call of hot code that enters what was passed to its function, the functions that it enters.
pub fn callbacks(
    images: &Images,
    program: &Program,
    samples: &BTreeMap<Place, f64>,
    linker: &dyn Linker,
) -> BTreeMap<Place, BTreeSet<Place>> {
    let hot = hot(program, samples);
    let open = program.calls.iter().filter(|call| hot.contains(&call.caller) && program.is_unseen(call));
    let calls = open.clone().map(|call| program.place(call.caller, call.inst)).collect();
    let own = |call: &CallSite| (program.entry(call.caller), program.functions[call.caller].clone());
    let spaces = program.functions.iter().map(|(space, _)| *space).collect();
    let mut known = Known {
        images,
        linker,
        spaces,
        functions: open.map(own).collect(),
        called: BTreeSet::new(),
        left: MOST_INSTRUCTIONS,
        memory: Memory::default(),
    };
    let mut found = known.find(&calls);
    for _ in 0..DEEPEST {
        let given: BTreeSet<Place> = found.values().flat_map(|of| &of.given).copied().collect();
        if !known.call(&given) {
            break;
        }
        found = known.find(&calls);
    }
    let complete = found.into_iter().filter(|(_, of)| of.given.is_subset(&known.called));
    let entered = |(call, of): (Place, Callbacks)| {
        let entered: BTreeSet<Place> = of.entered.into_iter().filter(|at| known.begins(*at)).collect();
        (!entered.is_empty()).then_some((call, entered))
    };
    complete.filter_map(entered).collect()
}

/// Functions with indirect calls that only a guess explains, those with most samples first, as many as may be looked at.
fn hot(program: &Program, samples: &BTreeMap<Place, f64>) -> BTreeSet<FunctionIx> {
    let least = LEAST_SHARE * samples.values().sum::<f64>();
    let own = |f: FunctionIx| samples.get(&program.entry(f)).copied().unwrap_or(0.0);
    let open: BTreeSet<FunctionIx> =
        program.calls.iter().filter(|call| program.is_unseen(call)).map(|call| call.caller).collect();
    let mut hot: Vec<FunctionIx> = open.into_iter().filter(|&f| own(f) >= least).collect();
    hot.sort_by(|&a, &b| own(b).total_cmp(&own(a)).then(a.cmp(&b)));
    let mut left = MOST_INSTRUCTIONS / 3;
    hot.retain(|&f| {
        let size = program.functions[f].1.insts.len();
        let fits = size <= left;
        left -= if fits { size } else { 0 };
        fits
    });
    hot.into_iter().collect()
}

/// Functions that are looked at.
struct Known<'a> {
    images: &'a Images,
    linker: &'a dyn Linker,
    /// Numbers of the images that are looked through for callers.
    spaces: BTreeSet<u32>,
    functions: BTreeMap<Place, (u32, Function)>,
    /// Those all of whose callers are among them.
    called: BTreeSet<Place>,
    /// Instructions that more of them may have.
    left: usize,
    /// What was found of them.
    memory: Memory,
}

impl Known<'_> {
    /// What `calls` of these functions enter.
    fn find(&mut self, calls: &BTreeSet<Place>) -> BTreeMap<Place, Callbacks> {
        let told = Told { complete: true, ..Told::default() };
        let program = Program::link(self.functions.values().cloned().collect(), self.linker, &told);
        Callbacks::find(&program, calls, self.linker, &mut self.memory)
    }

    /// Looks at the callers of those that were `given` something too, where that are not too many; whether there are more now.
    fn call(&mut self, given: &BTreeSet<Place>) -> bool {
        let new: BTreeSet<Place> = given.difference(&self.called).copied().collect();
        let mut callers = Transfers::to(&new, self.images, &self.spaces, self.linker).callers;
        let before = self.functions.len();
        for function in new {
            // what nobody calls directly is not known to be called at all
            let callers = callers.remove(&function).unwrap_or_default();
            if callers.len() <= MOST_CALLERS && self.look_at(callers) {
                self.called.insert(function);
            }
        }
        self.functions.len() > before
    }

    /// Looks at functions in these ranges too, unless there are too many instructions in all.
    fn look_at(&mut self, ranges: BTreeSet<Range>) -> bool {
        for range in ranges {
            let (space, address, _) = range;
            if let Entry::Vacant(new) = self.functions.entry(Place { space, address }) {
                let decoded = function(self.images, range, &[]);
                if decoded.insts.len() > self.left {
                    return false;
                }
                self.left -= decoded.insts.len();
                new.insert((space, decoded));
            }
        }
        true
    }

    /// Whether a function begins at a place.
    fn begins(&self, at: Place) -> bool {
        let image = self.images.get(ImageId(at.space));
        image.function_from(Svma(at.address)).is_some() || self.linker.stub(at).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::of_case;
    use super::*;
    use crate::code::testing::NoStubs;

    /// What calls in the function of this name enter, where it has so many of 1,000 samples.
    fn entered(name: &str, own: f64) -> BTreeSet<String> {
        let images = of_case("nist_fn");
        let image = images.get(ImageId(0));
        let named = image.functions().iter().find(|f| f.name.as_deref() == Some(name));
        let f = named.unwrap_or_else(|| panic!("{name}"));
        let decoded = (0, function(&images, (0, f.start.0, f.end.0), &[]));
        let program = Program::link(vec![decoded], &NoStubs, &Told { complete: true, ..Told::default() });
        let at = |address| Place { space: 0, address };
        let samples = BTreeMap::from([(at(f.start.0), own), (at(0), 1000.0 - own)]);
        let found = callbacks(&images, &program, &samples, &NoStubs);
        let name = |at: &Place| image.function_at(Svma(at.address))?.name.clone();
        found.values().flatten().filter_map(name).collect()
    }

    #[test]
    fn what_sorts_calls_the_comparator_that_was_handed_to_qsort() {
        // through `qsort` and `qsort_r`, which puts it into a structure
        assert!(entered("msort_with_tmp.part.0", 500.0).contains("alias_compare"));
        assert_eq!(entered("msort_with_tmp.part.0", 0.5), BTreeSet::new(), "hardly any samples");
    }
}
