//! Each warning on a profile that has its trouble, and none on profiles that have not.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use skidconv::stat::{
    Asked, Cells, Finding, Group, Kind, Losses, Profile, Refusal, Sample, bias, observe, single,
};

use super::made::{PERIOD, drawn, independent, phases, profile, round, sample};

fn found(profile: &Profile) -> Vec<Finding> {
    single(profile, &Asked::default()).findings
}

fn of(findings: &[Finding], kind: Kind) -> Vec<Option<usize>> {
    findings.iter().filter(|f| f.kind == kind).map(|f| f.function).collect()
}

/// In how many of `trials` each kind was found.
fn alarms(trials: u64, make: impl Fn(u64) -> Profile + Sync) -> impl Fn(Kind) -> f64 {
    let kinds: Vec<Vec<Kind>> = (0..trials)
        .into_par_iter()
        .map(|seed| {
            let mut kinds: Vec<Kind> = found(&make(seed)).iter().map(|f| f.kind).collect();
            kinds.sort();
            kinds.dedup();
            kinds
        })
        .collect();
    move |kind| kinds.iter().filter(|k| k.contains(&kind)).count() as f64 / trials as f64
}

/// A level of 1 % in 1000 trials: more than 2.5 % has a probability of 2e-5.
const RARELY: f64 = 0.025;

#[test]
fn independent_samples_raise_no_alarm_but_by_chance() {
    let alarms = alarms(1000, |seed| {
        let mut made = independent(seed, 4000);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0xc0de);
        // some on another processor, at times as exact as an interrupt's, and a function with hot and cold instructions
        let samples = made.series.samples().to_vec().into_iter().map(|s| Sample {
            cpu: (s.time / PERIOD / 400 % 2) as u32,
            time: s.time + rng.random_range(0..PERIOD / 5),
            ..s
        });
        made.series = skidconv::stat::Series::new(samples.collect::<Vec<_>>());
        made.sites[1] = code(&mut rng, |rng, _| if rng.random_bool(0.2) { 300.0 } else { 1.0 });
        made
    });
    use Kind::*;
    for kind in [Autocorrelation, Aliasing, Drift, Speed, Processors, Attraction] {
        println!("{}: {:.3}", kind.name(), alarms(kind));
        assert!(alarms(kind) <= RARELY, "{}: {}", kind.name(), alarms(kind));
    }
    for kind in [Fragmentation, Throttling, Loss, FewSamples] {
        assert_eq!(alarms(kind), 0.0);
    }
}

/// Phases are dependence, and neither aliasing nor drift.
#[test]
fn phases_of_random_length_are_told_from_aliasing_and_drift() {
    let alarms = alarms(400, |seed| phases(seed, 6000, 12.0));
    println!("aliasing {:.3} drift {:.3}", alarms(Kind::Aliasing), alarms(Kind::Drift));
    assert_eq!(alarms(Kind::Autocorrelation), 1.0);
    assert!(alarms(Kind::Aliasing) <= RARELY && alarms(Kind::Drift) <= 2.0 * RARELY);
}

#[test]
fn a_program_in_step_with_the_sampling_is_aliased() {
    for cycle in [2.5, 3.01, 0.71, 7.3] {
        let aliased = of(&found(&round(1, 4000, 10, cycle)), Kind::Aliasing);
        assert!(!aliased.is_empty(), "{cycle}");
    }
    // a cycle of many samples is resolved
    assert!(of(&found(&round(1, 6000, 4, 125.0)), Kind::Aliasing).is_empty());
}

/// A cycle of nearly a whole number of periods stands still for many samples: calls that are much shorter tell it.
#[test]
fn a_beat_is_aliasing_where_calls_are_known_to_be_short() {
    let mut made = round(2, 6000, 4, 1.0 / 3.002);
    assert!(
        of(&found(&made), Kind::Aliasing).is_empty() && !of(&found(&made), Kind::Autocorrelation).is_empty()
    );
    made.calls = vec![Some(18_000); 4];
    let findings = found(&made);
    assert_eq!(of(&findings, Kind::Aliasing).len(), 4);
    assert_eq!(of(&findings, Kind::Fragmentation).len(), 4);
}

#[test]
fn calls_shorter_than_a_period_are_fragmented_and_longer_ones_are_not() {
    let mut made = independent(5, 4000);
    made.calls = vec![Some(1_000_000), Some(20), None, Some(0)];
    assert_eq!(of(&found(&made), Kind::Fragmentation), [Some(0)]);
    let told = single(&made, &Asked::default());
    assert!(told.functions[1].fragmentation.unwrap().periods > 50.0);
    // the largest model decides the interval: 20 calls quantise by √5 at most, the multinomial says 32
    assert_eq!(told.functions[1].predicted.bound, Some(5f64.sqrt()));
    assert!(told.functions[1].interval.high > 2000.0 + 2.0 * 31.0);
}

