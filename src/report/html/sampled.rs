//! The page of sampled fetches, ops and accesses: a tab for each event, functions, and the hottest ones with their code.

use super::draw::left_out;
use super::{close, open};
use crate::export::basename;
use crate::ibs::Cell;
use crate::report::escape;
use crate::report::format::{count, counted};
use crate::report::ibs::{FunctionRow, Heading, Line, Listing, Sampled, Table, notes};
use std::fmt::Write as _;
use std::io::{self, Write};

/// Functions shown before the rest is asked for.
const SHOWN: usize = 25;
/// Functions in the page at most, per event.
const MOST: usize = 2000;
/// Longer runs of instructions without samples are left out but for their ends.
const LONGEST_COLD: usize = 64;
const KEPT: usize = 4;

/// Writes the page.
pub fn write(sampled: &Sampled, out: &mut dyn Write) -> io::Result<()> {
    open(&sampled.input, out)?;
    out.write_all(head(sampled).as_bytes())?;
    for (ix, table) in tables(sampled) {
        out.write_all(self::table(ix, table).as_bytes())?;
    }
    close(&sampled.version, out)
}

fn tables(sampled: &Sampled) -> impl Iterator<Item = (usize, &Table)> {
    sampled.tables.iter().enumerate().filter(|(_, table)| table.samples > 0)
}

fn head(sampled: &Sampled) -> String {
    let mut facts = vec![counted(sampled.samples, "sample")];
    facts.extend(sampled.processor.as_ref().map(|name| escape(name)));
    let mut html = format!(
        "<header><div><h1>{}</h1><p class=facts>{}</p></div><button id=theme>light / dark</button></header>\n\
         <nav class=tabs>",
        escape(&sampled.input),
        facts.join(" · ")
    );
    for (ix, table) in tables(sampled) {
        let (event, samples) = (escape(&table.event), counted(table.samples, "sample"));
        let _ = write!(html, "<button data-event={ix}>{event}<small>{samples}</small></button>");
    }
    for warning in &sampled.warnings {
        let _ = write!(html, "<p class=warn>{}</p>", escape(warning));
    }
    html + "</nav>\n"
}

fn table(ix: usize, table: &Table) -> String {
    let mut html = format!("<section data-of={ix}><h2>{}</h2>", escape(&table.event));
    for note in notes(table) {
        let _ = write!(html, "<p class=dim>{}</p>", escape(&note));
    }
    html += &functions(ix, table);
    if !table.listings.is_empty() {
        html += "<h2>Code</h2>";
    }
    for (number, listing) in table.listings.iter().enumerate() {
        html += &self::listing(table, listing, &format!("f{ix}-{number}"), number == 0);
    }
    html + "</section>\n"
}

fn functions(ix: usize, table: &Table) -> String {
    let columns = table.shown(true);
    let mut html = format!(
        "<p><input type=search placeholder=\"find a function\" data-table=t{ix}></p><div class=panel><table id=t{ix}>\
         <thead><tr><th data-sort>function<th data-sort>binary{}</thead><tbody>",
        headings(table, &columns, true)
    );
    for (n, row) in table.functions.iter().enumerate().take(MOST) {
        html += &function(ix, table, &columns, row, n >= SHOWN);
    }
    html += "</tbody></table></div>";
    if table.functions.len() > SHOWN {
        let rest = table.functions.len().min(MOST) - SHOWN;
        let _ = write!(html, "<p><button data-all=t{ix}>show {} more</button></p>", count(rest as u64));
    }
    html
}

fn headings(table: &Table, columns: &[usize], sorts: bool) -> String {
    let sort = if sorts { " data-sort" } else { "" };
    let heading = |(n, &ix): (usize, &usize)| {
        let Heading { text, about, .. } = &table.columns[ix];
        let first = if sorts && n == 0 { " aria-sort=descending" } else { "" };
        format!("<th class=n{sort}{first} title=\"{}\">{}", escape(about), escape(text))
    };
    columns.iter().enumerate().map(heading).collect()
}

fn function(ix: usize, table: &Table, columns: &[usize], row: &FunctionRow, more: bool) -> String {
    let listed = table
        .listings
        .iter()
        .position(|listing| Some(listing.address) == row.address && listing.image == row.image);
    let name = escape(&row.name);
    let name = listed.map_or_else(|| name.clone(), |n| format!("<a href=\"#f{ix}-{n}\">{name}</a>"));
    let class = if more { " class=more" } else { "" };
    let image = escape(basename(&row.image));
    format!(
        "<tr{class}><td class=name>{name}</td><td class=dim>{image}</td>{}</tr>",
        cells(table, columns, &row.cells)
    )
}

fn cells(table: &Table, columns: &[usize], cells: &[Cell]) -> String {
    let cell = |&ix: &usize| {
        let (heading, cell) = (&table.columns[ix], cells[ix]);
        let value = if heading.mean { cell.mean().unwrap_or(0.0) } else { cell.n as f64 };
        let text = match heading.mean {
            true => heading.show(cell),
            false if cell.n == 0 => String::new(),
            false => count(cell.n),
        };
        format!("<td class=n data-v=\"{value}\">{text}</td>")
    };
    columns.iter().map(cell).collect()
}

fn listing(table: &Table, listing: &Listing, id: &str, first: bool) -> String {
    let columns = table.shown(true);
    let all: u64 = listing.lines.iter().map(held).sum();
    let mut html = format!(
        "<details class=panel id={id}{}><summary><span class=name>{}</span> <span class=dim>{} · {}</span></summary>\
         <div class=code><table><thead><tr><th class=n>address<th>instruction{}<th>source</thead><tbody>",
        if first { " open" } else { "" },
        escape(&listing.function),
        escape(basename(&listing.image)),
        counted(all, "sample"),
        headings(table, &columns, false)
    );
    let cold: Vec<bool> = listing.lines.iter().map(|line| held(line) == 0).collect();
    let left_out = left_out(&cold, LONGEST_COLD, KEPT);
    let mut ix = 0;
    while let Some(line) = listing.lines.get(ix) {
        let cold = left_out[ix];
        if cold > 0 {
            let told = counted(cold as u64, "instruction");
            let _ = write!(
                html,
                "<tr class=cut><td colspan={}>⋯ {told} without samples</td></tr>",
                columns.len() + 3
            );
            ix += cold;
            continue;
        }
        let heat = (1.5 * held(line) as f64 / all.max(1) as f64).min(0.5);
        let text = if line.text.is_empty() { "…".into() } else { escape(&line.text) };
        let _ = write!(
            html,
            "<tr><td class=a>{:x}</td><td class=t style=\"--heat:{heat:.2}\">{text}</td>{}{}</tr>",
            line.address,
            cells(table, &columns, &line.cells),
            source(line, ix.checked_sub(1).and_then(|before| listing.lines.get(before)))
        );
        ix += 1;
    }
    html + "</tbody></table></div></details>"
}

/// Samples on a line, of the event with the most.
fn held(line: &Line) -> u64 {
    line.cells.iter().map(|cell| cell.n).max().unwrap_or(0)
}

/// The source line, unless it is that of the row before.
fn source(line: &Line, before: Option<&Line>) -> String {
    let Some(source) =
        line.source.as_ref().filter(|source| before.and_then(|b| b.source.as_ref()) != Some(*source))
    else {
        return "<td class=s></td>".into();
    };
    let text = escape(source.text.as_deref().unwrap_or(""));
    format!("<td class=s>{}:{} <b>{text}</b></td>", escape(basename(&source.file)), source.line)
}
