//! The cases: programs × cores × skids × sample counts, chosen so that each program meets cores unlike one another.

use std::path::Path;

use crate::compiled::{IA32, LINKED, UNOPTIMIZED};
use crate::core::Model;
use crate::counter::{Event, Period, Setup};
use crate::distance::{self, Distance};
use crate::interrupt::{Lands, Skid};
use crate::perfdata::{self, About};
use crate::sampler::{self, Plan, Recording};
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
const FREQUENCY: With = With { frequency: true, ..PLAIN };
const ALL: With = With { retired: Retired::All, ..PLAIN };
const PARTS: With = With { retired: Retired::Parts, ..PLAIN };
const BRANCHES: With = With { retired: Retired::Branches, ..PLAIN };

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

use Lands::{AfterHead, AfterLongHead, OnHead};

cases! {
    /// The cases that choices were made by.
    CASES:
    "machine-wide4-20" "machine" Wide4 about(20), AfterHead, 20000, CHAINS;
    "machine-inorder-5" "machine" InOrder about(5), OnHead, 20000, PLAIN;
    "machine-shared-hump" "machine" Shared HUMP, AfterHead, 20000, PLAIN;
    "viterbi-wide8-60" "viterbi" Wide8 about(60), OnHead, 20000, PLAIN;
    "viterbi-wide4-150" "viterbi" Wide4 about(150), AfterHead, 5000, PLAIN;
    "arcs-wide6-60" "arcs" Wide6 about(60), AfterHead, 20000, With { misses: true, ..CHAINS };
    "arcs-bursty-hump" "arcs" Bursty HUMP, AfterHead, 20000, PLAIN;
    "arcs-blocking-20" "arcs" Blocking about(20), OnHead, 5000, MISSES;
    "hash-bursty-memory" "hash" Bursty Skid::AfterMemory { base: 30 }, OnHead, 20000, MISSES;
    "hash-wide4-lognormal20" "hash" Wide4 lognormal(20.0), AfterHead, 50000, CHAINS;
    "sparse-wide8-20" "sparse" Wide8 about(20), AfterHead, 20000, PLAIN;
    "sparse-inorder-60-freq" "sparse" InOrder about(60), OnHead, 20000, FREQUENCY;
    "trips-wide6-5" "trips" Wide6 about(5), AfterHead, 20000, PLAIN;
    "trips-wide4-lognormal60" "trips" Wide4 lognormal(60.0), AfterLongHead(8), 20000, PLAIN;
    "trips-shared-150" "trips" Shared about(150), OnHead, 20000, PLAIN;
    "interp-wide6-20-lbr" "interp" Wide6 about(20), AfterHead, 20000, With { branches: 32, ..PLAIN };
    "interp-inorder-20" "interp" InOrder about(20), OnHead, 5000, PLAIN;
    "interp-wide8-hump" "interp" Wide8 HUMP, AfterHead, 50000, PLAIN;
    "tree-wide4-60" "tree" Wide4 about(60), AfterHead, 20000, CHAINS;
    "tree-bursty-tail" "tree" Bursty TAIL, AfterHead, 20000, CHAINS;
    "bisect-wide6-20" "bisect" Wide6 about(20), AfterHead, 20000, MISSES;
    "bisect-blocking-60" "bisect" Blocking about(60), OnHead, 20000, PLAIN;
    "ratios-wide4-20" "ratios" Wide4 about(20), AfterHead, 20000, PLAIN;
    "ratios-wide8-150" "ratios" Wide8 about(150), OnHead, 50000, CHAINS;
    "ratios-shared-tail" "ratios" Shared TAIL, AfterHead, 5000, CHAINS;
    "enter-wide4-60" "enter" Wide4 about(60), OnHead, 20000, PLAIN;
    "enter-wide6-hump-freq" "enter" Wide6 HUMP, AfterHead, 20000, FREQUENCY;
    "enter-wide4-precise" "enter" Wide4 about(60), AfterHead, 20000, With { precise_cycles: true, ..PLAIN };
    "blend-wide4-5" "blend" Wide4 about(5), AfterHead, 20000, PLAIN;
    "blend-wide6-hump" "blend" Wide6 HUMP, AfterHead, 20000, CHAINS;
    "blend-wide8-60" "blend" Wide8 about(60), OnHead, 20000, PLAIN;
    "compare-wide6-60" "compare" Wide6 about(60), AfterLongHead(8), 20000, CHAINS;
    "compare-inorder-5-few" "compare" InOrder about(5), OnHead, 500, PLAIN;
    "scan-wide8-60" "scan" Wide8 about(60), AfterHead, 20000, PLAIN;
    "scan-bursty-20-few" "scan" Bursty about(20), AfterHead, 500, CHAINS;
    "scan-shared-150-lbr" "scan" Shared about(150), AfterHead, 5000, With { branches: 16, ..PLAIN };
    "missing-arcs-inorder-20" "arcs" InOrder about(20), OnHead, 20000, MISSES;
    "missing-hash-wide4-20" "hash" Wide4 about(20), AfterHead, 20000, MISSES;
    "missing-sparse-wide8-60" "sparse" Wide8 about(60), OnHead, 20000, MISSES;
    "missing-tree-wide6-hump" "tree" Wide6 HUMP, AfterHead, 20000, MISSES;
    "missing-interp-wide6-lognormal20" "interp" Wide6 lognormal(20.0), AfterHead, 20000, MISSES;
    "missing-compare-shared-60" "compare" Shared about(60), AfterHead, 20000, MISSES;
    "missing-scan-blocking-5" "scan" Blocking about(5), OnHead, 20000, MISSES;
    "missing-trips-wide4-tail" "trips" Wide4 TAIL, AfterHead, 20000, MISSES;
}

