//! The table of functions: shares before and after, with intervals and bars.

use super::format::{Style, bar as draw, fit, fit_function, percent};
use super::words::brief;
use super::{EventReport, FunctionShare};
use crate::export::basename;

/// Columns before the bars: two shares, an interval, and what separates them.
const NUMBERS: usize = 2 + 6 + 8 + 18 + 2;
/// Bars are so long, or where names need the room, so short.
const BARS: [usize; 2] = [12, 6];
/// Shares that come out as 0.0%.
const LEAST: f64 = 5e-4;
/// Verdicts.
const HOW: usize = 13;
/// Narrower reports leave the verdicts out.
const WIDE: usize = 90;

/// The functions with the largest shares, and how much the others have.
pub(super) fn functions(event: &EventReport, corrected: bool, style: &Style) -> String {
    if event.functions.is_empty() {
        return String::new();
    }
    // what is nothing in either column would only be in the way
    let noticed = event.functions.iter().filter(|f| f.before.max(f.after) >= LEAST).count();
    let (shown, rest) = event.functions.split_at(noticed.max(1).min(style.functions));
    let largest = shown.iter().map(|f| f.after).fold(0.0, f64::max);
    // one verdict for all stands above the table
    let differ = shown.windows(2).any(|pair| pair[0].verdict != pair[1].verdict);
    let how = if corrected && differ && style.columns() >= WIDE { HOW } else { 0 };
    let room = |bar: usize| style.columns() - NUMBERS - bar - 2 - how;
    let bar = BARS.into_iter().find(|bar| Names::needed(shown) <= room(*bar)).unwrap_or(BARS[1]);
    let (names, numbers) = (Names::new(shown, room(bar)), NUMBERS + bar + 2);
    let heading = format!("{:1$}{2}", heading(corrected), numbers, if how > 0 { "how" } else { "" });
    let mut text = format!("\n{}\n", style.dim(heading.trim_end()));
    for function in shown {
        text += &row(function, corrected, (largest, bar, how), &names, style);
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
    (largest, bar, how): (f64, usize, usize),
    names: &Names,
    style: &Style,
) -> String {
    let before = if corrected { percent(f.before) } else { String::new() };
    let interval = if corrected { interval(f) } else { String::new() };
    let after = format!("{:>8}", percent(f.after));
    let after = if changed(f) { style.bold(&after) } else { after };
    let bar = draw(f.after / largest.max(f64::MIN_POSITIVE), bar);
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
        let image = longest(shown, |f| basename(&f.image)).min(width / 3);
        let function = longest(shown, |f| &f.name).min(width.saturating_sub(image + 2));
        Names { function, image }
    }

    /// The room that no name would be cut in.
    fn needed(shown: &[FunctionShare]) -> usize {
        longest(shown, |f| basename(&f.image)) + longest(shown, |f| &f.name) + 2
    }

    fn of(&self, f: &FunctionShare) -> (String, String) {
        let width = self.function;
        (format!("{:width$}", fit_function(&f.name, width)), fit(basename(&f.image), self.image))
    }
}

fn longest(shown: &[FunctionShare], name: fn(&FunctionShare) -> &str) -> usize {
    shown.iter().map(|f| fit(name(f), usize::MAX).chars().count()).max().unwrap_or(0)
}
