//! What to change in a sample, and the changed record.

use linux_perf_event_reader::constants as c;

use super::bytes::Endian;
use super::{Record, Sample};

/// The largest record: its size is a 16-bit number and a multiple of 8.
pub(super) const LARGEST: usize = 65528;

/// A change to one sample.
///
/// It is made whole or not at all: it is **refused** if the sample has no address field or if the record would become longer
/// than a record can be (65528 bytes). [`Patch::fits`] tells beforehand. The callchain alone stays as it is if its part of
/// the sample's mode ([`Callchain::part`](super::Callchain::part)) has fewer than `drop` entries; the rest is then changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// The new address.
    pub ip: u64,
    /// How many entries to replace at the start of the callchain's part of the sample's mode, 0 to leave the chain alone.
    pub drop: usize,
    /// What to put there instead, innermost first.
    pub push: Vec<u64>,
    /// A new program counter for the user registers, where they have one.
    pub user_regs_ip: Option<u64>,
    /// Whether to mark the address as exact.
    pub exact: bool,
}

/// What became of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Applied {
    /// All of it was done.
    Whole,
    /// All but the callchain.
    ChainKept,
    /// Nothing was done.
    Refused,
}

impl Patch {
    /// Whether this change can be made to this sample.
    pub fn fits(&self, record: &Record<'_>, sample: &Sample<'_>) -> bool {
        sample.layout.ip.is_some() && self.new_len(record, sample) <= LARGEST
    }

    fn new_len(&self, record: &Record<'_>, sample: &Sample<'_>) -> usize {
        match self.chain_start(sample) {
            Some(_) => record.bytes.len().saturating_add(8 * self.push.len()) - 8 * self.drop,
            None => record.bytes.len(),
        }
    }

    /// Offset in the record of the first chain entry to replace, if the chain has as many.
    fn chain_start(&self, sample: &Sample<'_>) -> Option<usize> {
        if self.drop == 0 {
            return None;
        }
        let part = sample.callchain.part(sample.mode)?;
        let offset = sample.layout.callchain? + 8 * part.start;
        (part.len() >= self.drop).then_some(offset)
    }

    /// Puts the changed record into `out`, or the unchanged one.
    pub(super) fn apply(
        &self,
        record: &Record<'_>,
        sample: &Sample<'_>,
        endian: Endian,
        out: &mut Vec<u8>,
    ) -> Applied {
        out.clear();
        out.extend_from_slice(record.bytes);
        let Some(ip) = sample.layout.ip.filter(|_| self.fits(record, sample)) else {
            return Applied::Refused;
        };
        put_word(out, ip, self.ip, endian);
        if let (Some(at), Some(ip)) = (sample.layout.user_regs_ip, self.user_regs_ip) {
            put_word(out, at, ip, endian);
        }
        if self.exact {
            let misc = record.misc | c::PERF_RECORD_MISC_EXACT_IP;
            out[4..6].copy_from_slice(&endian.u16_bytes(misc));
        }
        match self.chain_start(sample) {
            Some(start) => self.replace_chain(sample, start, endian, out),
            None if self.drop > 0 && !sample.callchain.is_empty() => return Applied::ChainKept,
            None => {}
        }
        Applied::Whole
    }

    fn replace_chain(&self, sample: &Sample<'_>, start: usize, endian: Endian, out: &mut Vec<u8>) {
        let Some(nr_at) = sample.layout.callchain_nr else {
            return;
        };
        let nr = sample.callchain.len() - self.drop + self.push.len();
        put_word(out, nr_at, nr as u64, endian);
        let entries = self.push.iter().flat_map(|&entry| endian.u64_bytes(entry));
        out.splice(start..start + 8 * self.drop, entries);
        let size = out.len() as u16;
        out[6..8].copy_from_slice(&endian.u16_bytes(size));
    }
}

