//! A report as one page for a browser, with everything in it: nothing is fetched, and it works from a file.
//!
//! Per event the functions, sortable, with their shares before and after and the interval; the skid that was found and the
//! posterior check of every region; and the hottest functions instruction by instruction. Without scripts all events show
//! one under the other.

mod check;
mod code;
pub(super) mod columns;
pub(super) mod draw;
mod sampled;

pub use sampled::write as write_sampled;

use super::escape;
use super::format::{count, counted, fit_function, percent};
use super::listing::Listing;
use super::words::{self, brief};
use super::{EventReport, FunctionShare, RegionReport, Report};
use crate::export::basename;
use draw::compare;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Functions shown before the rest is asked for.
const SHOWN: usize = 25;
/// Characters of a name in a table; the whole one shows when pointed at.
const LONGEST_NAME: usize = 90;
/// Functions in the page at most, per event.
const MOST: usize = 2000;

/// Writes the page.
pub fn write(report: &Report, listings: &[Listing], out: &mut dyn Write) -> io::Result<()> {
    open(&report.input, out)?;
    out.write_all(head(report).as_bytes())?;
    let links: HashMap<(&str, u64), usize> =
        listings.iter().enumerate().map(|(ix, l)| ((l.image.as_str(), l.address), ix)).collect();
    for (ix, event) in report.events.iter().enumerate() {
        out.write_all(self::event(ix, event, report.corrected, &links).as_bytes())?;
    }
    out.write_all(found(report).as_bytes())?;
    out.write_all(missing(report).as_bytes())?;
    if !listings.is_empty() {
        let counted = listings.iter().any(|listing| listing.loops.iter().any(|l| l.trips.is_some()));
        let trips = match counted {
            true => {
                " ×n [low – high] is how often a loop goes round each time it is entered, and the 90 % interval."
            }
            false => "",
        };
        writeln!(out, "<h2>Code</h2><p class=dim>Shares are of the function's own weight.{trips}</p>")?;
    }
    for (ix, listing) in listings.iter().enumerate() {
        out.write_all(code::function(ix, listing, ix == 0).as_bytes())?;
    }
    close(&report.version, out)
}

/// What every page begins with.
fn open(input: &str, out: &mut dyn Write) -> io::Result<()> {
    let title = escape(basename(input));
    write!(
        out,
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8><title>{title} · skidconv</title>\
         <meta name=viewport content=\"width=device-width\">\
         <meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'; script-src \
         'unsafe-inline'\"><style>\n{}</style></head><body>\n",
        include_str!("html/page.css")
    )
}

/// What every page ends with.
fn close(version: &str, out: &mut dyn Write) -> io::Result<()> {
    let version = escape(version);
    writeln!(
        out,
        "<footer>skidconv {version}</footer><script>\n{}</script></body></html>",
        include_str!("html/page.js")
    )
}

fn head(report: &Report) -> String {
    let mut facts = vec![counted(report.samples, "sample")];
    facts.extend((report.lost > 0).then(|| format!("{} lost while recording", count(report.lost))));
    facts.extend((report.throttled > 0).then(|| format!("throttled {} times", count(report.throttled))));
    match report.corrected {
        true => facts.push(format!(
            "{} moved · solver {}, seed {}",
            count(report.moved()),
            report.solver,
            report.seed
        )),
        false => facts.push("as recorded".into()),
    }
    let input = escape(&report.input);
    let mut html = format!(
        "<header><div><h1>{input}</h1><p class=facts>{}</p></div><button id=theme>light / dark</button></header>\n",
        facts.join(" · ")
    );
    html += "<nav class=tabs>";
    // first is seen what was changed
    let start = report.events.iter().position(|event| event.moved > 0);
    for (ix, event) in report.events.iter().enumerate().filter(|(_, event)| event.samples > 0) {
        let _ = write!(
            html,
            "<button data-event={ix}{}>{}<small>{}</small></button>",
            if start == Some(ix) { " data-start" } else { "" },
            escape(&event.name),
            counted(event.samples, "sample")
        );
    }
    html += "</nav>\n";
    let warnings = report.warnings.iter().map(|warning| &warning.text);
    for warning in warnings.chain(&words::unverified(&report.unverified)) {
        let _ = write!(html, "<p class=warn>{}</p>", escape(warning));
    }
    html
}

fn event(ix: usize, event: &EventReport, corrected: bool, links: &HashMap<(&str, u64), usize>) -> String {
    if event.samples == 0 {
        return String::new();
    }
    let mut html = format!("<section data-of={ix}><h2>{}</h2>", escape(&event.name));
    if corrected {
        let moved = percent(event.moved as f64 / event.samples.max(1) as f64);
        let _ = write!(
            html,
            "<p>{}</p><p class=dim>{} of {} moved ({moved}){}</p>",
            escape(&words::outcome(event)),
            count(event.moved),
            counted(event.samples, "sample"),
            distance(event),
        );
        html += "<p class=\"dim key\"><span class=cmp style=\"--b:100;--a:65\"><i></i><b></b><u style=\"--l:50;--h:80\"></u></span>\
                 grey: as recorded · colour: after, with its 90 % interval</p>";
    }
    html += &functions(ix, event, corrected, links);
    html + "</section>\n"
}

fn distance(event: &EventReport) -> String {
    let Some(far) = &event.distance else { return String::new() };
    let mut text =
        format!(", by {} bytes at the median and {} at 90 %", count(far.bytes.median), count(far.bytes.p90));
    if let Some(steps) = far.instructions {
        let _ = write!(text, "; by {} and {} instructions", count(steps.median), count(steps.p90));
    }
    text
}

