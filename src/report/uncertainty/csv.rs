//! One row per event and function, whatever was measured of it; what does not apply is empty.

use std::io::Write;

use super::{EventUncertainty, Uncertainty};
use crate::export::Error;
use crate::stat::{Intervals, Observed};

/// The columns, in order.
pub const HEADER: [&str; 47] = [
    "event",
    "binary",
    "function",
    "runs",
    "calls",
    "mean",
    "share",
    "sd",
    "sd_of_mean",
    "t_low",
    "t_high",
    "percentile_low",
    "percentile_high",
    "bca_low",
    "bca_high",
    "sd_chi_low",
    "sd_chi_high",
    "sd_percentile_low",
    "sd_percentile_high",
    "sd_bca_low",
    "sd_bca_high",
    "sd_iqr",
    "min",
    "median",
    "max",
    "skewness",
    "sd_gprof",
    "sd_multinomial",
    "sd_quantisation",
    "sd_quantisation_bound",
    "outliers",
    "modes",
    "trend",
    "trend_p",
    "r1",
    "autocorrelation_p",
    "against_mean",
    "difference",
    "difference_low",
    "difference_high",
    "difference_p",
    "expected",
    "projected",
    "projected_low",
    "projected_high",
    "projected_p",
    "findings",
];

/// Writes the header and the rows.
pub fn write(told: &Uncertainty, out: &mut dyn Write) -> Result<(), Error> {
    let mut writer = ::csv::Writer::from_writer(out);
    writer.write_record(HEADER)?;
    for event in &told.events {
        for ix in 0..event.names.len() {
            writer.write_record(row(event, ix))?;
        }
    }
    Ok(writer.flush()?)
}

/// Six digits tell more than any of these numbers can.
fn number(x: f64) -> String {
    match x {
        _ if !x.is_finite() => String::new(),
        0.0 => "0".into(),
        small if small.abs() < 1e-3 => format!("{small:.5e}"),
        _ => format!("{x:.6}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}

fn maybe(x: Option<f64>) -> String {
    x.map(number).unwrap_or_default()
}

fn row(event: &EventUncertainty, ix: usize) -> Vec<String> {
    let (image, function) = &event.names[ix];
    let mut row = vec![event.event.clone(), image.clone(), function.clone()];
    match (&event.single, &event.runs) {
        (Some(single), _) => {
            let f = &single.functions[ix];
            let calls = f.fragmentation.map(|of| of.calls.to_string()).unwrap_or_default();
            row.extend(["1".into(), calls, f.count.to_string(), number(f.share)]);
            row.extend(std::iter::repeat_n(String::new(), 19));
            row.extend([number(f.predicted.gprof), number(f.predicted.multinomial)]);
            row.extend([maybe(f.predicted.quantisation), maybe(f.predicted.bound)]);
            row.extend(std::iter::repeat_n(String::new(), 6));
        }
        (None, Some((group, table))) => {
            let n = group.totals.iter().sum::<f64>() / group.totals.len().max(1) as f64;
            let unit = if group.shares { 1.0 } else { n.max(1.0) };
            let calls = group.calls[ix].map(|calls| calls.to_string()).unwrap_or_default();
            row.extend([group.totals.len().to_string(), calls]);
            row.extend(observed(&table.functions[ix], unit));
        }
        (None, None) => row.resize(36, String::new()),
    }
    row.extend(compared(event, function));
    row.extend(projected(event, function));
    let kinds = event.findings().iter().filter(|f| f.function == Some(ix)).map(|f| f.kind.name());
    row.push(kinds.collect::<Vec<_>>().join("; "));
    row
}

fn observed(f: &Observed, unit: f64) -> Vec<String> {
    let ends = |of: &Intervals| [of.percentile.low, of.percentile.high, of.bca.low, of.bca.high];
    let s = &f.summary;
    let mut numbers = vec![s.mean, s.mean / unit, s.deviation, s.of_mean(), f.mean.low, f.mean.high];
    numbers.extend(ends(&f.bootstrap.mean));
    numbers.extend([f.deviation.low, f.deviation.high]);
    numbers.extend(ends(&f.bootstrap.deviation));
    numbers.extend([s.robust_deviation(), s.quartiles[0], s.quartiles[2], s.quartiles[4], s.skewness]);
    numbers.extend([f.predicted.gprof, f.predicted.multinomial]);
    let mut row: Vec<String> = numbers.into_iter().map(number).collect();
    row.extend([maybe(f.predicted.quantisation), maybe(f.predicted.bound)]);
    row.extend([f.outliers.len().to_string(), f.density.modes.len().to_string()]);
    row.extend([maybe(f.order.map(|o| o.change)), maybe(f.order.map(|o| o.probability))]);
    row.extend([maybe(f.lags.first().copied()), number(f.dependence)]);
    row
}

fn compared(event: &EventUncertainty, function: &str) -> Vec<String> {
    let found = event.differences.as_ref().and_then(|d| d.functions.iter().find(|f| f.name == function));
    let Some(d) = found else { return vec![String::new(); 5] };
    [d.after.mean, d.welch.difference, d.interval.low, d.interval.high, d.probability].map(number).into()
}

fn projected(event: &EventUncertainty, function: &str) -> Vec<String> {
    let Some(p) = event.projections.iter().find(|p| p.function == function) else {
        return vec![String::new(); 5];
    };
    let of = &p.projection;
    [p.point.expected, of.predicted, of.interval.low, of.interval.high, p.probability].map(number).into()
}
