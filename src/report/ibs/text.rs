//! The tables for a terminal.

use super::notes::notes;
use super::{Cell, Heading, Listing, Sampled, Subject, Table};
use crate::export::basename;
use crate::report::format::{Style, count, counted, fit, percent, wrap};

/// Instructions are not cut below so many characters.
const LONGEST: usize = 64;

/// Draws the tables of functions.
pub fn functions(sampled: &Sampled, all: bool, style: &Style) -> String {
    let mut text = head(sampled, style);
    for table in sampled.tables.iter().filter(|table| table.samples > 0) {
        text += &title(table, style);
        let columns = Columns::new(table, all, table.functions.iter().map(|row| &row.cells));
        text += &style.dim(&format!("{}  function", columns.headings()));
        text += "\n";
        let (shown, rest) = table.functions.split_at(table.functions.len().min(style.functions));
        for row in shown {
            let image = style.dim(basename(&fit(&row.image, usize::MAX)));
            text += &format!("{}  {}  {image}\n", columns.cells(&row.cells), fit(&row.name, style.columns()));
        }
        if !rest.is_empty() {
            let samples: u64 = rest.iter().map(|row| held(table, &row.cells)).sum();
            let share = percent(samples as f64 / table.samples as f64);
            text += &style.dim(&format!("  and {} more functions with {share}\n", count(rest.len() as u64)));
        }
    }
    for image in &sampled.missing {
        let told = format!("{}, {}: {}", image.path, counted(image.samples, "sample"), image.reason);
        text += &format!("\n{}", wrap(&told, 0, style.columns()));
        text += &wrap(&format!("→ {}", image.remedy), 2, style.columns());
    }
    for warning in &sampled.warnings {
        text += &format!("\n{}", wrap(&format!("warning: {warning}"), 0, style.columns()));
    }
    text
}

/// Draws the functions instruction by instruction.
pub fn listings(sampled: &Sampled, all: bool, style: &Style) -> String {
    let mut text = String::new();
    for table in sampled.tables.iter().filter(|table| !table.listings.is_empty()) {
        text += &title(table, style);
        table.listings.iter().for_each(|listing| text += &self::listing(table, listing, all, style));
    }
    text
}

fn head(sampled: &Sampled, style: &Style) -> String {
    let mut facts = vec![counted(sampled.samples, "sample")];
    facts.extend(sampled.processor.as_ref().map(|name| fit(name, style.columns())));
    let facts = wrap(&facts.join(" · "), 0, style.columns());
    format!("{}\n{facts}", style.bold(&fit(&sampled.input, style.columns())))
}

fn title(table: &Table, style: &Style) -> String {
    let of = match table.subject {
        Subject::Fetch => "fetches",
        Subject::Op(_) => "ops",
        Subject::Memory => "accesses",
        Subject::Counters => "counters",
    };
    let event = fit(&table.event, style.columns());
    let title = format!("{event} · {} of {of}", counted(table.samples, "sample"));
    let mut text = format!("\n{}\n", style.bold(&title));
    for note in notes(table) {
        text += &wrap(&note, 2, style.columns());
    }
    text
}

/// Samples in a row, of whatever event.
fn held(table: &Table, cells: &[Cell]) -> u64 {
    match table.subject {
        Subject::Counters => cells.iter().map(|cell| cell.n).sum(),
        _ => cells.first().map_or(0, |cell| cell.n),
    }
}

fn listing(table: &Table, listing: &Listing, all: bool, style: &Style) -> String {
    let columns = Columns::new(table, all, listing.lines.iter().map(|line| &line.cells));
    let name = format!("{} · {}", fit(&listing.function, style.columns()), basename(&listing.image));
    let mut text = format!("\n{}\n", style.bold(&name));
    let longest = listing.lines.iter().map(|line| line.text.chars().count()).max().unwrap_or(0);
    let wide = longest.clamp("instruction".len(), LONGEST);
    text += &style.dim(&format!("{:>8}  {:<wide$}{}", "address", "instruction", columns.headings()));
    text += "\n";
    let mut last = None;
    for line in &listing.lines {
        let source = line.source.as_ref().map(|source| (&source.file, source.line));
        if source.is_some() && source != last {
            last = source;
            let shown = line.source.iter().map(|s| {
                format!("{}:{} {}", basename(&s.file), s.line, s.text.as_deref().unwrap_or("").trim())
            });
            shown.for_each(|shown| {
                text += &style.dim(&format!("{:10}{}\n", "", fit(&shown, style.columns())))
            });
        }
        let instruction = if line.text.is_empty() { "…" } else { &line.text };
        let row =
            format!("{:>8x}  {:<wide$}{}", line.address, fit(instruction, wide), columns.cells(&line.cells));
        text += &format!("{}\n", row.trim_end());
    }
    text
}

/// The columns that are drawn, as wide as they have to be.
struct Columns<'a> {
    shown: Vec<(usize, &'a Heading, usize)>,
}

impl<'a> Columns<'a> {
    fn new<'r>(table: &'a Table, all: bool, rows: impl Iterator<Item = &'r Vec<Cell>>) -> Columns<'a> {
        let mut shown: Vec<(usize, &Heading, usize)> = table
            .shown(all)
            .into_iter()
            .map(|ix| (ix, &table.columns[ix], table.columns[ix].text.chars().count()))
            .collect();
        for cells in rows {
            for (ix, heading, width) in &mut shown {
                *width = (*width).max(show(heading, cells[*ix]).len());
            }
        }
        Columns { shown }
    }

    fn headings(&self) -> String {
        self.shown.iter().map(|(_, heading, width)| format!("{:>1$}", heading.text, width + 2)).collect()
    }

    fn cells(&self, cells: &[Cell]) -> String {
        let cell = |(ix, heading, width): &(usize, &Heading, usize)| {
            format!("{:>1$}", show(heading, cells[*ix]), width + 2)
        };
        self.shown.iter().map(cell).collect()
    }
}

fn show(heading: &Heading, cell: Cell) -> String {
    if heading.mean { heading.show(cell) } else { count(cell.n) }
}
