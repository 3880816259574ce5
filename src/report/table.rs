//! The table of functions: shares before and after, with intervals and bars.

use super::format::{Style, bar, fit, percent};
use super::words::brief;
use super::{EventReport, FunctionShare};
use crate::export::basename;

const BAR: usize = 12;
/// Columns before the names: two shares, an interval, a bar, and what separates them.
const NUMBERS: usize = 2 + 6 + 8 + 18 + 2 + BAR + 2;
/// Verdicts.
const HOW: usize = 13;
/// Narrower reports leave the verdicts out.
const WIDE: usize = 90;

/// The functions with the largest shares, and how much the others have.
pub(super) fn functions(event: &EventReport, corrected: bool, style: &Style) -> String {
    if event.functions.is_empty() {
        return String::new();
    }
    let (shown, rest) = event.functions.split_at(event.functions.len().min(style.functions));
    let largest = shown.iter().map(|f| f.after).fold(0.0, f64::max);
    // one verdict for all stands above the table
    let differ = shown.windows(2).any(|pair| pair[0].verdict != pair[1].verdict);
    let how = if corrected && differ && style.columns() >= WIDE { HOW } else { 0 };
    let names = Names::new(shown, style.columns() - NUMBERS - how);
    let heading = format!("{:1$}{2}", heading(corrected), NUMBERS, if how > 0 { "how" } else { "" });
    let mut text = format!("\n{}\n", style.dim(heading.trim_end()));
    for function in shown {
        text += &row(function, corrected, (largest, how), &names, style);
    }
    if !rest.is_empty() {
        let share: f64 = rest.iter().map(|f| f.after).sum();
        let line = format!("  and {} more with {}", rest.len(), percent(share));
        text += &format!("{}\n", style.dim(&line));
    }
    text
}

fn heading(corrected: bool) -> &'static str {
    match corrected {
        true => "  before   after      90% interval",
        false => "           share",
    }
}

fn row(
    f: &FunctionShare,
    corrected: bool,
    (largest, how): (f64, usize),
    names: &Names,
    style: &Style,
) -> String {
    let before = if corrected { percent(f.before) } else { String::new() };
    let interval = if corrected { interval(f) } else { String::new() };
    let after = format!("{:>8}", percent(f.after));
    let after = if changed(f) { style.bold(&after) } else { after };
    let bar = bar(f.after / largest.max(f64::MIN_POSITIVE), BAR);
    let (name, image) = names.of(f);
    let how = style.dim(&format!("{:how$}", if how > 0 { brief(f.verdict) } else { "" }));
    let line = format!("  {before:>6}{after}{interval:>18}  {bar}  {how}{name}  {}", style.dim(&image));
    format!("{}\n", line.trim_end())
}

/// A dash where nothing was estimated.
fn interval(f: &FunctionShare) -> String {
    if f.low == f.high {
        return "–".into();
    }
    format!("{:>6} – {:>6}", percent(f.low), percent(f.high))
}

/// Whether the share moved by more than its uncertainty.
fn changed(f: &FunctionShare) -> bool {
    f.before < f.low || f.before > f.high
}

/// The columns of names: as wide as they need, the function's first.
struct Names {
    function: usize,
    image: usize,
}

impl Names {
    fn new(shown: &[FunctionShare], width: usize) -> Names {
        let longest = |name: fn(&FunctionShare) -> &str| {
            shown.iter().map(|f| fit(name(f), usize::MAX).chars().count()).max().unwrap_or(0)
        };
        let image = longest(|f| basename(&f.image)).min(width / 3);
        let function = longest(|f| &f.name).min(width.saturating_sub(image + 2));
        Names { function, image }
    }

    fn of(&self, f: &FunctionShare) -> (String, String) {
        let width = self.function;
        (format!("{:width$}", fit(&f.name, width)), fit(basename(&f.image), self.image))
    }
}
