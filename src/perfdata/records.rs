//! The records of a recording in file order, compressed ones expanded.

use linux_perf_event_reader::constants as c;

use super::inflate::{Inflater, Inner};
use super::parts::Part;
use super::tally::Tally;
use super::walk::{RECORD_HEADER, Raw, Walk};
use super::{AttrIx, Error, PerfFile, Warning, kinds};

/// One record, borrowed from the walk's buffer.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Which record of the walk it is, counted from 0.
    pub ordinal: u64,
    /// Where it stands in its file; if it was compressed, where the compressed record stands.
    pub offset: u64,
    /// Which file of the recording it stands in: 0 but in directory format.
    pub part: usize,
    /// `PERF_RECORD_*`.
    pub kind: u32,
    /// Flags; their meaning depends on the type.
    pub misc: u16,
    /// The whole record with its header of 8 bytes.
    pub bytes: &'a [u8],
    /// Whether it was compressed.
    pub compressed: bool,
    /// Bytes that follow it in the file and belong to it: trace data. They are not among `bytes`.
    pub payload: u64,
    /// The event it belongs to; `None` for records of perf's own and if its id is unknown.
    pub attr: Option<AttrIx>,
}

/// A compressed record that is being expanded.
#[derive(Clone, Copy)]
struct Chunk {
    raw: Raw,
    /// Its part that was not expanded yet, as a range of its bytes.
    from: usize,
    to: usize,
}

enum Step {
    Plain(Raw),
    Inner(Inner, u64),
}

/// A place between two records, where a walk can begin or end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    part: usize,
    offset: u64,
    ordinal: u64,
}

impl Checkpoint {
    pub(super) fn first(offset: u64) -> Checkpoint {
        Checkpoint { part: 0, offset, ordinal: 0 }
    }
}

/// One walk over the records. It lends each record until the next call.
pub struct Records<'f> {
    file: &'f PerfFile,
    part: usize,
    walk: Walk<'f>,
    until: Option<Checkpoint>,
    /// Bytes of the files before this one.
    passed: u64,
    inflater: Option<Inflater>,
    chunk: Option<Chunk>,
    ordinal: u64,
    over: bool,
    tally: Tally,
    warnings: Vec<Warning>,
}