cases! {
    /// Cases of other programs, which came when most numbers had been chosen.
    OTHERS:
    "sled-wide4-45" "sled" Wide4 about(45), AfterHead, 20000, PLAIN;
    "sled-wide6-lognormal30" "sled" Wide6 lognormal(30.0), AfterHead, 12000, CHAINS;
    "sled-wide8-20" "sled" Wide8 about(20), OnHead, 20000, PLAIN;
    "sled-inorder-15" "sled" InOrder about(15), OnHead, 8000, PLAIN;
    "leaves-wide4-45" "leaves" Wide4 about(45), AfterHead, 20000, PLAIN;
    "leaves-wide4-90-few" "leaves" Wide4 about(90), AfterHead, 3000, PLAIN;
    "leaves-bursty-hump" "leaves" Bursty HUMP, AfterHead, 20000, PLAIN;
    "counters-wide4-45" "counters" Wide4 about(45), AfterHead, 20000, PLAIN;
    "counters-wide6-tail" "counters" Wide6 TAIL, AfterHead, 20000, PLAIN;
    "counters-wide8-150" "counters" Wide8 about(150), AfterHead, 10000, CHAINS;
    "dot-wide4-45" "dot" Wide4 about(45), AfterHead, 20000, PLAIN;
    "dot-wide6-lognormal30" "dot" Wide6 lognormal(30.0), AfterHead, 12000, CHAINS;
    "dot-wide8-20" "dot" Wide8 about(20), OnHead, 20000, PLAIN;
    "dot-blocking-30" "dot" Blocking about(30), OnHead, 20000, PLAIN;
    "sorts-wide4-45" "sorts" Wide4 about(45), AfterHead, 20000, PLAIN;
    "sorts-wide4-90-few" "sorts" Wide4 about(90), AfterHead, 3000, PLAIN;
    "sorts-bursty-hump" "sorts" Bursty HUMP, AfterHead, 20000, PLAIN;
    "lex-wide4-45" "lex" Wide4 about(45), AfterHead, 20000, PLAIN;
    "lex-shared-60" "lex" Shared about(60), AfterHead, 20000, PLAIN;
    "lex-wide6-tail" "lex" Wide6 TAIL, AfterHead, 20000, PLAIN;
    "lex-wide8-150" "lex" Wide8 about(150), AfterHead, 10000, CHAINS;
    "lz-wide4-45" "lz" Wide4 about(45), AfterHead, 20000, PLAIN;
    "lz-wide6-lognormal30" "lz" Wide6 lognormal(30.0), AfterHead, 12000, CHAINS;
    "lz-wide8-20" "lz" Wide8 about(20), OnHead, 20000, PLAIN;
    "lz-wide8-150" "lz" Wide8 about(150), AfterHead, 10000, CHAINS;
    "virt-wide4-45" "virt" Wide4 about(45), AfterHead, 20000, PLAIN;
    "virt-inorder-15" "virt" InOrder about(15), OnHead, 8000, PLAIN;
    "virt-wide4-90-few" "virt" Wide4 about(90), AfterHead, 3000, PLAIN;
    "virt-bursty-hump" "virt" Bursty HUMP, AfterHead, 20000, PLAIN;
    "fft-wide4-45" "fft" Wide4 about(45), AfterHead, 20000, PLAIN;
    "fft-bursty-hump" "fft" Bursty HUMP, AfterHead, 20000, PLAIN;
    "fft-wide6-tail" "fft" Wide6 TAIL, AfterHead, 20000, PLAIN;
    "fft-wide8-150" "fft" Wide8 about(150), AfterHead, 10000, CHAINS;
    "match-wide4-45" "match" Wide4 about(45), AfterHead, 20000, PLAIN;
    "match-wide6-lognormal30" "match" Wide6 lognormal(30.0), AfterHead, 12000, CHAINS;
    "match-wide8-20" "match" Wide8 about(20), OnHead, 20000, PLAIN;
    "match-wide6-tail" "match" Wide6 TAIL, AfterHead, 20000, PLAIN;
}

