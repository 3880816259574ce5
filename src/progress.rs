//! How long work tells what it has done. The library never prints; the binary draws bars from this.

use rayon::prelude::*;

/// A part of the run that takes long enough to be worth a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Walking the input: bytes of its data section.
    Read,
    /// Decoding functions: functions.
    Decode,
    /// Finding flows that conserve what comes and goes, anew for each processor that may be behind the samples: regions.
    Flow,
    /// Learning what regions have in common, from one step to the next: regions.
    Learn,
    /// Solving regions of hot code: regions.
    Solve,
    /// Finding where samples go: regions.
    Plan,
    /// Writing the corrected recording: bytes of the input's data section.
    Write,
}

/// Receives how far each stage is. All methods do nothing unless overridden.
pub trait Progress: Sync {
    /// `stage` begins and will do `total` units of work.
    fn start(&self, _stage: Stage, _total: u64) {}
    /// `stage` has done `units` more units.
    fn advance(&self, _stage: Stage, _units: u64) {}
    /// `stage` is over.
    fn finish(&self, _stage: Stage) {}
}

/// Does `work` on all `items` side by side as a `stage` of their number; the results are in their order.
pub fn each<I: IndexedParallelIterator, R: Send>(
    progress: &dyn Progress,
    stage: Stage,
    items: I,
    work: impl Fn(I::Item) -> R + Sync + Send,
) -> Vec<R> {
    progress.start(stage, items.len() as u64);
    let one = |item| {
        let done = work(item);
        progress.advance(stage, 1);
        done
    };
    let all = items.map(one).collect();
    progress.finish(stage);
    all
}

/// Says nothing.
pub struct Silent;
impl Progress for Silent {}
