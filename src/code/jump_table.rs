//! Targets of an indirect jump through a table, by the two forms compilers write.
//!
//! `jmp *table(,%index,8)` jumps to absolute entries; `lea table(%rip),%t; movslq (%t,%i,4),%o; add %t,%o; jmp *%o` to
//! entries relative to the table. The index was compared with a constant shortly before; where that is not found the table
//! is read until an entry leaves the function.

use std::collections::BTreeMap;
use std::ops::Range;

use super::inst::{Idiom, Inst};
use super::source::Source;

/// How far back, in instructions, the table's address and the bound are looked for.
const LOOK_BACK: usize = 24;
/// No table is read beyond so many entries.
const LARGEST_TABLE: usize = 4096;

/// A table as the code addresses it.
struct Table {
    address: u64,
    entry: u8,
    relative: bool,
}

/// Distinct targets inside `range` of the jump at `address`, in the table's order; none where no table is recognised.
pub(super) fn targets(
    source: &dyn Source,
    range: &Range<u64>,
    insts: &BTreeMap<u64, Inst>,
    address: u64,
) -> Vec<u64> {
    let before: Vec<&Inst> = insts.range(..=address).rev().take(LOOK_BACK).map(|(_, i)| i).collect();
    let Some(table) = recognise(&before) else { return Vec::new() };
    let bound = before.iter().find_map(|i| match i.idiom {
        Idiom::CompareLimit { limit, .. } if limit < LARGEST_TABLE as u64 => Some(limit as usize + 1),
        _ => None,
    });
    let entries = bound.unwrap_or(LARGEST_TABLE);
    let bytes = source.read(table.address, entries * usize::from(table.entry));
    let mut targets = Vec::new();
    for entry in bytes.chunks_exact(usize::from(table.entry)) {
        let target = table.target(entry);
        if !range.contains(&target) {
            break;
        }
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    targets
}

impl Table {
    fn target(&self, entry: &[u8]) -> u64 {
        let mut word = [0u8; 8];
        word[..entry.len()].copy_from_slice(entry);
        let value = u64::from_le_bytes(word);
        if self.relative { self.address.wrapping_add(value as u32 as i32 as i64 as u64) } else { value }
    }
}

/// `before[0]` is the jump itself, then what stands before it in memory.
fn recognise(before: &[&Inst]) -> Option<Table> {
    match before.first()?.idiom {
        Idiom::JumpScaled { base, scale, disp } => {
            let address = match base {
                None => disp as u64,
                Some(base) => constant(before, base)?.wrapping_add(disp as u64),
            };
            Some(Table { address, entry: scale, relative: false })
        }
        Idiom::JumpRegister { reg } => through_register(before, reg),
        _ => None,
    }
}

fn through_register(before: &[&Inst], reg: u8) -> Option<Table> {
    let added = before.iter().find_map(|i| match i.idiom {
        Idiom::AddRegister { dst, src } if dst == reg => Some(src),
        _ => None,
    });
    let (base, scale, disp) = before.iter().find_map(|i| match i.idiom {
        Idiom::LoadScaled { dst, base, scale, disp } if dst == reg || Some(dst) == added => {
            Some((base, scale, disp))
        }
        _ => None,
    })?;
    let start = match base {
        None => 0,
        Some(base) => constant(before, base)?,
    };
    let address = start.wrapping_add(disp as u64);
    Some(Table { address, entry: scale, relative: added.is_some() })
}

/// The constant that `reg` was last set to.
fn constant(before: &[&Inst], reg: u8) -> Option<u64> {
    before.iter().find_map(|i| match i.idiom {
        Idiom::Address { reg: r, address } if r == reg => Some(address),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::explore::explore;
    use super::super::testing::Bytes;

    #[test]
    fn a_relative_table_is_read_to_its_bound() {
        // 0: cmp $2,%edi; 3: ja 16; 5: lea 0x14(%rip),%rdx (0x20); c: movslq (%rdx,%rdi,4),%rax; 10: add %rdx,%rax;
        // 13: jmp *%rax; 15: nop; 16: ret; 17: nop; 18: ret; 20: table 16 17 18, then a word that lies inside too
        let mut code = vec![0x83, 0xff, 0x02, 0x77, 0x11, 0x48, 0x8d, 0x15, 0x14, 0, 0, 0];
        code.extend([0x48, 0x63, 0x04, 0xba, 0x48, 0x01, 0xd0, 0xff, 0xe0, 0x90, 0xc3, 0x90, 0xc3]);
        code.resize(0x20, 0xcc);
        for target in [0x16i32, 0x17, 0x18, 0x15] {
            code.extend((target - 0x20).to_le_bytes());
        }
        let f = explore(&Bytes(0, code), 0..0x20, &[]);
        let jump = f.at(0x13).expect("the jump");
        let block = f.cfg.block_of(jump);
        let mut targets: Vec<u64> =
            f.cfg.successors(block).map(|e| f.insts[f.cfg.blocks[e.to].first].address).collect();
        targets.sort_unstable();
        assert_eq!(targets, [0x16, 0x17, 0x18]);
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
        assert_eq!(f.cfg.successors(0).count(), 2);
    }
}