cases! {
    /// Cases of real code: libraries as Debian has them. They came last; one number was chosen by 13 of them (`REACH` of the solver).
    REAL:
    "sqlite-wide4-60" "sqlite" Wide4 about(60), AfterHead, 20000, PLAIN;
    "sqlite-wide6-hump" "sqlite" Wide6 HUMP, AfterHead, 20000, CHAINS;
    "lua-wide4-20" "lua" Wide4 about(20), AfterHead, 20000, PLAIN;
    "lua-wide8-60" "lua" Wide8 about(60), OnHead, 20000, PLAIN;
    "mujs-wide4-60" "mujs" Wide4 about(60), AfterHead, 20000, PLAIN;
    "mujs-bursty-hump" "mujs" Bursty HUMP, AfterHead, 20000, PLAIN;
    "zlib-wide4-60" "zlib" Wide4 about(60), AfterHead, 20000, PLAIN;
    "bzip2-wide6-20" "bzip2" Wide6 about(20), AfterHead, 20000, PLAIN;
    "lzma-wide4-45" "lzma" Wide4 about(45), AfterHead, 20000, PLAIN;
    "zstd-wide6-lognormal30" "zstd" Wide6 lognormal(30.0), AfterHead, 20000, PLAIN;
    "brotli-wide4-tail" "brotli" Wide4 TAIL, AfterHead, 20000, PLAIN;
    "expat-wide8-20" "expat" Wide8 about(20), OnHead, 20000, PLAIN;
    "pcre2-wide4-45" "pcre2" Wide4 about(45), AfterHead, 20000, PLAIN;
    "jansson-wide4-60" "jansson" Wide4 about(60), AfterHead, 20000, CHAINS;
    "jpeg-wide4-45" "jpeg" Wide4 about(45), AfterHead, 20000, PLAIN;
    "jpeg-inorder-15" "jpeg" InOrder about(15), OnHead, 8000, PLAIN;
    "gsl-wide6-60" "gsl" Wide6 about(60), AfterHead, 20000, PLAIN;
    "glpk-blocking-30" "glpk" Blocking about(30), OnHead, 20000, PLAIN;
    "svm-wide6-20" "svm" Wide6 about(20), AfterHead, 20000, PLAIN;
    "svm-shared-150" "svm" Shared about(150), AfterHead, 5000, PLAIN;
}