impl<'f> Records<'f> {
    pub(super) fn new(
        file: &'f PerfFile,
        from: Option<Checkpoint>,
        until: Option<Checkpoint>,
    ) -> Records<'f> {
        let Checkpoint { part, offset, ordinal } = from.unwrap_or_else(|| file.start());
        Records {
            file,
            part,
            walk: walk(file, part, offset, until),
            until,
            passed: 0,
            inflater: None,
            chunk: None,
            ordinal,
            over: false,
            tally: Tally::new(file.attrs.len()),
            warnings: Vec::new(),
        }
    }

    /// The next record; `None` at the end. After an error the walk is over, and what it gave before stays good.
    #[allow(clippy::should_implement_trait)] // It lends, which an iterator cannot.
    #[inline]
    pub fn next(&mut self) -> Result<Option<Record<'_>>, Error> {
        if self.over {
            return Ok(None);
        }
        match self.step() {
            Ok(Some(Step::Plain(raw))) => Ok(Some(self.plain(raw))),
            Ok(Some(Step::Inner(inner, offset))) => Ok(Some(self.inner(inner, offset))),
            Ok(None) => {
                self.over = true;
                Ok(None)
            }
            Err(error) => {
                self.over = true;
                Err(error)
            }
        }
    }

    /// Where the next record begins; `None` once a record was compressed, since what follows needs all before it.
    pub fn checkpoint(&self) -> Option<Checkpoint> {
        let Records { part, ordinal, .. } = *self;
        self.inflater.is_none().then(|| Checkpoint { part, offset: self.walk.offset(), ordinal })
    }

    /// Bytes of the data section that were read, for progress: at the end it is [`PerfFile::data_len`].
    pub fn position(&self) -> u64 {
        self.passed + self.walk.position()
    }

    /// What was found so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// What was tolerated so far, besides [`PerfFile::warnings`]. Complete when the walk is.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    #[inline]
    fn step(&mut self) -> Result<Option<Step>, Error> {
        loop {
            if let Some(chunk) = self.chunk {
                match self.expand(chunk) {
                    Ok(Some(inner)) => return Ok(Some(Step::Inner(inner, chunk.raw.offset))),
                    Ok(None) => {}
                    Err(reason) => self.give_up_expanding(chunk.raw.offset, reason),
                }
                continue;
            }
            let Some(raw) = self.walk.next(&mut self.warnings)? else {
                match self.next_part() {
                    true => continue,
                    false => return Ok(None),
                }
            };
            match raw.kind {
                kinds::COMPRESSED | kinds::COMPRESSED2 => {
                    self.tally.compressed += 1;
                    match self.open_chunk(raw) {
                        Ok(chunk) => self.chunk = Some(chunk),
                        Err(reason) => self.give_up_expanding(raw.offset, reason),
                    }
                }
                _ => return Ok(Some(Step::Plain(raw))),
            }
        }
    }

    /// Nothing that follows in this file can be expanded, nor told where in the stream it belongs.
    fn give_up_expanding(&mut self, offset: u64, reason: String) {
        self.chunk = None;
        self.inflater = None;
        let left = self.walk.give_up();
        self.warnings.push(Warning::Compressed { offset, reason, left });
    }

    /// Goes on to the next file; `false` at the end of the last.
    fn next_part(&mut self) -> bool {
        let have = self.inflater.take().map_or(0, |inflater| inflater.left()) as u64;
        if have > 0 {
            let offset = self.walk.offset();
            self.warnings.push(Warning::CompressedCut { offset, have });
        }
        let last = self.until.map_or(self.file.parts.len() - 1, |until| until.part);
        if self.part >= last {
            return false;
        }
        self.passed += self.walk.position();
        self.part += 1;
        self.walk = walk(self.file, self.part, self.file.parts[self.part].data.offset, self.until);
        true
    }

    fn open_chunk(&self, raw: Raw) -> Result<Chunk, String> {
        if raw.kind == kinds::COMPRESSED {
            return Ok(Chunk { raw, from: RECORD_HEADER, to: raw.len });
        }
        let bytes = self.walk.bytes(&raw);
        let from = RECORD_HEADER + 8;
        let size = self.file.header.endian.u64(bytes, RECORD_HEADER);
        match size.and_then(|size| from.checked_add(usize::try_from(size).ok()?)) {
            Some(to) if to <= raw.len => Ok(Chunk { raw, from, to }),
            _ => Err("its data are longer than itself".into()),
        }
    }

    /// The next record of a chunk. `None` if some more had to be expanded, or nothing is left in it: then it is gone.
    fn expand(&mut self, mut chunk: Chunk) -> Result<Option<Inner>, String> {
        if self.inflater.is_none() {
            self.inflater = Some(Inflater::new()?);
        }
        let Some(inflater) = &mut self.inflater else {
            return Ok(None);
        };
        if let Some(inner) = inflater.record(self.file.header.endian)? {
            return match inner.kind {
                kinds::COMPRESSED | kinds::COMPRESSED2 | kinds::AUXTRACE | kinds::HEADER_TRACING_DATA => {
                    Err(format!("a record of type {} inside", inner.kind))
                }
                _ => Ok(Some(inner)),
            };
        }
        let input = self.walk.bytes(&chunk.raw).get(chunk.from..chunk.to).unwrap_or_default();
        let (used, made) = inflater.expand(input)?;
        chunk.from += used;
        self.chunk = (made > 0 || used > 0).then_some(chunk);
        Ok(None)
    }

    fn plain(&mut self, raw: Raw) -> Record<'_> {
        let bytes = self.walk.bytes(&raw);
        let Raw { offset, kind, misc, payload, .. } = raw;
        let attr = event(self.file, kind, bytes);
        self.tally.count(kind, attr, payload);
        self.ordinal += 1;
        let ordinal = self.ordinal - 1;
        Record { ordinal, offset, part: self.part, kind, misc, bytes, compressed: false, payload, attr }
    }

    fn inner(&mut self, inner: Inner, offset: u64) -> Record<'_> {
        let Inner { kind, misc, .. } = inner;
        let bytes = self.inflater.as_ref().map(|i| i.bytes(&inner)).unwrap_or_default();
        let attr = event(self.file, kind, bytes);
        self.tally.count(kind, attr, 0);
        self.ordinal += 1;
        let ordinal = self.ordinal - 1;
        Record { ordinal, offset, part: self.part, kind, misc, bytes, compressed: true, payload: 0, attr }
    }
}

fn walk(file: &PerfFile, part: usize, from: u64, until: Option<Checkpoint>) -> Walk<'_> {
    let Part { file: bytes, data, .. } = &file.parts[part];
    let end = until.filter(|until| until.part == part).map_or(data.offset + data.size, |until| until.offset);
    Walk::new(bytes, from, end, file.header.endian)
}

#[inline]
fn event(file: &PerfFile, kind: u32, bytes: &[u8]) -> Option<AttrIx> {
    match kind {
        c::PERF_RECORD_SAMPLE => file.event_ids.of_sample(bytes, file.header.endian),
        _ if kind < kinds::USER_TYPE_START => file.event_ids.of_other(bytes, file.header.endian),
        _ => None,
    }
}
