//! Calls put together by function and calling context, and what to do about them.

use super::lines::Call;
use super::moments::{Moments, Split, cv_error};
use super::recording::Recording;
use std::collections::BTreeMap;

/// Part of the time from which a function is worth the effort (FVSampler, section 6.2).
const TIME: f64 = 0.1;
/// Coefficient of variation within threads from which variance is high.
const WITHIN: f64 = 0.2;
/// The same between threads.
const BETWEEN: f64 = 0.1;
/// Calls below which nothing is said.
const FEWEST: u64 = 10;

/// Parts that calls are dealt to, so many at a time as may come of one window.
const FOLDS: usize = 10;
const DEALT: u64 = 4;

/// FVSampler's table 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// High time, high variance.
    Reduce,
    /// High time, low variance.
    Unrelated,
    /// Low time, high variance.
    Little,
    /// Low time, low variance.
    Nothing,
    /// Too few calls to tell.
    Few,
    /// Calls are shorter than what the recorder can tell apart.
    Short,
}

impl Advice {
    /// For the table.
    pub fn brief(self) -> &'static str {
        match self {
            Advice::Reduce => "reduce variance",
            Advice::Unrelated => "variance unrelated",
            Advice::Little => "little benefit",
            Advice::Nothing => "no action",
            Advice::Few => "too few calls",
            Advice::Short => "too short to tell",
        }
    }

    /// In a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Advice::Reduce => "much time, much variance: reduce the variance to gain performance",
            Advice::Unrelated => "much time, little variance: performance is unrelated to variance",
            Advice::Little => "little time, much variance: reducing it gains the program little",
            Advice::Nothing => "little time, little variance: nothing to do",
            Advice::Few => "too few calls to tell",
            Advice::Short => {
                "calls are too short for what measuring costs: longer ones are preferred, and their number is rough"
            }
        }
    }
}

/// Calls of one function from one calling context, or from all.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// The function.
    pub function: u32,
    /// The caller's context; `None` for all, or where it is not known.
    pub context: Option<u32>,
    /// By thread and metric.
    pub threads: BTreeMap<u32, Vec<Moments>>,
    /// By metric.
    pub all: Vec<Moments>,
    /// By metric: all in parts, for the errors of what is estimated.
    folds: Vec<[Moments; FOLDS]>,
    /// Calls sampled that did not return.
    pub lost: u64,
    /// Part of the samples of time that have the function on their stack, 0 to 1; of a context, called from there.
    pub share: f64,
}

/// A recording, put together.
#[derive(Clone, Debug)]
pub struct Summary<'a> {
    /// The recording.
    pub recording: &'a Recording,
    /// The metric that functions are judged by.
    pub metric: usize,
    /// All functions with calls, largest share first, and each one's contexts, most calls first.
    pub functions: Vec<(Group, Vec<Group>)>,
}

impl Group {
    fn take(&mut self, recording: &Recording, call: &Call) {
        let metrics = recording.header.metrics.len();
        let thread = self.threads.entry(call.tid).or_insert_with(|| vec![Moments::default(); metrics]);
        self.all.resize(metrics, Moments::default());
        self.folds.resize(metrics, [Moments::default(); FOLDS]);
        for (metric, own) in thread.iter_mut().enumerate() {
            if let Some(value) = recording.value(call, metric) {
                let fold = (self.all[metric].n() / DEALT) as usize % FOLDS;
                let into = [own, &mut self.folds[metric][fold], &mut self.all[metric]];
                into.into_iter().for_each(|of| of.push(value, call.weight));
            }
        }
    }

    /// Calls sampled that returned.
    pub fn calls(&self) -> u64 {
        self.all.first().map_or(0, Moments::n)
    }

    /// Calls that they stand for.
    pub fn estimated(&self) -> f64 {
        self.all.first().map_or(0.0, Moments::weight)
    }

    /// The standard error of a metric's coefficient of variation; `None` of too few calls.
    pub fn cv_error(&self, metric: usize) -> Option<f64> {
        cv_error(self.folds.get(metric)?)
    }

