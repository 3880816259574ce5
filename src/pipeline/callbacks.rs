//! Functions that are passed to code which calls them, as comparators are to what sorts: who passes them mostly holds no sample.
//!
//! In: a linked program, and samples of its functions. Out: the functions that indirect calls in hot code enter because they were passed
//! there. Who calls those functions is looked for in all code of the images, from call to call.

use std::collections::{BTreeMap, BTreeSet};

use super::decoding::{Range, function};
use super::transfers::Transfers;
use crate::code::{Callbacks, Function, Linker, Place, Program, Told};
use crate::image::{ImageId, Images, Svma};

/// Functions with a smaller share of the samples are not hot.
const LEAST_SHARE: f64 = 1e-3;
/// Calls, one in another, through which a function may be passed.
const DEEPEST: usize = 5;
/// Functions that may call one, beyond which it is not looked at what they pass.
const MOST_CALLERS: usize = 32;

/// For each indirect call of hot code that enters what was passed to its function, the functions that it enters.
pub fn callbacks(
    images: &Images,
    program: &Program,
    samples: &BTreeMap<Place, f64>,
    linker: &dyn Linker,
) -> BTreeMap<Place, BTreeSet<Place>> {
    let least = LEAST_SHARE * samples.values().sum::<f64>();
    let hot = |at: Place| samples.get(&at).is_some_and(|&own| own >= least);
    let open = program.calls.iter().filter(|call| program.is_unseen(call) && hot(program.entry(call.caller)));
    let calls: BTreeSet<Place> = open.clone().map(|call| program.place(call.caller, call.inst)).collect();
    let mut functions: BTreeMap<Place, (u32, Function)> =
        open.map(|call| (program.entry(call.caller), program.functions[call.caller].clone())).collect();
    let spaces: BTreeSet<u32> = program.functions.iter().map(|(space, _)| *space).collect();
    let (mut found, mut asked) = (Callbacks::default(), BTreeSet::new());
    for _ in 0..DEEPEST {
        let all: Told = Told { complete: true, ..Told::default() };
        let known = Program::link(functions.values().cloned().collect(), linker, &all);
        found = Callbacks::find(&known, &calls, linker);
        let more: BTreeSet<Place> = found.given.difference(&asked).copied().collect();
        let callers = callers(&more, images, &spaces, linker);
        asked.extend(more);
        let before = functions.len();
        for range in callers {
            let (space, start, _) = range;
            let at = Place { space, address: start };
            functions.entry(at).or_insert_with(|| (space, function(images, range, &[])));
        }
        if functions.len() == before {
            break;
        }
    }
    let begins = |at: &Place| {
        let f = images.get(ImageId(at.space)).function_at(Svma(at.address));
        f.is_some_and(|f| f.start.0 == at.address) || linker.stub(*at).is_some()
    };
    let entered = |(call, passed): (Place, BTreeSet<Place>)| {
        let passed: BTreeSet<Place> = passed.into_iter().filter(begins).collect();
        (!passed.is_empty()).then_some((call, passed))
    };
    found.of.into_iter().filter_map(entered).collect()
}

/// Functions that call those `given` something, where that are not too many.
fn callers(
    given: &BTreeSet<Place>,
    images: &Images,
    spaces: &BTreeSet<u32>,
    linker: &dyn Linker,
) -> BTreeSet<Range> {
    let found = Transfers::to(given, images, spaces, linker).callers;
    found.into_values().filter(|callers| callers.len() <= MOST_CALLERS).flatten().collect()
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
