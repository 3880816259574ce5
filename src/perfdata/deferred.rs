//! Callers in user space that are told after the sample they belong to.
//!
//! Since Linux 6.18 the walk over a user's stack can be put off until the thread returns there. A sample then ends its
//! callchain with `PERF_CONTEXT_USER_DEFERRED` and a cookie, and what belongs there is in a later record of the same thread
//! and cookie:
//!
//! ```text
//! PERF_RECORD_CALLCHAIN_DEFERRED { header; u64 cookie, nr, ips[nr]; sample_id }
//! ```
//!
//! In: samples, in the order of the file. Out: the same with their whole chain. A walk of its own runs ahead and finds the
//! chains; what it holds is bounded, so that one that comes very much later is not found.

use std::collections::{HashMap, VecDeque};

use linux_perf_event_reader::constants as c;

use super::fields::USER_DEFERRED;
use super::patch::LARGEST;
use super::{PerfFile, Record, Records, Sample, kinds};

/// Records by which the walk runs ahead at most: more than the buffers of a large machine hold.
const AHEAD: u64 = 1 << 20;
/// Bytes of chains held at a time.
const HELD: usize = 32 << 20;
/// What a chain takes besides its entries.
const EACH: usize = 96;

/// The thread and the cookie.
type Key = (i32, u64);

/// Finds what was put off.
pub struct Deferred<'f> {
    file: &'f PerfFile,
    ahead: Option<Records<'f>>,
    /// Records that the walk has passed.
    passed: u64,
    /// With the ordinal of its record each chain as stored, from its marker on.
    chains: HashMap<Key, (u64, Box<[u8]>)>,
    order: VecDeque<Key>,
    held: usize,
    joined: Vec<u8>,
}

impl<'f> Deferred<'f> {
    /// Looks at nothing until a sample has something put off.
    pub fn new(file: &'f PerfFile) -> Deferred<'f> {
        let (chains, order) = (HashMap::new(), VecDeque::new());
        Deferred { file, ahead: None, passed: 0, chains, order, held: 0, joined: Vec::new() }
    }

    /// The sample's record with its whole chain; `None` if nothing of it was put off, or that is not found.
    pub fn join<'s>(&'s mut self, record: &Record<'_>, sample: &Sample<'_>) -> Option<Record<'s>> {
        let stored = sample.callchain.len();
        let cookie = sample.callchain.cookie()?;
        let key = (sample.tid, cookie);
        self.find(key, record.ordinal);
        let (_, chain) = self.chains.get(&key)?;
        let endian = self.file.header.endian;
        let start = sample.layout.callchain?;
        let (kept, end) = (start + 8 * (stored - 2), start + 8 * stored);
        let marker = endian.u64_bytes(c::PERF_CONTEXT_USER);
        let marker: &[u8] = if chain.starts_with(&marker) { &[] } else { &marker };
        let entries = stored - 2 + (marker.len() + chain.len()) / 8;
        self.joined.clear();
        for piece in [record.bytes.get(..kept)?, marker, chain, record.bytes.get(end..)?] {
            self.joined.extend_from_slice(piece);
        }
        let size = u16::try_from(self.joined.len()).ok().filter(|&size| usize::from(size) <= LARGEST)?;
        self.joined[6..8].copy_from_slice(&endian.u16_bytes(size));
        let nr_at = sample.layout.callchain_nr?;
        self.joined.get_mut(nr_at..nr_at + 8)?.copy_from_slice(&endian.u64_bytes(entries as u64));
        Some(Record { bytes: &self.joined, ..*record })
    }

    /// Goes on until a chain is found, or too far from the record that asks.
    fn find(&mut self, key: Key, at: u64) {
        while !self.chains.contains_key(&key) && self.passed < at.saturating_add(AHEAD) {
            self.forget(at);
            if self.held > HELD || !self.step() {
                return;
            }
        }
    }

    /// Passes a record; `false` at the end.
    fn step(&mut self) -> bool {
        if self.ahead.is_none() {
            self.ahead = self.file.records().ok();
        }
        let Some(Ok(Some(record))) = self.ahead.as_mut().map(Records::next) else { return false };
        self.passed = record.ordinal + 1;
        if record.kind == kinds::CALLCHAIN_DEFERRED
            && let Some((key, chain)) = self.file.deferred_chain(&record)
        {
            self.held += EACH + chain.len();
            let before = self.chains.insert(key, (record.ordinal, chain.into()));
            match before {
                Some((_, chain)) => self.held -= EACH + chain.len(),
                None => self.order.push_back(key),
            }
        }
        true
    }

    /// Drops the oldest chains, as long as too many are held, but none that stands behind the record that asks.
    fn forget(&mut self, at: u64) {
        while self.held > HELD
            && let Some(key) = self.order.front()
            && self.chains.get(key).is_none_or(|(ordinal, _)| *ordinal < at)
        {
            let chain = self.order.pop_front().and_then(|key| self.chains.remove(&key));
            self.held -= chain.map_or(0, |(_, chain)| EACH + chain.len());
        }
    }
}

impl PerfFile {
    /// The chain that a record tells, and whose it is.
    fn deferred_chain<'a>(&self, record: &Record<'a>) -> Option<(Key, &'a [u8])> {
        let endian = self.header.endian;
        let layout = self.layout_of_other(record)?;
        let end = record.bytes.len().checked_sub(layout.trailer)?;
        let tid = layout.trailer_tid.and_then(|at| endian.i32(record.bytes, end + at)).unwrap_or(-1);
        let cookie = endian.u64(record.bytes, 8)?;
        let len = usize::try_from(endian.u64(record.bytes, 16)?.checked_mul(8)?).ok()?;
        let chain = record.bytes.get(24..end)?.get(..len)?;
        Some(((tid, cookie), chain))
    }
}

impl super::Callchain<'_> {
    /// By which number the user's part is found that was put off, if it was: it stands last.
    fn cookie(&self) -> Option<u64> {
        let at = self.len().checked_sub(2)?;
        (self.get(at)? == USER_DEFERRED).then(|| self.get(at + 1))?
    }

    /// Whether the user's part was put off to a later record.
    pub fn is_deferred(&self) -> bool {
        self.cookie().is_some()
    }
}
