//! Runs put together: what they say as a set, beside another set, and whether they may be pooled.

use std::collections::{BTreeMap, BTreeSet};

use super::StatOptions;
use super::collect::{EventRun, Name, OTHER, Run};
use super::table::Known;
use crate::report::uncertainty::{Compared, EventUncertainty, InRuns, Projected, Uncertainty};
use crate::stat::{self, Bias, Cells, Finding, Group, Kind, Point, Refusal, Table, adjusted};

/// Everything that is told of the runs.
pub fn assemble(runs: &[Run], against: &[Run], known: &Known, options: &StatOptions) -> Uncertainty {
    let mut events: Vec<&str> = runs.iter().flat_map(|run| &run.events).map(|e| e.event.as_str()).collect();
    let mut seen = BTreeSet::new();
    events.retain(|event| seen.insert(*event));
    let path = |run: &Run| run.path.display().to_string();
    let mut warnings: Vec<String> = Vec::new();
    for run in runs.iter().chain(against) {
        warnings.extend(run.warnings.iter().map(|warning| format!("{}: {warning}", path(run))));
    }
    let has = |name: &String| {
        let event = |event: &EventRun| event.counts.keys().any(|(_, function)| function == name);
        runs.iter().any(|run| run.events.iter().any(event))
    };
    let missing = known.named().filter(|name| !has(name));
    warnings.extend(missing.map(|name| format!("no function with samples is called {name}")));
    if known.recorded && !known.calls.keys().any(has) {
        warnings.push("the recording of calls has none of the functions with samples".into());
    }
    let event = |event: &&str| self::event(event, runs, against, known, options);
    Uncertainty {
        runs: runs.iter().map(path).collect(),
        against: against.iter().map(path).collect(),
        confidence: options.asked.confidence,
        replicates: options.asked.replicates,
        events: events.iter().map(event).collect(),
        warnings,
    }
}

fn of_event<'a>(runs: &'a [Run], event: &str) -> Vec<&'a EventRun> {
    runs.iter().filter_map(|run| run.events.iter().find(|of| of.event == event)).collect()
}

fn event(name: &str, all: &[Run], against: &[Run], known: &Known, options: &StatOptions) -> EventUncertainty {
    let (runs, others) = (of_event(all, name), of_event(against, name));
    let periods: BTreeSet<Option<u64>> = runs.iter().chain(&others).map(|run| run.period).collect();
    let period = (periods.len() == 1).then(|| periods.first().copied().flatten()).flatten();
    let samples = runs.iter().map(|run| run.total).sum();
    let mut told = EventUncertainty {
        event: name.to_owned(),
        period,
        samples,
        calls_seen: runs.iter().map(|run| run.calls_seen).sum(),
        names: Vec::new(),
        single: None,
        runs: None,
        in_runs: Vec::new(),
        differences: None,
        projections: Vec::new(),
        bias: None,
        refusals: Vec::new(),
    };
    let names = told_apart(&runs, &others, known, options.functions);
    let shares = options.shares || period.is_none();
    let set = group(&runs, &names, shares);
    if let [only] = runs[..] {
        (told.names, told.single) = (only.names.clone(), Some(only.single.clone()));
    } else {
        let table = stat::observe(&set, &options.asked);
        told.in_runs = in_runs(&runs);
        let bias = stat::bias(&cells(&runs));
        told.refusals = refusals(&runs, &set, &table, &told.in_runs, &bias);
        (told.bias, told.names) = (Some(bias), names.clone());
        told.runs = Some((set.clone(), table));
    }
    if !others.is_empty() {
        let functions = stat::compare(&set, &group(&others, &names, shares), options.asked.confidence);
        told.differences = Some(Compared { runs: (runs.len(), others.len()), shares, functions });
    }
    told.projections = projections(&set, known, options.asked.confidence);
    told
}

/// Functions with the most samples over all runs, those that a table names, and the rest as one.
fn told_apart(runs: &[&EventRun], others: &[&EventRun], known: &Known, most: usize) -> Vec<Name> {
    let mut sums: BTreeMap<&Name, u64> = BTreeMap::new();
    for (name, n) in runs.iter().chain(others).flat_map(|run| &run.counts) {
        *sums.entry(name).or_default() += n;
    }
    let mut order: Vec<(&Name, u64)> = sums.into_iter().collect();
    order.sort_by_key(|(name, n)| (std::cmp::Reverse(*n), *name));
    // less than a sample a run comes and goes
    let all = (runs.len() + others.len()) as u64;
    let kept =
        |(rank, (name, n)): &(usize, &(&Name, u64))| (*rank < most && *n >= all) || known.names(&name.1);
    let mut names: Vec<Name> =
        order.iter().enumerate().filter(kept).map(|(_, (name, _))| (*name).clone()).collect();
    if names.len() < order.len() {
        names.push((String::new(), OTHER.into()));
    }
    names
}

