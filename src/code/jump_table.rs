//! Targets of an indirect jump through a table, by the two forms compilers write.
//!
//! `jmp *table(,%index,8)`, or a load of such an entry and a jump to it, leads to absolute entries; `lea table(%rip),%t; movslq
//! (%t,%i,4),%o; add %t,%o; jmp *%o` to entries relative to an address, mostly the table's ([`super::entry`]). In: the instructions
//! found so far. Out: where the table says that control goes. The table's address may have been put into its register long before, out
//! of a loop that switches again and again. How long the table is follows from what its index, or what that was copied or loaded from,
//! is compared with. An index that is masked or a byte has no more values than that, though the table may be shorter; else it ends
//! where another address begins that the function takes, or with an entry that cannot be right: that leads out of the function, or into
//! the middle of an instruction.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, Range};

use super::decode::Bitness;
use super::effect::{Effect, Number};
use super::entry::{self, Entry};
use super::inst::{Flow, Inst};
use super::source::Source;

/// How far back, in instructions, a load, a bound and an address are looked for.
const LOOK_BACK: usize = 24;
/// No table is read beyond so many entries.
const LARGEST_TABLE: usize = 4096;
/// Entries that are looked at to tell whether an address is that of a table.
const FIRST: usize = 8;
/// Addresses that a register may have held that are tried as a table's.
const MOST_ADDRESSES: usize = 4;

/// A table, and how far it is known to reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    address: u64,
    /// Bytes of an entry.
    entry: usize,
    /// What entries are added to; `None` where they are addresses.
    origin: Option<u64>,
    len: Length,
}

/// How many entries a table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    /// So many: its index is compared with that.
    Compared(usize),
    /// No more: its index has no other values.
    Most(usize),
    /// Nobody says.
    Unknown,
}

/// The code of a function as far as it was found.
#[derive(Clone, Copy)]
pub(super) struct Code<'a> {
    pub source: &'a dyn Source,
    pub range: &'a Range<u64>,
    pub insts: &'a BTreeMap<u64, Inst>,
    /// Where jumps stand, by where they lead; `None` where several do.
    pub jumps: &'a BTreeMap<u64, Option<u64>>,
    /// Addresses that it puts into registers.
    pub taken: &'a BTreeSet<u64>,
}

