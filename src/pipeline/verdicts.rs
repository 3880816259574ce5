//! Answers → what is told of regions, events and the model of skid.

use super::aliasing;
use super::correct::{Correction, Desk, UNREAD};
use super::decoding::at;
use crate::code::FunctionIx;
use crate::image::{Location, demangle};
use crate::options::Options;
use crate::perfdata::PerfFile;
use crate::report::{self, Class, Verdict};
use crate::skid::reporting::Certainty;
use crate::solve::{Answer, Solved, tells_of_skid};

/// What is told of the skid that was found.
pub(super) fn model(solved: &Solved, options: &Options, measured: bool) -> report::Model {
    let interval = options.skid.is_none().then(|| [solved.skid.quantile(0.05), solved.skid.quantile(0.95)]);
    let skid = &solved.skid;
    let bin = |(edges, &share): (&[usize], &f64)| report::Bin {
        from: edges[0] as f64 * skid.tick,
        to: edges[1] as f64 * skid.tick,
        share,
    };
    report::Model {
        skid_cycles: skid.mean(),
        interval,
        late: Some(solved.reporting.late),
        after_long_waits: solved.reporting.patient,
        in_order: solved.reporting.shape.in_order,
        measured: measured && options.skid.is_none(),
        distribution: skid.edges.windows(2).zip(&skid.weights).map(bin).collect(),
    }
}

impl Desk<'_> {
    /// What the report says of a region; whether its answer fits the samples is left open.
    pub(super) fn region(&self, file: &PerfFile, active: &[usize], answer: &Answer) -> report::RegionReport {
        let learnt = |&&ix: &&usize| self.kinds[ix].class == Class::Retirement;
        let event = active.iter().find(learnt).or(active.first());
        let mut functions: Vec<FunctionIx> = answer.model.region.blocks.iter().map(|b| b.function).collect();
        functions.sort_unstable();
        functions.dedup();
        let name = |f: FunctionIx| self.name(at(self.program.place(f, 0)));
        report::RegionReport {
            event: event.map_or_else(String::new, |&ix| file.attrs()[ix].name.clone()),
            functions: functions.into_iter().map(name).collect(),
            samples: answer.model.events.first().map_or(0.0, |e| e.total()).round() as u64,
            verdict: answer.solver.verdict(),
            tells: tells_of_skid(&answer.model),
            reason: answer.reason.clone(),
            solver: answer.solver,
            rhat: answer.r_hat,
            ess: answer.ess,
            branches: answer.identified.map(|of| report::Branches { free: of.free as u64, told: of.told }),
            fit: None,
        }
    }

    /// The name of the function at a place, or its address.
    fn name(&self, place: Location) -> String {
        let function = self.survey.images.get(place.image).function_at(place.svma);
        let named = function.and_then(|f| f.name.as_deref()).map(demangle);
        named.unwrap_or_else(|| format!("{:#x}", place.svma.0))
    }

    /// What is to be said of the loop of a region that keeps step with an event, if one does.
    pub(super) fn step(&self, file: &PerfFile, event: usize, answer: &Answer) -> Option<String> {
        let (attr, count) = (&file.attrs()[event], &self.survey.events[event]);
        let period = attr.sample_period;
        let fixed = !attr.freq && period > 0 && count.samples.checked_mul(period) == Some(count.weight);
        if !fixed || self.kinds[event].class != Class::Retirement {
            return None;
        }
        let step = aliasing::step(self.program, answer, self.kinds[event].causes, period)?;
        Some(step.warning(&attr.name, period, &self.name(step.at)))
    }

    /// The verdict on an event from those of its regions.
    pub(super) fn conclude(&self, event: usize, solved: &Solved, correction: &mut Correction) {
        let kind = &self.kinds[event];
        let mut verdicts: Vec<Verdict> = solved.answers.iter().map(|a| a.solver.verdict()).collect();
        verdicts.sort();
        verdicts.dedup();
        let outcome = &mut correction.events[event];
        outcome.verdict = match (kind.class, verdicts.as_slice()) {
            (_, []) => Verdict::Unchanged,
            (Class::Time, _) => Verdict::Waited,
            (_, [only]) => *only,
            _ => Verdict::Mixed,
        };
        outcome.reason = match (kind.class, verdicts.is_empty()) {
            (_, true) => UNREAD.into(),
            (Class::Time, _) if solved.shown.patient => {
                "each sample is given to the instruction waited for, one before where that takes long".into()
            }
            (Class::Time, _) if solved.shown.late => {
                "each sample is given to the instruction waited for, one before".into()
            }
            (Class::Time, _) => "its samples stand on the instructions waited for already".into(),
            _ => kind.reason.into(),
        };
        if kind.class == Class::Time {
            outcome.reason += match solved.certainty {
                Certainty::Silent => ", as is usual: these samples alone do not tell",
                Certainty::Doubtful => ", as is likelier: these samples alone leave doubt",
                Certainty::Clear => "",
            };
        }
        if kind.class == Class::Time && self.known[event].is_some() {
            outcome.reason += "; how far before was measured on such a processor";
        }
    }
}
