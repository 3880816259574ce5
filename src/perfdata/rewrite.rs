//! A copy of a recording in which chosen samples are changed and everything else is the same, byte for byte.
//!
//! Except: compressed records are written plain and the header section that announces them is left out; a recording in
//! directory format becomes one file, its files' records one after the other; a record cut off by the end of the file is left
//! out, and what could not be read behind damage; header sections that are not in the file are no longer announced; the header of an
//! unfinished recording gets its data size. A stream in pipe mode stays one.

use std::io::{BufWriter, Seek, SeekFrom, Write};

use linux_perf_data::{Feature, FeatureSet};

use super::file::FeatureRow;
use super::header::{ATTRS_AT, DATA_SIZE_AT, EVENT_TYPES_AT, FEATURES_AT, PIPE_HEADER, Section};
use super::patch::Applied;
use super::relocate::Relocation;
use super::source::Source;
use super::stream::feature_of;
use super::{Deferred, Error, Patch, PerfFile, Record, Sample, Tally, Warning, kinds};
use crate::progress::{Progress, Stage};

/// How much is copied between two reports of progress, and written at a time.
const CHUNK: u64 = 1 << 20;

/// What was done.
#[derive(Clone, Debug, Default)]
pub struct Rewritten {
    /// Samples that were changed.
    pub patched: u64,
    /// Patches that could not be made; see [`Patch`]. The samples are as they were.
    pub refused: u64,
    /// Changed samples whose callchain stayed as it was, because its part of the sample's mode was too short.
    pub chains_kept: u64,
    /// Samples that could not be decoded; copied.
    pub undecodable: u64,
    /// Bytes written.
    pub bytes: u64,
    /// The records of the input.
    pub tally: Tally,
    /// What was tolerated during the walk.
    pub warnings: Vec<Warning>,
}

/// Copies `input` to `out`, which must be empty and at its start. `decide` is asked once for each sample that can be
/// decoded, in the order of the file. It sees callchains whole, parts that were [put off](super::Deferred) included, and so
/// are those of the samples that it changes.
pub fn rewrite(
    input: &PerfFile,
    out: &mut (impl Write + Seek),
    progress: &dyn Progress,
    decide: impl FnMut(&Record<'_>, &Sample<'_>) -> Option<Patch>,
) -> Result<Rewritten, Error> {
    let mut copy = Copy::new(input, &mut *out);
    copy.file_part(0, 0, input.header.data.offset)?;
    let mut done = copy.records(progress, decide)?;
    if !input.header.pipe {
        copy.finish(done.tally.compressed > 0)?;
    }
    copy.out.flush().map_err(Error::Write)?;
    done.bytes = copy.at;
    Ok(done)
}

/// Copies a recording in pipe mode to where one cannot seek, such as a pipe. [`Error::NotAStream`] for one in file mode.
pub fn rewrite_stream(
    input: &PerfFile,
    out: &mut impl Write,
    progress: &dyn Progress,
    decide: impl FnMut(&Record<'_>, &Sample<'_>) -> Option<Patch>,
) -> Result<Rewritten, Error> {
    if !input.header.pipe {
        return Err(Error::NotAStream);
    }
    let mut copy = Copy::new(input, out);
    copy.file_part(0, 0, PIPE_HEADER)?;
    let mut done = copy.records(progress, decide)?;
    copy.out.flush().map_err(Error::Write)?;
    done.bytes = copy.at;
    Ok(done)
}

/// A copy under way.
struct Copy<'f, W: Write> {
    input: &'f PerfFile,
    out: BufWriter<W>,
    /// Offset in the output.
    at: u64,
    moved: Vec<(u64, u64)>,
    deferred: Deferred<'f>,
}

impl<'f, W: Write> Copy<'f, W> {
    fn new(input: &'f PerfFile, out: W) -> Self {
        let out = BufWriter::with_capacity(CHUNK as usize, out);
        Copy { input, out, at: 0, moved: Vec::new(), deferred: Deferred::new(input) }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.at += bytes.len() as u64;
        self.out.write_all(bytes).map_err(Error::Write)
    }

