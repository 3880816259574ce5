//! What speaks against taking one run's numbers as they are, in sentences, each with the probability of a false alarm.

use super::{Asked, Profile, Single};
use crate::report::format::{count, counted};
use crate::stat::attraction::{Attraction, CLASSES};
use crate::stat::autocorrelation::Independence;
use crate::stat::drift::{across, trend};
use crate::stat::finding::{Finding, Kind};
use crate::stat::loss::{Losses, smallest_seen};
use crate::stat::series::Sample;
use crate::stat::sidak;

/// Windows that a recording is cut into.
const WINDOWS: usize = 20;
/// Samples of a window.
const WINDOW: usize = 20;
/// Samples of a block, when processors are compared.
const BLOCK: usize = 50;
/// A function with less is not tested.
const LEAST: u64 = 50;
/// Below this n p (1 − p) a binomial count is far from normal.
const NORMAL: f64 = 9.0;

/// Everything found.
pub(super) fn all(profile: &Profile, single: &Single, asked: &Asked) -> Vec<Finding> {
    let mut found = Vec::new();
    missing(profile, asked, &mut found);
    calls(single, &mut found);
    dependence(single, &mut found);
    drift(profile, &mut found);
    single.attraction.iter().for_each(|a| found.extend(attracted(a)));
    found
}

fn missing(profile: &Profile, asked: &Asked, found: &mut Vec<Finding>) {
    let total: u64 = profile.counts.iter().sum();
    let mut add = |kind, text| found.push(Finding { kind, function: None, probability: None, text });
    let Losses { lost, throttled } = profile.losses;
    if throttled > 0 {
        add(
            Kind::Throttling,
            format!(
                "sampling was stopped {} because it came too fast: take a longer period",
                counted(throttled, "time")
            ),
        );
    }
    if lost > 0 {
        let share = 100.0 * profile.losses.share(total);
        add(
            Kind::Loss,
            format!(
                "{} lost: any share may be off by up to {share:.2} points",
                match lost {
                    1 => "1 sample was".into(),
                    _ => format!("{} samples were", count(lost)),
                }
            ),
        );
    }
    let varying = profile.counts.iter().map(|&c| c as f64 * (1.0 - c as f64 / total.max(1) as f64));
    if varying.fold(0.0, f64::max) < NORMAL {
        let seen = 100.0 * smallest_seen(total, asked.confidence);
        add(
            Kind::FewSamples,
            format!(
                "{} cannot tell one function from another surely; below {seen:.1} % of the time it may not show at all",
                counted(total, "sample")
            ),
        );
    }
}

fn calls(single: &Single, found: &mut Vec<Finding>) {
    for (ix, function) in single.functions.iter().enumerate() {
        if let Some(of) = function.fragmentation.filter(|of| of.is_fragmented() && function.count > 0) {
            found.push(Finding {
                kind: Kind::Fragmentation,
                function: Some(ix),
                probability: None,
                text: format!(
                    "is called {}, for {:.2} sampling periods each: its count varies by up to {:.1} for that alone",
                    counted(of.calls, "time"),
                    of.periods,
                    function.predicted.bound.unwrap_or(0.0)
                ),
            });
        }
    }
}

fn dependence(single: &Single, found: &mut Vec<Finding>) {
    for rhythm in single.rhythms.iter().filter(|r| r.probability < Kind::FALSE_ALARMS) {
        found.push(Finding {
            kind: Kind::Aliasing,
            function: Some(rhythm.function),
            probability: Some(rhythm.probability),
            text: format!(
                "comes every {:.2} samples: it keeps step with the sampling; compare other periods",
                rhythm.period
            ),
        });
    }
    for of in single.independence.iter().filter(|of| of.probability < Kind::FALSE_ALARMS) {
        let short = single.functions[of.function].fragmentation.is_some_and(|f| f.periods < 0.5);
        let first = of.lags.first().copied().unwrap_or(0.0);
        let stretch = stretch(of.stretch, single.functions[of.function].count);
        let (kind, text) = match short && first > 0.0 && of.stretch > 1.5 {
            true => (
                Kind::Aliasing,
                format!(
                    "{stretch}, although a call is shorter than a period: a beat with the sampling, or phases; compare \
                     other periods"
                ),
            ),
            false => (
                Kind::Autocorrelation,
                format!(
                    "{}: samples are not independent, so the multinomial model does not hold",
                    alike(of, &stretch)
                ),
            ),
        };
        found.push(Finding { kind, function: Some(of.function), probability: Some(of.probability), text });
    }
}

