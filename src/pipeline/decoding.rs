//! Binaries as code: where [`crate::image`] and [`crate::code`] meet.
//!
//! In: images, and addresses in them. Out: decoded functions, and places as either of the two has them. It does not know what
//! was sampled.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use crate::code::{
    self, Bitness, Callee, Function, Inst, Place, References, Source, discover, explore, returns,
};
use crate::image::{
    Class, Image, ImageId, Images, Location, PltTarget, Svma, global_offset_table, jumps_away, noreturn,
};

/// Calls between a function and the end of the process, at most: what is further down counts as returning.
const DEEPEST: usize = 6;

/// A function's place and end.
pub type Range = (u32, u64, u64);

/// Decodes the function in a range of an image, of which `known` addresses were seen to run.
pub fn function(images: &Images, (space, start, end): Range, known: &[u64]) -> Function {
    let image = images.get(ImageId(space));
    let named = image.function_from(Svma(start)).is_some();
    let decoded = if named { explore } else { discover };
    decoded(&Code::of(image), start..end, known)
}

/// The instructions alone of the function in a range of an image.
pub fn instructions(images: &Images, (space, start, end): Range) -> Vec<Inst> {
    code::instructions(&Code::of(images.get(ImageId(space))), start..end)
}

/// A location as a place of the program.
pub fn place(at: Location) -> Place {
    Place { space: at.image.0, address: at.svma.0 }
}

/// A place of the program as a location.
pub fn at(place: Place) -> Location {
    Location { image: ImageId(place.space), svma: Svma(place.address) }
}

/// An image as a source of code.
struct Code<'a> {
    image: &'a Image,
    /// What is known of functions that it calls; those being looked through count as returning.
    noreturn: RefCell<BTreeMap<u64, bool>>,
    depth: Cell<usize>,
}

impl Code<'_> {
    fn of(image: &Image) -> Code<'_> {
        Code { image, noreturn: RefCell::default(), depth: Cell::default() }
    }

    /// Whether the function that starts at an address never returns, by its name or by its code.
    fn ends(&self, entry: u64) -> bool {
        if let Some(stub) = self.image.plt_target(Svma(entry)) {
            return never_returns(stub);
        }
        let Some(function) = self.image.function_from(Svma(entry)) else {
            return false;
        };
        if function.name.as_deref().is_some_and(jumps_away) {
            return true;
        }
        if let Some(&known) = self.noreturn.borrow().get(&entry) {
            return known;
        }
        if self.depth.get() == DEEPEST {
            return false;
        }
        self.noreturn.borrow_mut().insert(entry, false);
        self.depth.set(self.depth.get() + 1);
        let ends = !returns(self, &(entry..function.end.0));
        self.depth.set(self.depth.get() - 1);
        self.noreturn.borrow_mut().insert(entry, ends);
        ends
    }
}

fn never_returns(target: &PltTarget) -> bool {
    matches!(target, PltTarget::Symbol(name) if noreturn(name))
}

impl Source for Code<'_> {
    fn bitness(&self) -> Bitness {
        bitness(self.image).unwrap_or(Bitness::Bits64)
    }

    fn read(&self, address: u64, len: usize) -> Vec<u8> {
        let end = Svma(address.saturating_add(len as u64));
        let code = self.image.code(Svma(address)..end).filter(|c| !c.is_empty());
        code.or_else(|| self.image.read_data(Svma(address), len)).unwrap_or_default()
    }

    fn word(&self, address: u64, len: usize) -> Option<u64> {
        let whole = matches!((self.image.class()?, len), (Class::Bits64, 8) | (Class::Bits32, 4));
        whole.then(|| self.image.word(Svma(address)))?
    }

    fn constant_cell(&self, address: u64) -> Option<u64> {
        self.image.constant(Svma(address)).filter(|&to| self.executes(to))
    }

    fn executes(&self, address: u64) -> bool {
        self.image.elf().is_some_and(|elf| elf.is_code(Svma(address)))
    }

    fn noreturn(&self, callee: Callee) -> bool {
        match callee {
            Callee::At(entry) => self.ends(entry),
            Callee::Through(cell) => self.image.slot_target(Svma(cell)).is_some_and(never_returns),
        }
    }
}

