//! The tables that pprof's messages point into: strings, functions, locations.

use super::super::{Names, StackFrame, plain};
use super::mappings::{Mapping, Mappings};
use super::proto;
use crate::image::{Location, Symbol, hex};
use std::collections::HashMap;

/// Each string once; the empty one first.
pub(super) struct Strings {
    table: Vec<String>,
    index: HashMap<String, i64>,
}

impl Default for Strings {
    fn default() -> Strings {
        Strings { table: vec![String::new()], index: HashMap::from([(String::new(), 0)]) }
    }
}

impl Strings {
    pub fn id(&mut self, text: &str) -> i64 {
        if let Some(id) = self.index.get(text) {
            return *id;
        }
        let id = self.table.len() as i64;
        self.table.push(text.to_owned());
        self.index.insert(text.to_owned(), id);
        id
    }

    pub fn into_table(self) -> Vec<String> {
        self.table
    }
}

/// Each place once, with the functions that meet there.
pub(super) struct Locations<'a> {
    mappings: &'a Mappings,
    /// Whether a symbol, a file and an inlined function was found in each mapping.
    found: Vec<(bool, bool)>,
    locations: Vec<proto::Location>,
    by_address: HashMap<(Option<usize>, u64), u64>,
    functions: Vec<proto::Function>,
    by_name: HashMap<(i64, i64, i64), u64>,
}

impl<'a> Locations<'a> {
    pub fn new(mappings: &'a Mappings) -> Locations<'a> {
        Locations {
            mappings,
            found: vec![(false, false); mappings.list.len()],
            locations: Vec::new(),
            by_address: HashMap::new(),
            functions: Vec::new(),
            by_name: HashMap::new(),
        }
    }

    /// The location of a frame; a return address becomes one inside the call.
    pub fn id(&mut self, frame: &StackFrame, names: &mut dyn Names, strings: &mut Strings) -> u64 {
        let place = frame.described().and_then(|at| Some((at, self.mappings.resolve(at)?)));
        let key = match place {
            Some((_, (mapping, address))) => (Some(mapping), address),
            None => (None, frame.inside()),
        };
        if let Some(id) = self.by_address.get(&key) {
            return *id;
        }
        let symbol = place.and_then(|(at, _)| names.symbol(at));
        let start = |symbol: &Symbol, names: &mut dyn Names| {
            let at = Location { svma: symbol.start, ..place?.0 };
            names.symbol(at)?.frames.last()?.line
        };
        let line = match symbol {
            Some(symbol) => {
                let start = start(&symbol, names);
                self.lines(&symbol, key.0, start, strings)
            }
            None => Vec::new(),
        };
        let id = self.locations.len() as u64 + 1;
        let mapping_id = key.0.map_or(0, |mapping| mapping as u64 + 1);
        self.locations.push(proto::Location { id, mapping_id, address: key.1, line });
        self.by_address.insert(key, id);
        id
    }

    /// Innermost first. The outermost function is the symbol itself, which debug information may name differently, and the
    /// only one of which it is known where it starts.
    fn lines(
        &mut self,
        symbol: &Symbol,
        mapping: Option<usize>,
        start: Option<u32>,
        strings: &mut Strings,
    ) -> Vec<proto::Line> {
        if let Some(found) = mapping.map(|mapping| &mut self.found[mapping]) {
            found.0 = true;
            found.1 |= symbol.frames.iter().any(|frame| frame.file.is_some());
        }
        let inlined = symbol.frames.len().saturating_sub(1);
        let mut lines = Vec::with_capacity(inlined + 1);
        for frame in &symbol.frames[..inlined] {
            let name = frame.function.as_deref().unwrap_or("[inlined]");
            lines.push(self.line((name, name), frame.file.as_deref(), frame.line, None, strings));
        }
        let (file, line) = symbol.frames.last().map_or((None, None), |f| (f.file.as_deref(), f.line));
        let system_name = symbol.mangled.as_ref().unwrap_or(&symbol.name);
        lines.push(self.line((&symbol.name, system_name), file, line, start, strings));
        lines
    }

    fn line(
        &mut self,
        (name, system_name): (&str, &str),
        file: Option<&str>,
        line: Option<u32>,
        start: Option<u32>,
        strings: &mut Strings,
    ) -> proto::Line {
        let mut string = |text: &str| strings.id(&plain(text));
        let key = (string(name), string(system_name), string(file.unwrap_or_default()));
        let functions = &mut self.functions;
        let function_id = *self.by_name.entry(key).or_insert_with(|| {
            let id = functions.len() as u64 + 1;
            let (name, system_name, filename) = key;
            let start_line = start.unwrap_or(0).into();
            functions.push(proto::Function { id, name, system_name, filename, start_line });
            id
        });
        proto::Line { function_id, line: line.unwrap_or(0).into() }
    }

    pub fn finish(
        self,
        names: &dyn Names,
        strings: &mut Strings,
    ) -> (Vec<proto::Mapping>, Vec<proto::Location>, Vec<proto::Function>) {
        let described = self.mappings.list.iter().zip(&self.found).enumerate();
        let mappings =
            described.map(|(i, (mapping, found))| describe(i as u64 + 1, mapping, *found, names, strings));
        (mappings.collect(), self.locations, self.functions)
    }
}

/// Without a symbol, the mapping claims none, and pprof looks for the binary itself.
fn describe(
    id: u64,
    mapping: &Mapping,
    (symbols, lines): (bool, bool),
    names: &dyn Names,
    strings: &mut Strings,
) -> proto::Mapping {
    let start = mapping.segment.start.0.wrapping_add(mapping.shift);
    proto::Mapping {
        id,
        memory_start: start,
        memory_limit: start.saturating_add(mapping.segment.len),
        file_offset: mapping.segment.file_offset,
        filename: strings.id(&plain(&names.path(mapping.image))),
        build_id: names.build_id(mapping.image).map_or(0, |id| strings.id(&hex(&id))),
        has_functions: symbols,
        has_filenames: lines,
        has_line_numbers: lines,
        has_inline_frames: lines,
    }
}