    /// Where a metric's variance comes from.
    pub fn split(&self, metric: usize) -> Split {
        Split::of(self.threads.values().map(|metrics| &metrics[metric]))
    }

    /// Coefficients of variation within threads and between them.
    pub fn variation(&self, metric: usize) -> (f64, f64) {
        let (split, mean) = (self.split(metric), self.all[metric].mean());
        if mean == 0.0 { (0.0, 0.0) } else { (split.within.sqrt() / mean, split.between.sqrt() / mean) }
    }

    /// What to do, by a metric whose cost has this mean and standard deviation.
    pub fn advice(&self, metric: usize, cost: f64, cost_sd: f64) -> Advice {
        if self.calls() < FEWEST {
            return Advice::Few;
        }
        // noise alone would make a high coefficient of variation, and where one call follows the other long ones are preferred
        let mean = self.all[metric].mean();
        if cost_sd > 0.0 && (mean * WITHIN < cost_sd || mean < cost) {
            return Advice::Short;
        }
        let (within, between) = self.variation(metric);
        match (self.share >= TIME, within > WITHIN || between > BETWEEN) {
            (true, true) => Advice::Reduce,
            (true, false) => Advice::Unrelated,
            (false, true) => Advice::Little,
            (false, false) => Advice::Nothing,
        }
    }
}

impl<'a> Summary<'a> {
    /// Puts a recording together. Functions are judged by `metric`, or, where that is none, by the first of those that
    /// depend least on what else runs: instructions, task-clock, wall time.
    pub fn new(recording: &'a Recording, metric: Option<usize>) -> Summary<'a> {
        let place = |name: &str| recording.header.metrics.iter().position(|metric| metric.name == name);
        let metric = metric.or_else(|| place("instructions")).or_else(|| place("task-clock")).unwrap_or(0);
        let mut functions: BTreeMap<u32, (Group, BTreeMap<Option<u32>, Group>)> = BTreeMap::new();
        for call in &recording.calls {
            let (all, contexts) = functions.entry(call.function).or_default();
            all.take(recording, call);
            contexts.entry(call.context).or_default().take(recording, call);
        }
        for lost in &recording.lost {
            if let Some((all, contexts)) = functions.get_mut(&lost.function) {
                all.lost += 1;
                contexts.get_mut(&lost.context).into_iter().for_each(|group| group.lost += 1);
            }
        }
        let shares = Shares::of(recording);
        let named = |(function, (mut all, contexts)): (u32, (Group, BTreeMap<Option<u32>, Group>))| {
            (all.function, all.share) = (function, shares.of_function(function));
            let context = |(context, mut group): (Option<u32>, Group)| {
                (group.function, group.context) = (function, context);
                group.share = shares.of_context(function, context);
                group
            };
            let mut contexts: Vec<Group> = contexts.into_iter().map(context).collect();
            contexts.sort_by_key(|group| std::cmp::Reverse(group.calls()));
            (all, contexts)
        };
        let mut functions: Vec<(Group, Vec<Group>)> = functions.into_iter().map(named).collect();
        functions.sort_by(|(a, _), (b, _)| b.share.total_cmp(&a.share).then(a.function.cmp(&b.function)));
        Summary { recording, metric, functions }
    }

    /// What to do about a group.
    pub fn advice(&self, group: &Group) -> Advice {
        let header = &self.recording.header;
        group.advice(self.metric, header.cost[self.metric], header.cost_sd[self.metric])
    }

    /// A function's name.
    pub fn name(&self, function: u32) -> &str {
        &self.recording.functions[function as usize].name
    }

    /// A context as text: the callers, outermost first.
    pub fn path(&self, context: Option<u32>) -> String {
        let names: Vec<&str> =
            self.recording.frames(context).map(|frame| self.name(frame.function)).collect();
        names.into_iter().rev().collect::<Vec<_>>().join(" → ")
    }

    /// Calls of a group, in the order of their times, with the value of a metric.
    pub fn timeline(&self, group: &Group, metric: usize) -> Vec<(&'a Call, f64)> {
        let all = self.recording.calls.iter().filter(|call| call.function == group.function);
        let here = all.filter(|call| group.context.is_none() || call.context == group.context);
        let mut calls: Vec<_> =
            here.filter_map(|call| Some((call, self.recording.value(call, metric)?))).collect();
        calls.sort_by_key(|(call, _)| (call.start, call.tid));
        calls
    }
}

/// Samples of time by function.
struct Shares {
    samples: f64,
    functions: BTreeMap<u32, u64>,
    contexts: BTreeMap<(u32, Option<u32>), u64>,
}

impl Shares {
    fn of(recording: &Recording) -> Shares {
        let mut shares = Shares {
            samples: recording.samples.len() as f64,
            functions: BTreeMap::new(),
            contexts: BTreeMap::new(),
        };
        for (context, count) in recording.contexts.iter().zip(samples_below(recording)) {
            if count == 0 {
                continue;
            }
            *shares.contexts.entry((context.function, context.parent)).or_default() += count;
            // of a function that called itself, the outermost has all samples of the others
            let inner = recording.frames(context.parent).any(|frame| frame.function == context.function);
            if !inner {
                *shares.functions.entry(context.function).or_default() += count;
            }
        }
        shares
    }

