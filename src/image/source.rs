//! A regular file, read in pieces.
//!
//! In: a path. Out: bytes at offsets. A recording may name thousands of binaries, so no file stays open: each read opens it
//! again and makes sure that it is still the same. What had to be expanded, or is no file, is kept. Nothing but regular files
//! is opened, since a name in a recording may lead to a pipe that never answers.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// No section that is read whole may be larger: 256 MiB.
const LARGEST_READ: u64 = 1 << 28;

/// A file as it was when it was first opened.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    /// Those of the file as it is.
    InFile(Identity),
    Kept(Vec<u8>),
}

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
struct Identity {
    device: u64,
    inode: u64,
    len: u64,
    modified: (i64, i64),
}

impl Source {
    /// Opens `path` if it is a regular file.
    pub fn open(path: &Path) -> io::Result<(Source, File)> {
        let (file, metadata) = open_regular(path)?;
        let bytes = Bytes::InFile(Identity::of(&metadata));
        Ok((Source { path: path.to_owned(), bytes }, file))
    }

    /// What came from `path` and is not there as it is.
    pub fn kept(path: &Path, bytes: Vec<u8>) -> Source {
        Source { path: path.to_owned(), bytes: Bytes::Kept(bytes) }
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// When it was last changed, in seconds and nanoseconds since 1970, if it is there as it is.
    pub fn modified(&self) -> Option<(i64, i64)> {
        match &self.bytes {
            Bytes::InFile(identity) => Some(identity.modified),
            Bytes::Kept(_) => None,
        }
    }

    /// Size in bytes.
    pub fn len(&self) -> u64 {
        match &self.bytes {
            Bytes::InFile(identity) => identity.len,
            Bytes::Kept(bytes) => bytes.len() as u64,
        }
    }

    /// The bytes at `offset`; `None` unless all of them exist, and exist still.
    pub fn read(&self, offset: u64, len: u64) -> Option<Vec<u8>> {
        (len <= LARGEST_READ).then(|| self.read_any(offset, len))?
    }

    /// The same, however many they are.
    pub fn read_any(&self, offset: u64, len: u64) -> Option<Vec<u8>> {
        if offset.checked_add(len)? > self.len() {
            return None;
        }
        let len = usize::try_from(len).ok()?;
        let identity = match &self.bytes {
            Bytes::InFile(identity) => identity,
            Bytes::Kept(bytes) => {
                return Some(bytes.get(usize::try_from(offset).ok()?..)?.get(..len)?.to_vec());
            }
        };
        let (file, metadata) = open_regular(&self.path).ok()?;
        if Identity::of(&metadata) != *identity {
            return None;
        }
        let mut bytes = vec![0; len];
        file.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }
}

impl Identity {
    fn of(metadata: &Metadata) -> Identity {
        Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            len: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

fn open_regular(path: &Path) -> io::Result<(File, Metadata)> {
    let irregular = || io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
    if !fs::metadata(path)?.is_file() {
        return Err(irregular());
    }
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(irregular());
    }
    Ok((file, metadata))
}
