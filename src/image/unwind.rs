//! The unwind table: which ranges it knows, and where the frame lies at each address.
//!
//! In: `.eh_frame` of an x86 ELF file. Out: ranges of functions, and for an address an id of its row. Two addresses have the
//! same id just when the rules for the canonical frame address and for all registers are the same, so that a register set
//! taken at one of them unwinds as well from the other.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, EndianSlice, FrameDescriptionEntry, LittleEndian, Reader,
    RegisterRule, UnwindContext, UnwindExpression, UnwindSection,
};

use super::Svma;
use super::elf::{Class, Elf};

/// Which contents a row of the unwind table has, within one image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowId(pub u32);

/// How to get from a place to the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerRules {
    /// What makes the canonical frame address.
    pub cfa: Cfa,
    /// Registers and where they were saved.
    pub saved: Vec<(u16, Saved)>,
    /// Nobody called: the outermost frame.
    pub is_last: bool,
    /// The kernel came between, for a signal: the caller was interrupted anywhere, and has not called.
    pub is_signal: bool,
}

/// The canonical frame address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cfa {
    /// `register + offset`, the register by its DWARF number.
    Register(u16, i64),
    /// What a DWARF expression comes to.
    Expression(Vec<u8>),
}

/// Where a register was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saved {
    /// At `cfa + offset`.
    At(i64),
    /// At the address that a DWARF expression makes of the canonical frame address.
    AtExpression(Vec<u8>),
}

/// The unwind table of one image.
#[derive(Debug)]
pub struct Unwind {
    bytes: Vec<u8>,
    bases: BaseAddresses,
    address_size: u8,
    /// The entries by start: range and offset in the section.
    entries: Vec<(Range<Svma>, usize)>,
    rows: Mutex<Rows>,
}

type Table = Arc<[(Range<Svma>, RowId)]>;

#[derive(Debug, Default)]
struct Rows {
    /// By offset of the entry.
    tables: HashMap<usize, Table>,
    ids: HashMap<Digest, RowId>,
    digests: Digests,
}

/// What stands for contents that may be long, for a table may have a row for every few of its bytes, each with all registers: two
/// hashes of 64 bits, with keys that nobody knows, so that none can be made to meet.
type Digest = [u64; 2];

#[derive(Debug, Default)]
struct Digests {
    keys: [RandomState; 2],
    /// By offset and length in the section.
    expressions: HashMap<(usize, usize), Digest>,
}

impl Digests {
    fn of(&self, contents: &impl Hash) -> Digest {
        self.keys.each_ref().map(|key| key.hash_one(contents))
    }

    fn expression(
        &mut self,
        expression: &UnwindExpression<usize>,
        section: &EhFrame<Slice>,
    ) -> gimli::Result<Digest> {
        let place = (expression.offset, expression.length);
        if let Some(known) = self.expressions.get(&place) {
            return Ok(*known);
        }
        let digest = self.of(&expression.get(section)?.0.slice());
        self.expressions.insert(place, digest);
        Ok(digest)
    }
}

#[derive(Hash)]
struct Row {
    frame: Rule,
    registers: Vec<(u16, Rule)>,
}

/// A rule without references into the section.
#[derive(PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Rule {
    Frame(u16, i64),
    FrameExpression(Digest),
    Same,
    Undefined,
    Offset(i64),
    ValOffset(i64),
    Register(u16),
    Expression(Digest),
    ValExpression(Digest),
    Other,
    Constant(u64),
}

type Slice<'a> = EndianSlice<'a, LittleEndian>;

impl Unwind {
    /// Reads the table; `None` if the file has none.
    pub fn new(elf: &Elf) -> Option<Unwind> {
        let section = elf.section(".eh_frame")?;
        let mut bases = BaseAddresses::default().set_eh_frame(section.svma);
        if let Some(text) = elf.section(".text") {
            bases = bases.set_text(text.svma);
        }
        if let Some(got) = elf.section(".got") {
            bases = bases.set_got(got.svma);
        }
        let address_size = match elf.class()? {
            Class::Bits32 => 4,
            Class::Bits64 => 8,
        };
        let bytes = elf.section_bytes(section)?;
        let mut unwind = Unwind { bytes, bases, address_size, entries: Vec::new(), rows: Mutex::default() };
        unwind.entries = unwind.read_entries();
        Some(unwind)
    }