#[test]
fn a_share_that_changes_drifts() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(6);
    let made = profile(
        4,
        (0..6000)
            .map(|ix| {
                let late = rng.random_bool(0.3 * ix as f64 / 6000.0);
                sample(ix, if late { 3 } else { drawn(&mut rng) })
            })
            .collect::<Vec<_>>(),
    );
    assert!(of(&found(&made), Kind::Drift).contains(&Some(3)));
}

#[test]
fn an_event_that_comes_slower_as_the_processor_gets_hot_is_found() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
    let mut time = 0.0;
    let made = profile(
        4,
        (0..4000)
            .map(|ix| {
                time += PERIOD as f64 * (1.0 + 0.05 * ix as f64 / 4000.0) * rng.random_range(0.99..1.01);
                Sample { time: time as u64, ..sample(ix, drawn(&mut rng)) }
            })
            .collect::<Vec<_>>(),
    );
    assert_eq!(of(&found(&made), Kind::Speed), [None]);
    // interruptions of the thread are not the processor's speed
    let mut time = 0;
    let waited = profile(
        4,
        (0..4000)
            .map(|ix| {
                let waits = rng.random_bool(0.4 * ix as f64 / 4000.0);
                time += if waits { 9 * PERIOD } else { PERIOD };
                Sample { time, ..sample(ix, drawn(&mut rng)) }
            })
            .collect::<Vec<_>>(),
    );
    assert!(of(&found(&waited), Kind::Speed).is_empty());
}

#[test]
fn processors_that_differ_are_found() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
    // the thread moves every 500 samples; one processor waits longer for memory, in function 3
    let made = profile(
        4,
        (0..8000)
            .map(|ix| {
                let cpu = ix as u32 / 500 % 2;
                let slow = cpu == 1 && rng.random_bool(0.15);
                Sample { cpu, ..sample(ix, if slow { 3 } else { drawn(&mut rng) }) }
            })
            .collect::<Vec<_>>(),
    );
    assert!(of(&found(&made), Kind::Processors).contains(&Some(3)));
    // one processor runs faster
    let mut time = 0;
    let made = profile(
        4,
        (0..8000)
            .map(|ix| {
                let cpu = ix as u32 / 500 % 2;
                time += PERIOD + 3000 * u64::from(cpu) + rng.random_range(0..2000);
                Sample { cpu, time, ..sample(ix, drawn(&mut rng)) }
            })
            .collect::<Vec<_>>(),
    );
    assert!(of(&found(&made), Kind::Processors).contains(&None));
}

/// Addresses of instructions of 1 to 7 bytes, and their samples.
fn code(
    rng: &mut Xoshiro256PlusPlus,
    weight: impl Fn(&mut Xoshiro256PlusPlus, u64) -> f64,
) -> Vec<(u64, u64)> {
    let mut at = 0x401000;
    (0..200)
        .map(|_| {
            at += rng.random_range(1..8);
            let mean = weight(rng, at);
            (at, (mean + mean.sqrt() * rng.random_range(-1.5..1.5)).max(0.0) as u64)
        })
        .collect()
}

#[test]
fn addresses_that_attract_samples_are_found_and_hot_ones_are_not_attraction() {
    let mut made = independent(10, 4000);
    // figure 29: a strong but not absolute preference for addresses ending in binary 10
    let nops = |at: u64| if at & 3 == 2 { 40 } else { 6 + at % 5 };
    made.sites[1] = (0x401000..0x401100).map(|at| (at, nops(at))).collect();
    let attracted = single(&made, &Asked::default());
    assert_eq!(of(&attracted.findings, Kind::Attraction), [None]);
    assert!(attracted.attraction.unwrap().samples[2] > 500);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(10);
    made.sites[1] = code(&mut rng, |rng, _| if rng.random_bool(0.05) { 3000.0 } else { 2.0 });
    assert!(of(&found(&made), Kind::Attraction).is_empty());
}

#[test]
fn what_the_recording_says_it_lost_is_told() {
    let mut made = independent(11, 4000);
    made.losses = Losses { lost: 41, throttled: 3 };
    let findings = found(&made);
    assert_eq!((of(&findings, Kind::Loss).len(), of(&findings, Kind::Throttling).len()), (1, 1));
    assert!(findings.iter().any(|f| f.text.contains("1.01 points")), "{findings:?}");
}

