//! What in a stretch of code looks like a reference to one of some addresses: a call or jump to it or through it, or an address taken.
//!
//! In: bytes, whatever they are. Out: where an opcode and a displacement may stand that lead there, and which of the addresses
//! a displacement or a constant leads to without them. It does not know where instructions begin: what it finds is to be
//! decoded.

use std::collections::BTreeSet;
use std::ops::Range;

use rayon::prelude::*;

use super::decode::Bitness;

/// `call rel32` and `jmp rel32`.
const TRANSFERS: [u8; 2] = [0xe8, 0xe9];
/// `call *` and `jmp *` through a displacement or an address, behind [`INDIRECT`].
const THROUGH: [u8; 2] = [0x15, 0x25];
/// … and through a displacement from a register, but for its number.
const THROUGH_REGISTER: [u8; 2] = [0x90, 0xa0];
/// The opcode of indirect calls and jumps.
const INDIRECT: u8 = 0xff;
/// Bytes of a displacement or a constant.
const WORD: usize = 4;
/// Bytes that are looked through in one go.
const STRETCH: usize = 1 << 20;
/// Low bits of an address by which most that are not asked for are told.
const LOW_BITS: u32 = 22;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    /// Where calls and jumps stand, with where they lead.
    pub transfers: Vec<(u64, u64)>,
    /// Where calls and jumps stand that go where the cell at one of the addresses leads, with that address.
    pub through: Vec<(u64, u64)>,
    /// Where else something may lead to one of them, with that: whoever has it may call it indirectly.
    pub taken: Vec<(u64, u64)>,
}

impl References {
    /// Those in `bytes`, which stand at `start`, to the addresses `wanted`. Code of 32 bits may reach them from its `table`, the
    /// global offset table.
    pub fn find(
        bytes: &[u8],
        start: u64,
        bitness: Bitness,
        table: Option<u64>,
        wanted: &BTreeSet<u64>,
    ) -> References {
        let wanted = Wanted::new(wanted);
        let table = table.filter(|_| bitness == Bitness::Bits32);
        let offsets = bytes.len().saturating_sub(WORD - 1);
        let stretches = (0..offsets.div_ceil(STRETCH)).into_par_iter();
        let stretches = stretches.map(|ix| ix * STRETCH..offsets.min((ix + 1) * STRETCH));
        let found: Vec<References> =
            stretches.map(|at| References::within(bytes, at, start, bitness, table, &wanted)).collect();
        let mut all = References::default();
        found.into_iter().for_each(|found| all.add(found));
        all
    }

    /// Adds those of another stretch.
    pub fn add(&mut self, mut other: References) {
        self.transfers.append(&mut other.transfers);
        self.through.append(&mut other.through);
        self.taken.append(&mut other.taken);
    }

    /// Those whose displacement or constant begins at one of these `offsets`.
    fn within(
        bytes: &[u8],
        offsets: Range<usize>,
        start: u64,
        bitness: Bitness,
        table: Option<u64>,
        wanted: &Wanted<'_>,
    ) -> References {
        let mut found = References::default();
        for (offset, word) in offsets.clone().zip(bytes[offsets.start..].windows(WORD)) {
            let &[a, b, c, d] = word else { continue };
            let word = [a, b, c, d];
            let at = start.wrapping_add(offset as u64);
            let end = at.wrapping_add(WORD as u64);
            let to = end.wrapping_add_signed(i64::from(i32::from_le_bytes(word)));
            let to = if bitness == Bitness::Bits32 { to & u64::from(u32::MAX) } else { to };
            let before = |n: usize| offset.checked_sub(n).map_or(0, |ix| bytes[ix]);
            let through = before(2) == INDIRECT && THROUGH.contains(&before(1));
            if wanted.contains(to) {
                match before(1) {
                    _ if through => found.through.push((at.wrapping_sub(2), to)),
                    opcode if TRANSFERS.contains(&opcode) => found.transfers.push((at.wrapping_sub(1), to)),
                    opcode if before(2) == 0x0f && opcode & 0xf0 == 0x80 => {}
                    _ => found.taken.push((at, to)),
                }
            }
            let constant = u64::from(u32::from_le_bytes(word));
            let from_table = table.map(|table| table.wrapping_add(constant) & u64::from(u32::MAX));
            if let Some(to) = from_table.filter(|&to| wanted.contains(to)) {
                match before(2) == INDIRECT && THROUGH_REGISTER.contains(&(before(1) & !7)) {
                    true => found.through.push((at.wrapping_sub(2), to)),
                    false => found.taken.push((at, to)),
                }
            }
            if wanted.contains(constant) {
                match through && bitness == Bitness::Bits32 {
                    true => found.through.push((at.wrapping_sub(2), constant)),
                    false => found.taken.push((at, constant)),
                }
            }
        }
        found
    }
}

