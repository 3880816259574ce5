//! A function of the page: its loop tree and its instructions, with the columns of one event.

use super::draw::{compare, left_out};
use crate::export::basename;
use crate::report::escape;
use crate::report::format::{count, counted, percent};
use crate::report::listing::{Line, ListedEvent, Listing};
use crate::report::words;
use std::fmt::Write;

/// Longer runs of instructions without samples are left out but for their ends.
const LONGEST_COLD: usize = 12;
const KEPT: usize = 3;
const DEEPEST: usize = 4;

/// One function; open if it is the first.
pub(super) fn function(number: usize, listing: &Listing, open: bool) -> String {
    let mut html = format!(
        "<details class=panel id=f{number}{}><summary><span class=name>{}</span> <span class=dim>{}",
        if open { " open" } else { "" },
        escape(&listing.function),
        escape(basename(&listing.image)),
    );
    for event in &listing.events {
        let share = |weight: u64| percent(weight as f64 / event.total.max(1) as f64);
        let shares = change(share(event.before), share(event.after));
        let _ = write!(html, "<span data-of={}> · {shares}</span>", event.index);
    }
    html += "</span></summary>";
    for (column, event) in listing.events.iter().enumerate() {
        let _ = write!(html, "<div data-of={}>", event.index);
        html += &loops(listing, column, event);
        html += &instructions(listing, column, event);
        html += "</div>";
    }
    html + "</details>\n"
}

/// From before to after, or one of them where they are the same.
fn change(before: String, after: String) -> String {
    if before == after { after } else { format!("{before} → {after}") }
}

/// The loops as a tree, with how often they go round and what they hold.
fn loops(listing: &Listing, column: usize, event: &ListedEvent) -> String {
    if listing.loops.is_empty() {
        return String::new();
    }
    format!("<div class=text><h3>Loops</h3>{}</div>", branch(listing, None, column, event))
}

fn branch(listing: &Listing, parent: Option<usize>, column: usize, event: &ListedEvent) -> String {
    let mut html = String::new();
    for (ix, inner) in listing.loops.iter().enumerate().filter(|(_, l)| l.parent == parent) {
        let header = listing.lines.get(inner.header);
        let address = header.map_or(0, |line| line.address);
        let source = header.and_then(|line| line.source.as_ref());
        let place =
            source.map(|s| format!(" · {}:{}", escape(basename(&s.file)), s.line)).unwrap_or_default();
        let trips = inner.trips.map(|trips| format!(" · {}", words::trips(&trips))).unwrap_or_default();
        let (before, after) = inner.weight.get(column).copied().unwrap_or_default();
        let _ = write!(
            html,
            "<li>{address:x}{place}<b>{trips}</b> · {} of the function{}</li>",
            change(
                percent(before as f64 / event.before.max(1) as f64),
                percent(after as f64 / event.after.max(1) as f64)
            ),
            branch(listing, Some(ix), column, event),
        );
    }
    if html.is_empty() { html } else { format!("<ul class=loops>{html}</ul>") }
}

fn instructions(listing: &Listing, column: usize, event: &ListedEvent) -> String {
    let mut html = String::from(
        "<div class=code><table><thead><tr><th class=n>before<th class=n>after<th><th class=\"n side\">90 % interval<th class=side>how<th>\
         <th class=n>address<th>instruction<th>source</thead><tbody>",
    );
    let scale = scale(listing, column, event);
    let (mut ix, mut last) = (0, None);
    while let Some(line) = listing.lines.get(ix) {
        let cold = cold_run(listing, ix);
        if cold > 0 {
            let told = counted(cold as u64, "instruction");
            let _ = write!(html, "<tr class=cut><td colspan=9>⋯ {told} without samples</td></tr>");
            (ix, last) = (ix + cold, None);
            continue;
        }
        html += &row(listing, ix, (column, event, scale));
        html += &source(line, last);
        last = line.source.as_ref();
        ix += 1;
    }
    html + "</tbody></table></div>"
}

