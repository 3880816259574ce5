//! Code of processes that run: where an address lies, and who called.
//!
//! In: the number of a process on this machine and who tells what that has mapped, addresses, registers and a copy of the
//! stack. Out: places in binaries, and the chain of callers by the binaries' unwind tables, or by frame pointers where there is
//! no table. It knows nothing of why someone asks.

use super::Svma;
use super::binary::Image;
use super::builds::Build;
use super::chain::{Registers, chain};
use super::locate::SearchPath;
use super::name::{ImageName, classify};
use crate::perfdata::CpuMode;
use std::collections::HashMap;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

/// A place in a binary that a process shows.
#[derive(Clone, Debug)]
pub struct Place {
    /// The binary.
    pub image: Arc<Image>,
    /// The address in it.
    pub svma: Svma,
    /// What to add to addresses in the binary to get those in the process.
    pub bias: u64,
}

/// A file that a process has mapped to run.
#[derive(Clone, Debug)]
pub struct FileMap {
    /// Addresses in the process.
    pub range: Range<u64>,
    /// Where in the file it begins.
    pub offset: u64,
    /// The file's path.
    pub path: Vec<u8>,
}

/// What a process has mapped to run now.
pub type Mappings = fn(u32) -> Vec<FileMap>;

struct Map {
    range: Range<u64>,
    offset: u64,
    image: Arc<Image>,
}

/// Running processes.
pub struct Running {
    mappings: Mappings,
    search: Arc<SearchPath>,
    images: HashMap<PathBuf, Arc<Image>>,
    processes: HashMap<u32, Vec<Map>>,
}

impl Running {
    /// Of this machine.
    pub fn new(mappings: Mappings) -> Running {
        let search = Arc::new(SearchPath::system(Vec::new()));
        Running { mappings, search, images: HashMap::new(), processes: HashMap::new() }
    }

    /// The process runs something else from now on.
    pub fn forget(&mut self, pid: u32) {
        self.processes.remove(&pid);
    }

    /// Where an address lies; `None` outside of binaries. What was mapped since the last time is looked for again.
    pub fn place(&mut self, pid: u32, address: u64) -> Option<Place> {
        self.known(pid, address).or_else(|| {
            let maps = self.read(pid);
            self.processes.insert(pid, maps);
            self.known(pid, address)
        })
    }

    fn known(&self, pid: u32, address: u64) -> Option<Place> {
        let map = self.processes.get(&pid)?.iter().find(|map| map.range.contains(&address))?;
        let svma = map.image.elf()?.svma_at(address - map.range.start + map.offset)?;
        Some(Place { image: map.image.clone(), svma, bias: address.wrapping_sub(svma.0) })
    }

    fn read(&mut self, pid: u32) -> Vec<Map> {
        let files = (self.mappings)(pid).into_iter().filter(|mapping| mapping.path.starts_with(b"/"));
        files
            .map(|FileMap { range, offset, path }| Map { range, offset, image: self.image(pid, &path) })
            .collect()
    }

    fn image(&mut self, pid: u32, path: &[u8]) -> Arc<Image> {
        let key = PathBuf::from(std::ffi::OsStr::from_bytes(path));
        let search = &self.search;
        let image = self.images.entry(key).or_insert_with(|| {
            let kind = classify(path, CpuMode::User);
            let (path, pid) = (path.to_owned(), Some(pid as i32));
            let name = ImageName { path, kind, build_id: None, inode: None, pid };
            Arc::new(Image::new(name, Build::Unknown, search.clone()))
        });
        image.clone()
    }

    /// Where the thread is, and the places behind the calls that led there, innermost first. `stack` is its memory from the
    /// stack pointer on; the chain ends where it does.
    pub fn chain(&mut self, pid: u32, registers: &Registers, stack: &[u8]) -> Vec<Place> {
        let rules = |at| self.place(pid, at).map(|place| place.image.rules(place.svma));
        let chain = chain(registers, stack, rules);
        chain.into_iter().filter_map(|at| self.place(pid, at)).collect()
    }
}
