//! Which of the names in a recording are one file.
//!
//! In: what mmap records say of each thing that was mapped, and when it was first. Out: each file once. Names of one path are
//! one file unless something says that they are not: a build-id, an inode's number or its generation. Devices say so only if
//! both are disks: file systems that are on none (overlayfs, btrfs) show one file under several numbers. Where records state
//! nothing, as those of old kernels and of other tools do, they are of what was mapped first at that path.

use std::collections::{BTreeMap, HashMap};

use super::ImageId;
use super::mapping::Span;
use super::name::{ImageName, NameKind};
use crate::perfdata::Inode;

/// The files, and for each of `names` which of them it is.
pub fn files(names: &[ImageName], spans: &[Span]) -> (Vec<ImageName>, Vec<ImageId>) {
    let mut paths: HashMap<&[u8], Vec<usize>> = HashMap::new();
    let on_disk = |name: &ImageName| matches!(name.kind, NameKind::File | NameKind::Deleted);
    for (ix, name) in names.iter().enumerate().filter(|(_, name)| on_disk(name)) {
        paths.entry(&name.path).or_default().push(ix);
    }
    let mut same: Vec<usize> = (0..names.len()).collect();
    let split = Split { names, spans };
    for of_path in paths.into_values().filter(|of_path| of_path.len() > 1) {
        for file in split.files(of_path) {
            let least = file.iter().copied().min().unwrap_or(0);
            file.into_iter().for_each(|ix| same[ix] = least);
        }
    }
    let (mut files, mut ids): (Vec<ImageName>, Vec<ImageId>) = (Vec::new(), Vec::new());
    for (ix, name) in names.iter().enumerate() {
        if same[ix] == ix {
            ids.push(ImageId(files.len() as u32));
            files.push(name.clone());
        } else {
            let id = ids[same[ix]];
            ids.push(id);
            complete(&mut files[id.0 as usize], name);
        }
    }
    (files, ids)
}

/// Whether two inodes may be those of one file.
pub fn may_be_one(a: &Inode, b: &Inode) -> bool {
    let apart = |a: Option<u64>, b: Option<u64>| a.is_some() && b.is_some() && a != b;
    a.number == b.number && !apart(generation(a), generation(b)) && !apart(disk(a), disk(b))
}

/// Which disk it is on, if that is known.
fn disk(inode: &Inode) -> Option<u64> {
    let (major, minor) = inode.device;
    (major != 0).then_some(u64::from(major) << 32 | u64::from(minor))
}

fn generation(inode: &Inode) -> Option<u64> {
    (inode.generation != 0).then_some(inode.generation)
}

/// Takes over what another name of the file states.
fn complete(name: &mut ImageName, other: &ImageName) {
    name.build_id = name.build_id.take().or_else(|| other.build_id.clone());
    let stated = match (name.inode, other.inode) {
        (Some(a), Some(b)) => Some(Inode {
            device: if disk(&a).is_some() { a.device } else { b.device },
            generation: a.generation.max(b.generation),
            ..a
        }),
        (a, b) => a.or(b),
    };
    name.inode = stated;
}

/// Names by their indices.
struct Split<'a> {
    names: &'a [ImageName],
    spans: &'a [Span],
}

impl Split<'_> {
    /// The files among names of one path. One of known build and another that states none are one file: of some mappings the
    /// kernel finds no build-id.
    fn files(&self, of_path: Vec<usize>) -> Vec<Vec<usize>> {
        let (built, rest): (Vec<usize>, Vec<usize>) =
            of_path.into_iter().partition(|&ix| self.names[ix].build_id.is_some());
        let inode = |ix: usize| self.names[ix].inode.as_ref();
        let mut files = self.apart(rest, |ix| Some(inode(ix)?.number));
        files = files.into_iter().flat_map(|part| self.apart(part, |ix| disk(inode(ix)?))).collect();
        files = files.into_iter().flat_map(|part| self.apart(part, |ix| generation(inode(ix)?))).collect();
        let mut builds = self.apart(built, |ix| self.names[ix].build_id.as_deref());
        match (&mut builds[..], &mut files[..]) {
            ([build], [file]) => build.append(file),
            _ => builds.append(&mut files),
        }
        builds
    }

    /// Parts that state different keys. What states none goes with the part that was there first.
    fn apart<K: Ord>(&self, group: Vec<usize>, key: impl Fn(usize) -> Option<K>) -> Vec<Vec<usize>> {
        let (mut silent, mut parts) = (Vec::new(), BTreeMap::<K, Vec<usize>>::new());
        for ix in group {
            match key(ix) {
                Some(key) => parts.entry(key).or_default().push(ix),
                None => silent.push(ix),
            }
        }
        let mut parts: Vec<Vec<usize>> = parts.into_values().collect();
        let earliest = |part: &Vec<usize>| part.iter().map(|&ix| self.spans[ix][0]).min();
        match parts.iter_mut().min_by_key(|part| earliest(part)) {
            Some(part) => part.append(&mut silent),
            None => parts.extend((!silent.is_empty()).then_some(silent)),
        }
        parts
    }
}
