//! Where the binary that a recording names lies on this machine.
//!
//! In: the recorded name and build-id, and the folders to search. Out: an opened ELF file that is the right one, or the
//! reason why there is none and what to do about it. A file is the right one when its build-id is the recorded one.
//!
//! A recording may come from a stranger, and so may the paths in it. Nothing but regular files is opened, none under `/proc`,
//! `/sys` and `/dev`, none whose recorded path climbs with `..`, and outside `--symfs` and the folders of debug files none
//! whose build-id turns out to be another than the recorded one. One case is left to choose: a recording that knows no
//! build-id for a binary, as with `perf record -B`, through a pipe, or of a recorder that was killed. Then the path alone has
//! to do where the user pointed with `--symfs`; and where no `--symfs` is given, so that the recording is taken for one of
//! this machine, the recorded path itself is looked at, as perf does: its code is read like any other ELF file's, and nothing
//! of it leaves the program but names and addresses. A file there that was changed after the recording had ended is another.

use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::debuginfod::{Artifact, Debuginfod};
use super::elf::{Elf, ElfError};
use super::name::{ImageName, NameKind, undeleted};

/// Where images of kernels are installed, below a root.
const KERNELS: [&str; 3] = ["", "boot", "usr/lib/debug/boot"];

/// The folders to search.
#[derive(Clone, Debug, Default)]
pub struct SearchPath {
    /// Folders that stand for the recorded machine's root, as perf's `--symfs`; the first hit wins.
    pub symfs: Vec<PathBuf>,
    /// perf's build-id cache, `~/.debug`.
    pub cache: Option<PathBuf>,
    /// Unpacked tarballs of `perf archive`, which are caches of another machine.
    pub archives: Vec<PathBuf>,
    /// Folders of separate debug files, `/usr/lib/debug`.
    pub debug: Vec<PathBuf>,
    /// The recorded kernel's symbols: a list as `/proc/kallsyms` has them, or its image.
    pub kallsyms: Option<PathBuf>,
    /// Servers to ask for what is not here.
    pub debuginfod: Option<Debuginfod>,
    /// When the recording ended, in seconds and nanoseconds since 1970, if that is known.
    pub ended: Option<(i64, i64)>,
    /// Whether the recording names this machine, and the kernel that runs on it.
    pub here: bool,
}

impl SearchPath {
    /// What perf and the debuggers use, after the given `--symfs` folders.
    pub fn system(symfs: Vec<PathBuf>) -> SearchPath {
        let cache = std::env::home_dir().map(|home| home.join(".debug"));
        SearchPath { symfs, cache, debug: vec!["/usr/lib/debug".into()], ..SearchPath::default() }
    }
}

/// Why an image's code is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// No candidate exists.
    #[error("{path} was not found")]
    NotFound {
        /// As recorded.
        path: String,
    },
    /// The file is gone since before the recording.
    #[error("{path} had been deleted when it was recorded")]
    Deleted {
        /// As recorded, without ` (deleted)`.
        path: String,
    },
    /// A file is there, but another build of it.
    #[error("{} is not the recorded file: its build-id is {}, recorded was {wanted}", file.display(), found.as_deref().unwrap_or("missing"))]
    BuildIdMismatch {
        /// The candidate.
        file: PathBuf,
        /// In hexadecimal.
        wanted: String,
        /// In hexadecimal; `None` if the candidate has none.
        found: Option<String>,
    },
    /// A file is there and cannot be used.
    #[error("{}: {error}", file.display())]
    Unusable {
        /// The candidate.
        file: PathBuf,
        /// What is wrong with it.
        error: ElfError,
    },
    /// A file is there, which no build-id tells to be the recorded one, and was changed since.
    #[error("{} was changed after the recording, which does not know its build", file.display())]
    Changed {
        /// The candidate.
        file: PathBuf,
    },
    /// Several files were at the path, and no build-id tells which of them this is.
    #[error("{path} stands for {files} files in the recording, and {}", if *known { "this is not the one that is known" } else { "which of them is known does not show" })]
    OneOfSeveral {
        /// As recorded, without ` (deleted)`.
        path: String,
        /// How many.
        files: usize,
        /// Whether another of them is known.
        known: bool,
    },
    /// The recorded name is no path to look at.
    #[error("{path} is not a path of a binary")]
    NoPath {
        /// As recorded.
        path: String,
    },
}

