//! Several recordings of the same command as one, so that its samples are those of all.
//!
//! In: recordings of one machine since it was started, with the same events and none during another. Out: a recording in file
//! mode with their records, one after the other in the order of their times, the ids of all their counters, and all their
//! build-ids; what else the first says of the machine. perf's own records, which describe one recording, are left out. No
//! sample is changed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufWriter, Seek, SeekFrom, Write};

use linux_perf_data::Feature;
use linux_perf_event_reader::constants as c;

use super::bytes::Endian;
use super::header::{BIG, LITTLE};
use super::source::read_exact;
use super::{Attr, BuildId, CpuMode, Error, PerfFile, kinds};

/// Why a recording cannot stand in one with the first.
#[derive(Debug, thiserror::Error)]
pub enum Unlike {
    /// Other events, or the same with other settings.
    #[error("its events are not those of the first, or not set up alike")]
    Events,
    /// Another machine.
    #[error("it is of another machine or kernel")]
    Machine,
    /// It has trace data, whose index counts bytes of its file.
    #[error("it has trace data")]
    Trace,
    /// A counter's id stands for another event there.
    #[error("its id {0} stands for two events: the machine was started anew between the recordings")]
    Id(u64),
    /// Its times are among those of another.
    #[error("its samples are not all before or after those of the others, or have no times")]
    Times,
    /// It cannot be read, or the result not written.
    #[error(transparent)]
    Io(#[from] Error),
}

/// What the header of a file in file mode takes.
const HEADER: u64 = 104;
/// What a path takes at most (`PATH_MAX` of Linux).
const LONGEST_NAME: usize = 4096;
/// What the first recording says that is true of all.
const KEPT: [Feature; 9] = [
    Feature::HOSTNAME,
    Feature::OSRELEASE,
    Feature::VERSION,
    Feature::ARCH,
    Feature::NRCPUS,
    Feature::CPUDESC,
    Feature::CPUID,
    Feature::TOTAL_MEM,
    Feature::CMDLINE,
];

/// Writes `files` to `out`, which must be empty; returns how many samples there are. The error says which of the files is
/// unlike.
pub fn pool(files: &[PerfFile], out: &mut (impl Write + Seek)) -> Result<u64, (usize, Unlike)> {
    let Some(first) = files.first() else { return Ok(0) };
    let ids = check(first, files)?;
    let order = order(files)?;
    let endian = first.header.endian;
    let mut pool = Pool { endian, out: BufWriter::with_capacity(1 << 20, out), at: 0 };
    let written = |error: std::io::Error| (0, Unlike::Io(Error::Write(error)));
    let attrs_at = HEADER + ids.iter().map(|ids| 8 * ids.len() as u64).sum::<u64>();
    let attr_len = first.attrs().first().map_or(0, |attr| attr.bytes.len() as u64);
    let attrs_len = (attr_len + 16) * ids.len() as u64;
    pool.put(&vec![0; HEADER as usize]).map_err(written)?;
    pool.put_attrs(first.attrs(), &ids).map_err(written)?;
    let data_at = pool.at;
    let mut samples = 0;
    for ix in order {
        samples += pool.records(&files[ix]).map_err(|error| (ix, Unlike::Io(error)))?;
    }
    let data_len = pool.at - data_at;
    let sections = sections(files, first, &ids).map_err(|error| (0, Unlike::Io(error)))?;
    let bits = pool.sections(&sections).map_err(written)?;
    let places = [HEADER, attr_len + 16, attrs_at, attrs_len, data_at, data_len, 0, 0];
    pool.header(&places, bits).map_err(written)?;
    Ok(samples)
}

/// Ids of all files by event.
fn check(first: &PerfFile, files: &[PerfFile]) -> Result<Vec<Vec<u64>>, (usize, Unlike)> {
    let mut ids: Vec<Vec<u64>> = vec![Vec::new(); first.attrs().len()];
    let mut events: BTreeMap<u64, usize> = BTreeMap::new();
    let lengths: BTreeSet<usize> = first.attrs().iter().map(|attr| attr.bytes.len()).collect();
    for (ix, file) in files.iter().enumerate() {
        let alike = |(a, b): (&Attr, &Attr)| a.bytes == b.bytes && a.name == b.name;
        let same = file.attrs().len() == ids.len() && first.attrs().iter().zip(file.attrs()).all(alike);
        if !same || lengths.len() != 1 || file.header.endian != first.header.endian {
            return Err((ix, Unlike::Events));
        }
        let (a, b) = (first.features(), file.features());
        if a.hostname != b.hostname || a.os_release != b.os_release || a.arch != b.arch {
            return Err((ix, Unlike::Machine));
        }
        for (event, attr) in file.attrs().iter().enumerate() {
            for &id in &attr.ids {
                match events.insert(id, event) {
                    Some(other) if other != event => return Err((ix, Unlike::Id(id))),
                    Some(_) => {}
                    None => ids[event].push(id),
                }
            }
        }
    }
    Ok(ids)
}

/// Files in the order of their times.
fn order(files: &[PerfFile]) -> Result<Vec<usize>, (usize, Unlike)> {
    let mut spans = Vec::new();
    for (ix, file) in files.iter().enumerate() {
        let failed = |error| (ix, Unlike::Io(error));
        let mut records = file.records().map_err(failed)?;
        let (mut from, mut to) = (u64::MAX, 0);
        while let Some(record) = records.next().map_err(failed)? {
            if record.payload > 0 {
                return Err((ix, Unlike::Trace));
            }
            if let Ok(Some(sample)) = file.sample(&record) {
                let time = sample.time.ok_or((ix, Unlike::Times))?;
                (from, to) = (from.min(time), to.max(time));
            }
        }
        spans.push((from, to, ix));
    }
    spans.sort_unstable();
    match spans.windows(2).find(|pair| pair[1].0 <= pair[0].1) {
        Some(pair) => Err((pair[1].2, Unlike::Times)),
        None => Ok(spans.into_iter().map(|span| span.2).collect()),
    }
}

/// The sections behind the data, by the numbers of their bits.
fn sections(files: &[PerfFile], first: &PerfFile, ids: &[Vec<u64>]) -> Result<BTreeMap<u32, Vec<u8>>, Error> {
    let mut sections = BTreeMap::new();
    for row in first.feature_rows.iter().filter(|row| row.good && KEPT.contains(&row.feature)) {
        // checked against the file's length when it was opened; none of them is long
        if row.section.size <= 1 << 20 {
            let bytes = read_exact(first.main(), row.section.offset, row.section.size as usize)?;
            sections.insert(row.feature.0, bytes);
        }
    }
    let endian = first.header.endian;
    let mut build_ids = Vec::new();
    let mut seen = BTreeSet::new();
    for id in files.iter().flat_map(|file| &file.features().build_ids) {
        if seen.insert((id.pid, id.filename.clone(), id.bytes.clone())) {
            build_ids.extend(build_id(endian, id).unwrap_or_default());
        }
    }
    if !build_ids.is_empty() {
        sections.insert(Feature::BUILD_ID.0, build_ids);
    }
    sections.insert(Feature::EVENT_DESC.0, described(endian, first.attrs(), ids));
    Ok(sections)
}

fn half(endian: Endian, half: u32) -> [u8; 4] {
    if endian == Endian::Big { half.to_be_bytes() } else { half.to_le_bytes() }
}

/// `struct perf_event_header; pid_t pid; u8 build_id[20], size, reserved[3]; char filename[];`, or nothing of a name that no
/// system has: an entry's size is stated in 16 bits.
fn build_id(endian: Endian, id: &BuildId) -> Option<Vec<u8>> {
    let name = (id.filename.len() + 1).next_multiple_of(64);
    let size = u16::try_from(36 + name).ok().filter(|_| name <= LONGEST_NAME)?;
    let mode = match id.mode {
        CpuMode::Unknown => 0,
        CpuMode::Kernel => 1,
        CpuMode::User => 2,
        CpuMode::Hypervisor => 3,
        CpuMode::GuestKernel => 4,
        CpuMode::GuestUser => 5,
    };
    let mut entry = half(endian, kinds::HEADER_BUILD_ID).to_vec();
    entry.extend(endian.u16_bytes(mode | c::PERF_RECORD_MISC_BUILD_ID_SIZE));
    entry.extend(endian.u16_bytes(size));
    entry.extend(half(endian, id.pid as u32));
    let mut bytes = id.bytes.clone();
    bytes.resize(20, 0);
    entry.extend(bytes);
    entry.extend([id.bytes.len().min(20) as u8, 0, 0, 0]);
    entry.extend(&id.filename);
    entry.resize(36 + name, 0);
    Some(entry)
}

/// `u32 nr, attr_size;` and for each event `struct perf_event_attr; u32 nr_ids; u32 len; char name[len]; u64 ids[];`
fn described(endian: Endian, attrs: &[Attr], ids: &[Vec<u64>]) -> Vec<u8> {
    let len = attrs.first().map_or(0, |attr| attr.bytes.len());
    let mut bytes = [half(endian, attrs.len() as u32), half(endian, len as u32)].concat();
    for (attr, ids) in attrs.iter().zip(ids) {
        let name = (attr.name.len() + 1).next_multiple_of(64);
        bytes.extend(&attr.bytes);
        bytes.extend([half(endian, ids.len() as u32), half(endian, name as u32)].concat());
        let end = bytes.len() + name;
        bytes.extend(attr.name.as_bytes());
        bytes.resize(end, 0);
        bytes.extend(ids.iter().flat_map(|&id| endian.u64_bytes(id)));
    }
    bytes
}

struct Pool<W: Write + Seek> {
    endian: Endian,
    out: BufWriter<W>,
    at: u64,
}

impl<W: Write + Seek> Pool<W> {
    fn put(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.at += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn words(&mut self, words: &[u64]) -> std::io::Result<()> {
        let endian = self.endian;
        self.put(&words.iter().flat_map(|&word| endian.u64_bytes(word)).collect::<Vec<u8>>())
    }

    fn put_attrs(&mut self, attrs: &[Attr], ids: &[Vec<u64>]) -> std::io::Result<()> {
        let mut at = self.at;
        ids.iter().try_for_each(|ids| self.words(ids))?;
        for (attr, ids) in attrs.iter().zip(ids) {
            let len = 8 * ids.len() as u64;
            self.put(&attr.bytes)?;
            self.words(&[at, len])?;
            at += len;
        }
        Ok(())
    }

    /// The kernel's records, and ends of rounds, after which perf may sort what it has.
    fn records(&mut self, file: &PerfFile) -> Result<u64, Error> {
        let mut records = file.records()?;
        let mut samples = 0;
        while let Some(record) = records.next()? {
            if record.kind < kinds::USER_TYPE_START || record.kind == kinds::FINISHED_ROUND {
                self.put(record.bytes).map_err(Error::Write)?;
                samples += u64::from(record.kind == c::PERF_RECORD_SAMPLE);
            }
        }
        let round = half(self.endian, kinds::FINISHED_ROUND);
        let sizes = [self.endian.u16_bytes(0), self.endian.u16_bytes(8)].concat();
        self.put(&[&round[..], &sizes].concat()).map_err(Error::Write)?;
        Ok(samples)
    }

    /// Writes the table of sections and the sections; returns their bits.
    fn sections(&mut self, sections: &BTreeMap<u32, Vec<u8>>) -> std::io::Result<u64> {
        let mut at = self.at + 16 * sections.len() as u64;
        for bytes in sections.values() {
            self.words(&[at, bytes.len() as u64])?;
            at += bytes.len() as u64;
        }
        sections.values().try_for_each(|bytes| self.put(bytes))?;
        Ok(sections.keys().fold(0, |bits, bit| bits | 1 << bit))
    }

    fn header(mut self, places: &[u64], bits: u64) -> std::io::Result<()> {
        self.out.seek(SeekFrom::Start(0))?;
        let magic = if self.endian == Endian::Big { BIG } else { LITTLE };
        self.put(magic)?;
        self.words(places)?;
        self.words(&[bits, 0, 0, 0])?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perfdata::Features;

    fn id(name: usize) -> BuildId {
        let filename = vec![b'a'; name];
        BuildId { pid: 7, mode: CpuMode::User, bytes: vec![3; 20], filename }
    }

    /// What is read of the build-ids of names of these lengths, once written.
    fn read(names: &[usize]) -> Vec<BuildId> {
        let entries = names.iter().flat_map(|&name| build_id(Endian::Little, &id(name)).unwrap_or_default());
        let mut features = Features::default();
        features.read(Feature::BUILD_ID, &entries.collect::<Vec<u8>>(), Endian::Little).unwrap();
        features.build_ids
    }

    #[test]
    fn build_ids_of_names_that_no_system_has_are_left_out() {
        let lengths = |names: &[usize]| read(names).iter().map(|id| id.filename.len()).collect::<Vec<_>>();
        assert_eq!(lengths(&[10, 4095, 4096, 65_499, 65_500, 70_000, 20]), [10, 4095, 20]);
        assert_eq!(read(&[70_000, 20])[0], id(20));
    }
}
