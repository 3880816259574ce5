//! The tables and plots as one page for a browser, in the look of the other reports: nothing is fetched.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::{EventUncertainty, Uncertainty, svg, text};
use crate::export::basename;
use crate::report::escape;
use crate::report::format::{count, counted, percent};
use crate::stat::{Finding, Interval, Observed};

/// Writes the page.
pub fn write(told: &Uncertainty, out: &mut dyn Write) -> io::Result<()> {
    let title = escape(basename(told.runs.first().map_or("", String::as_str)));
    write!(
        out,
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8><title>{title} · uncertainty · skidconv</title>\
         <meta name=viewport content=\"width=device-width\">\
         <meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'; script-src \
         'unsafe-inline'\"><style>\n{}</style></head><body>\n",
        include_str!("../html/page.css")
    )?;
    out.write_all(head(told).as_bytes())?;
    for (ix, event) in told.events.iter().enumerate() {
        out.write_all(section(ix, event, told.confidence).as_bytes())?;
    }
    writeln!(
        out,
        "<footer>skidconv {}, after NIST Technical Note 1826</footer><script>\n{}</script></body></html>",
        env!("CARGO_PKG_VERSION"),
        include_str!("../html/page.js")
    )
}

fn head(told: &Uncertainty) -> String {
    let runs = match &told.runs[..] {
        [one] => escape(one),
        runs => format!("{} … {}", escape(&runs[0]), escape(basename(&runs[runs.len() - 1]))),
    };
    let mut facts = vec![counted(told.runs.len() as u64, "run")];
    facts.extend((!told.against.is_empty()).then(|| format!("against {}", told.against.len())));
    facts.push(format!("intervals of {:.4} %", 100.0 * told.confidence).replace(".0000", ""));
    facts.push(format!("{} resamples", count(told.replicates as u64)));
    let mut html = format!(
        "<header><div><h1>{runs}</h1><p class=facts>{}</p></div><button id=theme>light / dark</button></header>\n\
         <nav class=tabs>",
        facts.join(" · ")
    );
    for (ix, event) in told.events.iter().enumerate() {
        let samples = counted(event.samples, "sample");
        let _ =
            write!(html, "<button data-event={ix}>{}<small>{samples}</small></button>", escape(&event.event));
    }
    for warning in &told.warnings {
        let _ = write!(html, "<p class=warn>{}</p>", escape(warning));
    }
    html + "</nav>\n"
}

fn section(ix: usize, event: &EventUncertainty, confidence: f64) -> String {
    let mut html = format!("<section data-of={ix}><h2>{}</h2>", escape(&event.event));
    html += &findings(event);
    html += &table(event);
    html += &differences(event);
    html += &projections(event);
    html += "<div class=cols>";
    for plot in svg::plots(event, confidence) {
        let _ = write!(
            html,
            "<div class=panel><div class=text><h3>{}</h3>{}</div></div>",
            escape(&plot.title),
            plot.svg
        );
    }
    html + "</div></section>\n"
}

fn findings(event: &EventUncertainty) -> String {
    let line = |name: Option<&str>, finding: &Finding, how_often: &str| {
        let name = name.map(|name| format!("<b>{}</b> ", escape(name))).unwrap_or_default();
        let p = finding.probability.map(|p| format!(" ({})", text::probability(p))).unwrap_or_default();
        let kind = finding.kind.name();
        format!(
            "<p><span class=warn>{how_often}{kind}</span>: {name}{}{}</p>",
            escape(&finding.text),
            escape(&p)
        )
    };
    let mut html = String::new();
    for finding in event.findings() {
        html += &line(finding.function.map(|ix| event.name(ix)), finding, "");
    }
    for found in &event.in_runs {
        let (name, finding) = &found.example;
        html += &line(name.as_deref(), finding, &format!("in {} runs: ", found.runs));
    }
    for refusal in &event.refusals {
        html += &format!("<p><span class=bad>not to be pooled</span>: {}</p>", escape(&refusal.to_string()));
    }
    if html.is_empty() { "<p class=good>Nothing was found against it.</p>".into() } else { html }
}

/// A cell that is sorted by its number.
fn cell(value: f64) -> String {
    let text = match value.abs() {
        _ if !value.is_finite() => "–".into(),
        large if large >= 1000.0 => count(value.round() as u64),
        middle if middle >= 1.0 || value == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.5}"),
    };
    format!("<td class=n data-v=\"{value:.9}\">{text}</td>")
}

fn between(of: Interval) -> String {
    let text = |x: f64| if x.abs() >= 100.0 { format!("{x:.0}") } else { format!("{x:.3}") };
    format!("<td class=\"n dim\">{} – {}</td>", text(of.low), text(of.high))
}

