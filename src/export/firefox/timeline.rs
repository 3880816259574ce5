//! One track's samples in time.

use super::super::stacks::StackId;
use super::weight::Unit;
use fxprof_processed_profile as fx;
use std::collections::HashMap;

/// A sample.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub time: u64,
    pub stack: Option<StackId>,
    pub weight: u64,
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

    /// First and last time after `zero`; sorted only.
    pub fn span(&self, zero: u64) -> (fx::Timestamp, fx::Timestamp) {
        let at = |entry: Option<&Entry>| timestamp(entry.map_or(zero, |entry| entry.time), zero);
        (at(self.0.first()), at(self.0.last()))
    }

    /// The stacks, in order of their first sample.
    pub fn stacks(&self) -> impl Iterator<Item = StackId> {
        self.0.iter().filter_map(|entry| entry.stack)
    }

    fn gaps(&self) -> impl Iterator<Item = u64> {
        self.0.windows(2).map(|pair| pair[1].time - pair[0].time)
    }

    /// Adds the samples to `thread`. Between samples that are close the thread was running; of a longer gap, two intervals
    /// are counted as processor time, since nothing was sampled in the rest.
    pub fn write(
        &self,
        thread: fx::ThreadHandle,
        zero: u64,
        interval: u64,
        unit: Unit,
        stacks: &HashMap<StackId, fx::StackHandle>,
        profile: &mut fx::Profile,
    ) {
        let weights = unit.scale(self.0.iter().map(|entry| entry.weight));
        let gaps = std::iter::once(0).chain(self.gaps());
        for ((entry, weight), gap) in self.0.iter().zip(weights).zip(gaps) {
            let busy = fx::CpuDelta::from_nanos(gap.min(interval.saturating_mul(2)));
            let stack = entry.stack.and_then(|stack| stacks.get(&stack).copied());
            profile.add_sample(thread, timestamp(entry.time, zero), stack, busy, weight);
        }
    }
}

/// The median time between samples of a thread, 1 ms when there are none.
pub(super) fn interval<'a>(timelines: impl Iterator<Item = &'a Timeline>) -> u64 {
    let mut gaps: Vec<u64> = timelines.flat_map(Timeline::gaps).filter(|gap| *gap > 0).collect();
    if gaps.is_empty() {
        return 1_000_000;
    }
    let middle = gaps.len() / 2;
    *gaps.select_nth_unstable(middle).1
}

fn timestamp(time: u64, zero: u64) -> fx::Timestamp {
    fx::Timestamp::from_nanos_since_reference(time.saturating_sub(zero))
}
