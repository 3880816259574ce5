//! What samples cannot say: how often functions were called, how much work they should have.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::Error;
use crate::export::plain;
use crate::variance::Recording;

/// A number for each function's name.
pub type Numbers = BTreeMap<String, f64>;

/// What is known beside the samples.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// How often each function was called.
    pub calls: Numbers,
    /// Whether that is from a recording, which has functions that nobody asked for.
    pub recorded: bool,
    /// Work that each should have, in any unit.
    pub expected: Numbers,
}

impl Known {
    /// From a table or recording of calls, and a table of expectations.
    pub fn read(calls: Option<&Path>, expected: Option<&Path>) -> Result<Known, Error> {
        let recorded = calls.is_some_and(is_recording);
        let calls = match calls {
            Some(path) if recorded => self::recorded(path)?,
            path => read(path, "calls")?,
        };
        Ok(Known { calls, recorded, expected: read(expected, "expected")? })
    }

    /// Functions that a table names: they are told apart however few samples they have.
    pub fn named(&self) -> impl Iterator<Item = &String> {
        let calls = self.calls.keys().filter(|_| !self.recorded);
        calls.chain(self.expected.keys())
    }

    /// Whether `function` is one of those.
    pub fn names(&self, function: &str) -> bool {
        !self.recorded && self.calls.contains_key(function) || self.expected.contains_key(function)
    }
}

/// Tables do not begin with a brace.
fn is_recording(path: &Path) -> bool {
    let mut first = [0];
    File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok() && first == *b"{"
}

/// How often functions were called, by the calls that `skidconv record --variance` measured.
fn recorded(path: &Path) -> Result<Numbers, Error> {
    let recording = Recording::open(path)?;
    let mut numbers = Numbers::new();
    for (function, calls) in recording.call_counts() {
        *numbers.entry(plain(&function.name)).or_default() += calls;
    }
    Ok(numbers)
}

/// Reads a CSV file with the columns `function` and `column`; others do not matter.
fn read(path: Option<&Path>, column: &str) -> Result<Numbers, Error> {
    let Some(path) = path else { return Ok(Numbers::new()) };
    let failed = |source| Error::Table { path: path.to_owned(), source };
    let value = |line, what| Error::Value { path: path.to_owned(), line, what };
    let mut reader = ::csv::ReaderBuilder::new().trim(::csv::Trim::All).from_path(path).map_err(failed)?;
    let headers = reader.headers().map_err(failed)?.clone();
    let at = |name: &str| headers.iter().position(|header| header == name);
    let (Some(function), Some(number)) = (at("function"), at(column)) else {
        return Err(value(
            1,
            "needs a header with the columns function and calls (--calls) or expected (--expect)",
        ));
    };
    let mut numbers = Numbers::new();
    for record in reader.records() {
        let record = record.map_err(failed)?;
        let line = record.position().map_or(0, |position| position.line());
        let parsed = record.get(number).and_then(|text| text.parse::<f64>().ok());
        let parsed = parsed.filter(|number| (0.0..=1e18).contains(number));
        let Some(parsed) = parsed else { return Err(value(line, "not a number of 0 or more")) };
        *numbers.entry(record.get(function).unwrap_or_default().to_owned()).or_default() += parsed;
    }
    Ok(numbers)
}
