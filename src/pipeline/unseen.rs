//! Callers without samples: code that is never waited for, as a loop that does little but call, holds no sample however often
//! it runs; nor does any callchain tell of it where none were recorded.
//!
//! In: a linked program. Out: functions outside it that call, in a loop, those of its functions which nothing in it calls.
//! They are looked for among the direct calls of the images that were sampled; a function that many may call tells nothing,
//! nor does one whose address is taken, for who calls it indirectly is not known. (`_IO_default_xsputn`, which `sprintf` calls
//! through a table, seemed to be called by `_IO_new_file_xsputn` alone.)

use std::collections::BTreeSet;

use super::decoding::{Range, function};
use super::transfers::Transfers;
use crate::code::{Function, Inst, Linker, Place, Program};
use crate::image::Images;

/// Functions that may call one, beyond which it is not known which of them did.
const MOST_CALLERS: usize = 4;

/// Functions that may be the callers of those in `program` that nothing in it calls, and call them again and again: what calls
/// another once costs next to nothing, and ties together what has nothing to do with each other, as all that runs at the start.
pub fn callers(images: &Images, program: &Program, linker: &dyn Linker) -> Vec<(u32, Function)> {
    let orphans: BTreeSet<Place> = program.orphans().collect();
    let sampled: BTreeSet<u32> = program.functions.iter().map(|(space, _)| *space).collect();
    let found = Transfers::to(&orphans, images, &sampled, linker);
    let known = |&(space, address, _): &Range| program.function_at(Place { space, address }).is_some();
    let callers: BTreeSet<Range> = sure(&found).filter(|range| !known(range)).collect();
    let decoded = callers.into_iter().map(|range| (range.0, function(images, range, &[])));
    decoded.filter(|(space, function)| call_again(&found, *space, function)).collect()
}

/// The functions that call those which few do.
fn sure(found: &Transfers) -> impl Iterator<Item = Range> {
    let sure = |(orphan, callers): &(&Place, &BTreeSet<Range>)| {
        callers.len() <= MOST_CALLERS && !found.taken.contains(orphan)
    };
    found.callers.iter().filter(sure).flat_map(|(_, callers)| callers).copied()
}

/// Whether a function calls one of them in a loop.
fn call_again(found: &Transfers, space: u32, function: &Function) -> bool {
    let calls = |inst: &Inst| found.at.contains(&Place { space, address: inst.address });
    function.insts.iter().enumerate().any(|(ix, inst)| calls(inst) && function.repeats(ix))
}

#[cfg(test)]
mod tests {
    use super::super::testing::of_case;
    use super::*;
    use crate::code::Told;
    use crate::code::testing::NoStubs;
    use crate::image::{ImageId, Svma};

    /// The functions named, linked; then those found besides.
    fn found(names: &[&str]) -> BTreeSet<String> {
        let images = of_case("nist_fn");
        let image = images.get(ImageId(0));
        let named = |name: &&str| image.functions().iter().find(|f| f.name.as_deref() == Some(*name));
        let ranges = names.iter().map(|name| named(name).unwrap_or_else(|| panic!("{name}")));
        let functions = ranges.map(|f| (0, function(&images, (0, f.start.0, f.end.0), &[]))).collect();
        let program = Program::link(functions, &NoStubs, &Told::default());
        let name = |(_, f): (u32, Function)| image.function_at(Svma(f.range.start))?.name.clone();
        callers(&images, &program, &NoStubs).into_iter().filter_map(name).collect()
    }

    #[test]
    fn the_only_function_that_calls_others_is_found() {
        assert_eq!(found(&["fn1", "fn2"]), BTreeSet::from(["main".to_string()]));
    }

    #[test]
    fn what_is_called_already_or_by_many_has_no_unseen_caller() {
        assert_eq!(found(&["fn1", "fn2", "main"]), BTreeSet::new());
        assert_eq!(found(&["malloc"]), BTreeSet::new());
    }

    #[test]
    fn what_calls_once_is_left() {
        assert_eq!(found(&["__libc_start_call_main"]), BTreeSet::new());
    }

    #[test]
    fn who_calls_what_stands_in_a_table_is_not_known() {
        assert_eq!(found(&["_IO_default_xsputn"]), BTreeSet::new());
    }
}