/// Addresses that are asked for at every byte.
struct Wanted<'a> {
    all: &'a BTreeSet<u64>,
    /// Whether one of them ends in these bits, one bit for each.
    ends: Vec<u64>,
}

impl Wanted<'_> {
    fn new(all: &BTreeSet<u64>) -> Wanted<'_> {
        let mut wanted = Wanted { all, ends: vec![0; 1 << (LOW_BITS - u64::BITS.ilog2())] };
        for &address in all {
            let (word, bit) = Wanted::end(address);
            wanted.ends[word] |= bit;
        }
        wanted
    }

    fn contains(&self, address: u64) -> bool {
        let (word, bit) = Wanted::end(address);
        self.ends[word] & bit != 0 && self.all.contains(&address)
    }

    /// Where in `ends` the low bits of an address stand.
    fn end(address: u64) -> (usize, u64) {
        let low = address & ((1 << LOW_BITS) - 1);
        ((low / u64::from(u64::BITS)) as usize, 1 << (low % u64::from(u64::BITS)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(code: &[u8], start: u64, bitness: Bitness) -> References {
        References::find(code, start, bitness, Some(0x3000), &BTreeSet::from([0x10, 0x1000]))
    }

    #[test]
    fn calls_and_jumps_are_found_wherever_they_stand() {
        // 800: nop; call 1000; jmp 10; call 1001
        let code = [0x90, 0xe8, 0xfa, 7, 0, 0, 0xe9, 5, 0xf8, 0xff, 0xff, 0xe8, 0xf1, 7, 0, 0];
        let found = find(&code, 0x800, Bitness::Bits64);
        assert_eq!(found.transfers, [(0x801, 0x1000), (0x806, 0x10)]);
        assert!(found.taken.is_empty());
        assert_eq!(find(&code[..5], 0x800, Bitness::Bits64), References::default(), "cut off");
        assert_eq!(find(&[], 0x800, Bitness::Bits64), References::default());
    }

    #[test]
    fn an_address_may_be_taken_as_a_displacement_or_a_constant() {
        // 800: lea 1000(%rip),%rax — mov $1000,%edi — je 1000
        let lea = [0x48, 0x8d, 0x05, 0xf9, 7, 0, 0];
        let constant = [0xbf, 0, 0x10, 0, 0];
        let jump = [0x0f, 0x84, 0xfa, 7, 0, 0];
        let taken = |code: &[u8]| find(code, 0x800, Bitness::Bits64).taken;
        assert_eq!((taken(&lea), taken(&constant)), (vec![(0x803, 0x1000)], vec![(0x801, 0x1000)]));
        assert_eq!(find(&jump, 0x800, Bitness::Bits64), References::default());
    }

    #[test]
    fn a_cell_may_be_called_through() {
        // 800: call *1000(%rip); jmp *1000(%rip)
        let code = [0xff, 0x15, 0xfa, 7, 0, 0, 0xff, 0x25, 0xf4, 7, 0, 0];
        let found = find(&code, 0x800, Bitness::Bits64);
        assert_eq!((found.through, found.taken), (vec![(0x800, 0x1000), (0x806, 0x1000)], vec![]));
        // call *0x1000
        let absolute = [0xff, 0x15, 0, 0x10, 0, 0];
        assert_eq!(find(&absolute, 0x8000, Bitness::Bits32).through, [(0x8000, 0x1000)]);
        assert_eq!(find(&absolute, 0x8000, Bitness::Bits64).through, []);
    }

    #[test]
    fn what_crosses_from_one_stretch_to_the_next_is_found_once() {
        // call 0x10, at each place around the border
        for back in 0..8 {
            let mut code = vec![0x90; STRETCH + 64];
            let at = STRETCH - back;
            code[at] = 0xe8;
            code[at + 1..at + 5].copy_from_slice(&(0x10 - (0x800 + at + 5) as i32).to_le_bytes());
            let found = find(&code, 0x800, Bitness::Bits64);
            assert_eq!((found.transfers, found.taken), (vec![(0x800 + at as u64, 0x10)], vec![]), "{back}");
        }
    }

    #[test]
    fn addresses_of_32_bit_code_wrap() {
        let found = find(&[0xe8, 0x0b, 0x10, 0, 0], 0xffff_f000, Bitness::Bits32);
        assert_eq!(found.transfers, [(0xffff_f000, 0x10)]);
    }

    #[test]
    fn code_of_32_bits_reaches_from_its_table() {
        // lea -0x2000(%ebx),%eax; call *-0x2000(%ebx)
        let code = [0x8d, 0x83, 0, 0xe0, 0xff, 0xff, 0xff, 0x93, 0, 0xe0, 0xff, 0xff];
        let found = find(&code, 0x8000, Bitness::Bits32);
        assert_eq!((found.taken, found.through), (vec![(0x8002, 0x1000)], vec![(0x8006, 0x1000)]));
        assert_eq!(find(&code, 0x8000, Bitness::Bits64), References::default());
    }
}
