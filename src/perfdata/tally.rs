//! What a walk found, so that nothing is passed over in silence.

use linux_perf_event_reader::constants as c;

use super::AttrIx;
use super::kinds::kind_name;

/// Types of records that are counted one by one.
const KINDS: usize = 128;

/// Counts of one walk.
#[derive(Clone, Debug)]
pub struct Tally {
    kinds: [u64; KINDS],
    beyond: u64,
    samples: Vec<u64>,
    /// Samples whose event is not in the recording. They cannot be decoded.
    pub samples_of_unknown_event: u64,
    /// Compressed records that were expanded. They are not counted as records themselves.
    pub compressed: u64,
    /// Bytes of trace data that were passed over.
    pub payload_bytes: u64,
}

impl Default for Tally {
    fn default() -> Tally {
        Tally {
            kinds: [0; KINDS],
            beyond: 0,
            samples: Vec::new(),
            samples_of_unknown_event: 0,
            compressed: 0,
            payload_bytes: 0,
        }
    }
}

impl Tally {
    pub(super) fn new(events: usize) -> Tally {
        Tally { samples: vec![0; events], ..Tally::default() }
    }

    #[inline]
    pub(super) fn count(&mut self, kind: u32, attr: Option<AttrIx>, payload: u64) {
        *self.kinds.get_mut(kind as usize).unwrap_or(&mut self.beyond) += 1;
        self.payload_bytes += payload;
        if kind == c::PERF_RECORD_SAMPLE {
            let of = attr.and_then(|AttrIx(i)| self.samples.get_mut(i as usize));
            *of.unwrap_or(&mut self.samples_of_unknown_event) += 1;
        }
    }

    /// All records, compressed ones expanded.
    pub fn records(&self) -> u64 {
        self.kinds.iter().sum::<u64>() + self.beyond
    }

    /// Records of a type.
    pub fn of_kind(&self, kind: u32) -> u64 {
        self.kinds.get(kind as usize).copied().unwrap_or(0)
    }

    /// Samples of an event.
    pub fn samples(&self, AttrIx(attr): AttrIx) -> u64 {
        self.samples.get(attr as usize).copied().unwrap_or(0)
    }

    /// The types found, with how many there were. Those from 128 on are in [`Self::unknown`] only.
    pub fn kinds(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        (0u32..).zip(self.kinds).filter(|&(_, n)| n > 0)
    }

    /// Records of types that this program does not know. A rewriter copies them.
    pub fn unknown(&self) -> u64 {
        let unnamed = self.kinds().filter(|&(kind, _)| kind_name(kind).is_none());
        unnamed.map(|(_, n)| n).sum::<u64>() + self.beyond
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_record_is_counted_somewhere() {
        let mut tally = Tally::new(2);
        for (kind, attr) in [(9, Some(AttrIx(1))), (9, None), (10, None), (63, None), (32770, None)] {
            tally.count(kind, attr, 0);
        }
        assert_eq!((tally.records(), tally.unknown()), (5, 2));
        assert_eq!((tally.samples(AttrIx(1)), tally.samples_of_unknown_event), (1, 1));
        assert_eq!(tally.kinds().collect::<Vec<_>>(), [(9, 2), (10, 1), (63, 1)]);
    }
}