fn maybe(value: Option<f64>) -> String {
    value.map_or_else(|| "<td></td>".into(), cell)
}

fn table(event: &EventUncertainty) -> String {
    let columns = match event.single {
        Some(_) => "samples|share|√N|multinomial|quantisation|bound|coverage interval",
        None => {
            "mean|share|sd of mean|t|percentile|BCa|sd|sd, χ²|sd, percentile|sd, BCa|IQR/1.349|√N|multinomial|quantisation|\
             outliers"
        }
    };
    let columns: String = columns.split('|').map(|name| format!("<th class=n data-sort>{name}")).collect();
    let mut html = format!(
        "<div class=panel><table><thead><tr><th data-sort>function<th data-sort>binary{columns}</thead><tbody>"
    );
    for ix in 0..event.names.len() {
        let (image, function) = &event.names[ix];
        let _ =
            write!(html, "<tr><td class=name>{}</td><td class=dim>{}</td>", escape(function), escape(image));
        if let Some(single) = &event.single {
            let f = &single.functions[ix];
            html += &cell(f.count as f64);
            html += &format!("<td class=n data-v=\"{:.9}\">{}</td>", f.share, percent(f.share));
            html += &(cell(f.predicted.gprof) + &cell(f.predicted.multinomial));
            html += &(maybe(f.predicted.quantisation) + &maybe(f.predicted.bound) + &between(f.interval));
        } else if let Some((group, table)) = &event.runs {
            let n = group.totals.iter().sum::<f64>() / group.totals.len().max(1) as f64;
            html += &observed(&table.functions[ix], if group.shares { 1.0 } else { n });
        }
        html += "</tr>";
    }
    html + "</tbody></table></div>"
}

fn observed(f: &Observed, unit: f64) -> String {
    let share = f.summary.mean / unit.max(f64::MIN_POSITIVE);
    let (mean, sd) = (&f.bootstrap.mean, &f.bootstrap.deviation);
    [
        cell(f.summary.mean),
        format!("<td class=n data-v=\"{share:.9}\">{}</td>", percent(share)),
        cell(f.summary.of_mean()),
        between(f.mean),
        between(mean.percentile),
        between(mean.bca),
        cell(f.summary.deviation),
        between(f.deviation),
        between(sd.percentile),
        between(sd.bca),
        cell(f.summary.robust_deviation()),
        cell(f.predicted.gprof),
        cell(f.predicted.multinomial),
        maybe(f.predicted.quantisation),
        format!("<td class=n>{}</td>", f.outliers.len()),
    ]
    .concat()
}

fn differences(event: &EventUncertainty) -> String {
    let Some(compared) = &event.differences else { return String::new() };
    let (a, b) = compared.runs;
    let mut html = format!(
        "<h3>Difference: {a} runs → {b} runs</h3><div class=panel><table><thead><tr><th data-sort>function<th class=n \
         data-sort>A<th class=n data-sort>B<th class=n data-sort>B − A<th class=n>interval<th class=n data-sort>p'</thead><tbody>"
    );
    for d in &compared.functions {
        let p = text::probability(d.probability);
        let _ = write!(
            html,
            "<tr><td class=name>{}</td>{}{}<td class=n data-v=\"{:.9}\">{:+.4}</td>{}<td class=n data-v=\"{:.9}\">{}</td></tr>",
            escape(&d.name),
            cell(d.before.mean),
            cell(d.after.mean),
            d.welch.difference,
            d.welch.difference,
            between(d.interval),
            d.probability,
            escape(&p)
        );
    }
    html + "</tbody></table></div>"
}

fn projections(event: &EventUncertainty) -> String {
    if event.projections.is_empty() {
        return String::new();
    }
    let mut html = String::from(
        "<h3>Projected from a line through the others</h3><div class=panel><table><thead><tr><th>function<th \
         class=n>expected<th class=n>observed<th class=n>projected<th class=n>prediction interval<th class=n>p'</thead><tbody>",
    );
    for p in &event.projections {
        let inside = p.projection.interval.holds(p.point.observed);
        let _ = write!(
            html,
            "<tr><td class=name>{}</td>{}{}{}{}<td class=n><span class={}>{}</span></td></tr>",
            escape(&p.function),
            cell(p.point.expected),
            cell(p.point.observed),
            cell(p.projection.predicted),
            between(p.projection.interval),
            if inside { "good" } else { "bad" },
            escape(&text::probability(p.probability))
        );
    }
    html + "</tbody></table></div>"
}
