//! Plots, each a self-contained SVG that takes the page's colours where it stands in one.

mod axes;
mod plots;

use super::{EventUncertainty, Uncertainty};

/// Functions with plots of their own, those with the most samples first.
const FUNCTIONS: usize = 8;

/// A plot and what it shows.
pub(super) struct Plot {
    /// The part of the file's name before its extension.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The SVG.
    pub svg: String,
}

/// All plots as files: name and content.
pub fn files(told: &Uncertainty) -> Vec<(String, String)> {
    let of = |(ix, event): (usize, &EventUncertainty)| {
        let name = move |plot: &Plot| format!("{}-{}.svg", ix + 1, plot.name);
        self::plots(event, told.confidence).into_iter().map(|p| (name(&p), p.svg)).collect::<Vec<_>>()
    };
    told.events.iter().enumerate().flat_map(of).collect()
}

/// The plots of one event.
pub(super) fn plots(event: &EventUncertainty, confidence: f64) -> Vec<Plot> {
    let mut made = Vec::new();
    let mut add = |name: String, title: String, svg: Option<String>| {
        made.extend(svg.map(|svg| Plot { name, title, svg }));
    };
    if let Some(single) = &event.single {
        let bars = plots::shares(event, single);
        add("shares".into(), "share of samples, expanded uncertainty".into(), bars);
        for of in single.independence.iter().take(FUNCTIONS) {
            let title = format!("{}: autocorrelation of its samples, by lag", event.name(of.function));
            let n = single.functions.iter().map(|f| f.count).sum::<u64>() as f64;
            add(format!("autocorrelation-{}", of.function), title, plots::autocorrelation(&of.lags, n));
        }
        let classes = single.attraction.as_ref().and_then(plots::classes);
        add("modulo-16".into(), "samples per instruction, by address modulo 16".into(), classes);
    }
    if let Some((group, table)) = &event.runs {
        let title = "standard deviations: observed with interval, and predicted";
        add("deviations".into(), title.into(), plots::deviations(event, table));
        let mut largest: Vec<usize> = (0..table.functions.len()).collect();
        largest.sort_by(|a, b| table.functions[*b].summary.mean.total_cmp(&table.functions[*a].summary.mean));
        for &ix in largest.iter().take(FUNCTIONS) {
            let (of, name) = (&table.functions[ix], event.name(ix));
            add(
                format!("density-{ix}"),
                format!("{name}: density, mean with its interval"),
                plots::density(of),
            );
            add(format!("runs-{ix}"), format!("{name}: run by run"), plots::scatter(&group.values[ix], of));
            let lags = plots::autocorrelation(&of.lags, of.summary.n as f64);
            add(format!("autocorrelation-{ix}"), format!("{name}: autocorrelation of runs"), lags);
        }
    }
    let title = format!("line through the others, {:.0} % prediction interval", 100.0 * confidence);
    add("projection".into(), title, plots::projection(&event.projections));
    made
}