    /// All ranges, by start.
    pub fn ranges(&self) -> Vec<Range<Svma>> {
        self.entries.iter().map(|(range, _)| range.clone()).collect()
    }

    /// The id of the row at an address.
    pub fn row(&self, at: Svma) -> Option<RowId> {
        let ix = self.entries.partition_point(|(range, _)| range.start <= at).checked_sub(1)?;
        let (range, offset) = &self.entries[ix];
        if !range.contains(&at) {
            return None;
        }
        let table = self.table(*offset)?;
        let ix = table.partition_point(|(range, _)| range.start <= at).checked_sub(1)?;
        table[ix].0.contains(&at).then_some(table[ix].1)
    }

    /// How to get to the caller from an address; `None` where nothing is known.
    pub fn caller(&self, at: Svma, return_register: u16) -> Option<CallerRules> {
        let ix = self.entries.partition_point(|(range, _)| range.start <= at).checked_sub(1)?;
        let (range, offset) = &self.entries[ix];
        if !range.contains(&at) {
            return None;
        }
        let section = self.section();
        let fde = section.fde_from_offset(&self.bases, (*offset).into(), EhFrame::cie_from_offset).ok()?;
        let mut context = UnwindContext::new();
        let row = fde.unwind_info_for_address(&section, &self.bases, &mut context, at.0).ok()?;
        let cfa = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => Cfa::Register(register.0, *offset),
            CfaRule::Expression(expression) => Cfa::Expression(expression_bytes(expression, &section).ok()?),
        };
        let (is_last, is_signal) = (false, fde.is_signal_trampoline());
        let mut rules = CallerRules { cfa, saved: Vec::new(), is_last, is_signal };
        for (saved, rule) in row.registers() {
            match rule {
                RegisterRule::Offset(offset) => rules.saved.push((saved.0, Saved::At(*offset))),
                RegisterRule::Expression(expression) => {
                    let expression = expression_bytes(expression, &section).ok()?;
                    rules.saved.push((saved.0, Saved::AtExpression(expression)));
                }
                RegisterRule::Undefined if saved.0 == return_register => rules.is_last = true,
                _ => {}
            }
        }
        Some(rules)
    }

    fn section(&self) -> EhFrame<Slice<'_>> {
        let mut section = EhFrame::new(&self.bytes, LittleEndian);
        section.set_address_size(self.address_size);
        section
    }

    fn read_entries(&self) -> Vec<(Range<Svma>, usize)> {
        let section = self.section();
        let mut found = Vec::new();
        let mut cies = HashMap::new();
        let mut entries = section.entries(&self.bases);
        // Damage in one entry ends the walk: what follows cannot be found.
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else {
                continue;
            };
            let cie = |_: &EhFrame<_>, bases: &_, offset: gimli::EhFrameOffset| match cies.get(&offset) {
                Some(cie) => Ok(Clone::clone(cie)),
                None => {
                    let cie = section.cie_from_offset(bases, offset)?;
                    cies.insert(offset, cie.clone());
                    Ok(cie)
                }
            };
            let Ok(fde) = partial.parse(cie) else {
                continue;
            };
            let range = Svma(fde.initial_address())..Svma(fde.end_address());
            if range.start < range.end {
                found.push((range, fde.offset()));
            }
        }
        found.sort_by_key(|(range, offset)| (range.start, *offset));
        found
    }

    fn table(&self, offset: usize) -> Option<Table> {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = rows.tables.get(&offset) {
            return Some(table.clone());
        }
        let section = self.section();
        let fde = section.fde_from_offset(&self.bases, offset.into(), EhFrame::cie_from_offset).ok()?;
        let table: Table = self.read_rows(&section, &fde, &mut rows).unwrap_or_default().into();
        rows.tables.insert(offset, table.clone());
        Some(table)
    }

    fn read_rows<'a>(
        &self,
        section: &EhFrame<Slice<'a>>,
        fde: &FrameDescriptionEntry<Slice<'a>>,
        known: &mut Rows,
    ) -> gimli::Result<Vec<(Range<Svma>, RowId)>> {
        let mut context = UnwindContext::new();
        let mut table = fde.rows(section, &self.bases, &mut context)?;
        let mut rows = Vec::new();
        while let Some(row) = table.next_row()? {
            let mut registers = Vec::new();
            for (register, rule) in row.registers() {
                registers.push((register.0, Rule::of_register(rule, section, &mut known.digests)?));
            }
            registers.sort();
            let frame = Rule::of_frame(row.cfa(), section, &mut known.digests)?;
            let next = RowId(known.ids.len() as u32);
            let id = *known.ids.entry(known.digests.of(&Row { frame, registers })).or_insert(next);
            rows.push((Svma(row.start_address())..Svma(row.end_address()), id));
        }
        Ok(rows)
    }
}

