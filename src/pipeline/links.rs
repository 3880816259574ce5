//! Where stubs and cells lead that the loader fills when the program starts.
//!
//! In: the images' relocations, and how many samples each function has. Out: the function that a call through a stub or a
//! cell of the global offset table enters, and those that are called when the program starts. Which implementation a resolver
//! chose (`memchr` for this processor) is not in the files: it is the one with samples among those whose addresses the
//! resolver can return.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::decoding::{Range, instructions, references};
use super::objects::within_unnamed;
use crate::code::{Inst, Linker, Place, Slot, Taken, stored};
use crate::image::{AddressSpaces, Company, Image, ImageId, Images, PltTarget, Standing, Svma};
use crate::progress::{Progress, Stage, each};

/// Resolvers are small.
const LARGEST_RESOLVER: u64 = 4096;
/// So is the code at an entry point, where nothing tells how far it reaches.
const LARGEST_START: u64 = 64;

/// What the binaries know about stubs and cells.
pub struct Links<'a> {
    /// The binaries.
    images: &'a Images,
    /// Which of them were in one process.
    company: &'a Company,
    /// Samples by function.
    samples: &'a BTreeMap<Place, f64>,
    /// What resolvers chose, as far as that was asked.
    choices: RefCell<BTreeMap<Place, Option<Place>>>,
    /// What the entry point of each image hands over, as far as that was asked.
    begun: RefCell<BTreeMap<u32, BTreeSet<u64>>>,
    progress: &'a dyn Progress,
}

impl<'a> Links<'a> {
    /// Links of `images`, which were mapped into such `spaces`, and whose functions have so many `samples`.
    pub fn new(
        images: &'a Images,
        spaces: &'a AddressSpaces,
        samples: &'a BTreeMap<Place, f64>,
        progress: &'a dyn Progress,
    ) -> Links<'a> {
        let company = spaces.company();
        Links { images, company, samples, choices: RefCell::default(), begun: RefCell::default(), progress }
    }

    fn lead(&self, space: u32, target: &PltTarget) -> Option<Place> {
        match target {
            PltTarget::Symbol(name) => {
                let exported = |(id, image): (ImageId, &Image)| {
                    Some(Place { space: id.0, address: image.exported(name)?.0 })
                };
                let exports = || self.images.iter().filter_map(exported);
                let beside = |at: &Place| self.company.share(ImageId(space), ImageId(at.space));
                let at = exports().find(beside).or_else(|| exports().next())?;
                if self.samples.contains_key(&at) { Some(at) } else { self.chosen(at).or(Some(at)) }
            }
            PltTarget::Resolver(resolver) => self.chosen(Place { space, address: (*resolver)?.0 }),
        }
    }

    /// The implementation with most samples that the resolver at a place can choose.
    fn chosen(&self, resolver: Place) -> Option<Place> {
        let known = self.choices.borrow().get(&resolver).copied();
        known.unwrap_or_else(|| {
            let chosen = self.choose(resolver);
            self.choices.borrow_mut().insert(resolver, chosen);
            chosen
        })
    }

    /// Addresses that the code at an image's entry point takes: it calls nothing itself but the C library, which
    /// calls these.
    fn handed_over(&self, space: u32) -> BTreeSet<u64> {
        let image = self.images.get(ImageId(space));
        let Some(entry) = image.elf().and_then(|elf| elf.entry()) else { return BTreeSet::new() };
        let end = image.function_at(entry).map_or(entry.0.saturating_add(LARGEST_START), |f| f.end.0);
        constants(&instructions(self.images, (space, entry.0, end))).collect()
    }

    /// Those of the addresses `wanted` that the data or the code of an image holds.
    fn taken_in(&self, space: u32, wanted: &BTreeSet<u64>) -> BTreeMap<u64, Taken> {
        let image = self.images.get(ImageId(space));
        let mut taken: BTreeMap<u64, Taken> = BTreeMap::new();
        let Standing { places, cells } = image.pointers_to(wanted);
        for (address, slots) in slots(image, places) {
            taken.entry(address).or_default().slots.extend(slots);
        }
        let (images, takers) = (self.images, self.takers(image, space, wanted, &cells));
        let made = |(range, addresses)| made(&instructions(images, range), &addresses);
        let takers: Vec<_> = takers.into_iter().collect();
        let made = each(self.progress, Stage::Decode, takers.into_par_iter(), made);
        for (address, offsets) in made.into_iter().flatten() {
            let taken = taken.entry(address).or_default();
            taken.by_code = true;
            taken.slots.extend(offsets.into_iter().map(|offset| Slot { offset, size: 0 }));
        }
        taken
    }

    /// Functions of an image that seem to take some of the addresses `wanted`, out of `cells` too, and which.
    fn takers(
        &self,
        image: &Image,
        space: u32,
        wanted: &BTreeSet<u64>,
        cells: &BTreeMap<u64, u64>,
    ) -> BTreeMap<Range, BTreeSet<u64>> {
        let mut takers: BTreeMap<Range, BTreeSet<u64>> = BTreeMap::new();
        let wanted = wanted.iter().chain(cells.keys()).copied().collect();
        for (at, to) in references(image, &wanted).taken {
            let address = cells.get(&to).copied().unwrap_or(to);
            if let Some(f) = image.function_at(Svma(at)) {
                takers.entry((space, f.start.0, f.end.0)).or_default().insert(address);
            }
        }
        takers
    }

    fn choose(&self, resolver: Place) -> Option<Place> {
        let range = self.images.get(ImageId(resolver.space)).function_from(Svma(resolver.address))?;
        if range.end.0 - range.start.0 > LARGEST_RESOLVER {
            return None;
        }
        let code = instructions(self.images, (resolver.space, range.start.0, range.end.0));
        let sampled = |address: u64| {
            let at = Place { address, ..resolver };
            Some((*self.samples.get(&at)?, at))
        };
        let most = constants(&code).filter_map(sampled);
        Some(most.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?.1)
    }
}

