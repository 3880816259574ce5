//! Cells → the folded samples that the solver learns from.
//!
//! Ops that were sampled by counting ops stand where they ran, so that no skid is between them and the answer. Beside 20,000 of
//! them, drawn from the truth with two ops for a call or a division and one for a fused pair, `fix` came from a distance of .042
//! to .003 (branchy), of .070 to .025 (nist_fn) and of .640 to .176 (mcf_like, without callchains). Refuted: to give them to the
//! posterior alone; mcf_like, whose model of skid is rejected, then kept the flow of its late samples (.638).

use std::collections::BTreeMap;

use super::correct::Desk;
use super::runs;
use crate::perfdata::AttrIx;
use crate::report::Class;
use crate::skid::folded::{Counts, Folded};
use crate::solve::Evidence;
use crate::solve::diagnose::quantile;

impl Desk<'_> {
    /// Folded samples of the events that the solver learns from: retirement, sampled ops, and time. Precise cycles are better
    /// than late ones: over eight recordings of as many programs block distance is .071 with them, and .101 with no time at all.
    pub(super) fn evidence(&self) -> Evidence {
        let of = |class: Class| (0..self.kinds.len()).filter(move |&ix| self.kinds[ix].class == class);
        let told = (0..self.kinds.len()).filter(|&ix| self.kinds[ix].tells_runs);
        let late = of(Class::Retirement).map(|ix| self.folded(ix)).chain(told.map(|ix| self.runs(ix)));
        let mut retired: Vec<Folded> = late.filter(|f| !f.weight.is_empty()).collect();
        // the first is the scale
        retired.sort_by_key(|f| f.counts != Counts::Instructions);
        // what stacks show is no scale: it is worth something beside samples of an event alone
        if retired.iter().any(|f| !f.exact) {
            retired.extend(self.ran(of(Class::Retirement)).or_else(|| self.ran(of(Class::Time))));
        }
        let precise = (0..self.kinds.len()).filter(|&ix| self.kinds[ix].tells_time && !retired.is_empty());
        let times = of(Class::Time).chain(precise).map(|ix| self.folded(ix)).filter(|f| !f.weight.is_empty());
        let sum = |time: &Folded| time.weight.values().sum::<f64>();
        let time = times.max_by(|a, b| a.exact.cmp(&b.exact).then(sum(a).total_cmp(&sum(b))));
        Evidence { retired, time }
    }

    /// What the branch stacks of those `events` show that have most of them.
    fn ran(&self, events: impl Iterator<Item = usize>) -> Option<Folded> {
        let most = events.max_by_key(|&ix| self.survey.events[ix].stacks)?;
        runs::ran(self.survey, self.program, AttrIx(most as u32))
    }

    /// How often instructions ran by exact samples of ops: in each block that of the median instruction, for some are of
    /// several ops, and a fused pair is of one.
    fn runs(&self, event: usize) -> Folded {
        let ops = self.folded(event);
        let mut weight = BTreeMap::new();
        for (f, (_, function)) in self.program.functions.iter().enumerate() {
            for block in &function.cfg.blocks {
                let own = |i: usize| ops.weight.get(&(f, i)).copied();
                let mut counted: Vec<f64> = (block.first..block.end).filter_map(own).collect();
                if counted.is_empty() {
                    continue;
                }
                let median = quantile(&mut counted, 0.5);
                weight.extend((block.first..block.end).map(|i| ((f, i), median)));
            }
        }
        Folded { weight, ..ops }
    }

    /// Samples of an event per instruction.
    pub(super) fn folded(&self, event: usize) -> Folded {
        let count = &self.survey.events[event];
        let weight = self.located.weight(event);
        Folded {
            stray: count.weight as f64 - weight.values().sum::<f64>(),
            weight,
            period: count.weight as f64 / count.samples.max(1) as f64,
            counts: self.kinds[event].causes,
            exact: self.kinds[event].class == Class::Exact,
        }
    }
}
