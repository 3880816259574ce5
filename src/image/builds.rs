//! Which build each image is.
//!
//! In: what was mapped and when, the build-ids of the recording's header, and where files are looked for. Out: for each image
//! its build-id, or that the path has to do, or why neither tells. The header has build-ids by path, as files were when the
//! recording ended. Where several files were at a path, one of them is known: the one that is there now, if it is of the
//! header's build, else the one that took the place of all others.

use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::elf::Elf;
use super::identity::may_be_one;
use super::locate::{Missing, SearchPath, same_build};
use super::mapping::Span;
use super::name::{ImageName, NameKind, undeleted};
use crate::perfdata::{BuildId, CpuMode, Inode};

/// What is known of an image's build.
#[derive(Clone, Debug)]
pub enum Build {
    /// Its build-id.
    Known(Vec<u8>),
    /// Nothing: the path has to do.
    Unknown,
    /// The file at its path is another.
    Other(Missing),
}

impl Build {
    /// The build-id.
    pub fn id(&self) -> Option<&[u8]> {
        match self {
            Build::Known(id) => Some(id),
            Build::Unknown | Build::Other(_) => None,
        }
    }

    fn of(id: Option<&[u8]>) -> Build {
        id.map_or(Build::Unknown, |id| Build::Known(id.to_vec()))
    }
}

/// The builds of images.
pub fn builds(names: &[ImageName], spans: &[Span], header: &[BuildId], search: &SearchPath) -> Vec<Build> {
    let (mut stated, mut seen) = (Stated::new(), HashSet::new());
    let host = |id: &&BuildId| !matches!(id.mode, CpuMode::GuestKernel | CpuMode::GuestUser);
    for id in header.iter().filter(host).filter(|id| !unpadded(&id.bytes).is_empty()) {
        if seen.insert((id.filename.as_slice(), unpadded(&id.bytes))) {
            stated.entry(&id.filename).or_default().push(&id.bytes);
        }
    }
    let mut paths: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (ix, name) in names.iter().enumerate() {
        paths.entry(undeleted(&name.path)).or_default().push(ix);
    }
    let mut builds = vec![Build::Unknown; names.len()];
    for (path, images) in paths {
        let of_path = OfPath { path, names, spans, search, images };
        of_path.settle(&stated, &mut builds);
    }
    builds
}

/// Build-ids of the header by path, each once.
type Stated<'a> = HashMap<&'a [u8], Vec<&'a [u8]>>;

/// A build-id without the zeros that recordings put behind it where they do not know its length.
fn unpadded(id: &[u8]) -> &[u8] {
    id.iter().rposition(|&byte| byte != 0).map_or(&[], |last| &id[..=last])
}

/// Images of one path, of which some may have been deleted when they were recorded.
struct OfPath<'a> {
    path: &'a [u8],
    names: &'a [ImageName],
    spans: &'a [Span],
    search: &'a SearchPath,
    images: Vec<usize>,
}

