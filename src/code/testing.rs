//! Code bytes and links for the tests of this stage and of those behind it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Bitness, Linker, Place, Source, Taken};

/// Bytes of x86-64 code at an address.
pub(crate) struct Bytes(pub u64, pub Vec<u8>);

impl Source for Bytes {
    fn bitness(&self) -> Bitness {
        Bitness::Bits64
    }

    fn read(&self, address: u64, len: usize) -> Vec<u8> {
        let skip = address.wrapping_sub(self.0) as usize;
        self.1.get(skip..).map(|b| b[..b.len().min(len)].to_vec()).unwrap_or_default()
    }
}

/// Binaries without stubs.
pub(crate) struct NoStubs;

impl Linker for NoStubs {
    fn stub(&self, _: Place) -> Option<Place> {
        None
    }

    fn cell(&self, _: Place) -> Option<Place> {
        None
    }

    fn initial(&self, _: Place) -> Option<Place> {
        None
    }

    fn taken(&self, functions: &BTreeSet<Place>) -> BTreeMap<Place, Taken> {
        functions.iter().map(|&at| (at, Taken { by_code: true, ..Taken::default() })).collect()
    }

    fn begins(&self, _: Place) -> bool {
        false
    }
}
