//! What the tallies and the correction amount to: rows of the table, and the report.

use std::collections::BTreeMap;
use std::path::Path;

use super::audience::Audience;
use super::correct::Correction;
use super::intervals::{fallback, left};
use super::second::Second;
use super::survey::Survey;
use super::tally::{Count, Spot, Tally};
use super::unverified::unverified;
use super::{idle, jitted};
use crate::export::{Context, InstructionRow};
use crate::image::{Image, ImageId, ImageState, Location, Svma, hex};
use crate::options::Options;
use crate::perfdata::AttrIx;
use crate::quantile::Z90;
use crate::report::diff::InstructionShare;
use crate::report::format::counted;
use crate::report::{
    Distance, EventReport, FunctionShare, MissingImage, NamelessImage, Report, Verdict, Warning,
};

/// One row per instruction with samples before or after, of each event that was asked for.
pub fn rows(audience: &Audience, correction: &Correction) -> Vec<InstructionRow> {
    let row = |(&(attr, spot), count): (&(AttrIx, Spot), &Count)| {
        let (location, address) = match spot {
            Spot::At(at) => (Some(at), at.svma.0),
            Spot::Bare(address) => (None, address),
        };
        let known = location.and_then(|at| correction.intervals.get(&(attr, at)).copied());
        let (low, high, verdict) = known.unwrap_or_else(|| left(correction, attr, count));
        InstructionRow {
            attr,
            location,
            address,
            raw_samples: count.raw_samples,
            raw_weight: count.raw_weight,
            fixed_samples: count.fixed_samples,
            fixed_weight: count.fixed_weight,
            low: low.max(0.0),
            high,
            verdict,
        }
    };
    audience.tally.spots.iter().filter(|((attr, _), _)| audience.shows(*attr)).map(row).collect()
}

/// The shares of single instructions.
pub fn instructions(
    survey: &Survey,
    correction: &Correction,
    audience: &Audience,
    context: &mut Context<'_>,
) -> Vec<InstructionShare> {
    let share = |row: InstructionRow| {
        let at = row.location?;
        let image = survey.images.get(at.image);
        let total = survey.events[row.attr.0 as usize].weight.max(1) as f64;
        Some(InstructionShare {
            event: context.event_name(row.attr),
            image: image.path.clone(),
            build_id: image.build_id().map(hex),
            function: context.names.symbol(at).map_or_else(String::new, |symbol| symbol.name.clone()),
            address: at.svma.0,
            samples: row.fixed_samples,
            share: row.fixed_weight as f64 / total,
            low: row.low / total,
            high: row.high / total,
        })
    };
    rows(audience, correction).into_iter().filter_map(share).collect()
}

/// The report of a run.
pub fn report(
    options: &Options,
    recording: Option<&Path>,
    survey: &Survey,
    correction: &Correction,
    second: &Second<'_>,
    context: &mut Context<'_>,
) -> Report {
    let events = (0..survey.events.len())
        .map(|ix| event(ix, survey, correction, &second.audience.tally, context))
        .collect();
    let nameless = nameless(survey, context);
    Report {
        version: env!("CARGO_PKG_VERSION").into(),
        corrected: options.correct,
        input: options.input.display().to_string(),
        output: recording.map(|p| p.display().to_string()),
        outputs: options.side_outputs().map(|p| p.display().to_string()).collect(),
        seed: options.seed,
        solver: options.solver,
        model: correction.model.clone(),
        samples: survey.samples,
        lost: survey.losses.lost(),
        throttled: survey.losses.throttled,
        events,
        regions: correction.regions.clone(),
        missing: missing(survey),
        unverified: unverified(survey),
        nameless,
        warnings: warnings(options, survey, correction, second),
    }
}

fn warnings(
    options: &Options,
    survey: &Survey,
    correction: &Correction,
    second: &Second<'_>,
) -> Vec<Warning> {
    let samples = |n: u64, what: &str| (n > 0).then(|| format!("{} {what}", counted(n, "sample")));
    let deferred = samples(
        survey.losses.deferred,
        "have callers in user space that were put off to later records, which were not found",
    );
    let stuck = samples(
        second.stuck,
        "left where they stand: nothing is mapped in their process where they belong, or they have no room for the callers there",
    );
    let mut advice: Vec<String> = deferred.into_iter().chain(stuck).collect();
    advice.extend(correction.warnings.iter().cloned());
    advice.extend(survey.images.complaints());
    if options.correct {
        advice.extend(jitted::advice(survey, &options.input));
        advice.extend(idle::advice(options, correction));
    }
    survey.tolerated().chain(advice.into_iter().map(Warning::advice)).collect()
}