impl Rule {
    fn of_frame(
        rule: &CfaRule<usize>,
        section: &EhFrame<Slice>,
        digests: &mut Digests,
    ) -> gimli::Result<Rule> {
        Ok(match rule {
            CfaRule::RegisterAndOffset { register, offset } => Rule::Frame(register.0, *offset),
            CfaRule::Expression(expression) => {
                Rule::FrameExpression(digests.expression(expression, section)?)
            }
        })
    }

    fn of_register(
        rule: &RegisterRule<usize>,
        section: &EhFrame<Slice>,
        digests: &mut Digests,
    ) -> gimli::Result<Rule> {
        Ok(match rule {
            RegisterRule::Undefined => Rule::Undefined,
            RegisterRule::SameValue => Rule::Same,
            RegisterRule::Offset(offset) => Rule::Offset(*offset),
            RegisterRule::ValOffset(offset) => Rule::ValOffset(*offset),
            RegisterRule::Register(register) => Rule::Register(register.0),
            RegisterRule::Expression(expression) => {
                Rule::Expression(digests.expression(expression, section)?)
            }
            RegisterRule::ValExpression(expression) => {
                Rule::ValExpression(digests.expression(expression, section)?)
            }
            RegisterRule::Constant(value) => Rule::Constant(*value),
            _ => Rule::Other,
        })
    }
}

fn expression_bytes(
    expression: &UnwindExpression<usize>,
    section: &EhFrame<Slice>,
) -> gimli::Result<Vec<u8>> {
    Ok(expression.get(section)?.0.to_slice()?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::super::testing::elf;
    use super::*;

    /// The version, no augmentation, steps of one byte, -8 and register 16; then the entry's address and size.
    fn table(program: &[u8]) -> Vec<u8> {
        let cie = [&[0; 4][..], &[1, 0, 1, 0x78, 16, 0, 0, 0, 0, 0, 0, 0]].concat();
        let fde_head = [&(4 + 4 + cie.len() as u32).to_le_bytes()[..], &0x1000u64.to_le_bytes()].concat();
        let fde = [&fde_head[..], &0x10_0000u64.to_le_bytes(), program].concat();
        let entry = |bytes: &[u8]| [&(bytes.len() as u32).to_le_bytes()[..], bytes].concat();
        [entry(&cie), entry(&fde), vec![0; 4]].concat()
    }

    fn unwind(program: &[u8]) -> Unwind {
        let dir = tempfile::tempdir().unwrap();
        Unwind::new(&elf(&dir.path().join("file"), &[(".eh_frame", 2, &table(program))])).unwrap()
    }

    /// `DW_CFA_def_cfa_expression` of so many `DW_OP_nop`.
    fn expression(len: u8) -> Vec<u8> {
        [vec![0x0f, len], vec![0x96; len.into()]].concat()
    }

    /// `DW_CFA_advance_loc` by one.
    const NEXT: [u8; 1] = [0x41];

    #[test]
    fn rows_are_the_same_if_what_they_say_is() {
        let program = [expression(3), NEXT.into(), expression(4), NEXT.into(), expression(3)].concat();
        let unwind = unwind(&program);
        let row = |at: u64| unwind.row(Svma(0x1000 + at)).unwrap();
        assert_eq!(row(0), row(2), "the expression is another, with the same bytes");
        assert_ne!(row(0), row(1));
    }

    #[test]
    fn an_expression_is_kept_once_however_many_rows_have_it() {
        // an offset of register 3 that is another in each row
        let step = |ix: u32| [0x41, 0x83, (ix % 128) as u8];
        let unwind = unwind(&[expression(100), (0..10_000).flat_map(step).collect()].concat());
        assert!(unwind.row(Svma(0x1000 + 9_999)).is_some());
        let rows = unwind.rows.lock().unwrap();
        assert_eq!((rows.digests.expressions.len(), rows.ids.len()), (1, 129));
    }
}