#[test]
fn a_handful_of_samples_is_too_few() {
    assert_eq!(of(&found(&independent(12, 30)), Kind::FewSamples), [None]);
    assert!(of(&found(&independent(12, 60)), Kind::FewSamples).is_empty());
    assert_eq!(of(&found(&Profile::default()), Kind::FewSamples), [None]);
}

fn group(values: Vec<Vec<f64>>) -> Group {
    let runs = values[0].len();
    Group {
        names: (0..values.len()).map(|ix| format!("f{ix}")).collect(),
        totals: vec![4000.0; runs],
        calls: vec![None; values.len()],
        values,
        shares: false,
    }
}

fn in_group(values: Vec<Vec<f64>>) -> Vec<Finding> {
    observe(&group(values), &Asked { replicates: 50, ..Asked::default() }).findings
}

fn noise(rng: &mut Xoshiro256PlusPlus) -> f64 {
    (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
}

#[test]
fn runs_that_drift_or_resemble_their_neighbours_are_found_and_others_rarely() {
    let steady = |seed: u64| {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let values = (0..4).map(|_| (0..100).map(|_| (800.0 + 20.0 * noise(&mut rng)).round()).collect());
        in_group(values.collect()).iter().any(|f| matches!(f.kind, Kind::Order | Kind::Autocorrelation))
    };
    let false_alarms = (0..1000u64).into_par_iter().filter(|seed| steady(*seed)).count();
    println!("false alarms between runs: {false_alarms} of 1000");
    assert!(false_alarms <= 35);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let warm: Vec<f64> = (0..100).map(|ix| 800.0 + 0.5 * f64::from(ix) + 20.0 * noise(&mut rng)).collect();
    assert_eq!(of(&in_group(vec![warm]), Kind::Order), [Some(0)]);
    let mut last = 0.0;
    let slow: Vec<f64> = (0..200)
        .map(|_| {
            last = 0.7 * last + noise(&mut rng);
            800.0 + 20.0 * last
        })
        .collect();
    assert_eq!(of(&in_group(vec![slow]), Kind::Autocorrelation), [Some(0)]);
    // every other run is like the one two before, and not like its neighbours
    let mut last = [0.0; 2];
    let paired: Vec<f64> = (0..200)
        .map(|ix| {
            last[ix % 2] = 0.8 * last[ix % 2] + noise(&mut rng);
            800.0 + 20.0 * last[ix % 2]
        })
        .collect();
    let found = in_group(vec![paired]);
    let told = found.iter().find(|f| f.kind == Kind::Autocorrelation).expect("a dependence");
    assert!(told.text.starts_with("runs depend on those 2 before (r = 0."), "{}", told.text);
}

#[test]
fn outliers_second_modes_and_too_few_runs_are_told() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
    let mut values: Vec<f64> = (0..100).map(|_| 800.0 + 20.0 * noise(&mut rng)).collect();
    assert!(in_group(vec![values.clone()]).is_empty());
    values[50] = 1500.0;
    assert_eq!(of(&in_group(vec![values.clone()]), Kind::Outliers), [Some(0)]);
    (0..6).for_each(|ix| values[10 + 13 * ix] = 1500.0 + 10.0 * noise(&mut rng));
    let findings = in_group(vec![values]);
    assert_eq!(of(&findings, Kind::Modes), [Some(0)]);
    assert!(findings.iter().any(|f| f.text.contains("too few to know")), "{findings:?}");
    assert_eq!(of(&in_group(vec![vec![8.0, 9.0, 10.0]]), Kind::FewRuns), [None]);
}

/// Runs that draw from the same places: `same` of every ten samples are those of all other runs.
fn cells(seed: u64, same: u32) -> Cells {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let fixed: Vec<usize> = (0..2000).map(|_| (rng.random::<f64>().powi(2) * 40.0) as usize).collect();
    let mut places: Vec<(usize, Vec<u32>)> = (0..40).map(|ix| (ix / 20, vec![0; 20])).collect();
    for run in 0..20 {
        for (ix, at) in fixed.iter().enumerate() {
            let at =
                if (ix as u32 % 10) < same { *at } else { (rng.random::<f64>().powi(2) * 40.0) as usize };
            places[at].1[run] += 1;
        }
    }
    Cells { places }
}

#[test]
fn runs_hit_at_the_same_instructions_are_not_pooled() {
    let refused = (0..500).filter(|seed| bias(&cells(*seed, 0)).refusal().is_some()).count();
    println!("independent runs refused: {refused} of 500");
    assert!(refused <= 15);
    for seed in 0..20 {
        let of = bias(&cells(seed, 5));
        assert!(matches!(of.refusal(), Some(Refusal::Repeating { ratio }) if ratio > 1.5), "{of:?}");
    }
}
