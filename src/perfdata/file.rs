//! A recording, opened.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::Path;

use linux_perf_data::Feature;
use linux_perf_event_reader::constants as c;

use super::attr::{IdsRow, read_attrs};
use super::features::{Described, Features};
use super::header::{Header, Section};
use super::ids::EventIds;
use super::layout::Layout;
use super::parts::{self, Part};
use super::records::{Checkpoint, Record, Records};
use super::sample::{Glance, Sample};
use super::sideband::Sideband;
use super::source::read_exact;
use super::stream::Stream;
use super::{Attr, AttrIx, Error, Warning};

/// A header section longer than this is not read: the longest of those used, the build-ids, is far shorter. In memory a
/// section may take six times as much.
const LONGEST_SECTION: u64 = 16 << 20;
/// Recordings of more events are refused: perf opens each of them on each processor.
pub(super) const MOST_EVENTS: u64 = 1 << 16;

/// A row of the table of header sections.
#[derive(Clone, Copy, Debug)]
pub(super) struct FeatureRow {
    pub feature: Feature,
    pub section: Section,
    /// Whether its section is inside the file.
    pub good: bool,
}

/// A recording in file, pipe or directory mode. Only its descriptions are in memory; the records are read on each walk.
#[derive(Debug)]
pub struct PerfFile {
    /// At least one: the file with the header, and what belongs to it.
    pub(super) parts: Vec<Part>,
    pub(super) len: u64,
    pub(super) header: Header,
    pub(super) attrs: Vec<Attr>,
    pub(super) ids_rows: Vec<IdsRow>,
    pub(super) feature_rows: Vec<FeatureRow>,
    pub(super) event_ids: EventIds,
    /// In pipe mode: whether there are compressed records.
    pub(super) stream_compressed: bool,
    layouts: Vec<Layout>,
    features: Features,
    warnings: Vec<Warning>,
}

impl PerfFile {
    /// Opens a recording: a file, or a folder in directory format. What cannot be read twice, such as a pipe, is copied to a
    /// temporary file first, which has no name; `-` is the standard input.
    pub fn open(path: &Path) -> Result<PerfFile, Error> {
        let is_folder = path.is_dir();
        let path = if is_folder { &parts::main_file(path)? } else { path };
        let file = open_regular(path).map_err(|source| Error::Open { path: path.to_owned(), source })?;
        let mut opened = PerfFile::load(file)?;
        if is_folder || opened.is_part() && path.file_name().is_some_and(|name| name == "data") {
            opened.parts.extend(parts::beside(path)?);
        }
        if opened.is_part() && !is_folder && opened.parts.len() == 1 && !parts::has_kcore(path) {
            opened.warnings.push(Warning::PartsMissing);
        }
        Ok(opened)
    }

    /// Takes a recording in a regular file that is open already.
    pub fn from_file(file: File) -> Result<PerfFile, Error> {
        let mut opened = PerfFile::load(file)?;
        let missing = opened.is_part().then_some(Warning::PartsMissing);
        opened.warnings.extend(missing);
        Ok(opened)
    }

    fn load(file: File) -> Result<PerfFile, Error> {
        let len = file.metadata().map_err(|source| Error::Read { offset: 0, source })?.len();
        let mut warnings = Vec::new();
        let header = Header::read(&file, len, &mut warnings)?;
        let mut opened = PerfFile {
            parts: vec![Part { file, data: header.data }],
            len,
            header,
            attrs: vec![],
            ids_rows: vec![],
            feature_rows: vec![],
            event_ids: EventIds::default(),
            stream_compressed: false,
            layouts: vec![],
            features: Features::default(),
            warnings,
        };
        match opened.header.pipe {
            true => opened.read_stream()?,
            false => {
                opened.read_features()?;
                opened.read_attrs()?;
            }
        }
        opened.understand_events()?;
        Ok(opened)
    }

    fn is_part(&self) -> bool {
        self.header.features.has_feature(Feature::DIR_FORMAT)
    }

    /// The file with the header.
    pub(super) fn main(&self) -> &File {
        &self.parts[0].file
    }

