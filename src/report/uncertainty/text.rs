//! The tables on the terminal.

use std::collections::BTreeMap;

use super::number::{between, number};
use super::{Compared, EventUncertainty, Projected, Uncertainty};
use crate::export::basename;
use crate::report::format::{Style, count, counted, fit, fit_function, percent, wrap};
use crate::stat::{Finding, Group, Kind, SelfTime, Single, Table};

/// Probability below which a difference is told as one.
const SIGNIFICANT: f64 = 0.05;
/// Functions that findings of one kind are told of; the page has them all.
const SHOWN: usize = 5;

/// Draws all of it.
pub fn render(told: &Uncertainty, style: &Style) -> String {
    let title = match &told.runs[..] {
        [one] => fit(one, style.columns()),
        [first, .., last] => format!("{} … {}", fit(first, style.columns() / 2), fit(basename(last), 40)),
        [] => String::new(),
    };
    let mut text = format!("{}\n", style.bold(&title));
    for event in &told.events {
        text += &self::event(event, told.confidence, style);
    }
    for warning in &told.warnings {
        text += &format!("\n{}", wrap(&format!("warning: {warning}"), 0, style.columns()));
    }
    text
}

fn event(event: &EventUncertainty, confidence: f64, style: &Style) -> String {
    let mut facts = vec![fit(&event.event, 40)];
    facts.extend(event.runs.as_ref().map(|(group, _)| counted(group.totals.len() as u64, "run")));
    facts.push(counted(event.samples, "sample"));
    facts.extend(event.period.map(|period| format!("period {}", count(period))));
    let mut text = format!("\n{}\n", style.bold(&facts.join(" · ")));
    if let Some(single) = &event.single {
        text += &self::single(event, single, confidence, style);
    }
    if let Some((group, table)) = &event.runs {
        text += &runs(event, group, table, confidence, style);
    }
    text += &findings(event, style);
    text += &event.differences.as_ref().map(|d| differences(d, style)).unwrap_or_default();
    text += &projections(&event.projections, confidence, style);
    text + &pooling(event, style)
}

/// A function's name in what a row has left behind `taken` columns, and its binary's if that fits as well.
fn names(event: &EventUncertainty, ix: usize, taken: usize, style: &Style) -> String {
    let Some((image, function)) = event.names.get(ix) else { return String::new() };
    let room = style.columns().saturating_sub(taken).max(16);
    let (image, name) = (fit(image, 20), fit_function(function, room.min(60)));
    match name.chars().count() + 2 + image.chars().count() <= room {
        true => format!("{name}  {}", style.dim(&image)).trim_end().to_owned(),
        false => name,
    }
}

fn single(event: &EventUncertainty, single: &Single, confidence: f64, style: &Style) -> String {
    let known = single.functions.iter().any(|f| f.predicted.quantisation.is_some());
    let calls = |f: &SelfTime| f.fragmentation.map_or("–".into(), |of| count(of.calls));
    let widest = single.functions.iter().map(|f| calls(f).len()).max().unwrap_or(0);
    // nothing of columns that would be empty
    let called = |text: &str| if known { format!(" {text:>0$}", widest.max(5)) } else { String::new() };
    let quantised = |text: &str| if known { format!(" {text:>8}") } else { String::new() };
    let heads = format!(
        " {:>8} {:>7}{} {:>7} {:>8}{} {:>8}",
        "samples",
        "share",
        called("calls"),
        "√N",
        "multin.",
        quantised("quantis."),
        "± U"
    );
    let over = format!("{}standard deviation by", " ".repeat(21 + called("").chars().count()));
    let mut text = format!("{}\n{}\n", style.dim(&over), style.dim(&heads));
    for (ix, f) in single.functions.iter().enumerate() {
        let quantisation = f.predicted.quantisation.map_or("–".into(), |sd| format!("{sd:.1}"));
        text += &format!(
            " {:>8} {:>7}{} {:>7.1} {:>8.1}{} {:>8.1}  {}\n",
            count(f.count),
            percent(f.share),
            called(&calls(f)),
            f.predicted.gprof,
            f.predicted.multinomial,
            quantised(&quantisation),
            f.interval.high - f.count as f64,
            names(event, ix, heads.chars().count() + 2, style)
        );
    }
    let level = format!(
        "U = {:.2} times the larger of the multinomial and the bound of quantisation: all shares at once with {:.0} %{}",
        single.coverage_factor,
        100.0 * confidence,
        match event.calls_seen {
            0 => String::new(),
            seen => format!(". Calls are estimated from {} that branch stacks saw", count(seen)),
        }
    );
    text + &style.dim(&wrap(&level, 1, style.columns()))
}

