//! Calls over time as charts: one panel per function and context, a dot per call, a colour per thread.

use super::summary::{Group, Summary};
use crate::export::Error;
use crate::report::escape;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 170.0;
/// Around the dots: room for numbers and a title.
const LEFT: f64 = 70.0;
const TOP: f64 = 34.0;
const FOOT: f64 = 26.0;
/// Dots of a panel at most; of more calls, every so manieth is drawn.
const DOTS: usize = 4000;
/// Threads with a colour of their own; the others share the last.
const COLORS: usize = 7;
/// Those colours (Okabe and Ito, *Color Universal Design*, 2008), unless the page has others for its background.
const STYLE: &str = "<style>.t0{fill:var(--t0,#0072b2)}.t1{fill:var(--t1,#d55e00)}.t2{fill:var(--t2,#009e73)}\
    .t3{fill:var(--t3,#cc79a7)}.t4{fill:var(--t4,#e69f00)}.t5{fill:var(--t5,#56b4e9)}.t6{fill:var(--t6,#888888)}</style>";

/// Writes the charts of `groups` one under the other, as a file of its own.
pub fn write_svg(summary: &Summary<'_>, groups: &[&Group], out: &mut dyn Write) -> Result<(), Error> {
    let panel = TOP + HEIGHT + FOOT;
    let height = panel * groups.len().max(1) as f64;
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {height}\" width=\"{0}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"11\">{STYLE}<rect width=\"{0}\" height=\"{height}\" fill=\"#fff\"/>",
        WIDTH + LEFT + 14.0
    )?;
    for (ix, group) in groups.iter().enumerate() {
        let title = title(summary, group);
        writeln!(
            out,
            "<g transform=\"translate(0 {})\"><text x=\"8\" y=\"16\" font-size=\"13\">{title}</text>{}</g>",
            panel * ix as f64,
            self::panel(summary, group)
        )?;
    }
    out.write_all(b"</svg>\n")?;
    Ok(())
}

/// The chart of one group, for a page.
pub(super) fn inline(summary: &Summary<'_>, group: &Group) -> String {
    format!(
        "<svg viewBox=\"0 0 {} {}\" width=\"100%\" role=img>{STYLE}{}</svg>",
        WIDTH + LEFT + 14.0,
        TOP + HEIGHT + FOOT,
        panel(summary, group)
    )
}

fn title(summary: &Summary<'_>, group: &Group) -> String {
    let name = escape(summary.name(group.function));
    match group.context {
        Some(_) => format!("{name} · {}", escape(&summary.path(group.context))),
        None => name,
    }
}

fn panel(summary: &Summary<'_>, group: &Group) -> String {
    let metric = &summary.recording.header.metrics[summary.metric];
    let calls = summary.timeline(group, summary.metric);
    let start = summary.recording.header.start;
    let seconds = |time: u64| time.saturating_sub(start) as f64 * 1e-9;
    let (Some(first), Some(last)) = (calls.first(), calls.last()) else { return String::new() };
    let (from, to) = (seconds(first.0.start), seconds(last.0.start));
    let length = (to - from).max(1e-9);
    let highest = axis_end(&calls.iter().map(|(_, value)| *value).collect::<Vec<_>>());
    let x = |time: f64| LEFT + WIDTH * (time - from) / length;
    let y = |value: f64| TOP + HEIGHT * (1.0 - (value / highest).min(1.0));
    let mut svg = grid(highest, (from, to), &metric.name, &metric.unit);
    let colors: BTreeMap<u32, usize> =
        group.threads.keys().enumerate().map(|(ix, tid)| (*tid, ix.min(COLORS - 1))).collect();
    let radius = if calls.len() > DOTS / 4 { 1.7 } else { 2.4 };
    for (call, value) in calls.iter().step_by(calls.len().div_ceil(DOTS)) {
        let (x, y) = (x(seconds(call.start)), y(*value));
        let color = colors.get(&call.tid).unwrap_or(&0);
        // what is above the axis points upwards
        let _ = match *value > highest {
            true => write!(svg, "<path d=\"M{x:.1} {:.1}l3 5h-6z\" class=\"t{color}\"/>", y - 6.0),
            false => {
                write!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" class=\"t{color}\"/>")
            }
        };
    }
    svg
}

/// Where the axis ends: behind nearly all values, so that a few that were held up do not press the others flat.
fn axis_end(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |part: f64| sorted.get((sorted.len() as f64 * part) as usize).copied().unwrap_or(0.0);
    let most = sorted.last().copied().unwrap_or(0.0);
    let end = if most > 2.0 * at(0.98) { 1.25 * at(0.98) } else { most };
    end.max(f64::MIN_POSITIVE)
}

fn grid(highest: f64, (from, to): (f64, f64), name: &str, unit: &str) -> String {
    let mut svg = String::new();
    let (bottom, right) = (TOP + HEIGHT, LEFT + WIDTH);
    for part in [0.0, 0.5, 1.0] {
        let y = bottom - HEIGHT * part;
        let label = amount(highest * part, unit);
        let _ = write!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y}\" y2=\"{y}\" stroke=\"#8884\"/>\
             <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#777\">{label}</text>",
            LEFT - 6.0,
            y + 4.0
        );
    }
    for (x, time, anchor) in [(LEFT, from, "start"), (right, to, "end")] {
        let _ = write!(
            svg,
            "<text x=\"{x}\" y=\"{:.0}\" text-anchor=\"{anchor}\" fill=\"#777\">{time:.2} s</text>",
            bottom + 16.0
        );
    }
    let middle = LEFT + WIDTH / 2.0;
    let _ = write!(
        svg,
        "<text x=\"{middle}\" y=\"{:.0}\" text-anchor=\"middle\" fill=\"#777\">{} of each call, by its time</text>",
        bottom + 16.0,
        escape(name)
    );
    svg
}

/// A value with a unit that fits its size.
pub(super) fn amount(value: f64, unit: &str) -> String {
    let steps: &[(f64, &str)] = match unit {
        "ns" => &[(1e9, " s"), (1e6, " ms"), (1e3, " µs"), (1.0, " ns")],
        _ => &[(1e9, " G"), (1e6, " M"), (1e3, " k"), (1.0, "")],
    };
    let (step, unit) = steps.iter().find(|(step, _)| value >= *step).unwrap_or(&steps[3]);
    match value / step {
        0.0 => "0".into(),
        scaled if scaled >= 100.0 => format!("{scaled:.0}{unit}"),
        scaled if scaled >= 10.0 => format!("{scaled:.1}{unit}"),
        scaled => format!("{scaled:.2}{unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_units_that_fit() {
        let of = |value| amount(value, "ns");
        assert_eq!([0.0, 950.0, 12_345.0, 2e9].map(of), ["0", "950 ns", "12.3 µs", "2.00 s"]);
        assert_eq!((amount(1_500_000.0, ""), amount(0.25, "")), ("1.50 M".into(), "0.25".into()));
    }

    #[test]
    fn a_few_outliers_do_not_set_the_axis() {
        let mut values: Vec<f64> = (0..1000).map(f64::from).collect();
        assert_eq!(axis_end(&values), 999.0);
        values.push(1e6);
        assert!(axis_end(&values) < 1300.0);
        assert!(axis_end(&[]) > 0.0);
    }
}