fn event(
    ix: usize,
    survey: &Survey,
    correction: &Correction,
    tally: &Tally,
    context: &mut Context<'_>,
) -> EventReport {
    let attr = AttrIx(ix as u32);
    let count = &survey.events[ix];
    let outcome = &correction.events[ix];
    let (bytes, instructions) = tally.distances(attr);
    EventReport {
        name: context.event_name(attr),
        class: outcome.class,
        samples: count.samples,
        weight: count.weight,
        moved: tally.moved.get(&attr).copied().unwrap_or(0),
        distance: bytes.map(|bytes| Distance { bytes, instructions }),
        verdict: outcome.verdict,
        reason: outcome.reason.clone(),
        functions: functions(attr, count.weight, survey, correction, tally, context),
    }
}

/// Whose samples are told as one: a function's, by its first address, or all of a binary without names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holder {
    /// A function's.
    Function(Location),
    /// A binary's.
    Image(ImageId),
    /// Nobody's.
    Nowhere,
}

/// What one function holds of an event.
#[derive(Default)]
struct Holding {
    count: Count,
    low: f64,
    high: f64,
    /// Weight after per verdict.
    verdicts: BTreeMap<Verdict, u64>,
}

fn functions(
    attr: AttrIx,
    total: u64,
    survey: &Survey,
    correction: &Correction,
    tally: &Tally,
    context: &mut Context<'_>,
) -> Vec<FunctionShare> {
    let mut holdings: BTreeMap<Holder, Holding> = BTreeMap::new();
    let range =
        (attr, Spot::At(Location { image: ImageId(0), svma: Svma(0) }))..=(attr, Spot::Bare(u64::MAX));
    for (&(_, spot), count) in tally.spots.range(range) {
        let holding = holdings.entry(holder(survey, spot, context)).or_default();
        holding.count.raw_samples += count.raw_samples;
        holding.count.raw_weight += count.raw_weight;
        holding.count.fixed_samples += count.fixed_samples;
        holding.count.fixed_weight += count.fixed_weight;
        let known = match spot {
            Spot::At(at) => correction.intervals.get(&(attr, at)).map(|known| known.2),
            Spot::Bare(_) => None,
        };
        let verdict = known.unwrap_or_else(|| fallback(correction, attr));
        *holding.verdicts.entry(verdict).or_default() += count.fixed_weight;
    }
    let total = total.max(1) as f64;
    let mut shares: Vec<FunctionShare> = holdings
        .into_iter()
        .map(|(holder, mut holding)| {
            let weight = holding.count.fixed_weight as f64;
            let spread = Z90 * weight / (holding.count.fixed_samples.max(1) as f64).sqrt();
            (holding.low, holding.high) = ((weight - spread).max(0.0), weight + spread);
            if let Holder::Function(f) = holder
                && let Some(&(low, high)) = correction.functions.get(&(attr, f))
            {
                (holding.low, holding.high) = (low.min(weight), high.max(weight));
            }
            share(holder, &holding, total, context)
        })
        .collect();
    shares.sort_by(|a, b| b.after.total_cmp(&a.after).then_with(|| a.name.cmp(&b.name)));
    shares
}

/// Who holds the samples at `spot`. Code that is no file, such as the kernel's, has its functions in lists of symbols.
pub fn holder(survey: &Survey, spot: Spot, context: &mut Context<'_>) -> Holder {
    let Spot::At(at) = spot else { return Holder::Nowhere };
    let start = match survey.images.get(at.image).function_at(at.svma) {
        Some(function) => Some(function.start),
        None => context.names.function(at).map(|symbol| symbol.start),
    };
    match start {
        Some(svma) => Holder::Function(Location { svma, ..at }),
        None => Holder::Image(at.image),
    }
}

