//! Targets of an indirect jump through a table, by the two forms compilers write.
//!
//! `jmp *table(,%index,8)`, or a load of such an entry and a jump to it, leads to absolute entries; `lea table(%rip),%t; movslq
//! (%t,%i,4),%o; add %t,%o; jmp *%o` to entries relative to an address, mostly the table's. In: the instructions found so far. Out:
//! where the table says that control goes. The table's address may have been put into its register long before, out of a loop that
//! switches again and again. How long the table is follows from what its index, or what that was copied or loaded from, is compared
//! with; where nothing is found, it ends where another address begins that the function takes, or with an entry that cannot be right:
//! that leads out of the function, or into the middle of an instruction.

use std::collections::BTreeMap;
use std::ops::Range;

use super::inst::{Address, Effect, Inst, Number, Registers};
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
    /// Entries, where their number was found.
    pub len: Option<usize>,
}

/// What a jump goes through, whatever its registers hold.
struct Form {
    /// The entry that is read.
    operand: Address,
    /// Where that is done.
    load: u64,
    /// The register that is added to it.
    added: Option<u8>,
}

/// The code of a function as far as it was found.
#[derive(Clone, Copy)]
pub(super) struct Code<'a> {
    pub source: &'a dyn Source,
    pub range: &'a Range<u64>,
    pub insts: &'a BTreeMap<u64, Inst>,
    /// Where jumps stand, by where they lead; `None` where several do.
    pub jumps: &'a BTreeMap<u64, Option<u64>>,
}

impl Code<'_> {
    /// The table of the indirect jump at an address; `None` where none is recognised.
    pub fn table(&self, jump: u64) -> Option<Table> {
        let form = self.form(jump)?;
        let (index, entry) = form.operand.index?;
        let len = self.bound(form.load, index);
        let entry = usize::from(entry);
        let table = |address: u64, origin: Option<u64>| Table { address, entry, origin, len };
        let at = |base: u64| base.wrapping_add(form.operand.disp as u64);
        let found = |table: &Table| self.begins(table);
        match (form.operand.base, form.added) {
            (None, None) => Some(table(at(0), None)),
            (Some(base), None) => self.held(base, form.load).map(|b| table(at(b), None)).find(found),
            (Some(base), Some(added)) if base == added => {
                self.held(base, form.load).map(|b| table(at(b), Some(b))).find(found)
            }
            (base, Some(added)) => {
                let bases: Vec<u64> =
                    base.map_or_else(|| vec![0], |base| self.held(base, form.load).collect());
                let origins = self.held(added, jump);
                origins
                    .flat_map(|o| bases.iter().map(move |&b| (b, o)))
                    .map(|(b, o)| table(at(b), Some(o)))
                    .find(found)
            }
        }
    }

    /// Distinct targets that `table` has inside the function, in its order.
    pub fn targets(&self, table: &Table) -> Vec<u64> {
        let limit = table.len.unwrap_or_else(|| self.reach(table)).min(LARGEST_TABLE);
        let mut targets = Vec::new();
        for ix in 0..limit {
            let Some(target) = table.target(self.source, ix) else { break };
            let fits = self.range.contains(&target) && !self.cuts(target);
            // of a table whose length is known single entries may lead to what was moved out of the function
            if fits && !targets.contains(&target) {
                targets.push(target);
            } else if !fits && table.len.is_none() {
                break;
            }
        }
        targets
    }

    /// Whether some of the first entries lead into the function, or the first does where it is not known how many there are.
    fn begins(&self, table: &Table) -> bool {
        let some = table.len.map_or(1, |len| len.min(FIRST));
        !self.targets(&Table { len: Some(some), ..table.clone() }).is_empty()
    }

    /// Entries up to the next address that the function takes.
    fn reach(&self, table: &Table) -> usize {
        let taken = self.insts.values().filter_map(Inst::constant);
        let addresses = taken.filter(|(to, _)| *to != Number::Memory).map(|(_, address)| address);
        let next = addresses.filter(|&address| address > table.address).min();
        next.map_or(LARGEST_TABLE, |next| ((next - table.address) / table.entry as u64) as usize)
    }

    /// Whether `target` is in the middle of an instruction. (A prefix may be jumped over.)
    fn cuts(&self, target: u64) -> bool {
        let before = self.insts.range(..target).next_back();
        before.is_some_and(|(_, inst)| inst.end() > target && target - inst.address > 1)
            && !self.insts.contains_key(&target)
    }

    fn form(&self, jump: u64) -> Option<Form> {
        let inst = self.insts.get(&jump)?;
        let entry = |operand: &Address| operand.index.is_some_and(|(_, scale)| scale >= 4) && !operand.opaque;
        if let Some(operand) = inst.memory {
            return Some(Form { operand, load: jump, added: None }).filter(|form| entry(&form.operand));
        }
        let (mut value, mut added) = (inst.reads.without(Registers::STACK).general_number()?, None);
        for inst in self.before(jump) {
            match inst.effect {
                Effect::Add { to: Number::Register(to), from: Number::Register(from), minus: false }
                    if to == value && added.is_none() =>
                {
                    added = Some(from);
                }
                Effect::Copy { to: Number::Register(to), from: Number::Memory }
                    if to == value || Some(to) == added =>
                {
                    let added = if to == value { added } else { Some(value) };
                    let (operand, load) = (inst.memory?, inst.address);
                    return Some(Form { operand, load, added }).filter(|form| entry(&form.operand));
                }
                Effect::Copy { to: Number::Register(to), from: Number::Register(from) } if to == value => {
                    value = from;
                }
                _ if inst.changes().has(value) => return None,
                _ => {}
            }
        }
        None
    }

    /// How many values the `index` of an entry that is read at `load` may have.
    fn bound(&self, load: u64, index: u8) -> Option<usize> {
        let (mut value, mut operand) = (Number::Register(index), None);
        let mut behind: Option<&Inst> = self.insts.get(&load);
        for inst in self.before(load) {
            match inst.effect {
                Effect::Compare { left, right: Number::Constant(limit) }
                    if left == value && (left != Number::Memory || inst.memory == operand) =>
                {
                    if let Some(len) = behind.and_then(|branch| allowed(branch, limit)) {
                        return Some(len).filter(|&len| len <= LARGEST_TABLE);
                    }
                }
                Effect::Copy { to, from } if to == value && value != Number::Memory => {
                    (value, operand) = (from, inst.memory);
                    if matches!(from, Number::Constant(_)) {
                        return None;
                    }
                }
                _ if matches!(value, Number::Register(value) if inst.changes().has(value)) => return None,
                _ => {}
            }
            behind = Some(inst);
        }
        None
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
        let put = move |(_, inst): (&u64, &Inst)| inst.constant().filter(|c| c.0 == reg).map(|c| c.1);
        let before = self.insts.range(..address).rev().filter_map(put);
        let behind = self.insts.range(address..).filter_map(put);
        before.chain(behind).take(MOST_ADDRESSES)
    }
}

impl Table {
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
    use super::super::function::Function;
    use super::super::testing::Bytes;

    /// Where the jump at an address may go.
    fn targets(f: &Function, jump: u64) -> Vec<u64> {
        let block = f.cfg.block_of(f.at(jump).expect("the jump"));
        let to = f.cfg.successors(block).map(|e| f.insts[f.cfg.blocks[e.to].first].address);
        let mut targets: Vec<u64> = to.collect();
        targets.sort_unstable();
        targets
    }

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
}