/// Where in the objects of an image each address stands that has `pointers` to it.
fn slots(image: &Image, pointers: BTreeMap<u64, BTreeSet<u64>>) -> BTreeMap<u64, Vec<Slot>> {
    let named = |place: u64| image.within_object(Svma(place)).map(|(offset, size)| Slot { offset, size });
    let unnamed = pointers.values().flatten().copied().filter(|&place| named(place).is_none()).collect();
    let unnamed = within_unnamed(image, &unnamed);
    let slot = |&place: &u64| named(place).or_else(|| Some(Slot { offset: *unnamed.get(&place)?, size: 0 }));
    pointers.into_iter().map(|(to, places)| (to, places.iter().filter_map(slot).collect())).collect()
}

/// Constants and constant addresses that instructions put somewhere.
fn constants(insts: &[Inst]) -> impl Iterator<Item = u64> {
    insts.iter().filter_map(Inst::constant).map(|(_, value)| value)
}

/// Those of `addresses` that instructions make, each with the offsets in objects at which they store it.
fn made(insts: &[Inst], addresses: &BTreeSet<u64>) -> BTreeMap<u64, BTreeSet<i64>> {
    let held: BTreeSet<u64> = constants(insts).collect();
    addresses.intersection(&held).map(|&address| (address, stored(insts, address))).collect()
}

impl Linker for Links<'_> {
    fn stub(&self, at: Place) -> Option<Place> {
        self.lead(at.space, self.images.get(ImageId(at.space)).plt_target(Svma(at.address))?)
    }

    fn cell(&self, at: Place) -> Option<Place> {
        let image = self.images.get(ImageId(at.space));
        match image.slot_target(Svma(at.address)) {
            Some(target) => self.lead(at.space, target),
            None => Some(Place { address: image.constant(Svma(at.address))?, ..at }),
        }
    }

    fn initial(&self, at: Place) -> Option<Place> {
        let address = self.images.get(ImageId(at.space)).word(Svma(at.address))?;
        Some(Place { address, ..at })
    }

    fn taken(&self, functions: &BTreeSet<Place>) -> BTreeMap<Place, Taken> {
        let mut wanted: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
        for at in functions {
            wanted.entry(at.space).or_default().insert(at.address);
        }
        let mut taken = BTreeMap::new();
        for (space, wanted) in wanted {
            let found = self.taken_in(space, &wanted).into_iter();
            taken.extend(found.map(|(address, taken)| (Place { space, address }, taken)));
        }
        taken
    }

    fn begins(&self, at: Place) -> bool {
        let mut begun = self.begun.borrow_mut();
        begun.entry(at.space).or_insert_with(|| self.handed_over(at.space)).contains(&at.address)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::of_case;
    use super::*;
    use crate::progress::Silent;

    #[test]
    fn main_is_what_the_entry_point_hands_over() {
        let images = of_case("nist_fn");
        let none = BTreeMap::new();
        let spaces = AddressSpaces::new();
        let links = Links::new(&images, &spaces, &none, &Silent);
        let begins = |name: &str| {
            let named = |f: &&crate::image::FunctionRange| f.name.as_deref() == Some(name);
            let function = images.get(ImageId(0)).functions().iter().find(named);
            links.begins(Place { space: 0, address: function.unwrap_or_else(|| panic!("{name}")).start.0 })
        };
        assert!(begins("main") && !begins("fn1") && !begins("_start"));
    }
}
