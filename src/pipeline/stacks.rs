//! Branch stacks: what was taken, what ran between, and how much of its event a stack spans.
//!
//! A sample stands for the events of one period, and its stack shows how some of them came about. Of taken branches a stack
//! spans as many as it holds; of cycles as many as the processor writes beside each branch (Intel SDM vol. 3,
//! `IA32_LBR_x_INFO.CYC_CNT`); of other events nothing exact is known, but bytes of code are a measure of instructions.

use crate::perfdata::{Attr, BranchEntry, Sample};

/// Bytes of a branch, about.
const BRANCH: u64 = 4;

/// The branches that were taken, the latest first. What was not filled is 0.
pub fn taken<'a>(sample: &Sample<'a>) -> impl Iterator<Item = BranchEntry> + use<'a> {
    sample.branches.iter().filter(|branch| (branch.from, branch.to) != (0, 0) && !branch.flags.given_up())
}

/// First and last address of what ran straight from one branch to the next.
pub fn between<'a>(sample: &Sample<'a>) -> impl Iterator<Item = (u64, u64)> + use<'a> {
    taken(sample)
        .zip(taken(sample).skip(1))
        .map(|(later, branch)| (branch.to, later.from))
        .filter(|(a, b)| a <= b)
}

/// How much of an event its stacks span, where they hold every branch: as far as known, or else bytes of code.
#[derive(Clone, Copy, Debug)]
pub struct Extent(Option<Span>);

impl Extent {
    /// That of an event's stacks; `None` where they leave branches out, or are none.
    pub fn of(attr: &Attr) -> Option<Extent> {
        attr.has_all_branches().then(|| Extent(Span::of(attr)))
    }

    /// How much a sample's stack spans, in units that are the same for all stacks of the event; 0 if it is not known.
    pub fn covers(self, sample: &Sample<'_>) -> u64 {
        match self.0.map_or(0, |span| span.covers(taken(sample))) {
            0 => between(sample).fold(0, |sum, (first, last)| sum.saturating_add(last - first + BRANCH)),
            known => known,
        }
    }
}

/// What the length of a stack is in its event's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// The branches in it.
    Branches,
    /// The cycles beside them.
    Cycles,
}

impl Span {
    /// That of an event's stacks; `None` where it is not known, or they are none.
    pub fn of(attr: &Attr) -> Option<Span> {
        let name = attr.name.to_ascii_lowercase();
        // BR_INST_RETIRED.NEAR_TAKEN, which perf calls by its number where it was recorded by it
        let taken = name.contains("taken")
            || name.contains("brn_tkn")
            || attr.kind == 4 && attr.config & 0xffff == 0x20c4;
        let cycles = attr.kind == 0 && attr.config & 0xff == 0
            || name.contains("cpu-cycles")
            || name.contains("clk_unhalted.thread");
        match () {
            () if attr.has_callers_as_branches() => None,
            () if taken && attr.has_all_branches() => Some(Span::Branches),
            () if cycles => Some(Span::Cycles),
            () => None,
        }
    }

    /// How much `stack` spans; 0 where the processor does not say.
    pub fn covers(self, stack: impl Iterator<Item = BranchEntry>) -> u64 {
        match self {
            Span::Branches => stack.count() as u64,
            Span::Cycles => stack.map(|branch| u64::from(branch.flags.cycles())).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use linux_perf_event_reader::constants::{
        PERF_SAMPLE_BRANCH_ANY as ANY, PERF_SAMPLE_BRANCH_CALL_STACK as CALL_STACK,
    };

    use super::*;

    #[test]
    fn spans_are_known_of_taken_branches_and_of_cycles() {
        let attr = |name: &str, kind, config, branch_sample_type| Attr {
            name: name.into(),
            kind,
            config,
            branch_sample_type,
            ..Attr::default()
        };
        let span = |name, kind, config, filter| Span::of(&attr(name, kind, config, filter));
        assert_eq!(span("br_inst_exec:taken", 4, 0x53_4088, ANY), Some(Span::Branches));
        assert_eq!(span("r20c4", 4, 0x20c4, ANY), Some(Span::Branches));
        assert_eq!(span("br_inst_retired.near_taken:u", 4, 0x20c4, 1 << 4), None, "calls only");
        assert_eq!(span("cycles", 0, 0, ANY), Some(Span::Cycles));
        assert_eq!(span("cycles", 0, 0, ANY | CALL_STACK), None, "callers");
        assert_eq!(span("instructions", 0, 1, ANY), None);
    }
}
