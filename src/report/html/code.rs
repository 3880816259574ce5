//! A function of the page: its loop tree and its instructions, with the columns of one event.

use super::draw::{compare, left_out};
use crate::export::basename;
use crate::report::escape;
use crate::report::format::{count, counted, percent};
use crate::report::listing::{Line, ListedEvent, ListedLoop, Listing, Nests};
use crate::report::words;
use std::collections::HashMap;
use std::fmt::Write;

/// Longer runs of instructions without samples are left out but for their ends.
const LONGEST_COLD: usize = 12;
const KEPT: usize = 3;
/// Loops drawn in the margin, outermost first.
const DEEPEST: usize = 4;
/// Loops that lie deeper than this are indented no further.
const INDENTED: usize = 64;

/// One function; open if it is the first.
pub(super) fn function(number: usize, listing: &Listing, open: bool) -> String {
    let lines = Lines::of(listing);
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
        html += &lines.instructions(column, event);
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
    let mut html = String::from("<div class=text><h3>Loops</h3>");
    let mut level = 0;
    for (ix, depth) in nested(listing) {
        match depth.min(INDENTED) {
            deeper if deeper > level => html += "<ul class=loops>",
            same => html += &format!("</li>{}", "</ul></li>".repeat(level - same)),
        }
        level = depth.min(INDENTED);
        html += &item(listing, &listing.loops[ix], column, event);
    }
    html + &"</li></ul>".repeat(level) + "</div>"
}

/// Each loop with its depth, 1 for an outermost one, ahead of those inside it.
fn nested(listing: &Listing) -> Vec<(usize, usize)> {
    let mut inside = vec![Vec::new(); listing.loops.len()];
    let mut next = Vec::new();
    for (ix, inner) in listing.loops.iter().enumerate().rev() {
        match inner.parent {
            Some(outer) => inside[outer].push(ix),
            None => next.push((ix, 1)),
        }
    }
    let mut order = Vec::new();
    while let Some((ix, depth)) = next.pop() {
        order.push((ix, depth));
        next.extend(inside[ix].iter().map(|&inner| (inner, depth + 1)));
    }
    order
}

fn item(listing: &Listing, of: &ListedLoop, column: usize, event: &ListedEvent) -> String {
    let header = listing.lines.get(of.header);
    let address = header.map_or(0, |line| line.address);
    let source = header.and_then(|line| line.source.as_ref());
    let place = source.map(|s| format!(" · {}:{}", escape(basename(&s.file)), s.line)).unwrap_or_default();
    let trips = of.trips.map(|trips| format!(" · {}", words::trips(&trips))).unwrap_or_default();
    let (before, after) = of.weight.get(column).copied().unwrap_or_default();
    let shares = change(
        percent(before as f64 / event.before.max(1) as f64),
        percent(after as f64 / event.after.max(1) as f64),
    );
    format!("<li>{address:x}{place}<b>{trips}</b> · {shares} of the function")
}

/// The instructions, with what is asked of each of them.
struct Lines<'a> {
    listing: &'a Listing,
    /// Loops that are drawn in the margin.
    nests: Nests<'a>,
    /// Loops by the instruction that they begin with.
    begun: HashMap<usize, &'a ListedLoop>,
    /// How many instructions are left out from each on.
    left_out: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(listing: &'a Listing) -> Lines<'a> {
        let begun: HashMap<usize, &ListedLoop> = listing.loops.iter().map(|l| (l.header, l)).collect();
        let cold = |(ix, line): (usize, &Line)| {
            let empty = line.cells.iter().all(|cell| cell.before + cell.after == 0);
            empty && begun.get(&ix).is_none_or(|l| l.trips.is_none())
        };
        let cold: Vec<bool> = listing.lines.iter().enumerate().map(cold).collect();
        let left_out = left_out(&cold, LONGEST_COLD, KEPT);
        Lines { listing, nests: Nests::of(listing, DEEPEST), begun, left_out }
    }

    fn instructions(&self, column: usize, event: &ListedEvent) -> String {
        let mut html = String::from(
            "<div class=code><table><thead><tr><th class=n>before<th class=n>after<th><th class=\"n side\">90 % interval<th class=side>how<th>\
             <th class=n>address<th>instruction<th>source</thead><tbody>",
        );
        let scale = scale(self.listing, column, event);
        let (mut ix, mut last) = (0, None);
        while let Some(line) = self.listing.lines.get(ix) {
            let cold = self.left_out[ix];
            if cold > 0 {
                let told = counted(cold as u64, "instruction");
                let _ = write!(html, "<tr class=cut><td colspan=9>⋯ {told} without samples</td></tr>");
                (ix, last) = (ix + cold, None);
                continue;
            }
            html += &row(line, &self.margin(ix, column, event), (column, event, scale));
            html += &source(line, last);
            last = line.source.as_ref();
            ix += 1;
        }
        html + "</tbody></table></div>"
    }

    /// Brackets of the loops around, and what is known of one that begins here.
    fn margin(&self, ix: usize, column: usize, event: &ListedEvent) -> String {
        let before = ix.checked_sub(1).map(|ix| self.nests.around(ix)).unwrap_or_default();
        let behind = self.nests.around(ix + 1);
        let mut html = String::new();
        for (depth, l) in self.nests.around(ix).iter().enumerate() {
            let top = if before.contains(l) { "" } else { " top" };
            let end = if behind.contains(l) { "" } else { " end" };
            let _ = write!(html, "<span class=\"on d{}{top}{end}\"></span>", depth + 1);
        }
        if let Some(l) = self.begun.get(&ix) {
            let trips = l.trips.map(|trips| format!("{} ", words::trips(&trips))).unwrap_or_default();
            let after = l.weight.get(column).map_or(0, |weight| weight.1);
            let _ = write!(html, "<q>{trips}{}</q>", percent(after as f64 / event.after.max(1) as f64));
        }
        html
    }
}

/// The longest bar of a function.
fn scale(listing: &Listing, column: usize, event: &ListedEvent) -> f64 {
    let largest = |line: &Line| {
        let cell = &line.cells[column];
        (cell.before as f64 / event.before.max(1) as f64).max(cell.after as f64 / event.after.max(1) as f64)
    };
    listing.lines.iter().map(largest).fold(0.0, f64::max).max(f64::MIN_POSITIVE)
}

fn row(line: &Line, margin: &str, (column, event, scale): (usize, &ListedEvent, f64)) -> String {
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
         <td class=m>{margin}</td><td class=a>{:x}</td><td class=t style=\"--heat:{:.2}\">{}</td>",
        shown(cell.before, before),
        shown(cell.after, after),
        line.address,
        (after * 1.5).min(0.5),
        escape(&line.text),
    )
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