/// The longest bar of a function.
fn scale(listing: &Listing, column: usize, event: &ListedEvent) -> f64 {
    let largest = |line: &Line| {
        let cell = &line.cells[column];
        (cell.before as f64 / event.before.max(1) as f64).max(cell.after as f64 / event.after.max(1) as f64)
    };
    listing.lines.iter().map(largest).fold(0.0, f64::max).max(f64::MIN_POSITIVE)
}

fn row(listing: &Listing, ix: usize, (column, event, scale): (usize, &ListedEvent, f64)) -> String {
    let line = &listing.lines[ix];
    let cell = &line.cells[column];
    let (all_before, all_after) = (event.before.max(1) as f64, event.after.max(1) as f64);
    let (before, after) = (cell.before as f64 / all_before, cell.after as f64 / all_after);
    let (low, high) = (cell.low / all_after, (cell.high / all_after).min(1.0));
    let known = cell.low < cell.high && high >= 5e-4;
    let shown = |weight: u64, share: f64| if weight > 0 { percent(share) } else { String::new() };
    let held = cell.before + cell.after > 0;
    let interval = if known { format!("{} – {}", percent(low), percent(high)) } else { String::new() };
    let bars = if held || known {
        compare(before, after, known.then_some((low, high)), scale)
    } else {
        String::new()
    };
    let how = if held { words::brief(cell.verdict) } else { "" };
    format!(
        "<tr><td class=n>{}</td><td class=n>{}</td><td>{bars}</td><td class=\"n dim side\">{interval}</td><td class=\"dim side\">{how}</td>\
         <td class=m>{}</td><td class=a>{:x}</td><td class=t style=\"--heat:{:.2}\">{}</td>",
        shown(cell.before, before),
        shown(cell.after, after),
        margin(listing, ix, column, event),
        line.address,
        (after * 1.5).min(0.5),
        escape(&line.text),
    )
}

/// Brackets of the loops around, and what is known of one that begins here.
fn margin(listing: &Listing, ix: usize, column: usize, event: &ListedEvent) -> String {
    let around = listing.around(ix);
    let before = ix.checked_sub(1).map(|ix| listing.around(ix)).unwrap_or_default();
    let behind = listing.around(ix + 1);
    let mut html = String::new();
    for (depth, l) in around.iter().enumerate().take(DEEPEST) {
        let top = if before.contains(l) { "" } else { " top" };
        let end = if behind.contains(l) { "" } else { " end" };
        let _ = write!(html, "<span class=\"on d{}{top}{end}\"></span>", depth + 1);
    }
    if let Some(l) = listing.loops.iter().find(|l| l.header == ix) {
        let trips = l.trips.map(|trips| format!("{} ", words::trips(&trips))).unwrap_or_default();
        let after = l.weight.get(column).map_or(0, |weight| weight.1);
        let _ = write!(html, "<q>{trips}{}</q>", percent(after as f64 / event.after.max(1) as f64));
    }
    html
}

/// The source line, unless it is that of the row before.
fn source(line: &Line, last: Option<&crate::report::listing::SourceLine>) -> String {
    let Some(source) = line.source.as_ref().filter(|source| last != Some(*source)) else {
        return "<td class=s></td></tr>".into();
    };
    let inlined = source.inlined.as_ref().map(|f| format!("<em>{}</em> ", escape(f))).unwrap_or_default();
    let text = source.text.as_deref().unwrap_or("");
    format!(
        "<td class=s title=\"{}:{}\">{}:{} {inlined}<b>{}</b></td></tr>",
        escape(&source.file),
        count(source.line.into()),
        escape(basename(&source.file)),
        source.line,
        escape(text),
    )
}

/// How many instructions from here on are left out.
fn cold_run(listing: &Listing, ix: usize) -> usize {
    let cold = |at: usize| {
        let line = &listing.lines[at];
        let empty = line.cells.iter().all(|cell| cell.before + cell.after == 0);
        empty && !listing.loops.iter().any(|l| l.header == at && l.trips.is_some())
    };
    left_out(listing.lines.len(), ix, LONGEST_COLD, KEPT, cold)
}
