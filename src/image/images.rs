//! Every binary of a recording, and addresses in them.
//!
//! In: what was mapped, the build-ids of the recording's header, the folders to search. Out: binaries by id, and places in
//! them for run-time addresses and back.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::binary::{Image, ImageState};
use super::builds::{Build, builds};
use super::listing::{Anchor, Listed, Listing};
use super::locate::SearchPath;
use super::mapping::{Mapped, Mapping, When};
use super::name::{ImageName, NameKind};
use super::space::AddressSpaces;
use super::{ImageId, Location, Svma};
use crate::perfdata::{BuildId, CpuMode};

/// All images, by [`ImageId`].
#[derive(Debug, Default)]
pub struct Images {
    images: Vec<Image>,
    search: Arc<SearchPath>,
    anchor: Option<Anchor>,
    modules: HashMap<ImageId, u64>,
}

impl Images {
    /// Those that `spaces` names. Opens nothing yet.
    pub fn new(spaces: &AddressSpaces, build_ids: &[BuildId], search: SearchPath) -> Images {
        let search = Arc::new(search);
        let builds = builds(spaces.images(), spaces.spans(), build_ids, &search);
        let image = |(name, build): (&ImageName, Build)| Image::new(name.clone(), build, search.clone());
        let images = spaces.images().iter().zip(builds).map(image).collect();
        let (anchor, modules) = (spaces.anchor().cloned(), spaces.modules().clone());
        Images { images, search, anchor, modules }
    }

    /// One image. Ids come from the [`AddressSpaces`] that these images were made from.
    pub fn get(&self, id: ImageId) -> &Image {
        &self.images[id.0 as usize]
    }

    /// All images.
    pub fn iter(&self) -> impl Iterator<Item = (ImageId, &Image)> {
        (0..).map(ImageId).zip(&self.images)
    }

    /// Where their files are looked for.
    pub(super) fn search(&self) -> &Arc<SearchPath> {
        &self.search
    }

    /// Which lists may have the symbols of an image that is no file, the best first; none for files.
    pub(super) fn listed(&self, id: ImageId) -> Vec<Listed> {
        match self.get(id).state() {
            ImageState::Kernel => vec![Listed::Kernel],
            ImageState::KernelModule => vec![Listed::Kernel, Listed::Module(id)],
            ImageState::Jit { map } => self.process(map).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn process(&self, map: &Path) -> Option<Listed> {
        let dump = self.dump(process_of(map)?);
        Some(Listed::Process(map.to_owned(), dump.map(|dump| dump.path.clone().into())))
    }

    /// What a process dumped of the code that it made; it maps the file so that recordings name it.
    fn dump(&self, process: &str) -> Option<&Image> {
        let name = format!("/jit-{process}.dump");
        self.images.iter().find(|image| image.path.ends_with(&name))
    }

    /// The path of what the process dumped of its run-time code, of which this image is some.
    pub fn jit_dump(&self, id: ImageId) -> Option<&str> {
        let ImageState::Jit { map } = self.get(id).state() else { return None };
        Some(&self.dump(process_of(map)?)?.path)
    }

    /// Reads a list of symbols, if there is one that belongs to the recording.
    pub(super) fn listing(&self, of: &Listed) -> Option<Listing> {
        match of {
            Listed::Process(map, dump) => Listing::of_process(&self.search, map, dump.as_deref()),
            Listed::Module(id) => Listing::of_module(&self.get(*id).module()?, *self.modules.get(id)?),
            Listed::Kernel => {
                let kernel = self.images.iter().find(|image| image.kind() == NameKind::Kernel);
                let build_id = kernel.and_then(Image::build_id);
                Listing::of_kernel(&self.search, build_id, self.anchor.as_ref())
            }
        }
    }

    /// Whether debuginfod's servers were asked for what is not here.
    pub fn asks_servers(&self) -> bool {
        self.search.debuginfod.is_some()
    }

    /// What failed while binaries and symbols were looked for elsewhere, a line each.
    pub fn complaints(&self) -> Vec<String> {
        self.search.debuginfod.as_ref().map(|servers| servers.complaints()).unwrap_or_default()
    }

    /// Where in its image a resolved address lies. Without the file, offsets stand for addresses, so that samples still
    /// group; in the kernel and in memory that is no file, run-time addresses do.
    pub fn location(&self, mapped: &Mapped) -> Option<Location> {
        let image = self.get(mapped.image());
        let svma = match image.elf() {
            Some(elf) => elf.svma_at(mapped.file_offset())?,
            None if image.is_memory() => Svma(mapped.address),
            None => Svma(mapped.file_offset()),
        };
        Some(Location { image: mapped.image(), svma })
    }

    /// The run-time address of `svma` in a mapping of its image; `None` if the mapping does not show it.
    pub fn address(&self, mapping: &Mapping, svma: Svma) -> Option<u64> {
        let address = match self.file_offset(Location { image: mapping.image, svma }) {
            Some(offset) => mapping.start.wrapping_add(offset.wrapping_sub(mapping.file_offset)),
            None if self.get(mapping.image).is_memory() => svma.0,
            None => return None,
        };
        (mapping.start..mapping.end).contains(&address).then_some(address)
    }

    /// Where the process of a sample shows a place, if it does: in whichever mapping of the image.
    pub fn address_in(
        &self,
        spaces: &AddressSpaces,
        mode: CpuMode,
        pid: i32,
        at: When,
        place: Location,
    ) -> Option<u64> {
        match self.file_offset(place) {
            Some(offset) => spaces.address_of(mode, pid, at, place.image, offset),
            None => self.get(place.image).is_memory().then_some(place.svma.0),
        }
    }

    fn file_offset(&self, at: Location) -> Option<u64> {
        let image = self.get(at.image);
        match image.elf() {
            Some(elf) => elf.offset_of(at.svma),
            None => (!image.is_memory()).then_some(at.svma.0),
        }
    }
}

/// Whose `/tmp/perf-PID.map` that is.
fn process_of(map: &Path) -> Option<&str> {
    map.file_stem()?.to_str()?.strip_prefix("perf-")
}