impl OfPath<'_> {
    fn settle(&self, stated: &Stated<'_>, builds: &mut [Build]) {
        let of = |name: &[u8]| stated.get(name).map_or(&[][..], Vec::as_slice);
        let (mut files, mut deleted) = (Vec::new(), Vec::new());
        for &ix in &self.images {
            let name = &self.names[ix];
            match (&name.build_id, name.kind) {
                (Some(id), _) => builds[ix] = Build::Known(id.clone()),
                (None, NameKind::Deleted) => deleted.push(ix),
                (None, NameKind::File) => files.push(ix),
                // there is one kernel, and one vdso
                (None, _) => builds[ix] = Build::of(of(&name.path).last().copied()),
            }
        }
        let told = self.images.iter().filter_map(|&ix| self.names[ix].build_id.as_deref());
        let told: HashSet<&[u8]> = told.map(unpadded).collect();
        let mut left = of(self.path).to_vec();
        left.retain(|id| !told.contains(unpadded(id)));
        self.settle_files(&files, &left, builds);
        let by_number = self.files_by_number();
        for &ix in &deleted {
            builds[ix] = match of(&self.names[ix].path) {
                [.., own] => Build::Known(own.to_vec()),
                [] if by_number.is_empty() => Build::of((left.len() == 1).then(|| left[0])),
                [] => self.undeleted(ix, &by_number, builds),
            };
        }
    }

    fn is_file(&self, ix: usize) -> bool {
        self.names[ix].kind == NameKind::File
    }

    /// Files that are not deleted, by the numbers of their inodes; 0 is none.
    fn files_by_number(&self) -> HashMap<u64, Vec<usize>> {
        let mut files: HashMap<u64, Vec<usize>> = HashMap::new();
        for &ix in self.images.iter().filter(|&&ix| self.is_file(ix)) {
            files.entry(self.names[ix].inode.map_or(0, |inode| inode.number)).or_default().push(ix);
        }
        files
    }

    /// Files by their own path, whose build-ids are not told by their mappings and may be those `left`.
    fn settle_files(&self, files: &[usize], left: &[&[u8]], builds: &mut [Build]) {
        let all = self.images.iter().filter(|&&ix| self.is_file(ix)).count();
        match (files, left, all) {
            (&[only], &[id], _) => return builds[only] = Build::of(Some(id)),
            (&[only], [], 1) => return builds[only] = Build::Unknown,
            _ => {}
        }
        let known = self.there_now(files, left).or_else(|| self.came_last(files, left));
        let others = || files.iter().filter(|&&ix| known.is_none_or(|(known, _)| known != ix));
        let why = self.one_of(all.max(left.len()), known.is_some());
        others().for_each(|&ix| builds[ix] = Build::Other(why.clone()));
        let Some((ix, id)) = known else { return };
        builds[ix] = Build::of(id);
        let mut rest = left.iter().filter(|other| id.is_some_and(|id| id != **other));
        if let (&[_, _], Some(other), None, Some(&ix)) = (files, rest.next(), rest.next(), others().next()) {
            builds[ix] = Build::Known(other.to_vec());
        }
    }

    /// The one that is at the path now, if it is of a build that is `left` or none is.
    fn there_now<'l>(&self, files: &[usize], left: &[&'l [u8]]) -> Option<(usize, Option<&'l [u8]>)> {
        let path = self.search.as_recorded(self.path, !left.is_empty())?;
        let elf = Elf::open(&path).ok()?;
        let id = left.iter().copied().find(|id| elf.build_id().is_some_and(|found| same_build(id, found)));
        if id.is_none() && !left.is_empty() {
            return None;
        }
        let there = inode(&path)?;
        let is_there =
            |ix: &&usize| self.names[**ix].inode.as_ref().is_some_and(|inode| may_be_one(inode, &there));
        let mut found = files.iter().filter(is_there);
        match (found.next(), found.next()) {
            (Some(&ix), None) => Some((ix, id)),
            _ => None,
        }
    }

    /// The one that was first mapped after the last time that any other was, if the header tells one build.
    fn came_last<'l>(&self, files: &[usize], left: &[&'l [u8]]) -> Option<(usize, Option<&'l [u8]>)> {
        let &[id] = left else { return None };
        let last = *files.iter().max_by_key(|&&ix| self.spans[ix][0])?;
        let [first, _] = self.spans[last];
        let before = |&ix: &usize| ix == last || self.spans[ix][1] < first;
        // what was there before the recording began took nobody's place
        let in_place = first.0 > 0 && self.images.iter().all(before);
        in_place.then_some((last, Some(id)))
    }

    /// A deleted file, of which the header says nothing by that name: it is the one of its path that has its inode.
    fn undeleted(&self, deleted: usize, files: &HashMap<u64, Vec<usize>>, builds: &[Build]) -> Build {
        let inode = |ix: usize| self.names[ix].inode.as_ref();
        let same = |ix: &&usize| inode(deleted).zip(inode(**ix)).is_some_and(|(a, b)| may_be_one(a, b));
        let of_number = inode(deleted).and_then(|inode| files.get(&inode.number));
        match of_number.and_then(|files| files.iter().find(same)) {
            Some(&ix) => builds[ix].clone(),
            None => {
                let is_known = |ix: &usize| !matches!(builds[*ix], Build::Other(_));
                Build::Other(self.one_of(self.images.len(), files.values().flatten().any(is_known)))
            }
        }
    }

    fn one_of(&self, files: usize, known: bool) -> Missing {
        Missing::OneOfSeveral { path: String::from_utf8_lossy(self.path).into_owned(), files, known }
    }
}

/// Which file is at a path.
fn inode(path: &Path) -> Option<Inode> {
    let metadata = std::fs::metadata(path).ok()?;
    let device = metadata.dev();
    // as glibc puts them together
    let major = device >> 8 & 0xfff | device >> 32 & !0xfff;
    let minor = device & 0xff | device >> 12 & !0xff;
    Some(Inode { device: (major as u32, minor as u32), number: metadata.ino(), generation: 0 })
}
