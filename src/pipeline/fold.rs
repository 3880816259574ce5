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
use crate::perfdata::{Checkpoint, Error, PerfFile, Warning};
use crate::progress::{Progress, Stage};

/// More would have to wait for the file, and hold more memory.
const MOST_THREADS: usize = 4;

enum Sent {
    Batch(Batch),
    Over(Result<Vec<Warning>, Error>),
}

/// Shows batches to `take`; returns what was tolerated on the way.
pub fn fold(
    (file, spaces): (&PerfFile, &AddressSpaces),
    cuts: &[Checkpoint],
    threads: usize,
    progress: &dyn Progress,
    mut take: impl FnMut(&Batch),
) -> Result<Vec<Warning>, Error> {
    // A channel holds one batch, so that a stretch that is not yet asked for waits instead of filling the memory.
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..=cuts.len()).map(|_| sync_channel(1)).unzip();
    let next = AtomicUsize::new(0);
    let senders: Vec<_> = senders.into_iter().map(|sender| Mutex::new(Some(sender))).collect();
    let stretch = Stretch { file, spaces, cuts, progress };
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
    progress: &'a dyn Progress,
}

impl Stretch<'_> {
    fn walk(&self, ix: usize, sender: &SyncSender<Sent>) -> Result<Vec<Warning>, Error> {
        let from = ix.checked_sub(1).map(|ix| self.cuts[ix]);
        let mut records = self.file.records_between(from, self.cuts.get(ix).copied())?;
        let mut equal = Equal::new(self.file, self.spaces);
        let (mut shown, mut count) = (0, 0u32);
        while let Some(record) = records.next()? {
            if record.kind == PERF_RECORD_SAMPLE {
                equal.add(&record);
            }
            count = count.wrapping_add(1);
            if count.is_multiple_of(4096) {
                self.progress.advance(Stage::Read, records.position() - shown);
                shown = records.position();
                if let Some(batch) = equal.full()
                    && sender.send(Sent::Batch(batch)).is_err()
                {
                    return Ok(vec![]);
                }
            }
        }
        self.progress.advance(Stage::Read, records.position() - shown);
        // Where nobody listens any more, an error was found before.
        let _ = sender.send(Sent::Batch(equal.take()));
        Ok(records.warnings().to_vec())
    }
}
