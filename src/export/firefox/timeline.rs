//! One track's samples in time.

use super::super::stacks::StackId;
use super::format::Samples;

/// A sample.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub time: u64,
    pub stack: Option<StackId>,
    pub weight: i64,
}

#[derive(Default)]
pub(super) struct Timeline(Vec<Entry>);

impl Timeline {
    pub fn push(&mut self, entry: Entry) {
        self.0.push(entry);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Brings samples into time order, as recordings of several processors need not be. Returns the first time.
    pub fn sort(&mut self) -> Option<u64> {
        self.0.sort_by_key(|entry| entry.time);
        self.0.first().map(|entry| entry.time)
    }

    /// First and last time after `zero`, milliseconds; sorted only.
    pub fn span(&self, zero: u64) -> (f64, f64) {
        let at =
            |entry: Option<&Entry>| milliseconds(entry.map_or(0, |entry| entry.time.saturating_sub(zero)));
        (at(self.0.first()), at(self.0.last()))
    }

    fn gaps(&self) -> impl Iterator<Item = u64> {
        self.0.windows(2).map(|pair| pair[1].time - pair[0].time)
    }

    /// The samples, whose stacks end at `ends`. Between samples that are close the thread was running; of a longer gap, two
    /// intervals are counted as processor time, since nothing was sampled in the rest.
    pub fn samples(&self, zero: u64, interval: u64, ends: &[usize]) -> Samples {
        let first = self.0.first().map_or(0, |entry| entry.time.saturating_sub(zero));
        let busy = std::iter::once(0).chain(self.gaps()).map(|gap| gap.min(interval.saturating_mul(2)));
        Samples {
            length: self.0.len(),
            stack: self.0.iter().map(|entry| entry.stack.map(|stack| ends[stack.index()])).collect(),
            time_deltas: std::iter::once(first)
                .chain(self.gaps())
                .take(self.0.len())
                .map(milliseconds)
                .collect(),
            weight: self.0.iter().map(|entry| entry.weight).collect(),
            weight_type: "samples",
            thread_cpu_delta: busy.take(self.0.len()).map(|busy| busy as f64 / 1e3).collect(),
        }
    }
}

/// The median time between samples of a thread, nanoseconds; 1 ms when there are none.
pub(super) fn interval<'a>(timelines: impl Iterator<Item = &'a Timeline>) -> u64 {
    let mut gaps: Vec<u64> = timelines.flat_map(Timeline::gaps).filter(|gap| *gap > 0).collect();
    if gaps.is_empty() {
        return 1_000_000;
    }
    let middle = gaps.len() / 2;
    *gaps.select_nth_unstable(middle).1
}

pub(super) fn milliseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}
