//! A report for the terminal: each event and why it was treated so, functions before and after, what was not found.

use super::format::{count, counted, fit, fit_function, percent, wrap};
use super::words::{outcome, unverified, verdict};
use super::{
    Branches, Distance, EventReport, MissingImage, Model, RegionReport, Report, Verdict, Warning, table,
};
use std::collections::BTreeMap;

pub use super::format::Style;

/// Regions without a full answer that are named; the JSON names all.
const REGIONS: usize = 6;
/// Functions of a region that are named, and the width of a name.
const NAMED: usize = 3;
const LONGEST_NAME: usize = 32;

/// Draws `report`. Names from the recording come out without control characters.
pub fn render(report: &Report, style: &Style) -> String {
    let mut text = head(report, style);
    for event in &report.events {
        text += &self::event(event, report.corrected, style);
    }
    text += &regions(report, style);
    text += &missing(&report.missing, style);
    text += &unverified(&report.unverified)
        .map(|told| format!("\n{}", wrap(&told, 0, style.columns())))
        .unwrap_or_default();
    text + &warnings(report, style) + &tail(report, style)
}

fn warnings(report: &Report, style: &Style) -> String {
    let told =
        |warning: &Warning| format!("\n{}", wrap(&format!("warning: {}", warning.text), 0, style.columns()));
    report.warnings.iter().map(told).collect()
}

fn head(report: &Report, style: &Style) -> String {
    let written: Vec<String> =
        report.output.iter().chain(&report.outputs).map(|output| fit(output, style.columns())).collect();
    let mut files = fit(&report.input, style.columns());
    if !written.is_empty() {
        files += &format!(" → {}", written.join(", "));
    }
    let mut facts = vec![counted(report.samples, "sample")];
    facts.extend((report.lost > 0).then(|| format!("{} lost while recording", count(report.lost))));
    facts.extend((report.throttled > 0).then(|| format!("throttled {} times", count(report.throttled))));
    facts.extend(report.corrected.then(|| format!("solver {}, seed {}", report.solver, report.seed)));
    let facts = wrap(&facts.join(" · "), 0, style.columns());
    let model = report.model.as_ref().map(|m| wrap(&model(m), 0, style.columns())).unwrap_or_default();
    let files: Vec<_> = wrap(&files, 0, style.columns()).lines().map(|line| style.bold(line)).collect();
    format!("{}\n{facts}{model}", files.join("\n"))
}

fn model(model: &Model) -> String {
    let interval = model.interval.map(|[low, high]| format!(" [{low:.1}, {high:.1}]"));
    let late = match model.late {
        Some(true) if model.after_long_waits => {
            ", reported on the instruction waited for, or after long waits on the one after it"
        }
        Some(true) => ", reported on the instruction after the one waited for",
        Some(false) => ", reported on the instruction waited for",
        None => "",
    };
    let measured = if model.measured { ", sought around what was measured on such a processor" } else { "" };
    let in_order = if model.in_order { "; the processor seems to issue in order" } else { "" };
    let interval = interval.unwrap_or_default();
    format!("skid {:.1} cycles{interval}{late}{measured}{in_order}", model.skid_cycles)
}

fn event(event: &EventReport, corrected: bool, style: &Style) -> String {
    let mut title =
        format!("{} · {}", fit(&event.name, style.columns() / 2), counted(event.samples, "sample"));
    if corrected {
        let share = event.moved as f64 / event.samples.max(1) as f64;
        title += &format!(", {} moved ({})", count(event.moved), percent(share));
    }
    let mut text = format!("\n{}\n", style.bold(&title));
    if corrected {
        text += &wrap(&outcome(event), 2, style.columns());
    }
    text += &event.distance.as_ref().map(|far| wrap(&distance(far), 2, style.columns())).unwrap_or_default();
    text + &table::functions(event, corrected, style)
}

fn distance(far: &Distance) -> String {
    let bytes = far.bytes;
    let mut text = format!(
        "moved by {} bytes at the median, {} at 90%, {} at most",
        count(bytes.median),
        count(bytes.p90),
        count(bytes.max)
    );
    if let Some(steps) = far.instructions {
        text += &format!(
            "; by {}, {} and {} instructions",
            count(steps.median),
            count(steps.p90),
            count(steps.max)
        );
    }
    text
}

