//! Names, source lines and inlined functions of addresses.
//!
//! In: places in binaries. Out: symbols, each looked up once. Names come from the image's own functions where they have one,
//! so that a name always stands for the range that the rest of the program works with; lines, inlined functions and the
//! names of the rest come from wholesym, names of code that is no file from lists. Nothing is fetched over a network.

use std::collections::HashMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};
use wholesym::samply_symbols::{SymbolManager, SymbolMap};
use wholesym::{AddressInfo, FrameDebugInfo, LookupAddress};

use super::binary::Image;
use super::demangle::{Demangled, demangled};
use super::elf::Elf;
use super::functions::{FunctionRange, FunctionSource};
use super::images::Images;
use super::listing::{Listed, Listing};
use super::{ImageId, Location, Svma};
use files::{Files, Place};

mod files;

/// What samply-symbols calls the entry point, and all code behind it that it knows no other name for.
const ENTRY: &str = "EntryPoint";

/// What an address belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The function's name, demangled; that of a stub ends in `@plt`.
    pub name: String,
    /// The function has no name: this one only tells where it begins.
    pub invented: bool,
    /// The name as the linker knows it, where it differs.
    pub mangled: Option<String>,
    /// Where the function begins.
    pub start: Svma,
    /// Its size in bytes.
    pub size: Option<u64>,
    /// Innermost inlined function first, the function itself last; empty without debug information.
    pub frames: Vec<SourceFrame>,
}

/// A function, inlined or not, and the line in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceFrame {
    /// Demangled.
    pub function: Option<String>,
    /// As the debug information states it.
    pub file: Option<String>,
    /// Counted from 1.
    pub line: Option<u32>,
}

/// Gives names to places.
pub trait Symbolizer {
    /// What `at` belongs to; `None` if nothing is known.
    fn lookup(&mut self, images: &Images, at: Location) -> Option<Arc<Symbol>>;

    /// The same, perhaps without frames: for whoever asks for names only, which is faster.
    fn function(&mut self, images: &Images, at: Location) -> Option<Arc<Symbol>> {
        self.lookup(images, at)
    }
}

/// Reads symbols and debug information with wholesym.
pub struct Wholesym {
    runtime: Runtime,
    maps: HashMap<ImageId, Option<SymbolMap<Files>>>,
    lists: HashMap<Listed, Option<Listing>>,
    known: HashMap<Location, Option<Arc<Symbol>>>,
    functions: HashMap<Location, Option<Arc<Symbol>>>,
}

impl Wholesym {
    /// Looks at nothing yet. Fails if the system gives no event queue.
    pub fn new() -> std::io::Result<Wholesym> {
        Ok(Wholesym {
            runtime: Builder::new_current_thread().build()?,
            maps: HashMap::new(),
            lists: HashMap::new(),
            known: HashMap::new(),
            functions: HashMap::new(),
        })
    }

    fn find(&mut self, images: &Images, at: Location) -> Option<Symbol> {
        let image = images.get(at.image);
        let lists = images.listed(at.image);
        if !lists.is_empty() {
            return lists.into_iter().find_map(|of| {
                let list = self.lists.entry(of).or_insert_with_key(|of| images.listing(of));
                list.as_ref()?.at(at.svma.0).map(listed)
            });
        }
        let function = image.function_at(at.svma);
        let named = function.filter(|function| function.name.is_some());
        if let Some(stub) = named.filter(|function| function.source == FunctionSource::Plt) {
            return self::named(stub, |_| Vec::new());
        }
        let base = image.elf().and_then(|elf| elf.segments().first()).map_or(0, |segment| segment.svma);
        let mut told = || self.debug_info(images, at).map(|info| told(info, base));
        match (named, function) {
            (Some(function), _) => self::named(function, |endless| match endless {
                // wholesym demangles the name again, and does not stop
                true => Vec::new(),
                false => told().map_or_else(Vec::new, |told| told.frames),
            }),
            (None, Some(function)) => Some(in_unwind_entry(function, told(), base)),
            (None, None) => {
                let label = || self::named(image.label_at(at.svma)?, |_| Vec::new());
                told().filter(|told| is_told_here(image, told)).or_else(label)
            }
        }
    }

    /// A file that makes wholesym panic is not asked again.
    fn debug_info(&mut self, images: &Images, at: Location) -> Option<AddressInfo> {
        let runtime = &self.runtime;
        let load = || caught(|| load(runtime, images, at.image)).flatten();
        let slot = self.maps.entry(at.image).or_insert_with(load);
        let map = slot.as_ref()?;
        let answer = caught(|| runtime.block_on(map.lookup(LookupAddress::Svma(at.svma.0))));
        if answer.is_none() {
            *slot = None;
        }
        answer.flatten()
    }
}

