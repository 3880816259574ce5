//! Counted samples → tables with names.

use std::collections::{BTreeMap, BTreeSet};

use super::listings::Lister;
use super::walk::Counted;
use crate::code::disassemble;
use crate::export::Context;
use crate::ibs::{Cell, Column, FETCH, Kind, MEMORY, OP, Unknown, Value, lacks_registers};
use crate::image::{Location, SourceText, Svma};
use crate::options::Options;
use crate::perfdata::{Attr, PerfFile};
use crate::pipeline::decoding;
use crate::pipeline::listings::source;
use crate::pipeline::summary::{Holder, holder, missing};
use crate::pipeline::survey::Survey;
use crate::pipeline::tally::Spot;
use crate::report::ibs::{Facts, FunctionRow, Heading, PlaceRow, Sampled, Subject, Table};

/// No instruction of x86 is longer.
const LONGEST: u64 = 15;

type Rows = BTreeMap<Spot, Vec<Cell>>;

/// Makes tables.
pub struct Maker<'a> {
    /// The recording.
    pub file: &'a PerfFile,
    /// Binaries, and what is missing.
    pub survey: &'a Survey,
    /// What the user asked for.
    pub options: &'a Options,
}

impl Maker<'_> {
    /// All tables of a recording: one per event, and one of all counters.
    pub fn make(&self, counted: Vec<Counted>, text: &mut SourceText, context: &mut Context<'_>) -> Sampled {
        let survey = self.survey;
        let known: BTreeSet<Location> = counted.iter().flat_map(Counted::instructions).collect();
        let lister = Lister { survey, known: &known, wanted: self.options };
        let fill = |(mut table, rows): (Table, Rows)| {
            table.functions = self.functions(&rows, context);
            if self.options.csv.is_some() {
                table.places = self.places(&rows, text, context);
            }
            table.listings = lister.listings(&table, &rows, text, context);
            table
        };
        let tables = self.tables(counted).into_iter().map(fill).collect();
        Sampled {
            version: env!("CARGO_PKG_VERSION").into(),
            input: self.options.input.display().to_string(),
            processor: self.file.features().cpu_desc.clone(),
            samples: survey.samples,
            tables,
            missing: missing(survey),
            warnings: survey.tolerated().map(String::from).collect(),
        }
    }

    /// The tables without names.
    fn tables(&self, counted: Vec<Counted>) -> Vec<(Table, Rows)> {
        let mut tables = Vec::new();
        let mut counters = Vec::new();
        for (attr, event) in self.file.attrs().iter().zip(counted) {
            let (subject, columns) = match event.kind {
                Kind::Fetch => (Subject::Fetch, headings(&FETCH)),
                Kind::Op(counting) => (Subject::Op(counting), headings(&OP)),
                Kind::Memory => (Subject::Memory, headings(&MEMORY)),
                Kind::Plain => {
                    counters.push((attr, event));
                    continue;
                }
            };
            let facts = Facts { bare: self.bare(attr), ..facts(&event) };
            let named =
                Table { event: attr.name.clone(), subject, samples: event.samples, facts, ..table(columns) };
            tables.push((named, event.tally.rows));
        }
        tables.extend(self.together(counters));
        tables
    }

    /// The event, if it is of the processor's sampling and was recorded without the registers.
    fn bare(&self, attr: &Attr) -> Vec<String> {
        lacks_registers(attr, self.file.features()).then(|| attr.name.clone()).into_iter().collect()
    }

    /// One table of the events that tell nothing but places, a column each.
    fn together(&self, counters: Vec<(&Attr, Counted)>) -> Option<(Table, Rows)> {
        let heading = |(attr, _): &(&Attr, Counted)| Heading {
            key: attr.name.clone(),
            text: attr.name.clone(),
            about: format!("samples of {}", attr.name),
            brief: true,
            mean: false,
        };
        let columns: Vec<Heading> = counters.iter().map(heading).collect();
        let mut rows = Rows::new();
        for (ix, (_, event)) in counters.iter().enumerate() {
            for (&spot, cells) in &event.tally.rows {
                rows.entry(spot).or_insert_with(|| vec![Cell::default(); columns.len()])[ix] = cells[0];
            }
        }
        let facts =
            Facts { bare: counters.iter().flat_map(|c| self.bare(c.0)).collect(), ..Facts::default() };
        let samples = counters.iter().map(|(_, event)| event.samples).sum();
        let event = counters.iter().map(|(attr, _)| attr.name.as_str()).collect::<Vec<_>>().join(", ");
        (!counters.is_empty()).then(|| (Table { event, samples, facts, ..table(columns) }, rows))
    }

    fn functions(&self, rows: &Rows, context: &mut Context<'_>) -> Vec<FunctionRow> {
        let mut sums: BTreeMap<Holder, Vec<Cell>> = BTreeMap::new();
        for (&spot, cells) in rows {
            let holder = holder(self.survey, spot, context);
            let sum = sums.entry(holder).or_insert_with(|| vec![Cell::default(); cells.len()]);
            sum.iter_mut().zip(cells).for_each(|(sum, cell)| sum.add(*cell));
        }
        let row = |(holder, cells)| {
            let (address, symbol, image) = match holder {
                Holder::Function(at) => (Some(at.svma.0), context.names.function(at), Some(at.image)),
                Holder::Image(image) => (None, None, Some(image)),
                Holder::Nowhere => (None, None, None),
            };
            FunctionRow {
                name: symbol.map_or_else(|| "[unknown]".into(), |symbol| symbol.name.clone()),
                image: image.map_or_else(String::new, |image| context.names.path(image)),
                address,
                cells,
            }
        };
        let mut functions: Vec<FunctionRow> = sums.into_iter().map(row).collect();
        functions.sort_by_key(|row| std::cmp::Reverse(row.cells.first().map_or(0, |cell| cell.n)));
        functions
    }

    fn places(&self, rows: &Rows, text: &mut SourceText, context: &mut Context<'_>) -> Vec<PlaceRow> {
        let place = |(&spot, cells): (&Spot, &Vec<Cell>)| match spot {
            Spot::At(at) => {
                let symbol = context.names.symbol(at);
                PlaceRow {
                    image: context.names.path(at.image),
                    address: at.svma.0,
                    instruction: self.instruction(at).unwrap_or_default(),
                    source: symbol.as_ref().and_then(|symbol| source(symbol, text)),
                    symbol: symbol.map_or_else(String::new, |symbol| symbol.name.clone()),
                    cells: cells.clone(),
                }
            }
            Spot::Bare(address) => PlaceRow { address, cells: cells.clone(), ..nowhere() },
        };
        let mut places: Vec<PlaceRow> = rows.iter().map(place).collect();
        places.sort_by(|a, b| a.image.cmp(&b.image).then(a.address.cmp(&b.address)));
        places
    }

    fn instruction(&self, at: Location) -> Option<String> {
        let image = self.survey.images.get(at.image);
        let bits = decoding::bitness(image)?;
        let code =
            (1..=LONGEST).rev().find_map(|len| image.code(at.svma..Svma(at.svma.0.checked_add(len)?)))?;
        disassemble(bits, &code)
    }
}

