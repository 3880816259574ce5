//! The tables and plots as one page for a browser, in the look of the other reports: nothing is fetched.

mod table;

use std::fmt::Write as _;
use std::io::{self, Write};

use super::number::{self, number, signed};
use super::{EventUncertainty, Uncertainty, svg, text};
use crate::export::basename;
use crate::report::escape;
use crate::report::format::{count, counted};
use crate::stat::{Finding, Interval};

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
    html += &table::tables(event);
    if event.calls_seen > 0 {
        let seen = counted(event.calls_seen, "call");
        let _ = write!(html, "<p class=dim>Calls are estimated from {seen} that branch stacks saw.</p>");
    }
    html += &differences(event);
    html += &projections(event);
    html += "<div class=\"cols apart\">";
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
        let name = finding.function.map(|ix| event.name(ix));
        html += &line(name.as_deref(), finding, "");
    }
    for found in &event.in_runs {
        let (name, finding) = &found.example;
        let how_often = format!("in {}: ", counted(found.runs as u64, "run"));
        html += &line(name.as_deref(), finding, &how_often);
    }
    for refusal in &event.refusals {
        html += &format!("<p><span class=bad>not to be pooled</span>: {}</p>", escape(&refusal.to_string()));
    }
    if html.is_empty() { "<p class=good>Nothing was found against it.</p>".into() } else { html }
}

/// A cell that is sorted by its number.
fn cell(value: f64) -> String {
    format!("<td class=n data-v=\"{value:.9}\">{}</td>", number(value))
}

/// One of a whole number.
fn whole(value: u64) -> String {
    format!("<td class=n data-v={value}>{}</td>", count(value))
}

fn between(of: Interval) -> String {
    format!("<td class=\"n dim\" data-v=\"{:.9}\">{}</td>", of.low, number::between(of, " – "))
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
            "<tr><td class=name>{}</td>{}{}<td class=n data-v=\"{:.9}\">{}</td>{}<td class=n data-v=\"{:.9}\">{}</td></tr>",
            escape(&d.name),
            cell(d.before.mean),
            cell(d.after.mean),
            d.welch.difference,
            signed(d.welch.difference),
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
