//! The recording's file: `perf.data` as perf writes it.
//!
//! ```text
//! header | ids of each event | attrs, each with the place of its ids | records | table of features | features
//! ```
//!
//! The header says that there are no bytes of records until all is written: from a recorder that was killed a reader takes all
//! records up to the end of the file.

use crate::error::Error;
use crate::features::Feature;
use crate::set_aside::SetAside;
use crate::sys::Attr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What both forms of a recording begin with.
pub const MAGIC: &[u8; 8] = b"PERFILE2";
const HEADER: u64 = 104;
/// `PERF_ATTR_SIZE_VER7`: what programs of 2022 know, and as much as is used. They refuse more.
const ATTR: usize = 128;

/// An event in the file.
#[derive(Clone, Debug)]
pub struct Described {
    /// Its attr.
    pub attr: Attr,
    /// Its name.
    pub name: String,
    /// Its numbers in records.
    pub ids: Vec<u64>,
}

/// A file that is being written. Dropped before it is finished, nothing of it stays, and what it replaced comes back.
#[derive(Debug)]
pub struct DataFile {
    path: PathBuf,
    file: File,
    /// An earlier recording of the same name.
    old: SetAside,
    /// Whether there is a file to remove: a device stays.
    is_regular: bool,
    finished: bool,
    attrs: u64,
    data: u64,
    end: u64,
}

impl DataFile {
    /// Begins the file; an earlier recording is kept with `.old` at its name.
    pub fn create(path: &Path, events: &[Described]) -> Result<DataFile, Error> {
        let failed = |cause| Error::Write { path: path.into(), cause };
        let old = SetAside::at(path).map_err(failed)?;
        // as perf does: what a stack held is nobody else's
        let mut options = OpenOptions::new();
        options.mode(0o600);
        let file = options.read(true).write(true).create(true).truncate(true).open(path).map_err(failed)?;
        let is_regular = file.metadata().map_err(failed)?.is_file();
        let path = path.to_owned();
        let mut data = DataFile { path, file, old, is_regular, finished: false, attrs: 0, data: 0, end: 0 };
        data.begin(events).map_err(|cause| data.failed(cause))?;
        Ok(data)
    }

    fn begin(&mut self, events: &[Described]) -> io::Result<()> {
        let ids = events.iter().map(|event| event.ids.len() as u64).sum::<u64>();
        self.attrs = HEADER + 8 * ids;
        self.data = self.attrs + (events.len() * (ATTR + 16)) as u64;
        self.end = self.data;
        let mut bytes = self.header(&[], 0, events.len());
        bytes.extend(events.iter().flat_map(|event| &event.ids).flat_map(|id| id.to_ne_bytes()));
        let mut at = HEADER;
        for event in events {
            let size = 8 * event.ids.len() as u64;
            bytes.extend(attr_bytes(&event.attr));
            bytes.extend([at, size].iter().flat_map(|word| word.to_ne_bytes()));
            at += size;
        }
        self.file.write_all(&bytes)
    }

    /// `magic; u64 size, attr_size; { u64 offset, size } attrs, data, event_types; u64 features[4];`
    fn header(&self, features: &[Feature], size: u64, events: usize) -> Vec<u8> {
        let attr = (ATTR + 16) as u64;
        let mut bits = [0u64; 4];
        for &feature in features {
            bits[feature as usize / 64] |= 1 << (feature as u32 % 64);
        }
        let words = [HEADER, attr, self.attrs, attr * events as u64, self.data, size, 0, 0];
        let words = words.iter().chain(&bits).flat_map(|word| word.to_ne_bytes());
        MAGIC.iter().copied().chain(words).collect()
    }

    /// Where the records begin, and end so far.
    pub fn records(&self) -> std::ops::Range<u64> {
        self.data..self.end
    }

    /// The file, to read it again.
    pub fn reader(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Adds records that are in two places.
    pub fn write_both(&mut self, first: &[u8], second: &[u8]) -> Result<(), Error> {
        let mut parts = [IoSlice::new(first), IoSlice::new(second)];
        let mut parts = &mut parts[..];
        IoSlice::advance_slices(&mut parts, 0);
        while !parts.is_empty() {
            match self.file.write_vectored(parts) {
                Ok(0) => return Err(self.failed(io::ErrorKind::WriteZero.into())),
                Ok(written) => {
                    self.end += written as u64;
                    IoSlice::advance_slices(&mut parts, written);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        Ok(())
    }

    /// Adds the features, and says in the header what there is.
    pub fn finish(mut self, mut features: Vec<(Feature, Vec<u8>)>, events: usize) -> Result<u64, Error> {
        features.sort_by_key(|(feature, _)| *feature);
        let size = self.close(&features, events).map_err(|cause| self.failed(cause))?;
        self.finished = true;
        self.old.keep();
        Ok(size)
    }

    fn close(&mut self, features: &[(Feature, Vec<u8>)], events: usize) -> io::Result<u64> {
        let mut at = self.end + 16 * features.len() as u64;
        let mut table = vec![];
        for (_, bytes) in features {
            table.extend([at, bytes.len() as u64].iter().flat_map(|word| word.to_ne_bytes()));
            at += bytes.len() as u64;
        }
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(&table)?;
        for (_, bytes) in features {
            self.file.write_all(bytes)?;
        }
        let kinds: Vec<Feature> = features.iter().map(|(feature, _)| *feature).collect();
        let header = self.header(&kinds, self.end - self.data, events);
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&header)?;
        Ok(at)
    }

    fn failed(&self, cause: io::Error) -> Error {
        Error::Write { path: self.path.clone(), cause }
    }
}

impl Drop for DataFile {
    fn drop(&mut self) {
        if self.finished || !self.is_regular {
            return;
        }
        // what was there before takes its place, if there was something
        let _ = fs::remove_file(&self.path);
    }
}

/// The attr as it stands in the file.
pub fn attr_bytes(attr: &Attr) -> Vec<u8> {
    let mut bytes = attr.bytes();
    bytes.resize(ATTR, 0);
    bytes[4..8].copy_from_slice(&(ATTR as u32).to_ne_bytes());
    bytes
}