fn runs(event: &EventUncertainty, group: &Group, table: &Table, confidence: f64, style: &Style) -> String {
    let known = group.calls.iter().any(Option::is_some);
    let quantisation = if known { " quantis." } else { "" };
    let heads = format!(
        " {:>8} {:>7} {:>7} {:>8} {:>13} {:>9} {:>7} {:>8}{quantisation}",
        "mean",
        "± U",
        "share",
        "sd",
        format!("{:.0} %", 100.0 * confidence),
        "IQR/1.349",
        "√N",
        "multin."
    );
    let over = format!("{:28}standard deviation of a run: observed       predicted by", "");
    let mut text = format!("{}\n{}\n", style.dim(&over), style.dim(&heads));
    let unit: f64 =
        if group.shares { 1.0 } else { group.totals.iter().sum::<f64>() / group.totals.len() as f64 };
    for (ix, f) in table.functions.iter().enumerate() {
        let quantised = match (known, f.predicted.quantisation) {
            (false, _) => String::new(),
            (true, None) => format!("{:>9}", "–"),
            (true, Some(sd)) => format!("{:>9}", number(sd)),
        };
        text += &format!(
            " {:>8} {:>7} {:>7} {:>8} {:>13} {:>9} {:>7} {:>8}{quantised}  {}\n",
            number(f.summary.mean),
            number(f.mean.high - f.summary.mean),
            percent(f.summary.mean / unit.max(f64::MIN_POSITIVE)),
            number(f.summary.deviation),
            between(f.bootstrap.deviation.bca, "–"),
            number(f.summary.robust_deviation()),
            number(f.predicted.gprof),
            number(f.predicted.multinomial),
            names(event, ix, heads.chars().count() + 2, style)
        );
    }
    let level = format!(
        "{}; U = {:.3} standard deviations of the mean: all means at once with {:.0} %. Intervals of standard deviations by \
         the bootstrap (BCa)",
        if group.shares { "values are shares of a run's samples" } else { "values are samples" },
        table.coverage_factor,
        100.0 * confidence
    );
    text + &style.dim(&wrap(&level, 1, style.columns()))
}

fn told(name: Option<&str>, finding: &Finding) -> String {
    let name = name.map(|name| format!("{} ", fit(name, 40))).unwrap_or_default();
    let p = finding.probability.map(|p| format!(" ({})", probability(p))).unwrap_or_default();
    format!("{}: {name}{}{p}", finding.kind.name(), finding.text)
}

pub(super) fn probability(p: f64) -> String {
    if p < 1e-4 { "p' < 0.0001".into() } else { format!("p' = {p:.4}") }
}

/// The findings; of each kind, those of the first [`SHOWN`] functions.
fn of_each_kind(findings: &[Finding], name: &dyn Fn(usize) -> String, style: &Style) -> String {
    let mut text = String::new();
    let mut functions: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in findings {
        let found = functions.entry(finding.kind.name()).or_default();
        *found += usize::from(finding.function.is_some());
        if *found <= SHOWN || finding.function.is_none() {
            let name = finding.function.map(name);
            text += &style.alarm(&wrap(&told(name.as_deref(), finding), 2, style.columns()));
        }
    }
    for (kind, found) in functions.into_iter().filter(|(_, found)| *found > SHOWN) {
        let more = counted((found - SHOWN) as u64, "more function");
        text += &style.alarm(&wrap(&format!("{kind}: {more}, which --html lists"), 2, style.columns()));
    }
    text
}