fn group(runs: &[&EventRun], names: &[Name], shares: bool) -> Group {
    let other = |name: &Name| name.0.is_empty() && name.1 == OTHER;
    let value = |run: &EventRun, name: &Name| {
        let n = match other(name) {
            true => {
                let apart = names.iter().filter(|n| !other(n)).filter_map(|n| run.counts.get(n));
                run.total.saturating_sub(apart.sum())
            }
            false => run.counts.get(name).copied().unwrap_or(0),
        };
        if shares { n as f64 / run.total.max(1) as f64 } else { n as f64 }
    };
    let calls = |name: &Name| {
        let known: Vec<f64> = runs.iter().filter_map(|run| run.calls.get(name)).copied().collect();
        (!known.is_empty()).then(|| (known.iter().sum::<f64>() / known.len() as f64).round() as u64)
    };
    Group {
        names: names.iter().map(|(_, function)| function.clone()).collect(),
        values: names.iter().map(|name| runs.iter().map(|run| value(run, name)).collect()).collect(),
        totals: runs.iter().map(|run| run.total as f64).collect(),
        calls: names.iter().map(calls).collect(),
        shares,
    }
}

/// Findings of single runs that more runs have than chance gives: the binomial's upper thousandth.
fn in_runs(runs: &[&EventRun]) -> Vec<InRuns> {
    let mut kinds: BTreeMap<Kind, (usize, (Option<String>, Finding))> = BTreeMap::new();
    for run in runs {
        let mut seen = BTreeSet::new();
        for finding in &run.single.findings {
            if seen.insert(finding.kind) {
                let name = finding.function.and_then(|ix| run.names.get(ix)).map(|(_, name)| name.clone());
                kinds.entry(finding.kind).or_insert_with(|| (0, (name, finding.clone()))).0 += 1;
            }
        }
    }
    let told = |(kind, (n, example)): (Kind, (usize, (Option<String>, Finding)))| {
        let by_chance = example.1.probability.map_or(0, |_| by_chance(runs.len()));
        (n > by_chance).then_some(InRuns { kind, runs: n, example })
    };
    kinds.into_iter().filter_map(told).collect()
}

/// False alarms of one kind that so many runs exceed once in a thousand sets.
fn by_chance(runs: usize) -> usize {
    let p = Kind::FALSE_ALARMS;
    let (mut term, mut sum, mut n) = ((1.0 - p).powi(runs as i32), 0.0, 0);
    while n < runs {
        sum += term;
        if sum >= 0.999 {
            break;
        }
        term *= (runs - n) as f64 / (n + 1) as f64 * p / (1.0 - p);
        n += 1;
    }
    n
}

/// Samples by place and run.
fn cells(runs: &[&EventRun]) -> Cells {
    let mut numbers: BTreeMap<&Name, usize> = BTreeMap::new();
    let mut places: BTreeMap<&(Name, u64), Vec<u32>> = BTreeMap::new();
    for (ix, run) in runs.iter().enumerate() {
        for (place, n) in &run.places {
            let next = numbers.len();
            numbers.entry(&place.0).or_insert(next);
            places.entry(place).or_insert_with(|| vec![0; runs.len()])[ix] += n;
        }
    }
    Cells { places: places.into_iter().map(|(place, counts)| (numbers[&place.0], counts)).collect() }
}

fn refusals(runs: &[&EventRun], set: &Group, table: &Table, in_runs: &[InRuns], bias: &Bias) -> Vec<Refusal> {
    let mut refusals: Vec<Refusal> = bias.refusal().into_iter().collect();
    let aliased = in_runs.iter().find(|found| found.kind == Kind::Aliasing);
    refusals.extend(aliased.map(|found| Refusal::Aliasing { runs: found.runs, of: runs.len() }));
    let drifts = table.findings.iter().find(|finding| finding.kind == Kind::Order);
    refusals.extend(drifts.map(|finding| Refusal::Order {
        what: finding.function.and_then(|ix| set.names.get(ix)).cloned().unwrap_or_default(),
        probability: finding.probability.unwrap_or(0.0),
    }));
    refusals.extend(by_period(runs, set));
    refusals
}

/// Whether shares depend on the sampling period, where runs have several.
fn by_period(runs: &[&EventRun], set: &Group) -> Option<Refusal> {
    let mut periods: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (ix, run) in runs.iter().enumerate() {
        periods.entry(run.period?).or_default().push(ix);
    }
    let share = |values: &[f64], ix: usize| {
        if set.shares { values[ix] } else { values[ix] / set.totals[ix].max(1.0) }
    };
    let of = |values: &Vec<f64>| {
        let groups: Vec<Vec<f64>> =
            periods.values().map(|runs| runs.iter().map(|&ix| share(values, ix)).collect()).collect();
        stat::across(&groups)
    };
    let least = set.values.iter().filter_map(of).fold(1.0, f64::min);
    let probability = adjusted(least, set.values.len());
    (probability < Kind::FALSE_ALARMS).then_some(Refusal::Period { probability })
}

fn projections(set: &Group, known: &Known, confidence: f64) -> Vec<Projected> {
    let given = |ix: usize| Some((ix, *known.expected.get(&set.names[ix])?));
    let given: Vec<(usize, f64)> = (0..set.names.len()).filter_map(given).collect();
    let observed = |ix: usize| set.values[ix].iter().sum::<f64>() / set.values[ix].len().max(1) as f64;
    let points: Vec<Point> =
        given.iter().map(|&(ix, expected)| Point { expected, observed: observed(ix) }).collect();
    let one = |(at, &(ix, _)): (usize, &(usize, f64))| {
        let projection = stat::project(&points, at, confidence)?;
        let probability = adjusted(projection.probability, points.len());
        Some(Projected { function: set.names[ix].clone(), point: points[at], projection, probability })
    };
    given.iter().enumerate().filter_map(one).collect()
}
