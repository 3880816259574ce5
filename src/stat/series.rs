//! The samples of one run in the order in which they were taken.

use std::collections::BTreeMap;

/// One sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Which function.
    pub function: u32,
    /// When, in nanoseconds; 0 if that is not known.
    pub time: u64,
    /// On which processor.
    pub cpu: u32,
    /// In which thread.
    pub thread: i32,
    /// Events since the sample before.
    pub period: u64,
}

/// Samples, in the order of their times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    samples: Vec<Sample>,
    /// How many more there were than are kept.
    pub left_out: u64,
}

/// Samples kept at most, 32 bytes each: the tests do not get better with more.
const MOST: usize = 1 << 20;
/// Threads looked at, those with the most samples first.
const THREADS: usize = 64;

impl Series {
    /// From samples in any order.
    pub fn new(samples: impl IntoIterator<Item = Sample>) -> Series {
        let mut series = Series::default();
        samples.into_iter().for_each(|sample| series.push(sample));
        series.sort();
        series
    }

    /// Takes one in. [`Series::sort`] follows the last.
    pub fn push(&mut self, sample: Sample) {
        match self.samples.len() < MOST {
            true => self.samples.push(sample),
            false => self.left_out += 1,
        }
    }

    /// Puts them in order.
    pub fn sort(&mut self) {
        self.samples.sort_by_key(|sample| sample.time);
    }

    /// Gives each function another number.
    pub fn renumber(&mut self, number: impl Fn(u32) -> u32) {
        self.samples.iter_mut().for_each(|sample| sample.function = number(sample.function));
    }

    /// All of them.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Those of each thread that has at least `least`, the busiest first.
    pub(super) fn threads(&self, least: usize) -> Vec<Vec<Sample>> {
        let mut threads: BTreeMap<i32, Vec<Sample>> = BTreeMap::new();
        for sample in &self.samples {
            threads.entry(sample.thread).or_default().push(*sample);
        }
        let mut threads: Vec<Vec<Sample>> = threads.into_values().filter(|t| t.len() >= least).collect();
        threads.sort_by_key(|thread| std::cmp::Reverse(thread.len()));
        threads.truncate(THREADS);
        threads
    }
}
