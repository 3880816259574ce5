//! Build-ids of binaries, and of the kernel.

use object::Object;
use object::read::ReadCache;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};

/// `NT_GNU_BUILD_ID`
const NOTE: u32 = 3;

/// What was mapped to run, and in which processes: a file may be seen only through one that still runs.
#[derive(Debug, Default)]
pub struct Mapped(BTreeMap<Vec<u8>, BTreeSet<u32>>);

impl Mapped {
    /// Notes that `pid` has `name` mapped.
    pub fn add(&mut self, name: &[u8], pid: u32) {
        if name.first() == Some(&b'/') && !name.starts_with(b"//anon") {
            let pids = self.0.entry(name.to_vec()).or_default();
            if pids.len() < 8 {
                pids.insert(pid);
            }
        }
    }

    /// Name and id of each that has an id.
    pub fn build_ids(&self) -> Vec<(String, Vec<u8>)> {
        let found = self.0.iter().filter_map(|(name, pids)| {
            let name = String::from_utf8(name.clone()).ok()?;
            let inside = pids.iter().map(|pid| format!("/proc/{pid}/root{name}"));
            let id = inside.chain([name.clone()]).find_map(|path| of_file(&path))?;
            Some((name, id))
        });
        found.collect()
    }
}

/// The kernel's.
pub fn kernel() -> Option<Vec<u8>> {
    let notes = fs::read("/sys/kernel/notes").ok()?;
    let mut rest = notes.as_slice();
    while let [name, size, kind] = *rest.first_chunk::<12>()?.as_chunks::<4>().0 {
        let (name, size) = (u32::from_ne_bytes(name) as usize, u32::from_ne_bytes(size) as usize);
        let body = rest.get(12..)?.get(name.next_multiple_of(4)..)?;
        if u32::from_ne_bytes(kind) == NOTE && rest.get(12..16) == Some(b"GNU\0") {
            return body.get(..size).map(<[u8]>::to_vec);
        }
        rest = body.get(size.next_multiple_of(4)..)?;
    }
    None
}

fn of_file(path: &str) -> Option<Vec<u8>> {
    // opening a device or a pipe could wait, or do something
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let cache = ReadCache::new(File::open(path).ok()?);
    let id = object::File::parse(&cache).ok()?.build_id().ok()??.to_vec();
    (!id.is_empty() && id.len() <= 20).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_has_one_where_it_tells_its_notes() {
        assert_eq!(fs::metadata("/sys/kernel/notes").is_ok(), kernel().is_some());
    }

    #[test]
    fn what_is_no_file_has_none() {
        let mut mapped = Mapped::default();
        for name in ["/dev/zero", "//anon", "[vdso]", "/proc/self/maps", "/nowhere"] {
            mapped.add(name.as_bytes(), 1);
        }
        assert_eq!(mapped.build_ids(), []);
    }
}