impl Code<'_> {
    /// The table of the indirect jump at an address; `None` where none is recognised.
    pub fn table(&self, jump: u64) -> Option<Table> {
        let Entry { index: (index, bytes), base, disp, added, from } =
            entry::read_by(self.insts.get(&jump)?, self.before(jump))?;
        let len = self.bound(from, index);
        let table = |address: u64, origin: Option<u64>| Table {
            address: address.wrapping_add_signed(disp),
            entry: bytes.into(),
            origin,
            len,
        };
        let bases: Vec<u64> = base.map_or_else(|| vec![0], |base| self.held(base, from).collect());
        let Some(added) = added else {
            // what stands in the operand is a table's address, whatever is in it
            let certain = |table: &Table| base.is_none() || self.begins(table);
            return bases.iter().map(|&b| table(b, None)).find(certain);
        };
        let origins = (base != Some(added)).then(|| self.held(added, jump));
        let apart = origins.into_iter().flatten().flat_map(|o| bases.iter().map(move |&b| (b, o)));
        let shared = bases.iter().filter(|_| base.is_some()).map(|&b| (b, b));
        apart.chain(shared).map(|(b, o)| table(b, Some(o))).find(|table| self.begins(table))
    }

    /// Distinct targets that `table` has inside the function, in its order.
    pub fn targets(&self, table: &Table) -> Vec<u64> {
        let limit = match table.len {
            Length::Compared(len) => len,
            Length::Most(len) => len.min(self.reach(table)),
            Length::Unknown => self.reach(table),
        };
        let mut targets = Vec::new();
        for ix in 0..limit.min(LARGEST_TABLE) {
            let Some(target) = table.target(self.source, ix) else { break };
            let fits = self.range.contains(&target) && !self.cuts(target);
            // of a table whose length is known single entries may lead to what was moved out of the function
            let elsewhere = match table.len {
                Length::Compared(_) => true,
                Length::Most(_) => !self.range.contains(&target) && self.source.executes(target),
                Length::Unknown => false,
            };
            if fits && !targets.contains(&target) {
                targets.push(target);
            } else if !fits && !elsewhere {
                break;
            }
        }
        targets
    }

    /// Whether some of the first entries lead into the function, or the first does where nothing tells how many there are.
    fn begins(&self, table: &Table) -> bool {
        let len = match table.len {
            Length::Compared(len) => Length::Compared(len.min(FIRST)),
            Length::Most(len) => Length::Most(len.min(FIRST)),
            Length::Unknown => Length::Compared(1),
        };
        !self.targets(&Table { len, ..table.clone() }).is_empty()
    }

    /// Entries up to the next address that the function takes.
    fn reach(&self, table: &Table) -> usize {
        let next = self.taken.range((Bound::Excluded(table.address), Bound::Unbounded)).next();
        next.map_or(LARGEST_TABLE, |next| ((next - table.address) / table.entry as u64) as usize)
    }

    /// Whether `target` is in the middle of an instruction. (A prefix may be jumped over.)
    fn cuts(&self, target: u64) -> bool {
        let before = self.insts.range(..target).next_back();
        before.is_some_and(|(_, inst)| inst.end() > target && target - inst.address > 1)
            && !self.insts.contains_key(&target)
    }

    /// How many values the `index` has of an entry whose address is made of it from the instruction at `from` on.
    fn bound(&self, from: u64, index: u8) -> Length {
        let (mut value, mut operand) = (Number::Register(index), None);
        let mut most = None;
        let mut behind: Option<&Inst> = self.insts.get(&from);
        for inst in self.before(from) {
            match inst.effect {
                Effect::Compare { left, right: Number::Constant(limit) }
                    if left == value && (left != Number::Memory || inst.memory == operand) =>
                {
                    let len = behind.and_then(|branch| allowed(branch, limit));
                    if let Some(len) = len.filter(|&len| len <= LARGEST_TABLE) {
                        return Length::Compared(len);
                    }
                }
                Effect::Copy { to, from } if to == value && value != Number::Memory => {
                    let byte = inst.width == 1 && &*inst.mnemonic == "movzx";
                    most = most.or(byte.then_some(1 << u8::BITS));
                    (value, operand) = (from, inst.memory);
                    if matches!(from, Number::Constant(_)) {
                        break;
                    }
                }
                Effect::Mask { to, by } if to == value && value != Number::Memory => {
                    most = most.or(usize::try_from(by).ok().and_then(|by| by.checked_add(1)));
                    break;
                }
                _ if matches!(value, Number::Register(value) if inst.changes().has(value)) => break,
                _ => {}
            }
            behind = Some(inst);
        }
        most.filter(|&most| most <= LARGEST_TABLE).map_or(Length::Unknown, Length::Most)
    }

    /// The instructions before that at `address`: those it is reached from straight on, else by the only jump that leads there.
    fn before(&self, address: u64) -> impl Iterator<Item = &Inst> {
        let mut at = address;
        let before = move || {
            let straight = self.insts.range(..at).next_back().map(|(_, inst)| inst);
            let straight = straight.filter(|inst| inst.end() == at && inst.falls_through());
            let found = straight.or_else(|| self.jump_to(at))?;
            at = found.address;
            Some(found)
        };
        std::iter::from_fn(before).take(LOOK_BACK)
    }

    /// The jump to an address, if there is one only.
    fn jump_to(&self, address: u64) -> Option<&Inst> {
        self.insts.get(self.jumps.get(&address)?.as_ref()?)
    }

    /// Constants that the code puts into a register: the last before `address` in memory first, then the first behind it.
    fn held(&self, reg: u8, address: u64) -> impl Iterator<Item = u64> {
        let reg = Number::Register(reg);
        let put = move |(_, inst): (&u64, &Inst)| {
            let constant = inst.constant().or_else(|| self.offset_from_here(inst));
            constant.filter(|c| c.0 == reg).map(|c| c.1)
        };
        let before = self.insts.range(..address).rev().filter_map(put);
        let behind = self.insts.range(address..).filter_map(put);
        before.chain(behind).take(MOST_ADDRESSES)
    }

    /// The constant that `inst` makes of its own address where code of 32 bits has no other way to tell where it is: it adds to what
    /// a call has left that asked for that ([`super::here`]), or that calls what is behind it, which takes that.
    fn offset_from_here(&self, inst: &Inst) -> Option<(Number, u64)> {
        let Effect::Add { to: to @ Number::Register(register), from: Number::Constant(added), minus: false } =
            inst.effect
        else {
            return None;
        };
        let ends_at = |at: u64| {
            self.insts.range(..at).next_back().map(|(_, inst)| inst).filter(|inst| inst.end() == at)
        };
        let before = ends_at(inst.address).filter(|_| self.source.bitness() == Bitness::Bits32)?;
        let here = match before.flow {
            Flow::Call(_) if matches!(before.effect, Effect::Copy { to: asked, .. } if asked == to) => {
                before.end()
            }
            Flow::Next if &*before.mnemonic == "pop" && before.writes.has(register) => {
                ends_at(before.address).filter(|call| call.flow == Flow::Call(before.address))?.end()
            }
            _ => return None,
        };
        Some((to, u64::from((here as u32).wrapping_add(added as u32))))
    }
}