/// What gets the recorded binaries here.
const ARCHIVE: &str = "on the recorded machine: perf archive; then skidconv with --archive perf.data.tar.bz2";

impl Missing {
    /// What the user can do about it.
    pub fn advice(&self) -> &'static str {
        match self {
            Missing::NotFound { .. } => {
                "copy the binary from the recorded machine and name its folder with --symfs"
            }
            Missing::Deleted { .. } => {
                "record again without replacing the binary, or name a copy's folder with --symfs"
            }
            Missing::BuildIdMismatch { .. } => {
                "name a folder that has the recorded build with --symfs, or run `perf archive` on the recorded machine"
            }
            Missing::Unusable { error: ElfError::Denied, .. } => {
                "make the file readable, or name a folder that has a good copy with --symfs"
            }
            Missing::Unusable { error: ElfError::Windows, .. } => {
                "nothing: only code of ELF files is read, and other code is left as it was recorded"
            }
            Missing::Unusable { error: ElfError::Other, .. } => {
                "nothing, unless the recorded file was another: then name a folder that has it with --symfs"
            }
            Missing::Unusable { .. } => "name a folder that has a good copy with --symfs",
            Missing::Changed { .. } => {
                "record again, without -B; if it is the recorded file all the same, use it with --symfs /"
            }
            Missing::OneOfSeveral { .. } => {
                "record with `perf record --buildid-mmap`, which tells which build each process has mapped"
            }
            Missing::NoPath { .. } => "nothing: such code is left as it was recorded",
        }
    }

    /// The command that would help; `asked` says that debuginfod's servers were asked in vain.
    pub fn command(&self, build_id: Option<&str>, asked: bool) -> String {
        match (self, build_id) {
            (Missing::NoPath { .. }, _) => "nothing: no file has its code".into(),
            (Missing::OneOfSeveral { .. }, _) => "record again with perf record --buildid-mmap".into(),
            (Missing::Changed { .. }, _) => self.advice().into(),
            (Missing::Unusable { file, error: ElfError::Denied }, _) => {
                format!("chmod a+r {}", file.display())
            }
            (Missing::Unusable { error: ElfError::Windows | ElfError::Other, .. }, _) => self.advice().into(),
            (_, Some(_)) => {
                format!("{ARCHIVE}{}", if asked { "" } else { "; or skidconv with --debuginfod" })
            }
            (_, None) => "copy the binary from the recorded machine and name its folder with --symfs".into(),
        }
    }

    /// How much the reason tells, to choose among those of several candidates.
    fn weight(&self) -> u8 {
        match self {
            Missing::NotFound { .. } | Missing::NoPath { .. } => 0,
            Missing::Deleted { .. } => 1,
            Missing::Unusable { .. } => 2,
            Missing::BuildIdMismatch { .. } | Missing::OneOfSeveral { .. } | Missing::Changed { .. } => 3,
        }
    }
}

impl SearchPath {
    /// Opens the binary that `name` stands for.
    pub fn locate(&self, name: &ImageName, build_id: Option<&[u8]>) -> Result<Elf, Missing> {
        let path = String::from_utf8_lossy(undeleted(&name.path)).into_owned();
        let mut reason = match name.kind {
            NameKind::Deleted => Missing::Deleted { path },
            _ if relative(undeleted(&name.path)).is_none() => Missing::NoPath { path },
            _ => Missing::NotFound { path },
        };
        for file in self.candidates(name, build_id) {
            match open_verified(&file, build_id).and_then(|elf| self.unchanged(elf, build_id)) {
                Ok(elf) => return Ok(elf),
                Err(Some(why)) if why.weight() > reason.weight() => reason = why,
                Err(_) => {}
            }
        }
        let fetched = build_id.and_then(|id| self.debuginfod.as_ref()?.fetch(id, Artifact::Executable));
        fetched.and_then(|file| open_verified(&file, build_id).ok()).ok_or(reason)
    }

