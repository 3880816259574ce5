//! Tarballs that `perf archive` makes of perf's build-id cache, to carry the binaries of a recording to another machine.
//!
//! In: the tarball, packed with bzip2, gzip or not at all. Out: a folder of its contents, which can be searched like the
//! cache itself and goes when it is dropped.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;

use crate::scratch::{self, Listed};
use tempfile::TempDir;

/// Archives are not unpacked beyond so many bytes: 64 GiB.
const LARGEST: u64 = 1 << 36;

/// The contents of an archive, as long as this lives.
#[derive(Debug)]
pub struct Unpacked {
    folder: TempDir,
    _listed: Listed,
}

impl Unpacked {
    /// Where they are.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Unpacks `archive`. Entries that lead out of the folder are left out.
pub fn unpack(archive: &Path) -> io::Result<Unpacked> {
    let mut file = File::open(archive)?;
    let mut magic = [0; 3];
    let len = file.read(&mut magic)?;
    file.rewind()?;
    let file = BufReader::new(file);
    let make = || tempfile::Builder::new().prefix("skidconv-archive-").tempdir();
    let (folder, _listed) = scratch::listed(make)?;
    match &magic[..len] {
        b"BZh" => entries(bzip2::read::MultiBzDecoder::new(file), folder.path()),
        [0x1f, 0x8b, _] => entries(flate2::read::MultiGzDecoder::new(file), folder.path()),
        _ => entries(file, folder.path()),
    }?;
    Ok(Unpacked { folder, _listed })
}

fn entries(from: impl Read, folder: &Path) -> io::Result<()> {
    let mut archive = tar::Archive::new(from.take(LARGEST));
    archive.set_preserve_permissions(false);
    archive.set_preserve_mtime(false);
    let mut any = false;
    for entry in archive.entries()? {
        let mut entry = entry?;
        use tar::EntryType::{Directory, Link, Regular, Symlink};
        if matches!(entry.header().entry_type(), Regular | Directory | Link | Symlink) {
            any |= entry.unpack_in(folder)?;
        }
    }
    match any {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, "it is no tarball with files in it")),
    }
}