impl Table {
    /// Whether its index is compared with how many entries it has.
    pub fn is_bounded(&self) -> bool {
        matches!(self.len, Length::Compared(_))
    }

    fn target(&self, source: &dyn Source, ix: usize) -> Option<u64> {
        let at = self.address.wrapping_add((ix * self.entry) as u64);
        match self.origin {
            Some(origin) => {
                let word = source.read(at, 4);
                let offset = i32::from_le_bytes(word.try_into().ok()?);
                Some(origin.wrapping_add_signed(offset.into()))
            }
            None => source.word(at, self.entry),
        }
    }
}

/// How many values are let through by a branch behind a comparison with `limit`, on one of its ways.
fn allowed(branch: &Inst, limit: i64) -> Option<usize> {
    let limit = usize::try_from(limit).ok()?;
    match &*branch.mnemonic {
        "ja" | "jna" | "jbe" | "jnbe" => limit.checked_add(1),
        "jae" | "jnb" | "jb" | "jnae" => Some(limit),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::explore::explore;
    use super::super::testing::{Bytes, targets};
    use super::*;

    fn words(code: &mut Vec<u8>, at: usize, entries: &[i32]) {
        code.resize(at, 0xcc);
        entries.iter().for_each(|entry| code.extend(entry.to_le_bytes()));
    }

    #[test]
    fn a_relative_table_is_read_to_its_bound() {
        // 0: cmp $2,%edi; 3: ja 16; 5: lea 0x14(%rip),%rdx (0x20); c: movslq (%rdx,%rdi,4),%rax; 10: add %rdx,%rax;
        // 13: jmp *%rax; 15: nop; 16: ret; 17: nop; 18: ret; 20: table 16 17 18, then a word that lies inside too
        let mut code = vec![0x83, 0xff, 0x02, 0x77, 0x11, 0x48, 0x8d, 0x15, 0x14, 0, 0, 0];
        code.extend([0x48, 0x63, 0x04, 0xba, 0x48, 0x01, 0xd0, 0xff, 0xe0, 0x90, 0xc3, 0x90, 0xc3]);
        words(&mut code, 0x20, &[0x16, 0x17, 0x18, 0x15].map(|target| target - 0x20));
        let f = explore(&Bytes(0, code), 0..0x20, &[]);
        assert_eq!(targets(&f, 0x13), [0x16, 0x17, 0x18]);
    }

    #[test]
    fn an_absolute_table_ends_where_an_entry_leaves_the_function() {
        // 0: jmp *0x10(,%rdi,8); 7: ret; 8: nop; 9: ret; 10: table 7 8 0xdead
        let mut code = vec![0xff, 0x24, 0xfd, 0x10, 0, 0, 0, 0xc3, 0x90, 0xc3];
        code.resize(0x10, 0xcc);
        for target in [7u64, 8, 0xdead, 9] {
            code.extend(target.to_le_bytes());
        }
        let f = explore(&Bytes(0, code), 0..0x10, &[]);
        assert_eq!(targets(&f, 0), [7, 8]);
    }

    #[test]
    fn what_is_compared_in_memory_bounds_what_is_loaded_from_there() {
        // 0: lea 0x29(%rip),%r12 (0x30); 7: cmpb $1,(%rdi); a: ja 1a; c: movzbl (%rdi),%eax; f: movslq (%r12,%rax,4),%rax;
        // 13: add %r12,%rax; 16: jmp *%rax; 18: nop; 19: nop; 1a: ret; 30: table 18 1a 19
        let mut code = vec![0x4c, 0x8d, 0x25, 0x29, 0, 0, 0, 0x80, 0x3f, 0x01, 0x77, 0x0e, 0x0f, 0xb6, 0x07];
        code.extend([0x49, 0x63, 0x04, 0x84, 0x4c, 0x01, 0xe0, 0xff, 0xe0, 0x90, 0x90, 0xc3]);
        words(&mut code, 0x30, &[0x18, 0x1a, 0x19].map(|target| target - 0x30));
        let f = explore(&Bytes(0, code), 0..0x30, &[]);
        assert_eq!(targets(&f, 0x16), [0x18, 0x1a]);
    }

    #[test]
    fn a_table_ends_where_the_next_begins() {
        // 0: lea 0x39(%rip),%rdx (0x40); 7: lea 0x3a(%rip),%rcx (0x48); e: movslq (%rdx,%rdi,4),%rax; 12: add %rdx,%rax;
        // 15: jmp *%rax; 17: movslq (%rcx,%rsi,4),%rax; 1b: add %rcx,%rax; 1e: jmp *%rax; 20: mov $0,%eax; 25: ret;
        // 40: table 17 20, then that of the second: 25 (which from 40 is 1d, amid the addition) and one that leads out
        let mut code = vec![0x48, 0x8d, 0x15, 0x39, 0, 0, 0, 0x48, 0x8d, 0x0d, 0x3a, 0, 0, 0];
        code.extend([0x48, 0x63, 0x04, 0xba, 0x48, 0x01, 0xd0, 0xff, 0xe0]);
        code.extend([0x48, 0x63, 0x04, 0xb1, 0x48, 0x01, 0xc8, 0xff, 0xe0, 0xb8, 0, 0, 0, 0, 0xc3]);
        words(&mut code, 0x40, &[0x17 - 0x40, 0x20 - 0x40, 0x25 - 0x48, 0x100]);
        let f = explore(&Bytes(0, code), 0..0x40, &[]);
        assert_eq!(targets(&f, 0x15), [0x17, 0x20]);
        assert_eq!(targets(&f, 0x1e), [0x25]);
        assert!(f.insts.windows(2).all(|pair| pair[0].end() <= pair[1].address));
    }

    #[test]
    fn the_bound_may_stand_where_the_jump_is_reached_from() {
        // 0: cmp $1,%edi; 3: jbe 6; 5: ret; 6: jmp *0x20(,%rdi,8); d: nop; e: ret; 20: table d e 5
        let mut code = vec![0x83, 0xff, 0x01, 0x76, 0x01, 0xc3, 0xff, 0x24, 0xfd, 0x20, 0, 0, 0, 0x90, 0xc3];
        code.resize(0x20, 0xcc);
        for target in [0xdu64, 0xe, 5] {
            code.extend(target.to_le_bytes());
        }
        let f = explore(&Bytes(0, code), 0..0x20, &[]);
        assert_eq!(targets(&f, 6), [0xd, 0xe]);
    }

    #[test]
    fn a_mask_lets_no_more_entries_through() {
        // 0: and $1,%edi; 3: jmp *0x20(,%rdi,8); a: ret; b: ret; c: ret; 20: table a b c
        let mut code = vec![0x83, 0xe7, 0x01, 0xff, 0x24, 0xfd, 0x20, 0, 0, 0, 0xc3, 0xc3, 0xc3];
        code.resize(0x20, 0xcc);
        for target in [0xau64, 0xb, 0xc] {
            code.extend(target.to_le_bytes());
        }
        let f = explore(&Bytes(0, code), 0..0x10, &[]);
        assert_eq!(targets(&f, 3), [0xa, 0xb]);
    }

    /// Code at 0x1000 besides.
    struct Cold(Bytes);

    impl Source for Cold {
        fn bitness(&self) -> Bitness {
            self.0.bitness()
        }

        fn read(&self, address: u64, len: usize) -> Vec<u8> {
            self.0.read(address, len)
        }

        fn executes(&self, address: u64) -> bool {
            address == 0x1000
        }
    }

    #[test]
    fn entries_of_a_byte_may_lead_to_what_was_moved_out_of_the_function() {
        // 0: movzbl %dil,%eax; 4: jmp *0x20(,%rax,8); b: ret; c: nop; d: ret; 20: table 1000 b 1000 c, then what is no code, and d
        let mut code = vec![0x40, 0x0f, 0xb6, 0xc7, 0xff, 0x24, 0xc5, 0x20, 0, 0, 0, 0xc3, 0x90, 0xc3];
        code.resize(0x20, 0xcc);
        for target in [0x1000u64, 0xb, 0x1000, 0xc, 0x2000, 0xd] {
            code.extend(target.to_le_bytes());
        }
        let f = explore(&Cold(Bytes(0, code)), 0..0x10, &[]);
        assert_eq!(targets(&f, 4), [0xb, 0xc]);
    }
}