fn share(holder: Holder, holding: &Holding, total: f64, context: &mut Context<'_>) -> FunctionShare {
    let (symbol, image) = match holder {
        Holder::Function(at) => (context.names.function(at), Some(at.image)),
        Holder::Image(image) => (None, Some(image)),
        Holder::Nowhere => (None, None),
    };
    let address = match holder {
        Holder::Function(at) => Some(at.svma.0),
        Holder::Image(_) | Holder::Nowhere => None,
    };
    let most = holding.verdicts.iter().max_by_key(|(_, weight)| **weight);
    FunctionShare {
        address,
        verdict: most.map_or(Verdict::Unchanged, |(verdict, _)| *verdict),
        name: symbol.map_or_else(|| "[unknown]".into(), |s| s.name.clone()),
        image: image.map_or_else(String::new, |image| context.names.path(image)),
        samples: holding.count.fixed_samples,
        before: holding.count.raw_weight as f64 / total,
        after: holding.count.fixed_weight as f64 / total,
        low: holding.low / total,
        high: (holding.high / total).min(1.0),
    }
}

/// Binaries with samples that were not found.
pub fn missing(survey: &Survey) -> Vec<MissingImage> {
    let mut missing: Vec<MissingImage> = survey
        .samples_by_image()
        .into_iter()
        .filter_map(|(id, samples)| {
            let image = survey.images.get(id);
            let ImageState::Missing(why) = image.state() else { return None };
            Some(MissingImage {
                path: image.path.clone(),
                build_id: image.build_id().map(hex),
                samples,
                reason: why.to_string(),
                remedy: why.advice().into(),
            })
        })
        .collect();
    missing.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.path.cmp(&b.path)));
    missing
}

/// Binaries with samples that no symbol covers, but names made up of addresses.
fn nameless(survey: &Survey, context: &mut Context<'_>) -> Vec<NamelessImage> {
    let mut samples: BTreeMap<ImageId, (u64, u64)> = BTreeMap::new();
    for cell in &survey.cells {
        let of_image = samples.entry(cell.at.image).or_default();
        // without its lines, which take long to read, where a function's name is enough
        let function = survey.images.get(cell.at.image).function_at(cell.at.svma);
        let mut symbol = |at| context.names.symbol(at).is_some_and(|symbol| !symbol.invented);
        let named = function.is_some_and(|f| f.name.is_some()) || symbol(cell.at);
        *of_image = (of_image.0 + if named { 0 } else { cell.samples }, of_image.1 + cell.samples);
    }
    let mut nameless: Vec<NamelessImage> = samples
        .into_iter()
        .filter(|(_, (unnamed, _))| *unnamed > 0)
        .map(|(id, (samples, of))| {
            let image = survey.images.get(id);
            let build_id = image.build_id().map(hex);
            let (reason, command) = symbols_missing(image, build_id.as_deref(), survey.images.asks_servers());
            NamelessImage { path: image.path.clone(), build_id, samples, of, reason, command }
        })
        .collect();
    nameless.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.path.cmp(&b.path)));
    nameless
}

/// Why an image has no symbols, and the command that would help; `asked` says that debuginfod's servers know no more.
fn symbols_missing(image: &Image, build_id: Option<&str>, asked: bool) -> (String, String) {
    let told = |reason: &str, command: &str| (reason.to_owned(), command.to_owned());
    match image.state() {
        ImageState::Missing(why) => (why.to_string(), why.command(build_id, asked)),
        ImageState::Found { .. } => {
            let command = match build_id {
                Some(_) if !asked => "skidconv with --debuginfod, or install its debug package".into(),
                _ => {
                    "install its debug package, or name a folder with an unstripped copy with --symfs".into()
                }
            };
            ("its symbols were stripped and no separate debug file was found".into(), command)
        }
        ImageState::Kernel | ImageState::KernelModule => told(
            "no list of the recorded kernel's symbols was found",
            "on the recorded machine: sudo cat /proc/kallsyms > kallsyms; then skidconv with --kallsyms kallsyms",
        ),
        ImageState::Vdso => told(
            "the kernel's code in user space is in no file here",
            "on the recorded machine: perf archive; then skidconv with --archive perf.data.tar.bz2",
        ),
        ImageState::Jit { map } => (
            format!("code made at run time, and {} is not there or not ours", map.display()),
            "let the program write it: node --perf-basic-prof, java -XX:+DumpPerfMapAtExit, python -X perf"
                .into(),
        ),
        ImageState::Anonymous => told("memory without a file", "nothing: no file has its code"),
    }
}
