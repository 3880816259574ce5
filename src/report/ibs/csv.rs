//! The tables as rows: one a place or function and event, with the columns of all tables side by side.

use std::io::Write;

use super::{Cell, Heading, Sampled, Subject, Table};
use crate::export::{Error, plain};

/// Columns that say where.
const PLACE: [&str; 8] = ["table", "event", "image", "address", "symbol", "file", "line", "instruction"];
const FUNCTION: [&str; 5] = ["table", "event", "image", "address", "symbol"];

/// Writes one row per event and instruction with samples.
pub fn write_instructions(sampled: &Sampled, out: &mut dyn Write) -> Result<(), Error> {
    let layout = Layout::new(sampled);
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(layout.header(&PLACE))?;
    for table in &sampled.tables {
        for place in &table.places {
            let (file, line) = match &place.source {
                Some(source) => (source.file.as_str(), source.line.to_string()),
                None => ("", String::new()),
            };
            let address = format!("{:#x}", place.address);
            for (event, cells) in split(table, &place.cells) {
                let head = [table.subject(), event, &place.image, &address, &place.symbol, file, &line];
                let head = head.into_iter().chain([place.instruction.as_str()]).map(plain);
                writer.write_record(head.chain(layout.cells(table, cells)))?;
            }
        }
    }
    Ok(writer.flush()?)
}

/// Writes one row per event and function.
pub fn write_functions(sampled: &Sampled, out: &mut dyn Write) -> Result<(), Error> {
    let layout = Layout::new(sampled);
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(layout.header(&FUNCTION))?;
    for table in &sampled.tables {
        for function in &table.functions {
            let address = function.address.map(|address| format!("{address:#x}")).unwrap_or_default();
            for (event, cells) in split(table, &function.cells) {
                let head = [table.subject(), event, &function.image, &address, &function.name].map(plain);
                writer.write_record(head.into_iter().chain(layout.cells(table, cells)))?;
            }
        }
    }
    Ok(writer.flush()?)
}

/// A row per event: counters share a table, the others have their own.
fn split<'a>(table: &'a Table, cells: &'a [Cell]) -> Vec<(&'a str, &'a [Cell])> {
    if table.subject != Subject::Counters {
        return vec![(&table.event, cells)];
    }
    let columns = table.columns.iter().zip(cells.chunks(1));
    columns.filter(|(_, cells)| cells[0].n > 0).map(|(column, cells)| (column.text.as_str(), cells)).collect()
}

/// Which column each count stands in: samples first, then those of each subject.
struct Layout {
    keys: Vec<String>,
}

impl Layout {
    fn new(sampled: &Sampled) -> Layout {
        let mut keys = vec!["samples".to_owned()];
        for table in sampled.tables.iter().filter(|table| table.subject != Subject::Counters) {
            for column in table.columns.iter().skip(1) {
                let key = name(table, column);
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
        }
        Layout { keys }
    }

    fn header<'a>(&'a self, place: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
        place.iter().copied().chain(self.keys.iter().map(String::as_str))
    }

    fn cells(&self, table: &Table, cells: &[Cell]) -> Vec<String> {
        let mut row = vec![String::new(); self.keys.len()];
        for (ix, (column, cell)) in table.columns.iter().zip(cells).enumerate() {
            let at = match ix {
                0 => Some(0),
                _ => self.keys.iter().position(|key| *key == name(table, column)),
            };
            if let Some(shown) = at.and_then(|at| row.get_mut(at)) {
                *shown = column.show(*cell);
            }
        }
        row
    }
}

fn name(table: &Table, column: &Heading) -> String {
    format!("{}_{}", table.subject(), column.key)
}
