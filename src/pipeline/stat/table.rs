//! Tables that say what samples cannot: how often functions were called, how much work they should have.

use std::collections::BTreeMap;
use std::path::Path;

use super::Error;

/// A number for each function's name.
pub type Numbers = BTreeMap<String, f64>;

/// What is known beside the samples.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// How often each function was called.
    pub calls: Numbers,
    /// Work that each should have, in any unit.
    pub expected: Numbers,
}

impl Known {
    /// Whether a function is to be told apart however few samples it has.
    pub fn names(&self, function: &str) -> bool {
        self.calls.contains_key(function) || self.expected.contains_key(function)
    }
}

/// Reads a CSV file with the columns `function` and `column`; others do not matter.
pub fn read(path: Option<&Path>, column: &str) -> Result<Numbers, Error> {
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
