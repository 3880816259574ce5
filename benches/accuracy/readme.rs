//! The README's table of accuracy: instruction and function distances, by case and estimator.

use anyhow::{Context, Result};

use super::cases::{GRID, HELD, root};
use super::estimator::ALL;
use super::score::Scores;
use super::table::{NOISE, Row, Table};

/// The line before the table.
pub const BEGIN: &str = "<!-- accuracy: made by `cargo bench --bench accuracy -- --write-readme` -->";
/// The line behind it.
pub const END: &str = "<!-- /accuracy -->";

/// The table, markers included.
pub fn table(table: &Table) -> String {
    let names: Vec<&str> = ALL.iter().map(|e| e.name()).chain([NOISE]).collect();
    let mut text =
        format!("{BEGIN}\n\n| case | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    let mut cases: Vec<&str> = table.rows.iter().filter(|r| r.set == HELD).map(|r| r.case.as_str()).collect();
    cases.dedup();
    for case in cases {
        line(&mut text, case, &names, table, |row| row.set == HELD && row.case == case);
    }
    let mut grid: Vec<&str> = table.rows.iter().filter(|r| r.set == GRID).map(|r| r.case.as_str()).collect();
    grid.dedup();
    let heading = format!("mean of {} generated", grid.len());
    line(&mut text, &heading, &names, table, |row| row.set == GRID);
    text.push_str(&format!("\n{END}\n"));
    text
}

/// "instruction / function" for each estimator.
fn line(text: &mut String, heading: &str, names: &[&str], table: &Table, within: impl Fn(&Row) -> bool) {
    let cell = |name: &&str| {
        let value = |of: fn(&Scores) -> Option<f64>| match table.mean_of(name, &within, of) {
            Some(v) => format!("{v:.3}"),
            None => "–".into(),
        };
        format!("{} / {}", value(|s| s.instruction), value(|s| s.function))
    };
    let cells: Vec<String> = names.iter().map(cell).collect();
    text.push_str(&format!("| {heading} | {} |\n", cells.join(" | ")));
}

/// Replaces what stands between the README's markers.
pub fn write(text: &str) -> Result<()> {
    let path = root().join("README.md");
    let readme = std::fs::read_to_string(&path)?;
    let start = readme.find(BEGIN).context("the README has no marker where the table begins")?;
    let end = readme[start..].find(END).context("the README has no marker where the table ends")? + start;
    let rest = readme[end + END.len()..].trim_start_matches('\n');
    std::fs::write(&path, format!("{}{text}\n{rest}", &readme[..start]))?;
    Ok(())
}
