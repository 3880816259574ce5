//! How far a recording's addresses are from the truth, and how far they would be by chance alone.

use std::collections::HashMap;

use crate::counter::Event;
use crate::sampler::{Happened, Plan, Recording};
use crate::trace::Trace;

/// Total variation distances between normalised profiles, 0–1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distance {
    /// Samples of the event.
    pub samples: usize,
    /// Over functions.
    pub function: f64,
    /// Over instructions.
    pub instruction: f64,
    /// What an exact profile of so many samples is expected to have over instructions.
    pub floor: f64,
}

/// The distance of one event's samples, weighted by period, from what really happened.
pub fn measure(trace: &Trace, plan: &Plan, recording: &Recording, event: Event) -> Distance {
    let mut truth = HashMap::new();
    for (inst, happened) in trace.insts.iter().zip(&recording.truth) {
        *truth.entry(inst.address).or_insert(0.0) += of(event, happened) as f64;
    }
    let mut found = HashMap::new();
    let mut samples = 0;
    for s in recording.samples.iter().filter(|s| plan.counters[s.counter].event == event) {
        *found.entry(s.address).or_insert(0.0) += s.period as f64;
        samples += 1;
    }
    normalise(&mut truth);
    normalise(&mut found);
    let function = |address| trace.function(address);
    Distance {
        samples,
        function: variation(&grouped(&truth, function), &grouped(&found, function)),
        instruction: variation(&truth, &found),
        floor: floor(&truth, samples as f64),
    }
}

fn of(event: Event, happened: &Happened) -> u64 {
    match event {
        Event::Instructions => happened.executions,
        Event::Cycles => happened.head_cycles,
        Event::LoadMisses => happened.load_misses,
        Event::BranchMisses => happened.mispredicts,
        Event::Branches => happened.branches,
        Event::Loads => happened.loads,
        Event::Stores => happened.stores,
    }
}

type Profile = HashMap<u64, f64>;

fn normalise(profile: &mut Profile) {
    let total: f64 = profile.values().sum();
    profile.values_mut().for_each(|v| *v /= total.max(f64::MIN_POSITIVE));
}

fn grouped(profile: &Profile, group: impl Fn(u64) -> u64) -> Profile {
    let mut out = Profile::new();
    profile.iter().for_each(|(&k, v)| *out.entry(group(k)).or_insert(0.0) += v);
    out
}

fn variation(p: &Profile, q: &Profile) -> f64 {
    let missing: f64 = q.iter().filter(|(k, _)| !p.contains_key(k)).map(|(_, v)| v).sum();
    (p.iter().map(|(k, v)| (v - q.get(k).unwrap_or(&0.0)).abs()).sum::<f64>() + missing) / 2.0
}

/// E TVD ≈ ½ Σ √(2 p(1−p) / πn), or p itself where less than one sample is expected.
fn floor(truth: &Profile, n: f64) -> f64 {
    let one = |p: f64| {
        if p * n > 1.0 { (2.0 * p * (1.0 - p) / (std::f64::consts::PI * n)).sqrt() } else { 2.0 * p }
    };
    truth.values().map(|&p| one(p)).sum::<f64>() / 2.0
}
