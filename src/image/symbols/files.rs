//! Which files are read for symbols: the only door between wholesym and the disk.
//!
//! In: binaries that were found, and the paths that their debug information names. Out: the bytes of those that may be read.
//!
//! A binary may come from a stranger, and so may the paths in it: of split units (`.dwo`) and of the file that dwz makes of what
//! several binaries share. They are looked for under `--symfs` and in the folders of debug files. Elsewhere they are read if
//! they are regular files and the right ones, by the build-id or the id of the unit. Separate debug files are chosen by
//! [`SearchPath`] alone.

use std::fmt;
use std::future::ready;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use wholesym::samply_symbols::{
    CandidatePathInfo, ElfBuildId, FileAndPathHelper, FileAndPathHelperResult, FileByteSource,
    FileContentsWithChunkedCaching, FileLocation, LibraryInfo, OptionallySendFuture,
};

use crate::image::elf::Elf;
use crate::image::expansion::is_bounded;
use crate::image::locate::{SearchPath, open_verified, relative};
use crate::image::nesting::is_nested;
use crate::image::peril::is_perilous;
use crate::image::source::Source;
use crate::image::split::unit_ids;

/// A file that wholesym may ask for.
#[derive(Clone, Debug)]
pub enum Place {
    /// One that was found.
    File(Arc<Path>),
    /// A split unit, as a binary names it.
    Split {
        /// The binary.
        of: Arc<Path>,
        /// Where its debug information says that it is.
        path: PathBuf,
    },
}

impl Place {
    /// A file that was found.
    pub fn file(path: &Path) -> Place {
        Place::File(path.into())
    }

    fn path(&self) -> &Path {
        match self {
            Place::File(path) => path,
            Place::Split { path, .. } => path,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path().display().fmt(f)
    }
}

/// What belongs to other systems than Linux is nowhere.
impl FileLocation for Place {
    fn location_for_dyld_subcache(&self, _: &str) -> Option<Place> {
        None
    }

    fn location_for_external_object_file(&self, _: &str) -> Option<Place> {
        None
    }

    fn location_for_pdb_from_binary(&self, _: &str) -> Option<Place> {
        None
    }

    fn location_for_source_file(&self, _: &str) -> Option<Place> {
        None
    }

    fn location_for_breakpad_symindex(&self) -> Option<Place> {
        None
    }

    fn location_for_dwo(&self, comp_dir: &str, path: &str) -> Option<Place> {
        let Place::File(of) = self else { return None };
        let path = of.parent()?.join(comp_dir).join(path);
        Some(Place::Split { of: of.clone(), path })
    }

    /// By convention beside the binary, under its name.
    fn location_for_dwp(&self) -> Option<Place> {
        let mut path = self.path().as_os_str().to_owned();
        path.push(".dwp");
        Some(Place::file(Path::new(&path)))
    }
}

/// Decides what is opened.
pub struct Files(Arc<SearchPath>);

impl Files {
    /// Looks where `search` says.
    pub fn new(search: Arc<SearchPath>) -> Files {
        Files(search)
    }

    fn open(&self, place: &Place) -> Option<Contents> {
        match place {
            Place::File(path) => contents(Elf::open(path).ok()?),
            Place::Split { of, path } => contents(self.split(of, path)?),
        }
    }

    fn split(&self, of: &Path, path: &Path) -> Option<Elf> {
        let known = self.known(path).into_iter().find_map(|file| Elf::open(&file).ok());
        known.or_else(|| {
            let wanted = unit_ids(&Elf::open(of).ok()?, false);
            let found = Elf::open(path).ok()?;
            unit_ids(&found, true).iter().any(|id| wanted.contains(id)).then_some(found)
        })
    }

    /// Where a path leads that stays in folders that the user named or debug files are in.
    fn known(&self, path: &Path) -> Vec<PathBuf> {
        let Some(inside) = relative(path.as_os_str().as_bytes()) else { return Vec::new() };
        let Files(search) = self;
        let roots = || search.symfs.iter().chain(&search.debug).chain(search.caches());
        let there = roots().any(|root| path.starts_with(root)).then(|| path.to_owned());
        there.into_iter().chain(roots().map(|root| root.join(inside))).collect()
    }
}

impl FileAndPathHelper for Files {
    type F = Contents;
    type FL = Place;

    fn get_candidate_paths_for_debug_file(
        &self,
        _: &LibraryInfo,
    ) -> FileAndPathHelperResult<Vec<CandidatePathInfo<Place>>> {
        Ok(Vec::new())
    }

    fn get_candidate_paths_for_binary(
        &self,
        _: &LibraryInfo,
    ) -> FileAndPathHelperResult<Vec<CandidatePathInfo<Place>>> {
        Ok(Vec::new())
    }