    /// A file that nothing but its path speaks for, unless it was changed since; what the user points to is taken as it is.
    fn unchanged(&self, elf: Elf, build_id: Option<&[u8]>) -> Result<Elf, Option<Missing>> {
        match self.is_later(&elf) && build_id.is_none() && self.symfs.is_empty() {
            true => Err(Some(Missing::Changed { file: elf.path().to_owned() })),
            false => Ok(elf),
        }
    }

    /// Whether a file is known to have been changed after the recording had ended.
    pub(super) fn is_later(&self, elf: &Elf) -> bool {
        elf.modified().zip(self.ended).is_some_and(|(changed, ended)| changed > ended)
    }

    /// Build-id caches, those of other machines first.
    pub(super) fn caches(&self) -> impl Iterator<Item = &PathBuf> {
        self.archives.iter().chain(&self.cache)
    }

    /// The separate file with the symbols of a binary, if there is one: by its build-id, or by the name that the binary
    /// states and the checksum beside it.
    pub fn debug_file(&self, elf: &Elf) -> Option<Elf> {
        let by_id = elf.build_id().and_then(|build_id| self.debug_file_of(build_id));
        let linked = || {
            let (name, checksum) = elf.debug_link()?;
            let files = self.linked(elf.path(), &name);
            files.into_iter().find_map(|file| linked_file(&file, elf, checksum))
        };
        let fetched = || self.fetched_debug_file(elf.build_id()?);
        by_id.or_else(linked).or_else(fetched)
    }

    /// What a server has as the debug file of a build, be it that of a binary or one that binaries share.
    pub(super) fn fetched_debug_file(&self, build_id: &[u8]) -> Option<Elf> {
        let file = self.debuginfod.as_ref()?.fetch(build_id, Artifact::Debuginfo)?;
        open_verified(&file, Some(build_id)).ok()
    }

    /// The separate file with the symbols of a build.
    pub(super) fn debug_file_of(&self, build_id: &[u8]) -> Option<Elf> {
        let (folder, rest) = cache_name(build_id)?;
        let roots = self.symfs.iter().map(|dir| dir.join("usr/lib/debug")).chain(self.debug.iter().cloned());
        let mut files: Vec<PathBuf> =
            roots.map(|root| root.join(".build-id").join(&folder).join(format!("{rest}.debug"))).collect();
        let entries = self.caches().map(|cache| cache.join(".build-id").join(&folder).join(&rest));
        files.extend(entries.flat_map(|entry| [entry.join("debug"), entry.join("vmlinux")]));
        files.iter().find_map(|file| open_verified(file, Some(build_id)).ok())
    }

    /// The image of the kernel of a build: with its debug files, or where distributions install it below `--symfs`.
    pub(super) fn kernel(&self, build_id: &[u8]) -> Option<Elf> {
        let installed = || {
            let folders = self.symfs.iter().flat_map(|dir| KERNELS.map(|folder| dir.join(folder)));
            let files = folders.filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
            let mut files: Vec<PathBuf> = files.map(|entry| entry.path()).collect();
            files.retain(|file| file.file_name().is_some_and(|n| n.as_bytes().starts_with(b"vmlinux")));
            files.sort();
            files.iter().find_map(|file| open_verified(file, Some(build_id)).ok())
        };
        self.debug_file_of(build_id).or_else(installed)
    }