fn functions(ix: usize, event: &EventReport, corrected: bool, links: &HashMap<(&str, u64), usize>) -> String {
    let (before, after) = if corrected { ("<th class=n data-sort>before", "after") } else { ("", "share") };
    let columns = if corrected {
        "<th class=n data-sort>change<th class=n>90 % interval<th class=side>how"
    } else {
        ""
    };
    let mut html = format!(
        "<p><input type=search placeholder=\"find a function\" data-table=t{ix}></p><div class=panel><table id=t{ix}>\
         <thead><tr><th data-sort>function<th class=side data-sort>binary{before}<th class=n data-sort aria-sort=descending>{after}<th>\
         {columns}<th class=n data-sort>samples</thead><tbody>"
    );
    let scale =
        event.functions.iter().map(|f| f.before.max(f.after).max(f.high.min(1.0))).fold(0.0, f64::max);
    for (n, f) in event.functions.iter().enumerate().take(MOST) {
        html += &share(f, n >= SHOWN, corrected, scale, links);
    }
    html += "</tbody></table></div>";
    if event.functions.len() > SHOWN {
        let rest = event.functions.len().min(MOST) - SHOWN;
        let _ = write!(html, "<p><button data-all=t{ix}>show {} more</button></p>", count(rest as u64));
    }
    html
}

fn share(
    f: &FunctionShare,
    more: bool,
    corrected: bool,
    scale: f64,
    links: &HashMap<(&str, u64), usize>,
) -> String {
    let whole = escape(&f.name);
    let name = escape(&fit_function(&f.name, LONGEST_NAME));
    let link = f.address.and_then(|address| links.get(&(f.image.as_str(), address)));
    let name = link.map_or_else(|| name.clone(), |ix| format!("<a href=\"#f{ix}\">{name}</a>"));
    let class = if more { " class=more" } else { "" };
    let mut html = format!(
        "<tr{class}><td class=name title=\"{whole}\">{name}</td><td class=\"dim side\">{}</td>",
        escape(basename(&f.image))
    );
    let mut number = |value: f64, text: String| {
        let _ = write!(html, "<td class=n data-v=\"{value:.9}\">{text}</td>");
    };
    if corrected {
        number(f.before, percent(f.before));
    }
    number(f.after, percent(f.after));
    let interval = (corrected && f.low < f.high && f.high >= 5e-4).then_some((f.low, f.high));
    let before = if corrected { f.before } else { 0.0 };
    let _ = write!(html, "<td>{}</td>", compare(before, f.after, interval, scale));
    if corrected {
        let moved = f.after - f.before;
        let beyond = f.before < f.low || f.before > f.high;
        let change = if moved.abs() < 5e-4 { String::new() } else { format!("{:+.1}", 100.0 * moved) };
        let change = if beyond { format!("<b>{change}</b>") } else { change };
        let _ = write!(html, "<td class=n data-v=\"{:.9}\">{change}</td>", moved.abs());
        let text = interval.map(|(l, h)| format!("{} – {}", percent(l), percent(h))).unwrap_or_default();
        let _ =
            write!(html, "<td class=\"n dim\">{text}</td><td class=\"dim side\">{}</td>", brief(f.verdict));
    }
    let _ = write!(html, "<td class=n data-v=\"{}\">{}</td></tr>", f.samples, count(f.samples));
    html
}

/// The skid, and the posterior check.
fn found(report: &Report) -> String {
    let mut html = String::new();
    if let Some(model) = &report.model {
        let interval = model
            .interval
            .map(|[low, high]| format!(", nine in ten between {low:.0} and {high:.0}"))
            .unwrap_or_default();
        let late = match model.late {
            Some(true) if model.after_long_waits => {
                ". The address is that of the instruction waited for, or after long waits that of the one after it."
            }
            Some(true) => ". The address is that of the instruction after the one waited for.",
            Some(false) => ". The address is that of the instruction waited for.",
            None => ".",
        };
        let in_order = if model.in_order { " The processor seems to issue in order." } else { "" };
        let _ = write!(
            html,
            "<h2>Skid</h2><div class=panel><div class=text><p>Samples are reported {:.1} cycles late on average{interval}{late}\
             {in_order}</p>{}<p class=dim>cycles between cause and report; the line is the mean</p></div></div>",
            model.skid_cycles,
            draw::skid(model)
        );
    }
    let mut regions: Vec<&RegionReport> = report.decisive().collect();
    if !regions.is_empty() {
        html += "<h2>Posterior check</h2><p class=dim>Functions that were solved together. Where the samples are farther from \
                 what the answer expects than chance alone explains, the model misses something. Branches that samples and \
                 time do not decide are as assumed.</p>";
        regions.sort_by_key(|region| std::cmp::Reverse(region.samples));
        regions.truncate(MOST);
        html += &check::regions(&regions);
    }
    html
}

fn missing(report: &Report) -> String {
    if report.nameless.is_empty() {
        return String::new();
    }
    let mut html = String::from(
        "<h2>Missing symbols</h2><div class=panel><table><thead><tr><th>binary<th class=n>samples<th>why<th>what would help\
         </thead><tbody>",
    );
    for image in &report.nameless {
        let _ = write!(
            html,
            "<tr><td class=name>{}</td><td class=n>{} of {}</td><td>{}</td><td class=name>{}</td></tr>",
            escape(&image.path),
            count(image.samples),
            count(image.of),
            escape(&image.reason),
            escape(&image.command)
        );
    }
    html + "</tbody></table></div>"
}

#[cfg(test)]
mod tests;
