//! The tables by function.

use super::super::EventUncertainty;
use super::{between, cell, whole};
use crate::report::escape;
use crate::report::format::percent;
use crate::report::html::columns::{self, Column};
use crate::stat::{Group, Interval, Observed, Single, Table};

/// A column's name, and a cell for each function.
type Named = (&'static str, Vec<Option<String>>);

/// Draws it: of one run in one piece, of several by what it tells, for all columns beside each other are wider than a screen.
pub(super) fn tables(event: &EventUncertainty) -> String {
    match (&event.single, &event.runs) {
        (Some(single), _) => table(event, one_run(single)),
        (None, Some((group, of))) => {
            let heading = |text: &str| format!("<h3>{text}</h3>");
            heading("Means and their intervals")
                + &table(event, means(group, of))
                + &heading("Standard deviations of a run, observed and predicted")
                + &table(event, deviations(of))
        }
        (None, None) => String::new(),
    }
}

fn table(event: &EventUncertainty, columns: Vec<Named>) -> String {
    let function = |(_, name): &(String, String)| Some(format!("<td class=name>{}</td>", escape(name)));
    let binary = |(name, _): &(String, String)| {
        (!name.is_empty()).then(|| format!("<td class=dim>{}</td>", escape(name)))
    };
    let mut all = vec![
        Column::words("function", event.names.iter().map(function)),
        Column::words("binary", event.names.iter().map(binary)),
    ];
    all.extend(columns.into_iter().map(|(name, cells)| Column::numbers(name, cells)));
    columns::table(all)
}

fn share(of: f64) -> String {
    format!("<td class=n data-v=\"{of:.9}\">{}</td>", percent(of))
}

fn one_run(single: &Single) -> Vec<Named> {
    let of = &single.functions;
    vec![
        ("samples", of.iter().map(|f| Some(whole(f.count))).collect()),
        ("share", of.iter().map(|f| Some(share(f.share))).collect()),
        ("calls", of.iter().map(|f| f.fragmentation.map(|f| whole(f.calls))).collect()),
        ("sd: √N", of.iter().map(|f| Some(cell(f.predicted.gprof))).collect()),
        ("multinomial", of.iter().map(|f| Some(cell(f.predicted.multinomial))).collect()),
        ("quantisation", of.iter().map(|f| f.predicted.quantisation.map(cell)).collect()),
        ("its bound", of.iter().map(|f| f.predicted.bound.map(cell)).collect()),
        ("coverage interval", of.iter().map(|f| Some(between(f.interval))).collect()),
    ]
}

fn numbers(of: &Table, f: impl Fn(&Observed) -> f64) -> Vec<Option<String>> {
    of.functions.iter().map(|o| Some(cell(f(o)))).collect()
}

fn intervals(of: &Table, f: impl Fn(&Observed) -> Interval) -> Vec<Option<String>> {
    of.functions.iter().map(|o| Some(between(f(o)))).collect()
}

fn means(group: &Group, of: &Table) -> Vec<Named> {
    let mean = group.totals.iter().sum::<f64>() / group.totals.len().max(1) as f64;
    let unit = if group.shares { 1.0 } else { mean.max(f64::MIN_POSITIVE) };
    let far = |o: &Observed| Some(o.outliers.len() as u64).filter(|far| *far > 0);
    vec![
        ("mean", numbers(of, |o| o.summary.mean)),
        ("share", of.functions.iter().map(|o| Some(share(o.summary.mean / unit))).collect()),
        ("its sd", numbers(of, |o| o.summary.of_mean())),
        ("t", intervals(of, |o| o.mean)),
        ("percentile", intervals(of, |o| o.bootstrap.mean.percentile)),
        ("BCa", intervals(of, |o| o.bootstrap.mean.bca)),
        ("outliers", of.functions.iter().map(|o| far(o).map(whole)).collect()),
    ]
}

fn deviations(of: &Table) -> Vec<Named> {
    vec![
        ("observed", numbers(of, |o| o.summary.deviation)),
        ("χ²", intervals(of, |o| o.deviation)),
        ("percentile", intervals(of, |o| o.bootstrap.deviation.percentile)),
        ("BCa", intervals(of, |o| o.bootstrap.deviation.bca)),
        ("IQR/1.349", numbers(of, |o| o.summary.robust_deviation())),
        ("√N", numbers(of, |o| o.predicted.gprof)),
        ("multinomial", numbers(of, |o| o.predicted.multinomial)),
        ("quantisation", of.functions.iter().map(|o| o.predicted.quantisation.map(cell)).collect()),
    ]
}
