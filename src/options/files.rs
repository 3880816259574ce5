//! The files of a run, and whether they are in each other's way.
//!
//! In: what is read and what is to be written. Out: nothing, or why the run must not start. What it finds out leaves no trace.

use super::Error;
use crate::export::{Error as OutputError, Existing, Output};
use crate::perfdata;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What a run reads and writes. For a path, `-` is the standard input or output.
#[derive(Clone, Debug, Default)]
pub struct Files<'a> {
    /// Recordings to read. They have to be there.
    pub inputs: Vec<&'a Path>,
    /// What else is read.
    pub read: Vec<&'a Path>,
    /// The recording to write, which replaces an existing file only by force.
    pub recording: Option<&'a Path>,
    /// What else is written, in the place of what is there, which is no recording but by force.
    pub written: Vec<&'a Path>,
    /// Folders that files are written into; they are made where they are not there.
    pub folders: Vec<&'a Path>,
    /// Whether the recording may replace an existing file.
    pub force: bool,
}

impl Files<'_> {
    /// Refuses what could only fail or destroy something after the work.
    pub fn check(&self) -> Result<(), Error> {
        self.check_names()?;
        let other = self.written.iter().copied().find(|path| is_recording(path));
        let replaced = self.recording.filter(|path| is_taken(path)).or(other);
        if let Some(path) = replaced.filter(|_| !self.force) {
            return Err(OutputError::Exists(path.to_owned()).into());
        }
        // what is begun here is gone at once
        for path in self.outputs() {
            Output::create(path, Existing::Refuse)?;
        }
        for folder in &self.folders {
            let there = or_here(folder.ancestors().find(|above| above.exists()));
            Output::create(&there.join("any"), Existing::Refuse).map_err(|error| match error {
                OutputError::Create { source, .. } => OutputError::Create { path: folder.into(), source },
                other => other,
            })?;
        }
        Ok(())
    }

    /// Refuses outputs that are an input or each other.
    fn check_names(&self) -> Result<(), Error> {
        let id = |&path: &&Path| opened(path).map_err(|source| Error::Input { path: path.into(), source });
        let mut seen: Vec<FileId> = self.inputs.iter().map(id).collect::<Result<_, _>>()?;
        seen.extend(self.read.iter().filter_map(|path| FileId::of(path).ok()));
        let inputs = seen.len();
        for path in self.outputs() {
            if self.is_inside(path, &seen[..inputs]) {
                return Err(Error::IsInput(path.to_owned()));
            }
            let Some(id) = FileId::of_output(path) else { continue };
            match seen.iter().position(|other| *other == id) {
                Some(ix) if ix < inputs => return Err(Error::IsInput(path.to_owned())),
                Some(_) => return Err(Error::Twice(path.to_owned())),
                None => seen.push(id),
            }
        }
        Ok(())
    }

    fn outputs(&self) -> impl Iterator<Item = &Path> {
        self.recording.into_iter().chain(self.written.iter().copied())
    }

    /// Whether an output is a file of a recording in directory format.
    fn is_inside(&self, path: &Path, inputs: &[FileId]) -> bool {
        let within = |(input, id): (&&Path, &FileId)| {
            input.is_dir() && FileId::of(or_here(path.parent())).is_ok_and(|folder| folder == *id)
        };
        !is_stdout(path) && self.inputs.iter().zip(inputs).any(within)
    }
}

/// Whether an output's path means the standard output.
pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn opened(input: &Path) -> io::Result<FileId> {
    if is_stdout(input) {
        return Ok(FileId::Future(PathBuf::from("-")));
    }
    if fs::metadata(input)?.is_file() {
        fs::File::open(input)?;
    }
    FileId::of(input)
}

fn or_here(folder: Option<&Path>) -> &Path {
    folder.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A dangling link counts: replacing it would surprise as much.
fn is_taken(path: &Path) -> bool {
    !is_stdout(path) && fs::symlink_metadata(path).is_ok_and(|meta| !is_device(&meta))
}

/// Whether a recording stands there, which nobody wants to lose to a table.
fn is_recording(path: &Path) -> bool {
    let begins = || {
        let mut magic = [0; 8];
        fs::File::open(path)?.read_exact(&mut magic)?;
        io::Result::Ok(perfdata::is_recording(&magic))
    };
    !is_stdout(path) && fs::metadata(path).is_ok_and(|meta| meta.is_file()) && begins().unwrap_or(false)
}

/// Pipes, terminals, `/dev/null`: written to, never replaced.
pub(super) fn is_device(meta: &fs::Metadata) -> bool {
    !(meta.is_file() || meta.is_dir() || meta.is_symlink())
}

/// Tells whether two paths are one file, whatever links lead there.
#[derive(PartialEq, Eq)]
enum FileId {
    Existing {
        device: u64,
        inode: u64,
    },
    /// Not there yet: its folder without links, and its name.
    Future(PathBuf),
}

impl FileId {
    fn of(path: &Path) -> io::Result<FileId> {
        use std::os::unix::fs::MetadataExt;
        let meta = fs::metadata(path)?;
        Ok(FileId::Existing { device: meta.dev(), inode: meta.ino() })
    }

    /// `None` for outputs that cannot collide: streams and devices.
    fn of_output(path: &Path) -> Option<FileId> {
        if is_stdout(path) || fs::metadata(path).is_ok_and(|meta| is_device(&meta)) {
            return None;
        }
        if let Ok(id) = FileId::of(path) {
            return Some(id);
        }
        Some(FileId::Future(or_here(path.parent()).canonicalize().ok()?.join(path.file_name()?)))
    }
}