    fn read_stream(&mut self) -> Result<(), Error> {
        let PerfFile { parts, header, features, warnings, .. } = self;
        let stream = Stream::read(&parts[0].file, header, features, warnings)?;
        (self.attrs, self.stream_compressed) = (stream.attrs, stream.compressed);
        Ok(())
    }

    /// The events, from their own section, or else from their description behind the data.
    fn read_attrs(&mut self) -> Result<(), Error> {
        let PerfFile { parts, header, len, warnings, .. } = self;
        let (attrs, rows) = match read_attrs(&parts[0].file, header, *len, warnings) {
            Ok(read) if !read.0.is_empty() => read,
            other => {
                let error = other.err().unwrap_or(Error::NoEvents);
                let described: Vec<Attr> =
                    self.features.described.iter().filter_map(Described::attr).collect();
                if described.is_empty() {
                    return Err(error);
                }
                let reason = error.whole();
                warnings.push(Warning::EventsLost { reason });
                (described, vec![])
            }
        };
        (self.attrs, self.ids_rows) = (attrs, rows);
        Ok(())
    }

    /// The header sections, whose table is directly behind the data: a section for each bit that is set.
    fn read_features(&mut self) -> Result<(), Error> {
        let PerfFile { parts, len, header, features, warnings, .. } = self;
        let file = &parts[0].file;
        self.feature_rows = read_rows(file, header, *len, warnings);
        for &FeatureRow { feature, section, good } in &self.feature_rows {
            let wanted = Features::wants(feature);
            if section.size == 0 {
                continue;
            }
            if !good || wanted && section.size > LONGEST_SECTION {
                let Section { offset, size } = section;
                warnings.push(Warning::FeatureLost { feature, offset, size });
            } else if wanted {
                let bytes = read_exact(file, section.offset, section.size as usize)?;
                if features.read(feature, &bytes, header.endian).is_none() {
                    warnings.push(Warning::FeatureDamaged { feature });
                }
            }
        }
        Ok(())
    }

    /// Names of the events, the layout of their samples, and how to tell them apart.
    fn understand_events(&mut self) -> Result<(), Error> {
        if self.attrs.is_empty() {
            return Err(Error::NoEvents);
        }
        describe(&mut self.attrs, &self.features);
        let arch = self.features.arch.as_deref();
        for attr in &self.attrs {
            let layout = Layout::new(attr, self.header.endian, arch);
            let (bits, event) = (layout.unknown(), attr.name.clone());
            if bits != 0 {
                self.warnings.push(Warning::UnknownSampleFields { event, bits });
            }
            self.layouts.push(layout);
        }
        self.event_ids = EventIds::new(&self.attrs);
        if self.event_ids.blind(&self.attrs) {
            self.warnings.push(Warning::NoEventIds);
        }
        Ok(())
    }

    /// The events, in the order of the recording. At least one.
    pub fn attrs(&self) -> &[Attr] {
        &self.attrs
    }

    /// What the recording says about itself.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Bytes of records that are there.
    pub fn data_len(&self) -> u64 {
        self.parts.iter().map(|part| part.data.size).sum()
    }

    /// Where the first record begins.
    pub(super) fn start(&self) -> Checkpoint {
        Checkpoint::first(self.parts[0].data.offset)
    }

    /// Whether it is in pipe mode.
    pub fn is_pipe(&self) -> bool {
        self.header.pipe
    }

