//! The walk over the samples, in parallel: each stretch of the file is folded for itself.
//!
//! In: the recording, its address spaces, and places to cut it at. Out: batches of distinct samples in the order of the file,
//! the same however many threads there are.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use linux_perf_event_reader::constants::PERF_RECORD_SAMPLE;

use super::equal::{Batch, Equal};
use crate::image::AddressSpaces;
use crate::perfdata::{Checkpoint, Deferred, Error, PerfFile, Record, Warning};
use crate::progress::{Progress, Stage};

/// More would have to wait for the file, and hold more memory.
const MOST_THREADS: usize = 4;

/// How to go over the samples.
#[derive(Default)]
pub struct Stretches {
    /// Where to cut the file.
    pub cuts: Vec<Checkpoint>,
    /// Whether parts of callchains were put off to later records.
    pub deferred: bool,
}

enum Sent {
    Batch(Batch),
    Over(Result<Vec<Warning>, Error>),
}

/// Shows batches to `take`; returns what was tolerated on the way.
pub fn fold(
    (file, spaces): (&PerfFile, &AddressSpaces),
    Stretches { cuts, deferred }: &Stretches,
    threads: usize,
    progress: &dyn Progress,
    mut take: impl FnMut(&Batch),
) -> Result<Vec<Warning>, Error> {
    // A channel holds one batch, so that a stretch that is not yet asked for waits instead of filling the memory.
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..=cuts.len()).map(|_| sync_channel(1)).unzip();
    let next = AtomicUsize::new(0);
    let senders: Vec<_> = senders.into_iter().map(|sender| Mutex::new(Some(sender))).collect();
    let stretch = Stretch { file, spaces, cuts, deferred: *deferred, progress };
    let work = || {
        loop {
            let ix = next.fetch_add(1, Ordering::Relaxed);
            let Some(sender) = senders.get(ix).and_then(|sender| sender.lock().ok()?.take()) else { return };
            let over = stretch.walk(ix, &sender);
            if sender.send(Sent::Over(over)).is_err() {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, MOST_THREADS).min(receivers.len()) {
            scope.spawn(work);
        }
        let mut warnings = Vec::new();
        for received in receivers {
            for sent in received {
                match sent {
                    Sent::Batch(batch) => take(&batch),
                    Sent::Over(over) => warnings.extend(over?),
                }
            }
        }
        Ok(warnings)
    })
}

struct Stretch<'a> {
    file: &'a PerfFile,
    spaces: &'a AddressSpaces,
    cuts: &'a [Checkpoint],
    deferred: bool,
    progress: &'a dyn Progress,
}

impl Stretch<'_> {
    fn walk(&self, ix: usize, sender: &SyncSender<Sent>) -> Result<Vec<Warning>, Error> {
        let from = ix.checked_sub(1).map(|ix| self.cuts[ix]);
        let mut records = self.file.records_between(from, self.cuts.get(ix).copied())?;
        let mut equal = Equal::new(self.file, self.spaces);
        let mut deferred = self.deferred.then(|| Deferred::new(self.file));
        let (mut shown, mut count) = (0, 0u32);
        while let Some(record) = records.next()? {
            if record.kind == PERF_RECORD_SAMPLE {
                match deferred.as_mut().and_then(|deferred| whole(self.file, deferred, &record)) {
                    Some(whole) => equal.add(&whole),
                    None => equal.add(&record),
                }
                if equal.is_full() && sender.send(Sent::Batch(equal.take())).is_err() {
                    return Ok(vec![]);
                }
            }
            count = count.wrapping_add(1);
            if count.is_multiple_of(4096) {
                self.progress.advance(Stage::Read, records.position() - shown);
                shown = records.position();
            }
        }
        self.progress.advance(Stage::Read, records.position() - shown);
        // Where nobody listens any more, an error was found before.
        let _ = sender.send(Sent::Batch(equal.take()));
        Ok(records.warnings().to_vec())
    }
}

/// A sample's record with the part of its callchain that was put off.
fn whole<'d>(file: &PerfFile, deferred: &'d mut Deferred<'_>, record: &Record<'_>) -> Option<Record<'d>> {
    deferred.join(record, &file.sample(record).ok()??)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::image::AddressSpaces;
    use crate::pipeline::survey::Survey;
    use crate::progress::Silent;

    /// Distinct samples in the order of their first appearance, with how many there are and the sum of their periods.
    type Found = Vec<(Vec<u64>, u64, u64)>;

    fn found(file: &PerfFile, spaces: &AddressSpaces, every: usize, threads: usize) -> Found {
        let mut records = file.records().unwrap();
        let (mut cuts, mut n) = (vec![], 0);
        while records.next().unwrap().is_some() {
            n += 1;
            cuts.extend(records.checkpoint().filter(|_| n % every == 0));
        }
        let (mut order, mut counts) = (vec![], std::collections::HashMap::new());
        fold((file, spaces), &Stretches { cuts, deferred: false }, threads, &Silent, |batch| {
            batch.groups(file, |group| {
                let head = [group.sample.ip, group.sample.attr.0.into()];
                let key: Vec<u64> = head.into_iter().chain(group.sample.callchain.iter()).collect();
                let count = counts.entry(key.clone()).or_insert((0, 0));
                if count.0 == 0 {
                    order.push(key);
                }
                (count.0, count.1) = (count.0 + group.samples, count.1 + group.sample.period);
            });
        })
        .unwrap();
        let of = |key: Vec<u64>| {
            let (samples, weight) = counts[&key];
            (key, samples, weight)
        };
        order.into_iter().map(of).collect()
    }

    #[test]
    fn cuts_and_threads_change_nothing_of_what_is_found() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/perf");
        for name in ["quipper-raw_callgraph_branch-3.4.data", "lpd-fibo.compressed2.pipe.data"] {
            let file = PerfFile::open(&folder.join(name)).unwrap();
            let survey = Survey::take(&file, Default::default(), 1, &Silent, |_, _| {}).unwrap();
            let whole = found(&file, &survey.spaces, usize::MAX, 1);
            let total: u64 = whole.iter().map(|(_, samples, _)| samples).sum();
            assert_eq!(total, survey.samples);
            for (every, threads) in [(1, 3), (7, 1), (50, 4), (1000, 2)] {
                assert_eq!(found(&file, &survey.spaces, every, threads), whole, "{name} {every} {threads}");
            }
        }
    }
}