fn findings(event: &EventUncertainty, style: &Style) -> String {
    let mut text = of_each_kind(event.findings(), &|ix| event.name(ix), style);
    let of = event.runs.as_ref().map_or(0, |(group, _)| group.totals.len());
    for found in &event.in_runs {
        let (name, finding) = &found.example;
        let line = format!("{} of {of} runs, {}", found.runs, told(name.as_deref(), finding));
        text += &style.alarm(&wrap(&line, 2, style.columns()));
    }
    match &text[..] {
        "" => style.dim("\n  nothing found against it\n"),
        _ => format!("\n{text}"),
    }
}

fn differences(compared: &Compared, style: &Style) -> String {
    let (a, b) = compared.runs;
    let mut text = format!("\n{}\n", style.bold(&format!("difference: {a} runs → {b} runs")));
    text += &style.dim(&format!(" {:>9} {:>9} {:>20} {:>11}\n", "A", "B", "B − A", "p'"));
    for d in &compared.functions {
        let change =
            format!("{} ± {}", number(d.welch.difference), number(d.interval.high - d.welch.difference));
        let change = format!("{change:>20}");
        let change = if d.probability < SIGNIFICANT { style.bold(&change) } else { change };
        let p = probability(d.probability).replace("p' ", "").replace("= ", "");
        let (before, after) = (number(d.before.mean), number(d.after.mean));
        text += &format!(" {before:>9} {after:>9} {change} {p:>11}  {}\n", fit(&d.name, 40));
    }
    text
}

fn projections(projections: &[Projected], confidence: f64, style: &Style) -> String {
    if projections.is_empty() {
        return String::new();
    }
    let title = "projected from a line through the others";
    let interval = format!("{:.0} % prediction interval", 100.0 * confidence);
    let mut text = format!("\n{}\n", style.bold(title));
    text += &style.dim(&format!(" {:>8} {:>9} {:>9} {interval:>24}\n", "expected", "observed", "projected"));
    for p in projections {
        let of = p.projection.interval;
        let outside = match of.holds(p.point.observed) {
            true => String::new(),
            false => style.alarm(&format!("  outside, {}", probability(p.probability))),
        };
        text += &format!(
            " {:>8} {:>9} {:>9} {:>24}  {}{outside}\n",
            number(p.point.expected),
            number(p.point.observed),
            number(p.projection.predicted),
            between(of, "–"),
            fit(&p.function, 40)
        );
    }
    text
}

fn pooling(event: &EventUncertainty, style: &Style) -> String {
    let Some(bias) = &event.bias else { return String::new() };
    let mut text = format!("\n{}\n", style.bold("pooling"));
    let table = format!(
        "chi-squared over degrees of freedom, of addresses within functions {:.3} ({:.0}), of functions {:.3} ({:.0})",
        bias.within, bias.within_freedom, bias.between, bias.between_freedom
    );
    text += &style.dim(&wrap(&table, 1, style.columns()));
    match &event.refusals[..] {
        [] => {
            let caution = match bias.differing < Kind::FALSE_ALARMS {
                true => {
                    ", but runs differ by more than sampling alone: the pool's uncertainty is that of the means above"
                }
                false => "",
            };
            let period = match event.period {
                Some(_) => "; all runs have one period, so that its own bias is not tested",
                None => "",
            };
            text + &wrap(&format!("no sign of bias: runs may be pooled{caution}{period}"), 1, style.columns())
        }
        refusals => {
            for refusal in refusals {
                text += &style.alarm(&wrap(&format!("not to be pooled: {refusal}"), 1, style.columns()));
            }
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_of_many_functions_is_told_of_some() {
        let of = |function| Finding {
            kind: Kind::Autocorrelation,
            function,
            probability: None,
            text: "stays".into(),
        };
        let told = |count| {
            let mut findings: Vec<Finding> = (0..count).map(|ix| of(Some(ix))).collect();
            findings.push(of(None));
            of_each_kind(&findings, &|ix| format!("f{ix}"), &Style::default())
        };
        assert_eq!(told(SHOWN).lines().count(), SHOWN + 1);
        let cut = told(SHOWN + 3);
        assert!(cut.contains("f4 stays") && !cut.contains("f5 stays"), "{cut}");
        assert!(cut.ends_with("autocorrelation: 3 more functions, which --html lists\n"), "{cut}");
    }
}