    /// Copies the bytes from `start` up to `end` of one of the input's files.
    fn file_part(&mut self, part: usize, start: u64, end: u64) -> Result<(), Error> {
        let mut source = Source::new(&self.input.parts[part].file, start, end);
        loop {
            let bytes = source.peek(64 << 10)?;
            let n = bytes.len();
            if n == 0 {
                return Ok(());
            }
            self.at += n as u64;
            self.out.write_all(bytes).map_err(Error::Write)?;
            source.skip(n as u64);
        }
    }

    fn records(
        &mut self,
        progress: &dyn Progress,
        mut decide: impl FnMut(&Record<'_>, &Sample<'_>) -> Option<Patch>,
    ) -> Result<Rewritten, Error> {
        let mut records = self.input.records()?;
        let mut done = Rewritten::default();
        let mut scratch = Vec::new();
        let mut reported = 0;
        progress.start(Stage::Write, self.input.data_len());
        while let Some(record) = records.next()? {
            if !self.patched(&record, &mut decide, &mut scratch, &mut done)? {
                self.plain(&record)?;
            }
            let position = records.position();
            if position - reported >= CHUNK {
                progress.advance(Stage::Write, position - reported);
                reported = position;
            }
        }
        progress.advance(Stage::Write, records.position() - reported);
        progress.finish(Stage::Write);
        (done.tally, done.warnings) = (records.tally().clone(), records.warnings().to_vec());
        Ok(done)
    }

    /// Writes a sample that is to be changed. `false` for other records: nothing was written.
    #[inline]
    fn patched(
        &mut self,
        record: &Record<'_>,
        decide: &mut impl FnMut(&Record<'_>, &Sample<'_>) -> Option<Patch>,
        scratch: &mut Vec<u8>,
        done: &mut Rewritten,
    ) -> Result<bool, Error> {
        let mut record = record;
        let mut sample = match self.input.sample(record) {
            Ok(Some(sample)) => sample,
            Ok(None) => return Ok(false),
            Err(_) => {
                done.undecodable += 1;
                return Ok(false);
            }
        };
        let whole = self.deferred.join(record, &sample);
        if let Some(whole) = &whole
            && let Ok(Some(joined)) = self.input.sample(whole)
        {
            (record, sample) = (whole, joined);
        }
        let Some(patch) = decide(record, &sample) else {
            return Ok(false);
        };
        match patch.apply(record, &sample, self.input.header.endian, scratch) {
            Applied::Whole => done.patched += 1,
            Applied::ChainKept => {
                done.patched += 1;
                done.chains_kept += 1;
            }
            Applied::Refused => done.refused += 1,
        }
        self.write(scratch)?;
        Ok(true)
    }

    fn plain(&mut self, record: &Record<'_>) -> Result<(), Error> {
        if record.kind == kinds::HEADER_FEATURE
            && self.input.stream_compressed
            && feature_of(record.bytes, self.input.header.endian) == Some(Feature::COMPRESSED)
        {
            return Ok(());
        }
        // It says that all before a time has been seen, which is not so where files follow each other.
        if record.kind == kinds::FINISHED_ROUND && self.input.parts.len() > 1 {
            return Ok(());
        }
        if record.kind == kinds::AUXTRACE && record.part == 0 {
            self.moved.push((record.offset, self.at));
        }
        self.write(record.bytes)?;
        if record.payload > 0 {
            let start = record.offset + record.bytes.len() as u64;
            self.file_part(record.part, start, start + record.payload)?;
        }
        Ok(())
    }
}

/// Sections that are no longer true of the copy.
fn drops(feature: Feature, expanded: bool) -> bool {
    feature == Feature::DIR_FORMAT || expanded && feature == Feature::COMPRESSED
}