cases! {
    /// Cases of C++ and Rust, of which nothing was chosen.
    LANGUAGES:
    "words-wide4-45" "words" Wide4 about(45), AfterHead, 20000, PLAIN;
    "words-bursty-hump" "words" Bursty HUMP, AfterHead, 20000, PLAIN;
    "shapes-wide6-20" "shapes" Wide6 about(20), AfterHead, 20000, PLAIN;
    "shapes-inorder-15" "shapes" InOrder about(15), OnHead, 8000, PLAIN;
    "parse-wide4-60" "parse" Wide4 about(60), AfterHead, 20000, CHAINS;
    "parse-wide8-lognormal30" "parse" Wide8 lognormal(30.0), AfterHead, 5000, PLAIN;
    "graph-wide4-tail" "graph" Wide4 TAIL, AfterHead, 20000, PLAIN;
    "graph-bursty-60" "graph" Bursty about(60), OnHead, 20000, PLAIN;
    "regexes-wide4-60" "regexes" Wide4 about(60), AfterHead, 20000, PLAIN;
    "regexes-wide6-hump" "regexes" Wide6 HUMP, AfterHead, 20000, CHAINS;
    "tokens-wide4-45" "tokens" Wide4 about(45), AfterHead, 20000, PLAIN;
    "tokens-wide8-20" "tokens" Wide8 about(20), OnHead, 20000, PLAIN;
    "ledger-wide6-60" "ledger" Wide6 about(60), AfterHead, 20000, PLAIN;
    "ledger-blocking-30" "ledger" Blocking about(30), OnHead, 20000, PLAIN;
    "numbers-wide4-20" "numbers" Wide4 about(20), AfterHead, 20000, PLAIN;
    "numbers-shared-150" "numbers" Shared about(150), AfterHead, 5000, PLAIN;
}

cases! {
    /// Cases of misses in other programs than those that what is said of misses was chosen by, but for what is said of switches.
    MISSING:
    "missing-machine-wide4-20" "machine" Wide4 about(20), AfterHead, 20000, MISSES;
    "missing-viterbi-wide8-60" "viterbi" Wide8 about(60), OnHead, 20000, MISSES;
    "missing-sorts-wide4-45" "sorts" Wide4 about(45), AfterHead, 20000, MISSES;
    "missing-lex-wide6-tail" "lex" Wide6 TAIL, AfterHead, 20000, MISSES;
    "missing-lz-wide8-20" "lz" Wide8 about(20), OnHead, 20000, MISSES;
    "missing-virt-bursty-hump" "virt" Bursty HUMP, AfterHead, 20000, MISSES;
    "missing-fft-wide4-60" "fft" Wide4 about(60), AfterHead, 20000, MISSES;
    "missing-match-wide6-lognormal30" "match" Wide6 lognormal(30.0), AfterHead, 20000, MISSES;
    "missing-sled-inorder-15" "sled" InOrder about(15), OnHead, 20000, MISSES;
    "missing-words-wide4-45" "words" Wide4 about(45), AfterHead, 20000, MISSES;
    "missing-graph-wide6-20" "graph" Wide6 about(20), AfterHead, 20000, MISSES;
    "missing-tokens-wide8-60" "tokens" Wide8 about(60), OnHead, 20000, MISSES;
    "missing-ledger-wide4-lognormal30" "ledger" Wide4 lognormal(30.0), AfterHead, 20000, MISSES;
    "missing-zlib-wide4-60" "zlib" Wide4 about(60), AfterHead, 20000, MISSES;
    "missing-lua-wide6-45" "lua" Wide6 about(45), AfterHead, 20000, MISSES;
    "missing-glpk-wide4-20" "glpk" Wide4 about(20), AfterHead, 20000, MISSES;
}

