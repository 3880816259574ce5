//! Binaries as the format's libraries. Their addresses count from a base.

use super::super::stacks::Stacks;
use super::super::{Names, basename, plain};
use super::format::Lib;
use crate::image::{ImageId, Location, hex};
use std::collections::BTreeMap;

/// The libraries on the stacks.
pub(super) struct Libraries {
    by_image: BTreeMap<ImageId, (usize, u64)>,
    pub list: Vec<Lib>,
}

impl Libraries {
    /// Every binary on `stacks`.
    pub fn new(stacks: &Stacks, names: &dyn Names) -> Libraries {
        let mut lowest = BTreeMap::<ImageId, u64>::new();
        for at in stacks.nodes().filter_map(|(_, frame)| frame.described()) {
            let low = lowest.entry(at.image).or_insert(at.svma.0);
            *low = at.svma.0.min(*low);
        }
        let mut libraries = Libraries { by_image: BTreeMap::new(), list: Vec::new() };
        for (image, lowest) in lowest {
            libraries.by_image.insert(image, (libraries.list.len(), base(image, lowest, names)));
            libraries.list.push(library(image, names));
        }
        libraries
    }

    /// The library of a place and the address in it; `None` if that is no number of the format.
    pub fn place(&self, at: Location) -> Option<(usize, i64)> {
        let &(library, base) = self.by_image.get(&at.image)?;
        let address = at.svma.0.checked_sub(base)?;
        // JavaScript counts no further
        (address < 1 << 53).then_some((library, address as i64))
    }

    pub fn name(&self, library: usize) -> &str {
        &self.list[library].name
    }

    /// Whether other programs use it too.
    pub fn is_shared(&self, library: usize) -> bool {
        let name = self.name(library);
        name.ends_with(".so") || name.contains(".so.") || name.starts_with("[vdso")
    }
}

/// The binary's lowest address, or where it is not known, 0 unless the samples are out of reach from there.
fn base(image: ImageId, lowest: u64, names: &dyn Names) -> u64 {
    let known = names.base(image).map(|base| base.0);
    known.unwrap_or(if lowest > u32::MAX.into() { lowest & !0xfff } else { 0 })
}

fn library(image: ImageId, names: &dyn Names) -> Lib {
    let path = plain(&names.path(image));
    let name = basename(&path).to_owned();
    let build_id = names.build_id(image);
    Lib {
        arch: String::new(),
        debug_name: name.clone(),
        name,
        debug_path: path.clone(),
        path,
        breakpad_id: build_id.as_deref().map_or_else(|| "0".repeat(33), breakpad_id),
        code_id: build_id.as_deref().map(hex),
    }
}

/// Breakpad's id of a little-endian ELF file: the build-id's first 16 bytes, read as a GUID, and an age of 0.
fn breakpad_id(build_id: &[u8]) -> String {
    let mut guid = [0; 16];
    let len = build_id.len().min(16);
    guid[..len].copy_from_slice(&build_id[..len]);
    guid[..4].reverse();
    guid[4..6].reverse();
    guid[6..8].reverse();
    format!("{}0", hex(&guid).to_uppercase())
}