impl<W: Write + Seek> Copy<'_, W> {
    /// Writes what follows the data, and puts all offsets right.
    fn finish(&mut self, expanded: bool) -> Result<(), Error> {
        let rows = self.kept_rows(expanded);
        let map = self.relocation(&rows, expanded);
        for row in &rows {
            self.word(map.map(row.section.offset))?;
            self.word(row.section.size)?;
        }
        if self.input.header.table.is_some() || self.input.header.features.is_empty() {
            let mut from = map.tail;
            for Section { offset, size } in &map.holes {
                self.file_part(0, from, *offset)?;
                from = offset + size;
            }
            self.file_part(0, from, self.input.len)?;
        }
        self.fix_header(&rows, &map)?;
        self.fix_ids(&map)?;
        self.fix_trace_index(&rows, &map)?;
        self.out.seek(SeekFrom::Start(self.at)).map(drop).map_err(Error::Write)
    }

    fn word(&mut self, word: u64) -> Result<(), Error> {
        self.write(&self.input.header.endian.u64_bytes(word))
    }

    fn kept_rows(&self, expanded: bool) -> Vec<FeatureRow> {
        let keep = |row: &&FeatureRow| row.good && !drops(row.feature, expanded);
        self.input.feature_rows.iter().filter(keep).copied().collect()
    }

    fn relocation(&mut self, rows: &[FeatureRow], expanded: bool) -> Relocation {
        let data = self.input.header.data;
        let tail = data.offset + data.size + 16 * self.input.feature_rows.len() as u64;
        let apart = |a: Section, b: Section| {
            a.size == 0 || b.size == 0 || a.offset + a.size <= b.offset || b.offset + b.size <= a.offset
        };
        // What is no longer announced goes, if it is a section for itself.
        let alone = |hole: &Section| hole.offset >= tail && rows.iter().all(|row| apart(row.section, *hole));
        let dropped = self.input.feature_rows.iter().filter(|row| row.good && drops(row.feature, expanded));
        let mut holes: Vec<Section> = dropped.map(|row| row.section).filter(alone).collect();
        holes.sort_by_key(|hole| hole.offset);
        holes.dedup_by(|next, hole| !apart(*next, *hole));
        Relocation {
            data,
            new_data_end: self.at,
            tail,
            new_tail: self.at + 16 * rows.len() as u64,
            holes,
            moved: std::mem::take(&mut self.moved),
        }
    }

    fn fix_header(&mut self, rows: &[FeatureRow], map: &Relocation) -> Result<(), Error> {
        let header = &self.input.header;
        let size = map.new_data_end.saturating_sub(header.data.offset);
        self.put(DATA_SIZE_AT, &header.endian.u64_bytes(size))?;
        self.move_word(ATTRS_AT, header.attrs.offset, map)?;
        self.move_word(EVENT_TYPES_AT, header.event_types.offset, map)?;
        let mut set = FeatureSet([0; 4]);
        for FeatureRow { feature, .. } in rows {
            set.0[feature.0 as usize / 64] |= 1 << (feature.0 % 64);
        }
        if set != header.features {
            self.put(FEATURES_AT, &header.feature_bytes(set))?;
        }
        Ok(())
    }

    fn fix_ids(&mut self, map: &Relocation) -> Result<(), Error> {
        for row in &self.input.ids_rows {
            if !row.good {
                self.put(map.map(row.at), &[0; 16])?;
                continue;
            }
            self.move_word(map.map(row.at), row.section.offset, map)?;
        }
        Ok(())
    }

    /// `u64 nr; struct { u64 file_offset, size; } [nr];`: where the trace data records are.
    fn fix_trace_index(&mut self, rows: &[FeatureRow], map: &Relocation) -> Result<(), Error> {
        let Some(row) = rows.iter().find(|row| row.feature == Feature::AUXTRACE) else {
            return Ok(());
        };
        let Section { offset, size } = row.section;
        let endian = self.input.header.endian;
        let mut source = Source::new(self.input.main(), offset, offset + size);
        let entries = endian.u64(source.peek(8)?, 0).unwrap_or(0);
        source.skip(8);
        for i in 0..entries.min(size / 16) {
            let Some(old) = endian.u64(source.peek(16)?, 0) else {
                break;
            };
            self.move_word(map.map(offset) + 8 + 16 * i, old, map)?;
            source.skip(16);
        }
        Ok(())
    }

    /// Corrects an offset that stands at `at` in the output, if what it points to has moved.
    fn move_word(&mut self, at: u64, old: u64, map: &Relocation) -> Result<(), Error> {
        let new = map.map(old);
        match new == old {
            true => Ok(()),
            false => self.put(at, &self.input.header.endian.u64_bytes(new)),
        }
    }

    fn put(&mut self, at: u64, bytes: &[u8]) -> Result<(), Error> {
        self.out.seek(SeekFrom::Start(at)).map_err(Error::Write)?;
        self.out.write_all(bytes).map_err(Error::Write)
    }
}
