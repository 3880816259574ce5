//! What the note plots: densities, runs in their order, autocorrelations, deviations, projections, address classes.

use super::axes::Axes;
use crate::report::format::fit;
use crate::report::uncertainty::{EventUncertainty, Projected};
use crate::stat::{Attraction, CLASSES, Observed, Single, Table};

/// Columns of a plot by function.
const COLUMNS: usize = 10;

/// A range with some room around it.
fn around(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(f64::NEG_INFINITY, f64::max);
    let room = if high > low { 0.06 * (high - low) } else { 0.5 };
    (low - room, high + room)
}

/// Shares of the hottest functions with their expanded uncertainty.
pub(super) fn shares(event: &EventUncertainty, single: &Single) -> Option<String> {
    let shown = &single.functions[..single.functions.len().min(COLUMNS)];
    let total: u64 = single.functions.iter().map(|f| f.count).sum();
    let share = |count: f64| 100.0 * count / total.max(1) as f64;
    let highest = shown.iter().map(|f| share(f.interval.high)).fold(0.0, f64::max);
    let mut axes = Axes::new((0.0, shown.len() as f64), (0.0, 1.05 * highest))?;
    for (ix, f) in shown.iter().enumerate() {
        let x = ix as f64;
        axes.bar("dim", (x + 0.15, x + 0.85), 0.0, share(f.count as f64));
        axes.line("wh", (x + 0.5, share(f.interval.low)), (x + 0.5, share(f.interval.high)));
        axes.label(x + 0.5, &fit(&event.name(ix), 9));
    }
    Some(axes.finish())
}

/// Observed standard deviations with their intervals beside those of the models.
pub(super) fn deviations(event: &EventUncertainty, table: &Table) -> Option<String> {
    let shown = &table.functions[..table.functions.len().min(COLUMNS)];
    let models = |f: &Observed| {
        let p = f.predicted;
        [
            Some(("√N", p.gprof)),
            Some(("multinomial", p.multinomial)),
            p.quantisation.map(|q| ("quantisation", q)),
        ]
    };
    let all = shown.iter().flat_map(|f| {
        let ends = [f.summary.deviation, f.bootstrap.deviation.bca.low, f.bootstrap.deviation.bca.high];
        ends.into_iter().chain(models(f).into_iter().flatten().map(|(_, sd)| sd))
    });
    let positive = all.filter(|sd| *sd > 0.0 && sd.is_finite());
    let low = positive.clone().fold(f64::INFINITY, f64::min);
    let high = positive.fold(0.0, f64::max);
    let mut axes = Axes::new((0.0, shown.len() as f64), (0.7 * low, 1.4 * high))?.logarithmic();
    for (ix, f) in shown.iter().enumerate() {
        let (x, of) = (ix as f64 + 0.2, f.bootstrap.deviation.bca);
        axes.line("wh", (x, of.low), (x, of.high));
        axes.dot("ob", (x, f.summary.deviation), 4.0);
        for (n, (model, sd)) in models(f).into_iter().flatten().enumerate() {
            let at = (x + 0.16 + 0.2 * n as f64, sd);
            axes.square(at);
            if ix == 0 {
                axes.text(at, model);
            }
        }
        axes.label(ix as f64 + 0.5, &fit(&event.name(ix), 9));
    }
    Some(axes.finish())
}

/// The density, with the mean and its interval.
pub(super) fn density(of: &Observed) -> Option<String> {
    let points = &of.density.points;
    let highest = points.iter().map(|p| p.1).fold(0.0, f64::max);
    let mut axes = Axes::new((points.first()?.0, points.last()?.0), (0.0, 1.08 * highest))?;
    axes.curve(points);
    let mean = of.summary.mean;
    axes.line("da", (mean, 0.0), (mean, highest));
    axes.line("wh", (of.mean.low, 0.02 * highest), (of.mean.high, 0.02 * highest));
    axes.ticks();
    Some(axes.finish())
}

/// Values in the order of the runs; outliers stand out.
pub(super) fn scatter(values: &[f64], of: &Observed) -> Option<String> {
    let mut axes = Axes::new((0.0, values.len() as f64 + 1.0), around(values.iter().copied()))?;
    let mean = of.summary.mean;
    axes.line("da", (0.0, mean), (values.len() as f64 + 1.0, mean));
    for (ix, value) in values.iter().enumerate() {
        let far = of.outliers.low.contains(&ix) || of.outliers.high.contains(&ix);
        axes.dot(if far { "ob" } else { "pr" }, (ix as f64 + 1.0, *value), if far { 4.0 } else { 2.0 });
    }
    axes.ticks();
    Some(axes.finish())
}

/// Fewer lags are no plot.
const LAGS: usize = 4;

/// Autocorrelation by lag; within the dashed lines lie 95 % of those of independent values.
pub(super) fn autocorrelation(lags: &[f64], n: f64) -> Option<String> {
    if lags.len() < LAGS {
        return None;
    }
    let bound = 1.96 / n.max(1.0).sqrt();
    let (low, high) = around(lags.iter().copied().chain([bound, -bound]));
    let mut axes = Axes::new((0.5, lags.len() as f64 + 0.5), (low, high))?;
    for (lag, r) in (1..).zip(lags) {
        axes.bar("dim", (f64::from(lag) - 0.2, f64::from(lag) + 0.2), 0.0, *r);
    }
    for y in [bound, 0.0, -bound] {
        axes.line("da", (0.5, y), (lags.len() as f64 + 0.5, y));
    }
    axes.ticks();
    Some(axes.finish())
}

/// Samples per instruction of each address class.
pub(super) fn classes(of: &Attraction) -> Option<String> {
    let per = |class: usize| of.samples[class] as f64 / of.instructions[class].max(1) as f64;
    let highest = (0..CLASSES).map(per).fold(0.0, f64::max);
    let mut axes = Axes::new((0.0, CLASSES as f64), (0.0, 1.05 * highest))?;
    for class in 0..CLASSES {
        let x = class as f64;
        axes.bar("dim", (x + 0.1, x + 0.9), 0.0, per(class));
        axes.label(x + 0.5, &format!("{class:x}"));
    }
    Some(axes.finish())
}

/// Each function, with what the others project for it.
pub(super) fn projection(of: &[Projected]) -> Option<String> {
    let x = around(of.iter().map(|p| p.point.expected));
    let ends = |p: &Projected| [p.point.observed, p.projection.interval.low, p.projection.interval.high];
    let mut axes = Axes::new(x, around(of.iter().flat_map(ends)))?;
    for p in of {
        let (at, interval) = (p.point.expected, p.projection.interval);
        axes.line("wh", (at, interval.low), (at, interval.high));
        axes.square((at, p.projection.predicted));
        axes.dot("ob", (at, p.point.observed), 3.0);
        axes.text((at, p.point.observed), &fit(&p.function, 16));
    }
    axes.ticks();
    Some(axes.finish())
}