    fn get_dyld_shared_cache_paths(&self, _: Option<&str>) -> FileAndPathHelperResult<Vec<Place>> {
        Ok(Vec::new())
    }

    fn get_candidate_paths_for_supplementary_debug_file(
        &self,
        of: &Place,
        path: &str,
        ElfBuildId(build_id): &ElfBuildId,
    ) -> FileAndPathHelperResult<Vec<Place>> {
        let named = of.path().parent().map(|folder| folder.join(path));
        let mut files = named.iter().flat_map(|named| self.known(named)).chain(named.clone());
        let stated = || files.find_map(|file| open_verified(&file, Some(build_id)).ok());
        let found =
            self.0.debug_file_of(build_id).or_else(stated).or_else(|| self.0.fetched_debug_file(build_id));
        Ok(found.map(|elf| Place::file(elf.path())).into_iter().collect())
    }

    fn load_file(
        &self,
        place: Place,
    ) -> Pin<Box<dyn OptionallySendFuture<Output = FileAndPathHelperResult<Contents>> + '_>> {
        Box::pin(ready(self.open(&place).ok_or_else(|| format!("{place} is not read").into())))
    }
}

/// The bytes of a file, kept once they were read.
type Contents = FileContentsWithChunkedCaching<Whole>;

fn contents(elf: Elf) -> Option<Contents> {
    let source = (is_bounded(&elf) && !is_perilous(&elf) && !is_nested(&elf)).then(|| elf.into_source())?;
    Some(FileContentsWithChunkedCaching::new(source.len(), Whole(source)))
}

/// A file as it was when it was checked.
pub struct Whole(Source);

impl FileByteSource for Whole {
    fn read_bytes_into(&self, buffer: &mut Vec<u8>, offset: u64, size: usize) -> FileAndPathHelperResult<()> {
        let bytes = self.0.read_any(offset, size as u64).ok_or("the file is no longer what it was")?;
        buffer.extend(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::testing::build;

    const ID: [u8; 20] = [7; 20];

    /// What is opened for the file that dwz made, which `/opt/app/program` says is at `path`.
    fn shared(search: SearchPath, path: &Path) -> Option<PathBuf> {
        let files = Files::new(Arc::new(search));
        let (of, path) = (Place::file(Path::new("/opt/app/program")), path.to_str().unwrap());
        let id = ElfBuildId(ID.to_vec());
        let found = files.get_candidate_paths_for_supplementary_debug_file(&of, path, &id).unwrap();
        found.first().map(|place| place.path().to_owned())
    }

    #[test]
    fn a_shared_file_is_the_one_of_the_build_id_or_none() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(name);
        let right = build(file("right"), &ID);
        assert_eq!(shared(SearchPath::default(), &right).as_ref(), Some(&right));
        let climbing = dir.path().join("../..").join(right.strip_prefix("/").unwrap());
        assert!(shared(SearchPath::default(), &climbing).unwrap().ends_with("right"));
        assert_eq!(shared(SearchPath::default(), &build(file("wrong"), &[8; 20])), None);
        std::fs::write(file("text"), "root:x:0:0").unwrap();
        let pipe = std::process::Command::new("mkfifo").arg(file("pipe")).status().unwrap();
        assert!(pipe.success());
        for other in [&file("text"), &file("pipe"), &file("none"), dir.path(), Path::new("/dev/zero")] {
            assert_eq!(shared(SearchPath::default(), other), None, "{other:?}");
        }
    }

    #[test]
    fn a_shared_file_is_found_under_symfs_and_among_debug_files() {
        let dir = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            std::fs::create_dir_all(dir.path().join(name)).unwrap();
            dir.path().join(name)
        };
        let right = build(folder("root/opt/app/.dwz").join("shared"), &ID);
        let symfs = SearchPath { symfs: vec![dir.path().join("root")], ..SearchPath::default() };
        assert_eq!(shared(symfs, Path::new(".dwz/shared")), Some(right));
        let name = format!("{}.debug", "07".repeat(19));
        let right = build(folder("debug/.build-id/07").join(name), &ID);
        let debug = SearchPath { debug: vec![dir.path().join("debug")], ..SearchPath::default() };
        assert_eq!(shared(debug, Path::new("/usr/lib/debug/.dwz/shared")), Some(right));
        // as Debian installs it: in no folder of build-ids, and named from the root
        let right = build(folder("debian/.dwz/x86_64-linux-gnu").join("shared.debug"), &ID);
        let debian = SearchPath { debug: vec![dir.path().join("debian")], ..SearchPath::default() };
        assert_eq!(shared(debian, &right).as_ref(), Some(&right));
    }
}