/// Where samples are most alike: next to one another, which its `stretch`es show, or farther apart.
fn alike(of: &Independence, stretch: &str) -> String {
    match of.farthest() {
        (0 | 1, r) => format!("{stretch} (r₁ = {r:.2})"),
        (lag, r) if r > 0.0 => format!("comes again {lag} samples on more often than by chance (r = {r:.2})"),
        (lag, r) => format!("comes again {lag} samples on less often than by chance (r = {r:.2})"),
    }
}

/// How long a function's stretches are.
fn stretch(mean: f64, samples: u64) -> String {
    match mean {
        all if all >= samples as f64 => format!("has all its {} in one stretch", counted(samples, "sample")),
        long if long >= 100.0 => {
            format!("has stretches of {} samples on average", count(long.round() as u64))
        }
        _ => format!("has stretches of {mean:.1} samples on average"),
    }
}

/// Changes of shares and of speed, with time and between processors.
fn drift(profile: &Profile, found: &mut Vec<Finding>) {
    let samples = profile.series.samples();
    if samples.len() >= WINDOWS * WINDOW {
        let windows: Vec<&[Sample]> = samples.chunks_exact(samples.len() / WINDOWS).take(WINDOWS).collect();
        let tested = tested(profile);
        for &function in &tested {
            let shares: Vec<f64> = windows.iter().map(|w| share(w, function)).collect();
            let Some(trend) = trend(&shares) else { continue };
            let p = sidak::adjusted(trend.probability, tested.len());
            if p < Kind::FALSE_ALARMS {
                let text = format!(
                    "goes from {:.1} % to {:.1} % in the course of the recording",
                    100.0 * (trend.mean - 0.5 * trend.change).clamp(0.0, 1.0),
                    100.0 * (trend.mean + 0.5 * trend.change).clamp(0.0, 1.0)
                );
                found.push(Finding {
                    kind: Kind::Drift,
                    function: Some(function),
                    probability: Some(p),
                    text,
                });
            }
        }
    }
    speed(profile, found);
    processors(profile, found);
}

fn tested(profile: &Profile) -> Vec<usize> {
    (0..profile.counts.len()).filter(|&f| profile.counts[f] >= LEAST).collect()
}

fn share(samples: &[Sample], function: usize) -> f64 {
    let inside = samples.iter().filter(|s| s.function as usize == function).count();
    inside as f64 / samples.len().max(1) as f64
}

/// Events a nanosecond between neighbouring samples, by the busiest thread; the median of each window, so that waiting and
/// preemption do not count.
fn speed(profile: &Profile, found: &mut Vec<Finding>) {
    let Some(thread) = profile.series.threads(WINDOWS * WINDOW).into_iter().next() else { return };
    let windows = thread.chunks_exact(thread.len() / WINDOWS).take(WINDOWS);
    let speeds: Vec<f64> = windows.filter_map(median_speed).collect();
    let Some(trend) = trend(&speeds) else { return };
    let change = trend.change / trend.mean.max(f64::MIN_POSITIVE);
    // less than a thousandth is the clock's
    if trend.probability < Kind::FALSE_ALARMS && change.abs() > 1e-3 {
        found.push(Finding {
            kind: Kind::Speed,
            function: None,
            probability: Some(trend.probability),
            text: format!(
                "the event comes {:.1} % {} at the end than at the start: frequency or temperature; \
                 compare shares of samples, not seconds",
                100.0 * change.abs(),
                if change > 0.0 { "faster" } else { "slower" }
            ),
        });
    }
}

