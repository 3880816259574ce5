//! The posterior check: regions, and how far their samples are from what the answers expect.

use super::LONGEST_NAME;
use super::columns::{Column, table};
use crate::report::escape;
use crate::report::format::{count, fit_function, percent};
use crate::report::words::brief;
use crate::report::{Branches, Fit, RegionReport};

/// The table of `regions`.
pub(super) fn regions(regions: &[&RegionReport]) -> String {
    let each = |cell: &dyn Fn(&RegionReport) -> Option<String>| -> Vec<Option<String>> {
        regions.iter().map(|region| cell(region)).collect()
    };
    table(vec![
        Column::words("functions", each(&|of| Some(functions(of)))),
        Column::numbers("samples", each(&|of| Some(whole(of.samples)))),
        Column::words("answer", each(&|of| Some(format!("<td>{}</td>", brief(of.verdict))))),
        Column::numbers("R-hat", each(&|of| of.rhat.map(|value| number(value, 3)))),
        Column::numbers("effective draws", each(&|of| of.ess.map(|value| number(value, 0)))),
        Column::numbers("branches decided", each(&|of| of.branches.map(branches))),
        Column::numbers("distance", each(&|of| of.fit.as_ref().map(distance))),
        Column::numbers("by chance", each(&|of| of.fit.as_ref().map(chance))),
        Column::words("why", each(&|of| (!of.reason.is_empty()).then(|| why(of)))),
    ])
}

fn functions(region: &RegionReport) -> String {
    let names: Vec<String> =
        region.functions.iter().take(6).map(|name| escape(&fit_function(name, LONGEST_NAME))).collect();
    let more = region.functions.len().saturating_sub(names.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("<td class=name>{}{more}</td>", names.join(", "))
}

fn whole(value: u64) -> String {
    format!("<td class=n data-v={value}>{}</td>", count(value))
}

fn number(value: f64, digits: usize) -> String {
    format!("<td class=n data-v=\"{value:.4}\">{value:.digits$}</td>")
}

fn branches(of: Branches) -> String {
    format!("<td class=n data-v=\"{:.4}\">{:.1} of {}</td>", of.told, of.told, of.free)
}

/// A distance is noticed where it is twice what chance makes, and bad where it is also a fifth of all.
fn distance(fit: &Fit) -> String {
    let class = match fit.distance {
        d if d <= 2.0 * fit.noise || d < 0.02 => "good",
        d if d < 0.2 => "warn",
        _ => "bad",
    };
    format!("<td class=n data-v=\"{:.6}\"><b class={class}>{}</b></td>", fit.distance, percent(fit.distance))
}

fn chance(fit: &Fit) -> String {
    format!("<td class=\"n dim\" data-v=\"{:.6}\">{}</td>", fit.noise, percent(fit.noise))
}

fn why(region: &RegionReport) -> String {
    format!("<td class=dim>{}</td>", escape(&region.reason))
}
