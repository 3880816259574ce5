//! An output that appears whole or not at all.
//!
//! A file is written beside its destination and renamed. Pipes and devices, which a rename would replace, and the standard
//! output (`-`) get a finished copy. A reader that closes its end early has what it wants: that is no error.

use super::Error;
use crate::options::is_stdout;
use crate::scratch::{self, Listed};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::{PathPersistError, TempPath};

/// What becomes of a file that is already at an output's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and committing fails.
    Refuse,
    /// It is replaced when the output is complete.
    Replace,
}

/// An output being written. Dropped without [`Output::commit`], it leaves nothing.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    file: BufWriter<File>,
    /// Where it stands until then.
    temporary: TempPath,
    listed: Listed,
    target: Target,
}

#[derive(Debug)]
enum Target {
    Rename(Existing),
    Copy,
}

impl Output {
    /// Starts an output that anyone may read, as far as the umask lets them.
    pub fn create(path: &Path, existing: Existing) -> Result<Output, Error> {
        Output::with_mode(path, existing, 0o666)
    }

    /// Starts an output with file mode `mode`, less the umask.
    pub fn with_mode(path: &Path, existing: Existing, mode: u32) -> Result<Output, Error> {
        let failed = |source| Error::Create { path: path.to_owned(), source };
        let path = followed(path).map_err(failed)?;
        let target = match is_stdout(&path) || is_stream(&path) {
            true => Target::Copy,
            false => Target::Rename(existing),
        };
        let folder = match target {
            Target::Copy => std::env::temp_dir(),
            Target::Rename(_) => parent(&path),
        };
        let mode = Permissions::from_mode(mode);
        let make = || tempfile::Builder::new().prefix(".skidconv-").permissions(mode).tempfile_in(folder);
        let (file, listed) = scratch::listed(make).map_err(failed)?;
        let (file, temporary) = file.into_parts();
        Ok(Output { path, file: BufWriter::with_capacity(1 << 16, file), temporary, listed, target })
    }

    /// Starts an output and lets `write` fill it.
    pub fn staged(
        path: &Path,
        existing: Existing,
        write: impl FnOnce(&mut Output) -> Result<(), Error>,
    ) -> Result<Output, Error> {
        let mut output = Output::create(path, existing)?;
        match write(&mut output) {
            Ok(()) => Ok(output),
            Err(Error::Io(source)) => Err(Error::Write { path: path.to_owned(), source }),
            Err(error) => Err(error),
        }
    }

    /// Makes all of them appear, or none: what may fail for want of room is done before the first of them is named, and
    /// what may not replace a file is named before what may.
    pub fn commit_all(mut outputs: Vec<Output>) -> Result<(), Error> {
        for output in &mut outputs {
            output.file.flush().map_err(|source| Error::Write { path: output.path.clone(), source })?;
        }
        outputs.sort_by_key(|output| match output.target {
            Target::Copy => 0,
            Target::Rename(Existing::Refuse) => 1,
            Target::Rename(Existing::Replace) => 2,
        });
        outputs.into_iter().try_for_each(Output::commit)
    }

    /// Makes it appear at its path.
    pub fn commit(self) -> Result<(), Error> {
        let Output { path, file, temporary, target, listed: _listed } = self;
        let done = match (file.into_inner(), target) {
            (Err(error), _) => Err(error.into_error()),
            (Ok(file), Target::Copy) => copy(file, &path),
            (Ok(_), Target::Rename(Existing::Replace)) => done(temporary.persist(&path)),
            (Ok(_), Target::Rename(Existing::Refuse)) => done(temporary.persist_noclobber(&path)),
        };
        done.map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists(path),
            _ => Error::Write { path, source },
        })
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for Output {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// The file a link leads to, so that the link itself is not replaced.
fn followed(path: &Path) -> io::Result<PathBuf> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(meta) if meta.is_symlink() && !is_stream(path) => path.canonicalize(),
        _ => Ok(path.to_owned()),
    }
}

fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir())
}

fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn done(persisted: Result<(), PathPersistError>) -> io::Result<()> {
    persisted.map_err(|failure| failure.error)
}

fn copy(mut file: File, path: &Path) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    let copied = match is_stdout(path) {
        true => io::copy(&mut file, &mut io::stdout().lock()).and_then(|_| io::stdout().flush()),
        false => OpenOptions::new().write(true).open(path).and_then(|mut to| {
            io::copy(&mut file, &mut to)?;
            to.flush()
        }),
    };
    match copied {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        copied => copied,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn nothing_stands_at_the_path_before_commit_nor_after_a_drop() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        let mut output = Output::create(&path, Existing::Refuse).unwrap();
        output.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(output);
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn an_existing_file_survives_unless_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        fs::write(&path, "old").unwrap();
        let mut refused = Output::create(&path, Existing::Refuse).unwrap();
        refused.write_all(b"new").unwrap();
        assert!(matches!(refused.commit(), Err(Error::Exists(_))));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        let mut replaced = Output::create(&path, Existing::Replace).unwrap();
        replaced.write_all(b"new").unwrap();
        replaced.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["out.csv"]);
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let mut output = Output::create(&link, Existing::Replace).unwrap();
        output.write_all(b"new").unwrap();
        output.commit().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
    }

    #[test]
    fn a_device_is_written_to_and_not_replaced() {
        let mut output = Output::create(Path::new("/dev/null"), Existing::Refuse).unwrap();
        output.write_all(b"gone").unwrap();
        output.commit().unwrap();
        assert!(is_stream(Path::new("/dev/null")));
    }

    #[test]
    fn a_full_device_is_an_error_that_names_it() {
        let write = |out: &mut Output| Ok(out.write_all(b"too much")?);
        let output = Output::staged(Path::new("/dev/full"), Existing::Replace, write).unwrap();
        let error = output.commit().unwrap_err();
        assert!(error.to_string().contains("/dev/full"), "{error}");
        let failing = |_: &mut Output| Err(io::Error::other("no").into());
        let error = Output::staged(Path::new("/dev/full"), Existing::Replace, failing).unwrap_err();
        assert!(error.to_string().contains("/dev/full"), "{error}");
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = Output::create(Path::new("/nonexistent/out"), Existing::Refuse).unwrap_err();
        assert!(error.to_string().contains("/nonexistent/out"), "{error}");
    }

    #[test]
    fn a_reader_gone_early_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        let reader = std::thread::spawn({
            let fifo = fifo.clone();
            move || drop(fs::File::open(fifo).unwrap())
        });
        let mut output = Output::create(&fifo, Existing::Refuse).unwrap();
        output.write_all(&vec![b'x'; 1 << 20]).unwrap();
        output.commit().unwrap();
        reader.join().unwrap();
    }
}