impl Symbolizer for Wholesym {
    fn lookup(&mut self, images: &Images, at: Location) -> Option<Arc<Symbol>> {
        if let Some(known) = self.known.get(&at) {
            return known.clone();
        }
        let found = self.find(images, at).map(Arc::new);
        self.known.insert(at, found.clone());
        found
    }

    fn function(&mut self, images: &Images, at: Location) -> Option<Arc<Symbol>> {
        let image = images.get(at.image);
        let named = image.function_at(at.svma).filter(|function| function.name.is_some());
        let Some(start) = named.filter(|_| images.listed(at.image).is_empty()).map(|function| function.start)
        else {
            return self.lookup(images, at);
        };
        let known = self.functions.entry(Location { svma: start, ..at });
        known
            .or_insert_with(|| named.and_then(|function| self::named(function, |_| Vec::new())).map(Arc::new))
            .clone()
    }
}

/// The symbols of the separate debug file if there is one, else those of the binary.
fn load(runtime: &Runtime, images: &Images, id: ImageId) -> Option<SymbolMap<Files>> {
    let (image, search) = (images.get(id), images.search());
    let manager = SymbolManager::with_helper(Files::new(search.clone()));
    let load = |elf: &Elf| {
        runtime.block_on(manager.load_symbol_map_from_location(Place::file(elf.path()), None)).ok()
    };
    let elf = image.elf()?;
    // A binary may keep its symbols and have its lines elsewhere.
    let lines = || elf.section(".debug_info").is_none().then(|| search.debug_file(elf))?;
    let debug = image.debug().and_then(load).or_else(|| load(&lines()?));
    debug.or_else(|| load(elf))
}

/// What `work` gives unless it panics; what it had in hand is not used again.
fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

fn listed((range, name): (&Range<u64>, &str)) -> Symbol {
    Symbol {
        name: name.to_owned(),
        invented: false,
        mangled: None,
        start: Svma(range.start),
        size: Some(range.end - range.start),
        frames: Vec::new(),
    }
}

/// A function by its own name; `frames` is asked knowing whether that is endless.
fn named(function: &FunctionRange, frames: impl FnOnce(bool) -> Vec<SourceFrame>) -> Option<Symbol> {
    let linker_name = function.name.clone()?;
    let Demangled { name, endless } = demangled(&linker_name);
    let mut frames = frames(endless);
    // The debug information's name of the function itself may be another alias, or lack what tells clones apart.
    if let Some(outermost) = frames.last_mut() {
        outermost.function = Some(name.clone());
    }
    Some(Symbol {
        invented: false,
        mangled: (name != linker_name).then_some(linker_name),
        name,
        start: function.start,
        size: Some(function.end.0 - function.start.0),
        frames,
    })
}

/// What wholesym says.
fn told(info: AddressInfo, base: u64) -> Symbol {
    Symbol {
        invented: info.symbol.name == invented(info.symbol.address.into()),
        name: info.symbol.name,
        mangled: None,
        start: Svma(base.wrapping_add(info.symbol.address.into())),
        size: info.symbol.size.map(u64::from),
        frames: info.frames.unwrap_or_default().into_iter().map(frame).collect(),
    }
}

/// An unwind table has no names, but wholesym may read them from a list of its own, of one entry also several. What it says
/// of an address before is of another function: it lets exported ones reach to the next that it knows.
fn in_unwind_entry(function: &FunctionRange, told: Option<Symbol>, base: u64) -> Symbol {
    match told {
        Some(told) if told.start >= function.start => told,
        told => Symbol {
            name: invented(function.start.0.wrapping_sub(base)),
            invented: true,
            mangled: None,
            start: function.start,
            size: Some(function.end.0 - function.start.0),
            frames: told.map_or_else(Vec::new, |told| told.frames),
        },
    }
}

/// Whether what wholesym says of code that no function covers is not about one that has ended before.
fn is_told_here(image: &Image, told: &Symbol) -> bool {
    told.name != ENTRY && image.function_at(told.start).is_none_or(|known| known.start != told.start)
}

/// The name that samply-symbols gives to functions that only an unwind table knows.
fn invented(offset: u64) -> String {
    format!("fun_{offset:x}")
}

fn frame(info: FrameDebugInfo) -> SourceFrame {
    SourceFrame {
        function: info.function,
        file: info.file_path.map(|path| path.raw_path().to_owned()),
        line: info.line_number,
    }
}
