//! Code bytes and links for the tests of this stage and of those behind it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Bitness, Function, Linker, Place, Source, Taken};

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

/// Where the jump at an address may go, in the order of its table.
pub(crate) fn targets(f: &Function, jump: u64) -> Vec<u64> {
    let block = f.cfg.block_of(f.at(jump).expect("the jump"));
    f.cfg.successors(block).map(|e| f.insts[f.cfg.blocks[e.to].first].address).collect()
}

/// A loop that pushes or pops, by a register that is no argument's:
/// `0: test %eax,%eax; je d; mov %rax,(%rcx); add $8,%rcx; jmp 14; d: sub $8,%rcx; mov (%rcx),%rax; 14: dec %edi; jne 0; ret`.
pub(crate) const PUSHES_AND_POPS: [u8; 25] = [
    0x85, 0xc0, 0x74, 0x09, 0x48, 0x89, 0x01, 0x48, 0x83, 0xc1, 8, 0xeb, 0x07, 0x48, 0x83, 0xe9, 8, 0x48,
    0x8b, 0x01, 0xff, 0xcf, 0x75, 0xe8, 0xc3,
];

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