    /// Where GDB looks for a debug file of this name: beside the binary, in `.debug` there, under the folders of debug files.
    fn linked(&self, binary: &Path, name: &Path) -> Vec<PathBuf> {
        let Some(folder) = binary.parent() else { return Vec::new() };
        let mut files = vec![folder.join(name), folder.join(".debug").join(name)];
        let roots = self.symfs.iter().map(|dir| dir.join("usr/lib/debug")).chain(self.debug.iter().cloned());
        let within = self.symfs.iter().find_map(|root| folder.strip_prefix(root).ok());
        let within = within.or_else(|| folder.strip_prefix("/").ok());
        files.extend(roots.filter_map(|root| Some(root.join(within?).join(name))));
        files
    }

    /// The recorded path itself, if it may be looked at: `told` says that a build-id tells what is there.
    pub(super) fn as_recorded(&self, path: &[u8], told: bool) -> Option<PathBuf> {
        let path = relative(path).filter(|path| !is_virtual(path))?;
        (told || self.symfs.is_empty()).then(|| Path::new("/").join(path))
    }

    fn candidates(&self, name: &ImageName, build_id: Option<&[u8]>) -> Vec<PathBuf> {
        let mut files = Vec::new();
        if let Some(path) = relative(undeleted(&name.path)) {
            for dir in &self.symfs {
                files.push(dir.join(path));
                files.extend(path.file_name().map(|file| dir.join(file)));
            }
            // A deleted file's path may by now hold another file: only a build-id tells.
            if build_id.is_some() || name.kind == NameKind::File {
                files.extend(self.as_recorded(undeleted(&name.path), build_id.is_some()));
            }
        }
        if let Some((folder, rest)) = build_id.and_then(cache_name) {
            for cache in self.caches() {
                let entry = cache.join(".build-id").join(&folder).join(&rest);
                files.extend([entry.join("elf"), entry.join("vdso"), entry]);
            }
        }
        files
    }
}

pub(super) fn open_verified(file: &Path, build_id: Option<&[u8]>) -> Result<Elf, Option<Missing>> {
    if !file.exists() {
        return Err(None);
    }
    let unusable = |error| Some(Missing::Unusable { file: file.to_owned(), error });
    let elf = Elf::open(file).map_err(unusable)?;
    match build_id {
        Some(wanted) if !elf.build_id().is_some_and(|found| same_build(wanted, found)) => {
            let found = elf.build_id().map(hex);
            Err(Some(Missing::BuildIdMismatch { file: file.to_owned(), wanted: hex(wanted), found }))
        }
        _ => Ok(elf),
    }
}

/// A debug file of the right checksum, unless both state build-ids that differ.
fn linked_file(file: &Path, binary: &Elf, checksum: u32) -> Option<Elf> {
    let found = Elf::open(file).ok()?;
    match (binary.build_id(), found.build_id()) {
        (Some(wanted), Some(id)) => same_build(wanted, id).then_some(found),
        _ => (found.checksum()? == checksum).then_some(found),
    }
}

/// Recordings pad build-ids with zeros to 20 bytes where they do not know the length.
pub(super) fn same_build(recorded: &[u8], found: &[u8]) -> bool {
    match recorded.split_at_checked(found.len()) {
        Some((id, padding)) => id == found && !found.is_empty() && padding.iter().all(|&b| b == 0),
        None => false,
    }
}

/// An absolute path as relative to the root; `None` for anything that is not one or that climbs.
pub(super) fn relative(name: &[u8]) -> Option<&Path> {
    let path = Path::new(OsStr::from_bytes(name)).strip_prefix("/").ok()?;
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    (plain && !name.contains(&0) && path.file_name().is_some()).then_some(path)
}

/// Whether the kernel makes up what is there.
fn is_virtual(path: &Path) -> bool {
    ["proc", "sys", "dev"].iter().any(|root| path.starts_with(root))
}

fn cache_name(build_id: &[u8]) -> Option<(String, String)> {
    let (first, rest) = build_id.split_at_checked(1)?;
    (!rest.is_empty()).then(|| (hex(first), hex(rest)))
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
