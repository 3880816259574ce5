//! The report as one page for a browser, with everything in it, in the style of the report of samples.

use super::summary::{Advice, Group, Summary};
use super::timeline::{amount, inline};
use crate::export::Error;
use crate::report::escape;
use crate::report::format::counted;
use std::fmt::Write as _;
use std::io::Write;

/// Functions with charts.
const CHARTS: usize = 12;
/// Contexts of a function with charts.
const CONTEXTS: usize = 4;

/// Writes the page.
pub fn write_html(summary: &Summary<'_>, out: &mut dyn Write) -> Result<(), Error> {
    let recording = summary.recording;
    let command = escape(&recording.header.command.join(" "));
    write!(
        out,
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8><title>{command} · skidconv variance</title>\
         <meta name=viewport content=\"width=device-width\">\
         <meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'; script-src \
         'unsafe-inline'\"><style>\n{}</style></head><body>\n<header><div><h1>{command}</h1><p class=facts>{} sampled · \
         {} · judged by {}</p></div><button id=theme>light / dark</button></header>\n",
        include_str!("../report/html/page.css"),
        counted(recording.calls.len() as u64, "call"),
        counted(recording.threads.len() as u64, "thread"),
        escape(&recording.header.metrics[summary.metric].name),
    )?;
    out.write_all(table(summary).as_bytes())?;
    for (ix, (group, contexts)) in summary.functions.iter().take(CHARTS).enumerate() {
        out.write_all(charts(summary, ix, group, contexts).as_bytes())?;
    }
    write!(
        out,
        "<footer>skidconv {}</footer><script>\n{}</script></body></html>\n",
        env!("CARGO_PKG_VERSION"),
        include_str!("../report/html/page.js")
    )?;
    Ok(())
}

fn table(summary: &Summary<'_>) -> String {
    let mut html = String::from(
        "<p><input type=search placeholder=\"find a function\" data-table=calls></p><div class=panel><table id=calls><thead><tr>\
         <th data-sort>function<th>called from<th class=n data-sort aria-sort=descending>time<th class=n data-sort>calls\
         <th class=n data-sort>mean<th class=n data-sort>sd<th class=n data-sort>cv<th class=n data-sort title=\"standard error of cv\">±<th class=n data-sort>within threads\
         <th class=n data-sort>between<th>guidance</thead><tbody>",
    );
    for (ix, (_, contexts)) in summary.functions.iter().enumerate() {
        contexts.iter().for_each(|group| html += &row(summary, ix, group));
    }
    html + "</tbody></table></div>"
}

fn row(summary: &Summary<'_>, ix: usize, group: &Group) -> String {
    let moments = &group.all[summary.metric];
    let unit = &summary.recording.header.metrics[summary.metric].unit;
    let (within, between) = group.variation(summary.metric);
    let advice = summary.advice(group);
    let name = escape(summary.name(group.function));
    let name = if ix < CHARTS { format!("<a href=\"#f{ix}\">{name}</a>") } else { name };
    let mut html = format!(
        "<tr><td class=name>{name}</td><td class=\"name dim\">{}</td>",
        escape(&summary.path(group.context))
    );
    let mut number = |value: f64, text: String| {
        let _ = write!(html, "<td class=n data-v=\"{value:.9}\">{text}</td>");
    };
    let percent = |part: f64| format!("{:.1}%", 100.0 * part);
    number(group.share, percent(group.share));
    number(group.calls() as f64, group.calls().to_string());
    number(moments.mean(), amount(moments.mean(), unit));
    number(moments.sd(), amount(moments.sd(), unit));
    number(moments.cv(), percent(moments.cv()));
    let error = group.cv_error(summary.metric);
    number(error.unwrap_or(0.0), error.map_or_else(|| "–".into(), percent));
    number(within, percent(within));
    number(between, if group.threads.len() > 1 { percent(between) } else { "–".into() });
    let class = if advice == Advice::Reduce { "bad" } else { "dim" };
    let _ = write!(html, "<td class={class} title=\"{}\">{}</td></tr>", advice.sentence(), advice.brief());
    html
}

fn charts(summary: &Summary<'_>, ix: usize, group: &Group, contexts: &[Group]) -> String {
    let open = if ix == 0 { " open" } else { "" };
    let mut html = format!(
        "<details id=f{ix}{open} class=panel><summary><span class=name>{}</span> <span class=dim>{}</span></summary>\
         <div class=text>",
        escape(summary.name(group.function)),
        summary.advice(group).sentence(),
    );
    for context in contexts.iter().take(CONTEXTS) {
        let _ =
            write!(html, "<h3>{}</h3>{}", escape(&summary.path(context.context)), inline(summary, context));
    }
    html + "</div></details>\n"
}
