//! How often functions were called, by the branch stacks of samples.
//!
//! A stack holds the last branches taken, and its sample stands for the events of one period. Where it is known how many of
//! those events the stack spans ([`Span`]), the sample stands for period · calls in the stack / span calls, sample by sample, so
//! that phases with few branches count by their time. Of other events nothing is said.
//!
//! A branch to a function's first instruction is a call if it comes from elsewhere, jumps in place of calls among them, or if
//! it is a call by its kind or its code. Stacks that stand for callers (`--call-graph lbr`) are none.

use std::collections::HashMap;

use super::functions::Functions;
use crate::code;
use crate::image::{Location, Svma};
use crate::perfdata::{BranchEntry, PerfFile, Record, Sample};
use crate::pipeline::decoding::bitness;
use crate::pipeline::stacks::{Span, taken};
use crate::pipeline::survey::{Survey, when};

/// Bytes of an instruction at most.
const LONGEST: u64 = 15;

/// What one event's stacks say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calls {
    /// Calls of each function by its number, of those that were seen called.
    by_number: HashMap<u32, f64>,
    /// Calls seen.
    pub seen: u64,
    /// Periods of samples whose stacks have a span, and of all.
    known: f64,
    all: f64,
}

impl Calls {
    /// How often a function was called in the whole recording.
    pub fn of(&self, number: u32) -> Option<f64> {
        Some(self.by_number.get(&number)? * self.all / self.known)
    }
}

/// Reads stacks.
pub struct Stacks<'a> {
    survey: &'a Survey,
    functions: &'a Functions,
    spans: Vec<Option<Span>>,
    calls: Vec<Calls>,
}

impl<'a> Stacks<'a> {
    /// Of the samples of `file`.
    pub fn new(file: &PerfFile, survey: &'a Survey, functions: &'a Functions) -> Stacks<'a> {
        let spans: Vec<Option<Span>> = file.attrs().iter().map(Span::of).collect();
        Stacks { survey, functions, calls: vec![Calls::default(); spans.len()], spans }
    }

    /// One sample more.
    pub fn take(&mut self, record: &Record<'_>, sample: &Sample<'_>) {
        let attr = sample.attr.0 as usize;
        let Some(span) = self.spans.get(attr).copied().flatten() else { return };
        let (covered, period) = (span.covers(taken(sample)), sample.period as f64);
        self.calls[attr].all += period;
        if covered == 0 {
            return;
        }
        self.calls[attr].known += period;
        for branch in taken(sample) {
            if let Some(number) = self.called(record, sample, &branch) {
                *self.calls[attr].by_number.entry(number).or_default() += period / covered as f64;
                self.calls[attr].seen += 1;
            }
        }
    }

    /// What the event with the most calls seen says.
    pub fn finish(self) -> Calls {
        self.calls.into_iter().max_by_key(|calls| calls.seen).unwrap_or_default()
    }

    /// The function that a branch calls.
    fn called(&self, record: &Record<'_>, sample: &Sample<'_>, branch: &BranchEntry) -> Option<u32> {
        let place = |address| self.survey.branched(sample.pid, when(record, sample), address);
        let to = place(branch.to)?;
        let number = *self.functions.by_start.get(&to)?;
        let is_call = match branch.flags.kind() {
            PERF_BR_CALL | PERF_BR_IND_CALL | PERF_BR_COND_CALL => true,
            PERF_BR_RET | PERF_BR_SYSRET | PERF_BR_COND_RET | PERF_BR_ERET => false,
            _ => place(branch.from).is_none_or(|from| !self.within(from, to) || self.calls(from)),
        };
        is_call.then_some(number)
    }

    /// Whether `from` is in the function that begins at `start`.
    fn within(&self, from: Location, start: Location) -> bool {
        let function = || self.survey.images.get(from.image).function_at(from.svma);
        from.image == start.image && function().is_some_and(|function| function.start == start.svma)
    }

    fn calls(&self, at: Location) -> bool {
        let image = self.survey.images.get(at.image);
        let decoded = || {
            let bytes = image.code(at.svma..Svma(at.svma.0.saturating_add(LONGEST)))?;
            code::decode(bitness(image)?, at.svma.0, &bytes)
        };
        decoded().is_some_and(|inst| inst.is_call())
    }
}

// `PERF_BR_*`
const PERF_BR_CALL: u8 = 4;
const PERF_BR_IND_CALL: u8 = 5;
const PERF_BR_RET: u8 = 6;
const PERF_BR_SYSRET: u8 = 8;
const PERF_BR_COND_CALL: u8 = 9;
const PERF_BR_COND_RET: u8 = 10;
const PERF_BR_ERET: u8 = 11;