/// How many regions ended how, and the largest of those without a posterior that hold a hundredth of all samples.
fn regions(report: &Report, style: &Style) -> String {
    let regions: Vec<&RegionReport> = report.decisive().collect();
    if regions.is_empty() {
        return String::new();
    }
    let mut tally = BTreeMap::<&str, u64>::new();
    regions.iter().for_each(|region| *tally.entry(verdict(region.verdict)).or_default() += 1);
    let tally: Vec<_> = tally.iter().map(|(how, n)| format!("{} {how}", count(*n))).collect();
    let title = counted(regions.len() as u64, "region");
    let mut text = format!("\n{}\n{}", style.bold(&title), wrap(&tally.join(", "), 2, style.columns()));
    let noticed = |r: &&&RegionReport| fell_short(r.verdict) && 100 * r.samples >= report.samples;
    let mut short: Vec<_> = regions.iter().filter(noticed).collect();
    short.sort_by_key(|region| std::cmp::Reverse(region.samples));
    for region in short.iter().take(REGIONS) {
        text += &wrap(&self::region(region), 4, style.columns());
    }
    text
}

fn fell_short(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Argmin | Verdict::Flow | Verdict::Timed | Verdict::Unchanged)
}

fn region(region: &RegionReport) -> String {
    let shown = region.functions.iter().take(NAMED).map(|name| fit_function(name, LONGEST_NAME));
    let mut names: Vec<String> = shown.collect();
    let more = region.functions.len() - names.len();
    names.extend((more > 0).then(|| format!("{} more", count(more as u64))));
    let rhat = region.rhat.map(|rhat| format!(", R-hat {rhat:.2}")).unwrap_or_default();
    let samples = counted(region.samples, "sample");
    let known = region.branches.filter(|of| of.free > 0).map(branches).unwrap_or_default();
    format!("{}, {samples}: {} ({}{rhat}{known})", names.join(", "), verdict(region.verdict), region.reason)
}

/// How many branches are known.
fn branches(of: Branches) -> String {
    let noun = if of.free == 1 { "branch" } else { "branches" };
    format!("; samples and time decide {:.1} of {} {noun}", of.told, count(of.free))
}

/// Draws what is known of binaries without symbols: the samples they hold, why, and the command that would help.
pub fn nameless(report: &Report, style: &Style) -> String {
    if report.nameless.is_empty() {
        let all = format!("{}: every sample has a symbol\n", fit(&report.input, style.columns()));
        return all + &warnings(report, style);
    }
    let samples: u64 = report.nameless.iter().map(|image| image.samples).sum();
    let share = percent(samples as f64 / report.samples.max(1) as f64);
    let title =
        format!("{} of {} have no symbol ({share})", counted(samples, "sample"), count(report.samples));
    let mut text = format!("{}\n", style.bold(&title));
    for image in &report.nameless {
        let held = format!("{:>9} of {}", count(image.samples), count(image.of));
        text += &format!("\n{held}  {}\n", style.bold(&fit(&image.path, style.columns() - 24)));
        text += &image
            .build_id
            .as_ref()
            .map(|id| wrap(&format!("build-id {id}"), 11, style.columns()))
            .unwrap_or_default();
        text += &wrap(&image.reason, 11, style.columns());
        text += &wrap(&format!("→ {}", image.command), 11, style.columns());
    }
    text + &warnings(report, style)
}

fn missing(images: &[MissingImage], style: &Style) -> String {
    if images.is_empty() {
        return String::new();
    }
    let title = format!(
        "{} not found; samples there stay as recorded",
        counted(images.len() as u64, "binary").replace("binarys", "binaries")
    );
    let mut text = format!("\n{}\n", style.alarm(&title));
    for image in images {
        let id = image.build_id.as_ref().map(|id| format!(" (build-id {id})")).unwrap_or_default();
        let samples = counted(image.samples, "sample");
        text += &wrap(&format!("{}, {samples}: {}{id}", image.path, image.reason), 2, style.columns());
        text += &wrap(&format!("→ {}", image.remedy), 4, style.columns());
    }
    text
}

/// A name as a shell takes it; `None` of one that a terminal should not show.
fn word(name: &str) -> Option<String> {
    let plain = |c: char| c.is_alphanumeric() || "_-./:@%+=,".contains(c);
    match name {
        _ if name.chars().any(char::is_control) => None,
        _ if !name.is_empty() && name.chars().all(plain) => Some(name.into()),
        _ => Some(format!("'{}'", name.replace('\'', r"'\''"))),
    }
}

fn tail(report: &Report, style: &Style) -> String {
    let mut text = String::from("\n");
    if report.corrected && report.moved() == 0 {
        text += "Nothing needed correcting: no address was changed.\n";
    }
    if let Some(output) = report.output.as_deref().filter(|output| *output != "-").and_then(word) {
        text += &format!("{}\n", style.dim(&format!("perf report -i {output}")));
    }
    if text == "\n" { String::new() } else { text }
}

#[cfg(test)]
mod tests;