    fn part(&self, count: Option<&u64>) -> f64 {
        count.map_or(0.0, |count| *count as f64 / self.samples)
    }

    fn of_function(&self, function: u32) -> f64 {
        self.part(self.functions.get(&function))
    }

    fn of_context(&self, function: u32, context: Option<u32>) -> f64 {
        self.part(self.contexts.get(&(function, context)))
    }
}

/// By context: samples of time that were taken in it or in what it called.
fn samples_below(recording: &Recording) -> Vec<u64> {
    let mut counts = vec![0; recording.contexts.len()];
    for sample in &recording.samples {
        if let Some(count) = sample.context.and_then(|context| counts.get_mut(context as usize)) {
            *count += 1;
        }
    }
    // a parent's id is smaller: its children are added up before it is added to its own
    for (ix, context) in recording.contexts.iter().enumerate().rev() {
        let count = counts[ix];
        if let Some(parent) = context.parent.and_then(|parent| counts.get_mut(parent as usize)) {
            *parent += count;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::super::lines::{Context, Sample};
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    /// Contexts by parent and function, and samples in them; the first has no parent.
    fn recording(contexts: &[(usize, u32)], samples: &[usize]) -> Recording {
        let context = |(ix, &(parent, function)): (usize, &(usize, u32))| Context {
            id: ix as u32,
            parent: (ix > 0).then(|| (parent % ix.max(1)) as u32),
            function,
            address: 0,
        };
        let sample = |&at: &usize| {
            let context = (!contexts.is_empty()).then(|| (at % contexts.len()) as u32);
            Sample { tid: 1, time: 0, context }
        };
        Recording {
            contexts: contexts.iter().enumerate().map(context).collect(),
            samples: samples.iter().map(sample).collect(),
            ..Recording::default()
        }
    }

    /// Samples by function, and by function and context.
    type Counts = (BTreeMap<u32, u64>, BTreeMap<(u32, Option<u32>), u64>);

    /// The same by going through the stack of each sample.
    fn by_stacks(recording: &Recording) -> Counts {
        let (mut functions, mut contexts) = Counts::default();
        for sample in &recording.samples {
            let stack = || recording.frames(sample.context);
            for function in stack().map(|frame| frame.function).collect::<HashSet<_>>() {
                *functions.entry(function).or_default() += 1;
            }
            for context in stack().map(|frame| (frame.function, frame.parent)).collect::<HashSet<_>>() {
                *contexts.entry(context).or_default() += 1;
            }
        }
        (functions, contexts)
    }

    proptest! {
        #[test]
        fn a_sample_counts_once_for_each_function_on_its_stack(
            contexts in prop::collection::vec((0usize..40, 0u32..6), 0..40),
            samples in prop::collection::vec(0usize..40, 0..40),
        ) {
            let recording = recording(&contexts, &samples);
            let shares = Shares::of(&recording);
            prop_assert_eq!((shares.functions, shares.contexts), by_stacks(&recording));
        }
    }
}
