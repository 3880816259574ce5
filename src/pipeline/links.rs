//! Where stubs and cells lead that the loader fills when the program starts.
//!
//! In: the images' relocations, and how many samples each function has. Out: the function that a call through a stub or a
//! cell of the global offset table enters. Which implementation a resolver chose (`memchr` for this processor) is not in the
//! files: it is the one with samples among those whose addresses the resolver can return.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::decoding::function;
use crate::code::{Linker, Place};
use crate::image::{ImageId, Images, PltTarget, Svma};

/// Resolvers are small.
const LARGEST_RESOLVER: u64 = 4096;

/// What the binaries know about stubs and cells.
pub struct Links<'a> {
    /// The binaries.
    images: &'a Images,
    /// Samples by function.
    samples: &'a BTreeMap<Place, f64>,
    /// What resolvers chose, as far as that was asked.
    choices: RefCell<BTreeMap<Place, Option<Place>>>,
}

impl<'a> Links<'a> {
    /// Links of `images`, whose functions have so many `samples`.
    pub fn new(images: &'a Images, samples: &'a BTreeMap<Place, f64>) -> Links<'a> {
        Links { images, samples, choices: RefCell::default() }
    }

    fn lead(&self, space: u32, target: &PltTarget) -> Option<Place> {
        match target {
            PltTarget::Symbol(name) => {
                let exported = |(id, image): (ImageId, &crate::image::Image)| {
                    Some(Place { space: id.0, address: image.exported(name)?.0 })
                };
                let at = self.images.iter().find_map(exported)?;
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

    fn choose(&self, resolver: Place) -> Option<Place> {
        let range = self.images.get(ImageId(resolver.space)).function_at(Svma(resolver.address))?;
        if range.start.0 != resolver.address || range.end.0 - range.start.0 > LARGEST_RESOLVER {
            return None;
        }
        let code = function(self.images, (resolver.space, range.start.0, range.end.0), &[]);
        let sampled = |address: u64| {
            let at = Place { address, ..resolver };
            Some((*self.samples.get(&at)?, at))
        };
        let most =
            code.constants().filter_map(sampled).max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        most.map(|(_, at)| at)
    }
}

impl Linker for Links<'_> {
    fn stub(&self, at: Place) -> Option<Place> {
        self.lead(at.space, self.images.get(ImageId(at.space)).plt_target(Svma(at.address))?)
    }

    fn cell(&self, at: Place) -> Option<Place> {
        self.lead(at.space, self.images.get(ImageId(at.space)).slot_target(Svma(at.address))?)
    }
}
