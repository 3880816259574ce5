//! Binaries as the format's libraries, each with a table of the symbols that samples need.

use super::super::stacks::Stacks;
use super::super::{FrameKind, Names, StackFrame, basename, plain};
use crate::image::{ImageId, Location, hex};
use debugid::DebugId;
use fx::{Frame, LibraryHandle, LibraryInfo, Profile, SymbolTable};
use fxprof_processed_profile as fx;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The libraries on the stacks. Their addresses are 32 bits from a base.
pub(super) struct Libraries(BTreeMap<ImageId, Library>);

struct Library {
    handle: LibraryHandle,
    base: u64,
}

impl Libraries {
    /// Adds to `profile` every binary on `stacks`.
    pub fn new(stacks: &Stacks, names: &mut dyn Names, profile: &mut Profile) -> Libraries {
        let mut places = BTreeMap::<ImageId, BTreeSet<Location>>::new();
        for at in stacks.nodes().filter_map(|(_, frame)| frame.described()) {
            places.entry(at.image).or_default().insert(at);
        }
        let library = |(image, places): (ImageId, BTreeSet<Location>)| {
            let base = base(image, &places, names);
            let handle = profile.add_lib(info(image, &places, base, names));
            (image, Library { handle, base })
        };
        Libraries(places.into_iter().map(library).collect())
    }

    /// The frame of a place in a library; `None` elsewhere, or too far from the library's base.
    pub fn frame(&self, frame: &StackFrame) -> Option<Frame> {
        let at = frame.location?;
        let library = self.0.get(&at.image)?;
        let address = relative(at.svma.0, library.base)?;
        Some(match frame.kind {
            FrameKind::Leaf => Frame::RelativeAddressFromInstructionPointer(library.handle, address),
            FrameKind::Return => Frame::RelativeAddressFromReturnAddress(library.handle, address),
        })
    }
}

/// The binary's lowest address, or where it is not known, 0 unless the samples are out of reach from there.
fn base(image: ImageId, places: &BTreeSet<Location>, names: &dyn Names) -> u64 {
    let lowest = places.first().map_or(0, |at| at.svma.0);
    let known = names.base(image).map(|base| base.0);
    known.unwrap_or(if lowest > u32::MAX.into() { lowest & !0xfff } else { 0 })
}

fn relative(address: u64, base: u64) -> Option<u32> {
    u32::try_from(address.checked_sub(base)?).ok()
}

fn info(image: ImageId, places: &BTreeSet<Location>, base: u64, names: &mut dyn Names) -> LibraryInfo {
    let path = plain(&names.path(image));
    let name = basename(&path).to_owned();
    let build_id = names.build_id(image);
    LibraryInfo {
        debug_name: name.clone(),
        name,
        debug_path: path.clone(),
        path,
        debug_id: build_id.as_deref().and_then(debug_id).unwrap_or_else(DebugId::nil),
        code_id: build_id.as_deref().map(hex),
        arch: None,
        symbol_table: Some(Arc::new(symbol_table(places, base, names))),
    }
}

/// Breakpad's id of a little-endian ELF file: the build-id's first 16 bytes, read as a GUID.
fn debug_id(build_id: &[u8]) -> Option<DebugId> {
    let mut guid = [0; 16];
    let len = build_id.len().min(16);
    guid[..len].copy_from_slice(&build_id[..len]);
    DebugId::from_guid_age(&guid, 0).ok()
}

/// The symbols at `places`. One of unknown size reaches as far as it was asked for.
fn symbol_table(places: &BTreeSet<Location>, base: u64, names: &mut dyn Names) -> SymbolTable {
    let mut symbols = BTreeMap::<u32, fx::Symbol>::new();
    for at in places {
        let Some(symbol) = names.symbol(*at) else {
            continue;
        };
        let start = symbol.start.0.min(at.svma.0);
        let (Some(address), Some(here)) = (relative(start, base), relative(at.svma.0, base)) else {
            continue;
        };
        let reach = (here - address).saturating_add(1);
        let size = symbol.size.and_then(|size| u32::try_from(size).ok()).unwrap_or(0).max(reach);
        let name = plain(&symbol.name);
        let entry = symbols.entry(address).or_insert(fx::Symbol { address, size: Some(0), name });
        entry.size = entry.size.max(Some(size));
    }
    SymbolTable::new(symbols.into_values().collect())
}
