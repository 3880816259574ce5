//! What the parts of the page have in common: shares, bars, the chart of the skid.

use crate::report::Model;
use std::fmt::Write;

/// How many lines are left out from each on: of a run of more than `longest` that are `cold` all but `kept` at either end.
pub(super) fn left_out(cold: &[bool], longest: usize, kept: usize) -> Vec<usize> {
    let (mut left_out, mut start) = (vec![0; cold.len()], 0);
    for run in cold.chunk_by(|a, b| a == b) {
        if run[0] && run.len() > longest {
            left_out[start + kept] = run.len() - 2 * kept;
        }
        start += run.len();
    }
    left_out
}

/// Part of `scale` in per cent, for a bar's length.
fn part(share: f64, scale: f64) -> f64 {
    let part = 100.0 * share / scale;
    if part.is_finite() { part.clamp(0.0, 100.0) } else { 0.0 }
}

/// Bars of before and after with the interval as a whisker, `scale` being the longest.
pub(super) fn compare(before: f64, after: f64, interval: Option<(f64, f64)>, scale: f64) -> String {
    let whisker = interval.map_or_else(String::new, |(low, high)| {
        format!("<u style=\"--l:{:.1};--h:{:.1}\"></u>", part(low, scale), part(high, scale))
    });
    let (b, a) = (part(before, scale), part(after, scale));
    format!("<span class=cmp style=\"--b:{b:.1};--a:{a:.1}\"><i></i><b></b>{whisker}</span>")
}

const WIDTH: f64 = 620.0;
const HEIGHT: f64 = 150.0;
const FOOT: f64 = 28.0;

/// The distribution of the skid as a histogram, its 90 % in full colour, and its mean.
pub(super) fn skid(model: &Model) -> String {
    let mut below = 0.0;
    let bins = model.distribution.iter().map(|bin| {
        let from = below;
        below += bin.share;
        (bin, from)
    });
    // what lies beyond is too thin to be seen
    let bins: Vec<_> = bins.filter(|(bin, from)| from + bin.share > 0.001 && *from < 0.999).collect();
    let Some(longest) = bins.last().map(|(bin, _)| bin.to).filter(|to| *to > 0.0) else {
        return String::new();
    };
    let density = |bin: &crate::report::Bin| bin.share / (bin.to - bin.from).max(f64::MIN_POSITIVE);
    let highest = bins.iter().map(|(bin, _)| density(bin)).fold(f64::MIN_POSITIVE, f64::max);
    let x = |cycles: f64| WIDTH * cycles / longest;
    let mut svg = format!(
        "<svg class=bins viewBox=\"-8 -6 {:.0} {:.0}\" width=\"100%\" role=img aria-label=\"distribution of the skid\">",
        WIDTH + 16.0,
        HEIGHT + FOOT + 6.0
    );
    for (bin, from) in &bins {
        let height = HEIGHT * density(bin) / highest;
        let class =
            if from + 0.5 * bin.share >= 0.05 && from + 0.5 * bin.share <= 0.95 { "in" } else { "out" };
        let _ = write!(
            svg,
            "<rect class={class} x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"><title>{:.0} to {:.0} \
             cycles: {:.1}%</title></rect>",
            x(bin.from),
            HEIGHT - height,
            (x(bin.to) - x(bin.from) - 0.6).max(0.4),
            bin.from,
            bin.to,
            100.0 * bin.share
        );
    }
    let mean = x(model.skid_cycles);
    let _ = write!(svg, "<line class=mean x1=\"{mean:.1}\" x2=\"{mean:.1}\" y1=0 y2=\"{HEIGHT}\"/>");
    let _ = write!(svg, "<line class=axis x1=0 x2=\"{WIDTH}\" y1=\"{HEIGHT}\" y2=\"{HEIGHT}\"/>");
    let step = step(longest / 6.0);
    let mut tick = 0.0;
    while tick <= longest {
        let (at, y) = (x(tick), HEIGHT + 16.0);
        let _ = write!(svg, "<text x=\"{at:.1}\" y=\"{y}\" text-anchor=middle>{tick}</text>");
        tick += step;
    }
    svg + "</svg>"
}

/// The next of 1, 2, 5, 10, … above `least`.
pub(in crate::report) fn step(least: f64) -> f64 {
    let decade = 10f64.powf(least.max(0.1).log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|m| m * decade).into_iter().find(|s| *s >= least).unwrap_or(10.0 * decade)
}
