//! What single instructions and functions did, as plain data: tables of sampled fetches, ops and accesses, and of counters'
//! samples beside them.
//!
//! In: counted samples with names. Out: text for a terminal and rows of CSV; the page for a browser is drawn with the other
//! pages.

mod csv;
mod notes;
mod text;

pub use csv::{write_functions, write_instructions};
pub use notes::notes;
pub use text::{functions, listings};

use super::MissingImage;
use super::listing::SourceLine;
use crate::ibs::{Cell, Counting};

/// All tables of a recording.
#[derive(Clone, Debug, Default)]
pub struct Sampled {
    /// Version of this program.
    pub version: String,
    /// The recording's path.
    pub input: String,
    /// The recorded processor's name.
    pub processor: Option<String>,
    /// All samples.
    pub samples: u64,
    /// The tables, in the order of the recording's events, counters last.
    pub tables: Vec<Table>,
    /// Binaries that were not found.
    pub missing: Vec<MissingImage>,
    /// What was tolerated.
    pub warnings: Vec<String>,
}

/// What a table is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Fetches.
    Fetch,
    /// Ops, and how they were chosen.
    Op(Counting),
    /// Accesses to memory.
    Memory,
    /// Samples of counters, one column an event.
    Counters,
}

/// One event's samples, or those of all counters.
#[derive(Clone, Debug)]
pub struct Table {
    /// As perf prints it.
    pub event: String,
    /// What it is about.
    pub subject: Subject,
    /// Samples of the event.
    pub samples: u64,
    /// What there is to know about the samples.
    pub facts: Facts,
    /// The columns; the first counts every sample of an event.
    pub columns: Vec<Heading>,
    /// Functions, those with the most samples first.
    pub functions: Vec<FunctionRow>,
    /// Places with samples, by binary and address.
    pub places: Vec<PlaceRow>,
    /// Functions instruction by instruction.
    pub listings: Vec<Listing>,
}

/// What there is to know about the samples of an event beside its counts.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Capability words as text, and samples that have them.
    pub capabilities: Vec<(String, u64)>,
    /// What has no name, and in how many samples it occurs.
    pub unknown: Vec<(String, u64)>,
    /// Samples that could not be decoded.
    pub damaged: u64,
    /// Samples whose registers say that they hold none.
    pub invalid: u64,
    /// Ops whose address is not known, which stand in no row.
    pub nowhere: u64,
    /// Fetches given to an instruction that reaches into their block.
    pub straddling: u64,
    /// Events of the processor's sampling that were recorded without its registers.
    pub bare: Vec<String>,
}

/// A column's heading.
#[derive(Clone, Debug)]
pub struct Heading {
    /// For programs.
    pub key: String,
    /// For people.
    pub text: String,
    /// What it says.
    pub about: String,
    /// Whether it has a place in a narrow table.
    pub brief: bool,
    /// Whether it is a mean rather than a count.
    pub mean: bool,
}

/// A function, or what no function is known of.
#[derive(Clone, Debug)]
pub struct FunctionRow {
    /// Demangled.
    pub name: String,
    /// The binary's path as recorded.
    pub image: String,
    /// Its first address in the binary.
    pub address: Option<u64>,
    /// One per column.
    pub cells: Vec<Cell>,
}

/// A place with samples.
#[derive(Clone, Debug)]
pub struct PlaceRow {
    /// The binary's path as recorded.
    pub image: String,
    /// In the binary, or in memory where nothing is known to be mapped.
    pub address: u64,
    /// The function around it.
    pub symbol: String,
    /// Disassembled; empty where the code is not known.
    pub instruction: String,
    /// Where its code came from.
    pub source: Option<SourceLine>,
    /// One per column.
    pub cells: Vec<Cell>,
}

/// A function, instruction by instruction.
#[derive(Clone, Debug)]
pub struct Listing {
    /// Demangled.
    pub function: String,
    /// The binary's path as recorded.
    pub image: String,
    /// Its first address.
    pub address: u64,
    /// Its instructions, by address, with those places in between at which samples stand though no instruction is known.
    pub lines: Vec<Line>,
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Line {
    /// In the binary.
    pub address: u64,
    /// Disassembled; empty where no instruction is known to begin.
    pub text: String,
    /// Where its code came from.
    pub source: Option<SourceLine>,
    /// One per column.
    pub cells: Vec<Cell>,
}

impl Heading {
    /// A cell as text; nothing for a mean of nothing.
    pub fn show(&self, cell: Cell) -> String {
        match self.mean {
            true => cell.mean().map(|mean| format!("{mean:.2}")).unwrap_or_default(),
            false => cell.n.to_string(),
        }
    }
}

impl Table {
    /// The columns that have a place in a narrow table, and those of the rest that hold something if `all`.
    pub fn shown(&self, all: bool) -> Vec<usize> {
        let holds = |ix: usize| self.functions.iter().any(|row| row.cells.get(ix).is_some_and(|c| c.n > 0));
        (0..self.columns.len()).filter(|&ix| self.columns[ix].brief || all && holds(ix)).collect()
    }

    /// Its name for programs.
    pub fn subject(&self) -> &'static str {
        match self.subject {
            Subject::Fetch => "fetch",
            Subject::Op(_) => "op",
            Subject::Memory => "memory",
            Subject::Counters => "counters",
        }
    }
}
