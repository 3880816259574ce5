//! The README's table of accuracy: a row per estimator, a column per case, instruction and function distances.

use anyhow::{Context, Result};

use super::cases::{GRID, HELD, root};
use super::estimator::ALL;
use super::score::Scores;
use super::table::{NOISE, Row, Table};

/// The line before the table.
const BEGIN: &str = "<!-- accuracy: made by `cargo bench --bench accuracy -- --write-readme` -->";
/// The line behind it.
const END: &str = "<!-- /accuracy -->";

/// A column: its heading, and the rows it is the mean of.
struct Column {
    heading: String,
    holds: Box<dyn Fn(&Row) -> bool>,
}

/// The table, markers included.
pub fn table(table: &Table) -> String {
    let columns = columns(table);
    let headings: Vec<&str> = columns.iter().map(|c| c.heading.as_str()).collect();
    let mut lines = vec![BEGIN.to_owned(), String::new()];
    lines.push(format!("| estimator | {} |", headings.join(" | ")));
    lines.push(format!("|---|{}", "---|".repeat(columns.len())));
    for name in ALL.iter().map(|e| e.name()).chain([NOISE]) {
        let cells: Vec<String> = columns.iter().map(|c| cell(table, name, &c.holds)).collect();
        lines.push(format!("| {name} | {} |", cells.join(" | ")));
    }
    lines.extend([String::new(), END.to_owned()]);
    lines.join("\n")
}

/// The cases that the repository holds, and the mean of those it makes.
fn columns(table: &Table) -> Vec<Column> {
    let cases = |set: &str| {
        let mut cases: Vec<String> =
            table.rows.iter().filter(|r| r.set == set).map(|r| r.case.clone()).collect();
        cases.dedup();
        cases
    };
    let held = |case: String| Column {
        heading: case.clone(),
        holds: Box::new(move |row| row.set == HELD && row.case == case),
    };
    let mut columns: Vec<Column> = cases(HELD).into_iter().map(held).collect();
    let heading = format!("mean of {} generated", cases(GRID).len());
    columns.push(Column { heading, holds: Box::new(|row| row.set == GRID) });
    columns
}

/// Instruction and function distance.
fn cell(table: &Table, name: &str, holds: &dyn Fn(&Row) -> bool) -> String {
    let value = |of: fn(&Scores) -> Option<f64>| match table.mean_of(name, holds, of) {
        Some(v) => format!("{v:.3}"),
        None => "–".into(),
    };
    format!("{} / {}", value(|s| s.instruction), value(|s| s.function))
}

/// Replaces what stands between the README's markers.
pub fn write(text: &str) -> Result<()> {
    let path = root().join("README.md");
    let readme = std::fs::read_to_string(&path)?;
    let start = readme.find(BEGIN).context("the README has no marker where the table begins")?;
    let length = readme[start..].find(END).context("the README has no marker where the table ends")?;
    let rest = &readme[start + length + END.len()..];
    std::fs::write(&path, format!("{}{text}{rest}", &readme[..start]))?;
    Ok(())
}
