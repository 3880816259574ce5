//! The recording as perf writes it to a pipe.
//!
//! ```text
//! magic, 16 | attr, with its ids, and name of each event | sections, each a record | records | build-ids
//! ```

use crate::error::Error;
use crate::features::Feature;
use crate::file::{Described, MAGIC, attr_bytes};
use crate::output::{Sections, stdout};
use crate::records::{HEADER, header, record};
use crate::survey::Survey;
use std::fs::File;
use std::io::{self, IsTerminal, Write};

/// `PERF_RECORD_HEADER_ATTR`
const ATTR: u32 = 64;
/// `PERF_RECORD_HEADER_TRACING_DATA`
const TRACING_DATA: u32 = 66;
/// `PERF_RECORD_EVENT_UPDATE`
const UPDATE: u32 = 78;
/// `PERF_EVENT_UPDATE__NAME`
const NAME: u64 = 2;
/// `PERF_RECORD_HEADER_FEATURE`
const FEATURE: u32 = 80;

/// A pipe that is being written.
#[derive(Debug)]
pub struct Stream {
    output: File,
    survey: Survey,
    /// Records in one piece.
    whole: Vec<u8>,
    written: u64,
}

impl Stream {
    /// Begins with all that is known.
    pub fn begin(events: &[Described], known: Sections) -> Result<Stream, Error> {
        let output = stdout().map_err(failed)?;
        if output.is_terminal() {
            return Err(failed(io::Error::other("it is a terminal")));
        }
        let mut stream = Stream { output, survey: Survey::for_events(events), whole: vec![], written: 0 };
        let mut bytes = MAGIC.to_vec();
        bytes.extend(16u64.to_ne_bytes());
        for event in events {
            let ids = event.ids.iter().flat_map(|id| id.to_ne_bytes());
            bytes.extend(fitting(ATTR, &attr_bytes(&event.attr), ids.collect()).map_err(failed)?);
        }
        for (event, id) in events.iter().filter_map(|event| Some((event, event.ids.first()?))) {
            let mut name = event.name.clone().into_bytes();
            name.resize((name.len() + 1).next_multiple_of(8), 0);
            let words: Vec<u8> = [NAME, *id].iter().flat_map(|word| word.to_ne_bytes()).collect();
            bytes.extend(fitting(UPDATE, &words, name).map_err(failed)?);
        }
        stream.put(&bytes)?;
        known.into_iter().try_for_each(|(feature, section)| stream.section(feature, section))?;
        Ok(stream)
    }

    fn section(&mut self, feature: Feature, section: Vec<u8>) -> Result<(), Error> {
        let padded = |mut section: Vec<u8>| {
            section.resize(section.len().next_multiple_of(8), 0);
            section
        };
        let bytes = match feature {
            // records already
            Feature::BuildId => section,
            Feature::TracingData => {
                let section = padded(section);
                let size = (section.len() as u32).to_ne_bytes();
                [record(TRACING_DATA, 0, &size), section].concat()
            }
            // one that has no room in a record is left out: readers have its facts from the records
            _ => fitting(FEATURE, &(feature as u64).to_ne_bytes(), padded(section)).unwrap_or_default(),
        };
        self.put(&bytes)
    }

    /// Bytes of records so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// What the records are.
    pub fn survey(&mut self) -> Survey {
        std::mem::take(&mut self.survey)
    }

    /// Adds records that are in two places, of which one may begin in the first and end in the second.
    pub fn write_both(&mut self, first: &[u8], second: &[u8]) -> Result<(), Error> {
        let mut whole = std::mem::take(&mut self.whole);
        whole.clear();
        whole.extend_from_slice(first);
        whole.extend_from_slice(second);
        let mut rest = whole.as_slice();
        while let Some((_, _, size)) = header(rest).filter(|(.., size)| (HEADER..=rest.len()).contains(size))
        {
            self.survey.add(&rest[..size]);
            rest = &rest[size..];
        }
        let done = self.put(&whole);
        self.whole = whole;
        done
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.written += bytes.len() as u64;
        self.output.write_all(bytes).map_err(failed)
    }

    /// Adds what is known only now.
    pub fn finish(mut self, sections: Sections) -> Result<u64, Error> {
        sections.into_iter().try_for_each(|(feature, section)| self.section(feature, section))?;
        Ok(self.written)
    }
}

fn failed(cause: io::Error) -> Error {
    Error::Write { path: "-".into(), cause }
}

/// A record, if its size has room in 16 bits.
fn fitting(kind: u32, head: &[u8], rest: Vec<u8>) -> io::Result<Vec<u8>> {
    let body = [head, &rest].concat();
    if HEADER + body.len() > usize::from(u16::MAX) {
        return Err(io::Error::other("so many counters have no room in a pipe: record to a file"));
    }
    Ok(record(kind, 0, &body))
}
