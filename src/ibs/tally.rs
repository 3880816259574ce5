//! The samples of one event, counted per place.

use std::collections::BTreeMap;

use super::column::{Cell, Column, tally};
use super::register::{
    Field, Register, fetch_ctl, fetch_ctl_ext, op_ctl, op_data, op_data2, op_data3, op_data4,
};
use super::{Capabilities, Fetch, Op};

/// Something in the samples that this program has no name for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unknown {
    /// A bit of the capability word.
    Capability(u32),
    /// A bit of a register.
    Bit(&'static str, u32),
    /// So many registers behind those that are known.
    Registers(usize),
}

/// What the samples of an event come to. Places are whatever tells them apart.
#[derive(Clone, Debug)]
pub struct Tally<K> {
    /// Per place, a cell for each column.
    pub rows: BTreeMap<K, Vec<Cell>>,
    /// Samples by the capability word in them.
    pub capabilities: BTreeMap<Capabilities, u64>,
    /// In how many samples what is unknown occurs.
    pub unknown: BTreeMap<Unknown, u64>,
    /// Samples that could not be decoded.
    pub damaged: u64,
    /// Samples whose registers say that they hold none.
    pub invalid: u64,
    /// Ops whose address is not known.
    pub nowhere: u64,
}

impl<K> Default for Tally<K> {
    fn default() -> Tally<K> {
        Tally {
            rows: BTreeMap::new(),
            capabilities: BTreeMap::new(),
            unknown: BTreeMap::new(),
            damaged: 0,
            invalid: 0,
            nowhere: 0,
        }
    }
}

impl<K: Ord> Tally<K> {
    /// Counts a sample at a place.
    pub fn count<S>(&mut self, columns: &[Column<S>], at: K, sample: &S) {
        let cells = self.rows.entry(at).or_insert_with(|| vec![Cell::default(); columns.len()]);
        tally(columns, sample, cells);
    }

    /// Notes what a fetch has beside what columns count.
    pub fn note_fetch(&mut self, fetch: &Fetch) {
        let registers: [(&str, Option<Register>, &[Field]); 2] = [
            ("IBS_FETCH_CTL", Some(fetch.control), &fetch_ctl::FIELDS),
            ("IC_IBS_EXTD_CTL", fetch.extended, &fetch_ctl_ext::FIELDS),
        ];
        let unknown = registers
            .into_iter()
            .filter_map(|(name, register, fields)| Some((name, register?.unknown(fields, &fetch.dialect))));
        self.note(fetch.dialect.capabilities, unknown, fetch.rest);
    }

    /// Notes what an op has beside what columns count.
    pub fn note_op(&mut self, op: &Op) {
        let registers: [(&str, Option<Register>, &[Field]); 5] = [
            ("IBS_OP_CTL", Some(op.control), &op_ctl::FIELDS),
            ("IBS_OP_DATA", Some(op.data), &op_data::FIELDS),
            ("IBS_OP_DATA2", Some(op.data2), &op_data2::FIELDS),
            ("IBS_OP_DATA3", Some(op.data3), &op_data3::FIELDS),
            ("IBS_OP_DATA4", op.data4, &op_data4::FIELDS),
        ];
        let unknown = registers
            .into_iter()
            .filter_map(|(name, register, fields)| Some((name, register?.unknown(fields, &op.dialect))));
        self.note(op.dialect.capabilities, unknown, op.rest);
    }

    fn note(
        &mut self,
        capabilities: Capabilities,
        registers: impl Iterator<Item = (&'static str, u64)>,
        rest: usize,
    ) {
        *self.capabilities.entry(capabilities).or_default() += 1;
        let mut note = |what| *self.unknown.entry(what).or_default() += 1;
        bits(capabilities.unknown().into()).for_each(|bit| note(Unknown::Capability(bit)));
        registers.for_each(|(name, unknown)| bits(unknown).for_each(|bit| note(Unknown::Bit(name, bit))));
        if rest > 0 {
            note(Unknown::Registers(rest));
        }
    }
}

/// The bits of a word that are set.
pub(super) fn bits(word: u64) -> impl Iterator<Item = u32> {
    (0..u64::BITS).filter(move |bit| word >> bit & 1 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ibs::Raw;

    #[test]
    fn what_has_no_name_is_carried() {
        let words = [1u64 << 63, 0, 0, 1 << 47, 0];
        let mut bytes = (1u32 << 17 | 1 << 9).to_le_bytes().to_vec();
        bytes.extend(words.iter().flat_map(|w| w.to_le_bytes()));
        let mut tally = Tally::<u8>::default();
        let fetch = Raw::new(&bytes).unwrap().fetch(None).unwrap();
        tally.note_fetch(&fetch);
        tally.note_fetch(&fetch);
        let found: Vec<(Unknown, u64)> = tally.unknown.into_iter().collect();
        let expected = [
            Unknown::Capability(17),
            Unknown::Bit("IBS_FETCH_CTL", 63),
            Unknown::Bit("IC_IBS_EXTD_CTL", 47),
            Unknown::Registers(1),
        ];
        assert_eq!(found, expected.map(|unknown| (unknown, 2)));
    }
}