/// What in all code of an image looks like a reference to one of the addresses `wanted`.
pub fn references(image: &Image, wanted: &BTreeSet<u64>) -> References {
    let mut all = References::default();
    let (Some(elf), Some(bitness)) = (image.elf(), bitness(image)) else { return all };
    let table = global_offset_table(elf);
    for section in elf.sections().iter().filter(|section| section.executable) {
        let bytes = elf.section_bytes(section).unwrap_or_default();
        all.add(References::find(&bytes, section.svma, bitness, table, wanted));
    }
    all
}

/// Which instruction set an image's code is of; `None` without it, or where it is not understood.
pub fn bitness(image: &Image) -> Option<Bitness> {
    Some(match image.class()? {
        Class::Bits32 => Bitness::Bits32,
        Class::Bits64 => Bitness::Bits64,
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::of_case;
    use super::*;
    use crate::code::Flow;

    /// The transfers of control that ran in a case, by the addresses of its binary.
    fn transfers(case: &str) -> Vec<(u64, u64)> {
        let path = format!("{}/testdata/cases/{case}.truth.tsv", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).expect("the truth");
        let address = |field: &str| u64::from_str_radix(field, 16).expect("an address");
        let edges = text.lines().filter_map(|line| line.strip_prefix("E\t"));
        let ends = edges.map(|edge| edge.split('\t').map(address).take(2).collect::<Vec<_>>());
        ends.map(|ends| (ends[0], ends[1])).collect()
    }

    #[test]
    fn every_jump_that_ran_inside_a_function_is_found_in_its_code() {
        let (mut jumps, mut switches) = (0, 0);
        for case in ["branchy", "hmmer_like", "matmul", "mcf_like", "nist_fn"] {
            let images = of_case(case);
            let mut decoded: BTreeMap<u64, Function> = BTreeMap::new();
            for (from, to) in transfers(case) {
                let Some(range) = images.get(ImageId(0)).function_at(Svma(from)) else { continue };
                let (start, end) = (range.start.0, range.end.0);
                let f = decoded.entry(start).or_insert_with(|| function(&images, (0, start, end), &[]));
                let ix = f.at(from).unwrap_or_else(|| panic!("{case}: {from:x} ran"));
                let jumps_on = f.insts[ix].jumps_to().is_some();
                let switch = matches!(f.insts[ix].flow, Flow::IndirectJump { .. });
                if (start..end).contains(&to) && (jumps_on || switch) {
                    let ways = f.cfg.successors(f.cfg.block_of(ix));
                    let mut ways = ways.map(|way| f.insts[f.cfg.blocks[way.to].first].address);
                    assert!(ways.any(|way| way == to), "{case}: {from:x} went to {to:x}");
                    (jumps, switches) = (jumps + usize::from(jumps_on), switches + usize::from(switch));
                }
            }
            for f in decoded.values() {
                // a lock prefix may be jumped over
                let cut = f
                    .insts
                    .windows(2)
                    .find(|pair| pair[0].end() > pair[1].address && pair[1].address - pair[0].address > 1);
                assert!(cut.is_none(), "{case}: {:x?}", cut.map(|pair| (pair[0].address, pair[1].address)));
            }
        }
        assert!(jumps > 3_000 && switches > 40, "{jumps} {switches}");
    }

    #[test]
    fn the_c_library_tells_by_its_code_which_of_its_functions_never_return() {
        let images = of_case("branchy");
        let image = images.get(ImageId(0));
        let code = Code::of(image);
        let never = |name: &str| {
            let named = image.functions().iter().find(|f| f.name.as_deref() == Some(name));
            code.ends(named.unwrap_or_else(|| panic!("{name}")).start.0)
        };
        for name in
            ["abort", "exit", "_exit", "__assert_fail", "__fortify_fail", "malloc_printerr", "__longjmp"]
        {
            assert!(never(name), "{name}");
        }
        for name in ["main", "malloc", "_IO_fwrite", "__libc_message"] {
            assert!(!never(name), "{name}");
        }
    }
}