fn median_speed(samples: &[Sample]) -> Option<f64> {
    let between = |w: &[Sample]| {
        let time = w[1].time.checked_sub(w[0].time).filter(|dt| *dt > 0)?;
        Some(w[1].period as f64 / time as f64)
    };
    let mut speeds: Vec<f64> = samples.windows(2).filter_map(between).collect();
    speeds.sort_by(f64::total_cmp);
    (!speeds.is_empty()).then(|| crate::quantile::quantile(&speeds, 0.5))
}

/// Blocks of consecutive samples of one thread, by the processor that they were on, compared in shares and in speed.
fn processors(profile: &Profile, found: &mut Vec<Finding>) {
    let tested = tested(profile);
    let threads = profile.series.threads(4 * BLOCK);
    let mut tests: Vec<(Option<usize>, f64)> = Vec::new();
    for thread in &threads {
        let mut blocks: std::collections::BTreeMap<u32, Vec<Vec<Sample>>> = Default::default();
        for run in thread.chunk_by(|a, b| a.cpu == b.cpu) {
            let of = blocks.entry(run[0].cpu).or_default();
            of.extend(run.chunks_exact(BLOCK).map(<[Sample]>::to_vec));
        }
        let groups = |of: &dyn Fn(&Vec<Sample>) -> Option<f64>| -> Vec<Vec<f64>> {
            blocks.values().map(|blocks| blocks.iter().filter_map(of).collect()).collect()
        };
        let shares = |&f: &usize| Some((Some(f), across(&groups(&|block| Some(share(block, f))))?));
        tests.extend(tested.iter().filter_map(shares));
        tests.extend(across(&groups(&|block| median_speed(block))).map(|p| (None, p)));
    }
    for (function, p) in &tests {
        let p = sidak::adjusted(*p, tests.len());
        if p < Kind::FALSE_ALARMS {
            let text = match function {
                Some(_) => {
                    "has another share on one processor than on another, in one and the same thread".into()
                }
                None => "the event comes faster on one processor than on another".into(),
            };
            let known = found.iter().any(|f| f.kind == Kind::Processors && f.function == *function);
            if !known {
                found.push(Finding {
                    kind: Kind::Processors,
                    function: *function,
                    probability: Some(p),
                    text,
                });
            }
        }
    }
}

fn attracted(of: &Attraction) -> Option<Finding> {
    let per = |class: usize| of.samples[class] as f64 / of.instructions[class].max(1) as f64;
    let order = |a: &usize, b: &usize| per(*b).total_cmp(&per(*a));
    let mut classes: Vec<usize> = (0..CLASSES).filter(|&c| of.instructions[c] > 0).collect();
    classes.sort_by(order);
    let most: Vec<String> = classes.iter().take(4).map(|c| format!("{c:x}")).collect();
    (of.probability < Kind::FALSE_ALARMS).then(|| Finding {
        kind: Kind::Attraction,
        function: None,
        probability: Some(of.probability),
        text: format!(
            "addresses that end in {} (hexadecimal) have more samples than others have, function by function",
            most.join(", ")
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_at_which_samples_are_alike_is_told() {
        let of = |lags: &[f64]| {
            let of = Independence { function: 0, lags: lags.to_vec(), probability: 0.0, stretch: 1.5 };
            alike(&of, "has stretches")
        };
        assert_eq!(of(&[0.3, 0.1, -0.2]), "has stretches (r₁ = 0.30)");
        assert_eq!(of(&[0.01, 0.0, 0.2]), "comes again 3 samples on more often than by chance (r = 0.20)");
        assert_eq!(of(&[0.01, -0.2]), "comes again 2 samples on less often than by chance (r = -0.20)");
        assert_eq!(of(&[]), "has stretches (r₁ = 0.00)");
    }
}