fn table(columns: Vec<Heading>) -> Table {
    Table {
        event: String::new(),
        subject: Subject::Counters,
        samples: 0,
        facts: Facts::default(),
        columns,
        functions: Vec::new(),
        places: Vec::new(),
        listings: Vec::new(),
    }
}

fn nowhere() -> PlaceRow {
    PlaceRow {
        image: "[unknown]".into(),
        address: 0,
        symbol: String::new(),
        instruction: String::new(),
        source: None,
        cells: Vec::new(),
    }
}

fn headings<S>(columns: &[Column<S>]) -> Vec<Heading> {
    let heading = |column: &Column<S>| Heading {
        key: column.key.into(),
        text: column.heading.into(),
        about: column.about.into(),
        brief: column.brief,
        mean: matches!(column.value, Value::Mean(_)),
    };
    columns.iter().map(heading).collect()
}

fn facts(event: &Counted) -> Facts {
    let tally = &event.tally;
    let name = |unknown: &Unknown| match unknown {
        Unknown::Capability(bit) => format!("capability bit {bit}"),
        Unknown::Bit(register, bit) => format!("{register}[{bit}]"),
        Unknown::Registers(n) => format!("{n} further registers"),
    };
    Facts {
        capabilities: tally.capabilities.iter().map(|(word, n)| (word.to_string(), *n)).collect(),
        unknown: tally.unknown.iter().map(|(unknown, n)| (name(unknown), *n)).collect(),
        damaged: tally.damaged,
        invalid: tally.invalid,
        nowhere: tally.nowhere,
        straddling: event.straddling,
        bare: Vec::new(),
    }
}
