//! A case: which program runs on which core, how late its interrupts are, and what is recorded of it.

use std::path::Path;

use crate::core::Model;
use crate::counter::{Event, Period, Setup};
use crate::distance::{self, Distance};
use crate::interrupt::{Lands, Skid};
use crate::perfdata::{self, About};
use crate::sampler::{self, Plan, Recording};
use crate::sets::SETS;
use crate::trace::Trace;
use crate::{Error, Result, truth};

/// Instructions between samples, at least: the program is run as often as that takes.
const SPACING: u64 = 1500;

/// One case.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Its name, also that of its files.
    pub name: &'static str,
    /// The program.
    pub program: &'static str,
    /// The core.
    pub model: Model,
    /// How late interrupts are.
    pub skid: Skid,
    /// Which address they record.
    pub lands: Lands,
    /// Samples of instructions, and about as many of cycles.
    pub samples: u64,
    /// What else it records.
    pub with: With,
}

/// What a case records besides addresses of cycles and instructions.
#[derive(Debug, Clone, Copy, Default)]
pub struct With {
    /// Call chains by frame pointer.
    pub chains: bool,
    /// First-level and branch misses.
    pub misses: bool,
    /// Branch records per sample.
    pub branches: usize,
    /// A sampling frequency instead of a period.
    pub frequency: bool,
    /// Precise cycles (not instructions).
    pub precise_cycles: bool,
    /// What retires.
    pub retired: Retired,
}

/// Which events that retire a case records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Retired {
    /// Instructions.
    #[default]
    Instructions,
    /// Instructions, branches, loads and stores.
    All,
    /// Branches, loads and stores.
    Parts,
    /// Branches.
    Branches,
}

pub(crate) const PLAIN: With = With {
    chains: false,
    misses: false,
    branches: 0,
    frequency: false,
    precise_cycles: false,
    retired: Retired::Instructions,
};
pub(crate) const CHAINS: With = With { chains: true, ..PLAIN };
pub(crate) const MISSES: With = With { misses: true, ..PLAIN };

pub(crate) const HUMP: Skid = Skid::TwoHump;
pub(crate) const TAIL: Skid = Skid::Tail { base: 40, share: 0.15, exponent: 1.1 };

pub(crate) const fn about(base: u64) -> Skid {
    Skid::Jitter { base, spread: 0.3 }
}

pub(crate) const fn lognormal(median: f64) -> Skid {
    Skid::LogNormal { median, sigma: 0.6 }
}

macro_rules! cases {
    ($(#[$about:meta])* $set:ident: $($name:literal $program:literal $model:ident $skid:expr, $lands:expr, $samples:literal, $with:expr;)*) => {
        $(#[$about])*
        pub const $set: &[Case] = &[$(Case {
            name: $name, program: $program, model: Model::$model, skid: $skid, lands: $lands, samples: $samples, with: $with,
        }),*];
    };
}

pub(crate) use cases;

impl Case {
    /// Looks a case up by name.
    pub fn named(name: &str) -> Result<&'static Case> {
        Case::all().find(|c| c.name == name).ok_or_else(|| Error::Unknown(name.into()))
    }

    /// Every case.
    fn all() -> impl Iterator<Item = &'static Case> {
        SETS.into_iter().flat_map(|(_, cases)| cases)
    }

    /// Records `trace` and writes `NAME.perf.data` and `NAME.truth.tsv` into `out`.
    pub fn write(&self, trace: &Trace, out: &Path) -> Result<Vec<(Event, Distance)>> {
        let (plan, recording) = self.record(trace);
        let core = self.model.core(self.seed());
        let program = &trace.program;
        let about = About {
            comm: program.name,
            mappings: trace.modules.iter().filter_map(|m| Some((m.mapping()?, &*m.recorded_path))).collect(),
            command: std::iter::once(&program.recorded_path).chain(&program.args).cloned().collect(),
            processor: core.name(),
        };
        perfdata::write(&out.join(format!("{}.perf.data", self.name)), &about, &plan, &recording)?;
        truth::write(&out.join(format!("{}.truth.tsv", self.name)), trace, &plan, &recording)?;
        let measured = |c: &Setup| (c.event, distance::measure(trace, &plan, &recording, c.event));
        Ok(plan.counters.iter().map(measured).collect())
    }

    /// Records `trace`; a first run without counters tells how long the periods must be.
    pub fn record(&self, trace: &Trace) -> (Plan, Recording) {
        let mut plan = Plan {
            counters: Vec::new(),
            passes: 1,
            call_chains: self.with.chains,
            branch_depth: self.with.branches,
            seed: self.seed(),
        };
        let dry = sampler::record(trace, &mut *self.model.core(self.seed()), &plan);
        plan.passes = (self.samples * SPACING).div_ceil(trace.instructions()).max(1) as u32;
        plan.counters = self.counters(&dry, u64::from(plan.passes));
        let recording = sampler::record(trace, &mut *self.model.core(self.seed()), &plan);
        (plan, recording)
    }

    fn counters(&self, dry: &Recording, passes: u64) -> Vec<Setup> {
        let total = |of: fn(&sampler::Happened) -> u64| passes * dry.truth.iter().map(of).sum::<u64>();
        let mut wanted = vec![(Event::Cycles, passes * dry.cycles, self.samples)];
        if matches!(self.with.retired, Retired::Instructions | Retired::All) {
            wanted.push((Event::Instructions, total(|h| h.executions), self.samples));
        }
        if self.with.retired != Retired::Instructions {
            wanted.push((Event::Branches, total(|h| h.branches), self.samples / 2));
        }
        if matches!(self.with.retired, Retired::All | Retired::Parts) {
            wanted.push((Event::Loads, total(|h| h.loads), self.samples / 2));
            wanted.push((Event::Stores, total(|h| h.stores), self.samples / 2));
        }
        if self.with.misses {
            wanted.push((Event::LoadMisses, total(|h| h.load_misses), self.samples / 4));
            wanted.push((Event::BranchMisses, total(|h| h.mispredicts), self.samples / 4));
        }
        let seconds = (passes * dry.cycles) as f64 / 1e9;
        let setup = |(event, total, samples): (Event, u64, u64)| Setup {
            event,
            period: match self.with.frequency {
                true => Period::Frequency((samples as f64 / seconds) as u64),
                false => Period::Fixed(prime(total / samples)),
            },
            skid: if self.with.precise_cycles && event == Event::Cycles { Skid::Precise } else { self.skid },
            lands: self.lands,
        };
        wanted.into_iter().map(setup).collect()
    }

    /// The case's own seed: its name's FNV-1a hash.
    fn seed(&self) -> u64 {
        self.name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
    }
}

/// The smallest odd prime that is not below `n`.
fn prime(n: u64) -> u64 {
    let odd = |n: u64| (3..).step_by(2).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d));
    (n.max(3) | 1..).step_by(2).find(|&n| odd(n)).unwrap_or(n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets::QUICK;

    #[test]
    fn periods_are_prime() {
        assert_eq!([prime(1), prime(4), prime(9), prime(1000), prime(1500)], [3, 5, 11, 1009, 1511]);
    }

    #[test]
    fn each_case_has_a_name_of_its_own_and_a_program() {
        let mut names: Vec<_> = Case::all().map(|c| c.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Case::all().count());
        assert!(Case::all().all(|c| crate::program::Source::named(c.program).is_ok()));
        assert!(QUICK.iter().all(|name| Case::named(name).is_ok()));
    }
}
