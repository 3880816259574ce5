//! The records as they lie in the file, compressed ones unopened.

use super::bytes::Endian;
use super::kinds;
use super::source::Source;
use super::{Error, Warning};

/// Size of `struct perf_event_header { u32 type; u16 misc; u16 size; }`.
pub(super) const RECORD_HEADER: usize = 8;
/// Bytes of `PERF_RECORD_HEADER_TRACING_DATA` at most, as perf writes it: the size of what follows, and padding.
const TRACING_DATA: usize = 16;

/// A record in the walk's buffer, valid until the next step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Raw {
    pub offset: u64,
    pub kind: u32,
    pub misc: u16,
    pub mark: usize,
    pub len: usize,
    /// Bytes that follow the record and belong to it.
    pub payload: u64,
}

/// One pass over the data section.
pub(super) struct Walk<'f> {
    source: Source<'f>,
    endian: Endian,
    begin: u64,
}

impl<'f> Walk<'f> {
    /// Over `file` from `begin` to `end`.
    pub fn new(file: &'f std::fs::File, begin: u64, end: u64, endian: Endian) -> Walk<'f> {
        Walk { source: Source::new(file, begin, end), endian, begin }
    }

    /// Bytes that were passed.
    pub fn position(&self) -> u64 {
        self.source.pos() - self.begin
    }

    /// Where in the file the next record begins.
    pub fn offset(&self) -> u64 {
        self.source.pos()
    }

    /// Passes over the rest and returns how much that is.
    pub fn give_up(&mut self) -> u64 {
        let left = self.source.remaining();
        self.source.skip(left);
        left
    }

    /// The bytes of a record.
    #[inline]
    pub fn bytes(&self, raw: &Raw) -> &[u8] {
        self.source.marked(raw.mark, raw.len)
    }

    /// The next record. An incomplete last one is left out with a warning, and so is all behind an impossible one.
    #[inline]
    pub fn next(&mut self, warnings: &mut Vec<Warning>) -> Result<Option<Raw>, Error> {
        let offset = self.source.pos();
        let head = self.source.peek(RECORD_HEADER)?;
        if head.len() < RECORD_HEADER {
            return Ok(self.end(offset, 0, warnings));
        }
        let (kind, misc, size) = parse_header(head, self.endian);
        let len = usize::from(size);
        if len < RECORD_HEADER {
            let left = self.give_up();
            warnings.push(Warning::RecordSize { offset, size, left });
            return Ok(None);
        }
        let bytes = self.source.peek(len)?;
        if bytes.len() < len {
            return Ok(self.end(offset, len as u64, warnings));
        }
        let payload = match kind {
            kinds::AUXTRACE => self.endian.u64(bytes, RECORD_HEADER).unwrap_or(0),
            // simpleperf counts what follows it as its own
            kinds::HEADER_TRACING_DATA if len > TRACING_DATA => 0,
            kinds::HEADER_TRACING_DATA => self.endian.u32(bytes, RECORD_HEADER).unwrap_or(0).into(),
            _ => 0,
        };
        let whole = payload.saturating_add(len as u64);
        if whole > self.source.remaining() {
            return Ok(self.end(offset, whole, warnings));
        }
        let mark = self.source.mark();
        self.source.skip(whole);
        Ok(Some(Raw { offset, kind, misc, mark, len, payload }))
    }

    fn end(&mut self, offset: u64, size: u64, warnings: &mut Vec<Warning>) -> Option<Raw> {
        let have = self.give_up();
        if have > 0 {
            warnings.push(Warning::RecordCut { offset, size, have });
        }
        None
    }
}

/// Type, misc and size of a record that has at least its header.
#[inline]
pub(super) fn parse_header(head: &[u8], endian: Endian) -> (u32, u16, u16) {
    let kind = endian.u32(head, 0).unwrap_or(0);
    (kind, endian.u16(head, 4).unwrap_or(0), endian.u16(head, 6).unwrap_or(0))
}