    /// What was tolerated on opening. A walk may find more: [`Records::warnings`].
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// A walk over all records from the start, in the order of the file. Any number may go on at once.
    pub fn records(&self) -> Result<Records<'_>, Error> {
        Ok(Records::new(self, None, None))
    }

    /// A walk over the records from one place to another, each taken from another walk; `None` for the start and the end.
    pub fn records_between(
        &self,
        from: Option<Checkpoint>,
        until: Option<Checkpoint>,
    ) -> Result<Records<'_>, Error> {
        Ok(Records::new(self, from, until))
    }

    /// Decodes a sample; `None` for records of other types and for samples of an event that is not in the recording.
    #[inline]
    pub fn sample<'a>(&'a self, record: &Record<'a>) -> Result<Option<Sample<'a>>, Error> {
        if record.kind != c::PERF_RECORD_SAMPLE {
            return Ok(None);
        }
        let Some(ix) = record.attr else {
            return Ok(None);
        };
        let (Some(attr), Some(layout)) = (self.attrs.get(ix.0 as usize), self.layouts.get(ix.0 as usize))
        else {
            return Ok(None);
        };
        let Record { offset, ordinal, .. } = *record;
        match Sample::decode(record, ix, attr, layout) {
            Ok(sample) => Ok(Some(sample)),
            Err(field) => Err(Error::Sample { offset, ordinal, field }),
        }
    }

    /// Decodes a little of a sample whose only list is its callchain; `None` for others, which [`Self::sample`] decodes. What
    /// can be decoded in one way can be in the other.
    #[inline]
    pub fn glance<'a>(&'a self, record: &Record<'a>) -> Option<Glance<'a>> {
        let ix = record.attr?;
        let (attr, layout) = (self.attrs.get(ix.0 as usize)?, self.layouts.get(ix.0 as usize)?);
        if !layout.is_plain() {
            return None;
        }
        Glance::decode(record.bytes, ix, attr, layout).ok()
    }

    /// The event that a counter's id belongs to.
    pub fn event_of_id(&self, id: u64) -> Option<AttrIx> {
        self.event_ids.of_id(id)
    }

    /// Whether samples of some event carry counter values: see [`Reads`](super::Reads).
    pub fn has_reads(&self) -> bool {
        self.attrs.iter().any(|attr| attr.sample_type & c::PERF_SAMPLE_READ != 0)
    }

    /// Decodes a record that tells of processes, memory or losses; `None` for records of other types and too short ones.
    pub fn sideband(&self, record: &Record<'_>) -> Option<Sideband> {
        if record.kind >= super::kinds::USER_TYPE_START || record.kind == c::PERF_RECORD_SAMPLE {
            return None;
        }
        Sideband::decode(record, self.layout_of_other(record)?)
    }

    /// How a record that is no sample ends.
    pub(super) fn layout_of_other(&self, record: &Record<'_>) -> Option<&Layout> {
        // Where the id is unknown the form of the first event's trailer is the best guess.
        self.layouts.get(record.attr.map_or(0, |ix| ix.0 as usize))
    }
}

fn open_regular(path: &Path) -> io::Result<File> {
    if path.as_os_str() == "-" {
        return spool(&mut io::stdin().lock());
    }
    let mut file = File::open(path)?;
    let regular = file.metadata()?.is_file();
    if regular { Ok(file) } else { spool(&mut file) }
}

fn spool(input: &mut impl io::Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(input, &mut file)?;
    Ok(file)
}

/// Names, and ids where the events' own section has none, from the description of events.
fn describe(attrs: &mut [Attr], features: &Features) {
    let by_id: HashMap<u64, &Described> =
        features.described.iter().flat_map(|d| d.ids.iter().map(move |&id| (id, d))).collect();
    for (i, attr) in attrs.iter_mut().enumerate() {
        let same = |d: &&Described| d.kind == attr.kind && d.config == attr.config;
        let of_ids = || attr.ids.iter().find_map(|id| by_id.get(id).copied());
        let Some(described) = features.described.get(i).filter(same).or_else(of_ids) else {
            continue;
        };
        attr.name.clone_from(&described.name);
        if attr.ids.is_empty() {
            attr.ids.clone_from(&described.ids);
        }
    }
}

fn read_rows(file: &File, header: &Header, len: u64, warnings: &mut Vec<Warning>) -> Vec<FeatureRow> {
    let Some(offset) = header.table else {
        return vec![];
    };
    let table = Section { offset, size: 16 * header.features.len() as u64 };
    let bytes = match table.end_within(len).map(|_| read_exact(file, offset, table.size as usize)) {
        Some(Ok(bytes)) => bytes,
        _ => {
            warnings.push(Warning::FeatureTableLost { offset });
            return vec![];
        }
    };
    let rows = header.features.iter().enumerate().map(|(i, feature)| {
        let section = Section::parse(&bytes, 16 * i, header.endian).unwrap_or_default();
        FeatureRow { feature, section, good: section.end_within(len).is_some() }
    });
    rows.collect()
}