/// `at` comes from a field that was read there.
fn put_word(bytes: &mut [u8], at: usize, word: u64, endian: Endian) {
    bytes[at..at + 8].copy_from_slice(&endian.u64_bytes(word));
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Build, attr, sample, view};
    use super::*;

    const USER: u64 = c::PERF_CONTEXT_USER;

    /// Applies `patch` to a sample in user mode with `chain`, and returns what became of it, its address and its chain.
    fn applied(patch: &Patch, endian: Endian, chain: &[u64]) -> (Applied, u64, Vec<u64>) {
        let attr = attr(c::PERF_SAMPLE_IP | c::PERF_SAMPLE_CALLCHAIN | c::PERF_SAMPLE_WEIGHT);
        let words = [&[0x10, chain.len() as u64][..], chain, &[0xbeef]].concat();
        let record = Build::new(endian, 9, 2).words(&words).done();
        let before = sample(&record, &attr, endian).unwrap();
        let mut out = vec![];
        let what = patch.apply(&view(&record, endian), &before, endian, &mut out);
        let after = sample(&out, &attr, endian).unwrap();
        assert_eq!(endian.u16(&out, 6), Some(out.len() as u16));
        assert_eq!(after.weight, before.weight, "the field behind the chain is the same");
        assert_eq!(after.exact, patch.exact && what != Applied::Refused);
        (what, after.ip, after.callchain.iter().collect())
    }

    #[test]
    fn a_chain_grows_shrinks_and_keeps_its_length() {
        let chain = [c::PERF_CONTEXT_KERNEL, 1, USER, 0x10, 0x20];
        for endian in [Endian::Little, Endian::Big] {
            for push in [vec![], vec![0xe], vec![0xe, 0xf, 0x11]] {
                let patch = Patch { ip: 0xe, drop: 1, push: push.clone(), exact: true, ..Patch::default() };
                let expected = [&chain[..3], &push, &[0x20]].concat();
                assert_eq!(applied(&patch, endian, &chain), (Applied::Whole, 0xe, expected));
            }
        }
    }

    #[test]
    fn a_chain_without_marker_is_changed_at_its_start() {
        let patch = Patch { ip: 0xe, drop: 2, push: vec![0xe], ..Patch::default() };
        assert_eq!(applied(&patch, Endian::Little, &[0x10, 0x20]), (Applied::Whole, 0xe, vec![0xe]));
    }

    #[test]
    fn a_chain_whose_part_is_missing_or_too_short_stays() {
        let patch = Patch { ip: 0xe, drop: 2, push: vec![0xe], ..Patch::default() };
        for chain in [&[c::PERF_CONTEXT_KERNEL, 1, 2][..], &[USER, 0x10], &[0x10, USER, 5]] {
            assert_eq!(applied(&patch, Endian::Little, chain), (Applied::ChainKept, 0xe, chain.to_vec()));
        }
        assert_eq!(applied(&patch, Endian::Little, &[]), (Applied::Whole, 0xe, vec![]));
    }

    #[test]
    fn growth_beyond_the_largest_record_is_refused_whole() {
        let room = (LARGEST - 8 - 8 - 8 - 16 - 8) / 8;
        for (more, expected) in [(room + 1, Applied::Whole), (room + 2, Applied::Refused)] {
            let patch = Patch { ip: 0xe, drop: 1, push: vec![0xe; more], exact: true, ..Patch::default() };
            let (what, ip, chain) = applied(&patch, Endian::Little, &[USER, 0x10]);
            assert_eq!(what, expected);
            let kept = (0x10, 2);
            assert_eq!((ip, chain.len()), if what == Applied::Whole { (0xe, more + 1) } else { kept });
        }
    }

    #[test]
    fn only_the_bytes_of_patched_fields_differ() {
        let mut attr = attr(c::PERF_SAMPLE_IP | c::PERF_SAMPLE_REGS_USER);
        attr.sample_regs_user = 1 << 7 | 1 << 8;
        let record = Build::new(Endian::Little, 9, 2).words(&[0x10, 2, 0x7f, 0x10]).done();
        let before = sample(&record, &attr, Endian::Little).unwrap();
        let mut out = vec![];
        let patch = Patch { ip: 0xe, user_regs_ip: Some(0xe), exact: true, ..Patch::default() };
        patch.apply(&view(&record, Endian::Little), &before, Endian::Little, &mut out);
        let differ: Vec<_> = (0..record.len()).filter(|&i| record[i] != out[i]).collect();
        assert_eq!(differ, [5, 8, 32]);
    }
}