cases! {
    /// Cases whose addresses are late only after long waits. What these are taken for was chosen by them (`skid/patience.rs`).
    PATIENT:
    "hash-wide4-45-after8" "hash" Wide4 about(45), AfterLongHead(8), 20000, PLAIN;
    "tree-wide6-60-after8" "tree" Wide6 about(60), AfterLongHead(8), 20000, PLAIN;
    "interp-wide8-60-after8" "interp" Wide8 about(60), AfterLongHead(8), 20000, PLAIN;
    "machine-wide4-30-after5" "machine" Wide4 about(30), AfterLongHead(5), 20000, PLAIN;
    "lex-wide4-60-after8" "lex" Wide4 about(60), AfterLongHead(8), 20000, PLAIN;
    "match-wide6-45-after12" "match" Wide6 about(45), AfterLongHead(12), 20000, PLAIN;
    "sorts-bursty-20-after8" "sorts" Bursty about(20), AfterLongHead(8), 20000, PLAIN;
    "sparse-wide4-60-after20" "sparse" Wide4 about(60), AfterLongHead(20), 20000, PLAIN;
    "enter-wide6-45-after8" "enter" Wide6 about(45), AfterLongHead(8), 20000, PLAIN;
    "lz-wide6-20-after10" "lz" Wide6 about(20), AfterLongHead(10), 20000, PLAIN;
    "fft-wide4-45-after8" "fft" Wide4 about(45), AfterLongHead(8), 20000, PLAIN;
    "virt-wide8-45-after8" "virt" Wide8 about(45), AfterLongHead(8), 20000, PLAIN;
}

cases! {
    /// Cases of several events that retire, or of others than instructions. Nothing was chosen by them.
    RETIRED:
    "all-machine-wide4-20" "machine" Wide4 about(20), AfterHead, 20000, ALL;
    "all-arcs-bursty-hump" "arcs" Bursty HUMP, AfterHead, 20000, ALL;
    "all-interp-wide8-hump" "interp" Wide8 HUMP, AfterHead, 20000, ALL;
    "all-trips-wide6-5" "trips" Wide6 about(5), AfterHead, 20000, ALL;
    "all-enter-wide4-60" "enter" Wide4 about(60), OnHead, 20000, ALL;
    "all-scan-wide8-60" "scan" Wide8 about(60), AfterHead, 20000, ALL;
    "all-lex-wide4-45" "lex" Wide4 about(45), AfterHead, 20000, ALL;
    "all-lua-wide4-20" "lua" Wide4 about(20), AfterHead, 20000, ALL;
    "parts-tree-wide4-60" "tree" Wide4 about(60), AfterHead, 20000, PARTS;
    "parts-hash-wide4-lognormal20" "hash" Wide4 lognormal(20.0), AfterHead, 20000, PARTS;
    "parts-sorts-wide4-45" "sorts" Wide4 about(45), AfterHead, 20000, PARTS;
    "parts-words-wide4-45" "words" Wide4 about(45), AfterHead, 20000, PARTS;
    "branches-ratios-wide4-20" "ratios" Wide4 about(20), AfterHead, 20000, BRANCHES;
    "branches-blend-wide6-hump" "blend" Wide6 HUMP, AfterHead, 20000, BRANCHES;
    "branches-lz-wide8-20" "lz" Wide8 about(20), OnHead, 20000, BRANCHES;
    "branches-zlib-wide4-60" "zlib" Wide4 about(60), AfterHead, 20000, BRANCHES;
}

/// The cases of `--quick`: one or two of each kind of core.
pub const QUICK: &[&str] = &[
    "machine-wide4-20",
    "machine-inorder-5",
    "viterbi-wide8-60",
    "arcs-wide6-60",
    "hash-bursty-memory",
    "trips-wide6-5",
    "interp-wide6-20-lbr",
    "tree-bursty-tail",
    "ratios-shared-tail",
    "enter-wide4-60",
];

impl Case {
    /// Looks a case up by name.
    pub fn named(name: &str) -> Result<&'static Case> {
        Case::all().find(|c| c.name == name).ok_or_else(|| Error::Unknown(name.into()))
    }

    /// Every case.
    fn all() -> impl Iterator<Item = &'static Case> {
        let sets = [CASES, OTHERS, REAL, LANGUAGES, UNOPTIMIZED, IA32, LINKED, MISSING, PATIENT, RETIRED];
        sets.into_iter().flatten()
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
