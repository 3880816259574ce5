//! The tables that all threads share: each string, function, frame and stack once.

use super::super::stacks::Stacks;
use super::super::{Names, StackFrame, plain};
use super::format::{LIBRARY, Shared};
use super::libraries::Libraries;
use crate::image::{Location, SourceFrame, Symbol};
use std::collections::HashMap;

/// Positions in the profile's list of categories.
pub(super) const OTHER: usize = 0;
const USER: usize = 1;
const KERNEL: usize = 2;
const LIBRARY_CODE: usize = 3;

/// Fills [`Shared`].
#[derive(Default)]
pub(super) struct Tables {
    shared: Shared,
    strings: HashMap<String, usize>,
    resources: HashMap<usize, usize>,
    sources: HashMap<usize, usize>,
    symbols: HashMap<(usize, i64), usize>,
    functions: HashMap<(usize, i64, Option<usize>), usize>,
    frames: HashMap<FrameKey, usize>,
    stacks: HashMap<(Option<usize>, usize), usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct FrameKey {
    address: i64,
    depth: u32,
    category: usize,
    function: usize,
    symbol: Option<usize>,
    line: Option<u32>,
}

impl Tables {
    /// Adds all of `stacks`. Returns for each node the stack that ends there.
    pub fn add(&mut self, stacks: &Stacks, libraries: &Libraries, names: &mut dyn Names) -> Vec<usize> {
        let mut ends = Vec::new();
        for (caller, frame) in stacks.nodes() {
            let mut stack = caller.map(|caller: super::StackId| ends[caller.index()]);
            for frame in self.frames_of(frame, libraries, names) {
                stack = Some(self.stack(stack, frame));
            }
            // every node has a frame
            ends.extend(stack);
        }
        ends
    }

    /// The frame of a node and those inlined there, outermost first.
    fn frames_of(&mut self, frame: &StackFrame, libraries: &Libraries, names: &mut dyn Names) -> Vec<usize> {
        let place = frame.described().and_then(|at| Some((at, libraries.place(at)?)));
        let Some((at, (library, address))) = place else {
            let address = frame.described().map_or(frame.inside(), |at| at.svma.0);
            let name = self.string(&format!("{address:#x}"));
            let function = self.function(name, -1, None);
            let category = if frame.is_kernel() { KERNEL } else { USER };
            return vec![self.frame(FrameKey {
                address: -1,
                depth: 0,
                category,
                function,
                symbol: None,
                line: None,
            })];
        };
        let resource = self.resource(library, libraries) as i64;
        let category = match () {
            () if frame.is_kernel() => KERNEL,
            () if libraries.is_shared(library) => LIBRARY_CODE,
            () => USER,
        };
        let Some(symbol) = names.symbol(at) else {
            let name = self.string(&format!("{:#x}", at.svma.0));
            let function = self.function(name, resource, None);
            return vec![self.frame(FrameKey {
                address,
                depth: 0,
                category,
                function,
                symbol: None,
                line: None,
            })];
        };
        let native = Some(self.symbol(library, &symbol, at, address));
        let unknown = SourceFrame::default();
        let outermost = symbol.frames.last().unwrap_or(&unknown);
        let inlined = &symbol.frames[..symbol.frames.len().saturating_sub(1)];
        let named = [(symbol.name.as_str(), outermost)];
        let inner = inlined.iter().rev().map(|f| (f.function.as_deref().unwrap_or("[inlined]"), f));
        let mut frames = Vec::with_capacity(inlined.len() + 1);
        for (depth, (name, source)) in named.into_iter().chain(inner).enumerate() {
            let name = self.string(name);
            let file = source.file.as_deref().map(|file| self.source(file));
            let function = self.function(name, resource, file);
            let depth = depth as u32;
            let key = FrameKey { address, depth, category, function, symbol: native, line: source.line };
            frames.push(self.frame(key));
        }
        frames
    }

    pub fn string(&mut self, text: &str) -> usize {
        let array = &mut self.shared.string_array;
        *self.strings.entry(plain(text)).or_insert_with_key(|text| {
            array.push(text.clone());
            array.len() - 1
        })
    }

    fn resource(&mut self, library: usize, libraries: &Libraries) -> usize {
        let name = self.string(libraries.name(library));
        let table = &mut self.shared.resource_table;
        *self.resources.entry(library).or_insert_with(|| {
            table.lib.push(library);
            table.name.push(name);
            table.host.push(None);
            table.r#type.push(LIBRARY);
            table.length += 1;
            table.length - 1
        })
    }

    fn source(&mut self, file: &str) -> usize {
        let name = self.string(file);
        let table = &mut self.shared.sources;
        *self.sources.entry(name).or_insert_with(|| {
            table.id.push(None);
            table.filename.push(name);
            table.start_line.push(1);
            table.start_column.push(1);
            table.source_map_url.push(None);
            table.length += 1;
            table.length - 1
        })
    }

    fn symbol(&mut self, library: usize, symbol: &Symbol, at: Location, address: i64) -> usize {
        let inside = at.svma.0.saturating_sub(symbol.start.0);
        let start = address.saturating_sub(i64::try_from(inside).unwrap_or(0));
        let name = self.string(&symbol.name);
        let table = &mut self.shared.native_symbols;
        *self.symbols.entry((library, start)).or_insert_with(|| {
            table.lib_index.push(library);
            table.address.push(start);
            table.name.push(name);
            table.function_size.push(symbol.size);
            table.length += 1;
            table.length - 1
        })
    }

    fn function(&mut self, name: usize, resource: i64, source: Option<usize>) -> usize {
        let table = &mut self.shared.func_table;
        *self.functions.entry((name, resource, source)).or_insert_with(|| {
            table.name.push(name);
            table.is_js.push(false);
            table.relevant_for_js.push(false);
            table.resource.push(resource);
            table.source.push(source);
            table.line_number.push(None);
            table.column_number.push(None);
            table.length += 1;
            table.length - 1
        })
    }

    fn frame(&mut self, key: FrameKey) -> usize {
        let table = &mut self.shared.frame_table;
        *self.frames.entry(key).or_insert_with(|| {
            table.address.push(key.address);
            table.inline_depth.push(key.depth);
            table.category.push(key.category);
            table.subcategory.push(0);
            table.func.push(key.function);
            table.native_symbol.push(key.symbol);
            table.inner_window_id.push(None);
            table.line.push(key.line);
            table.column.push(None);
            table.length += 1;
            table.length - 1
        })
    }

    fn stack(&mut self, prefix: Option<usize>, frame: usize) -> usize {
        let table = &mut self.shared.stack_table;
        *self.stacks.entry((prefix, frame)).or_insert_with(|| {
            table.prefix.push(prefix);
            table.frame.push(frame);
            table.length += 1;
            table.length - 1
        })
    }

    pub fn finish(self) -> Shared {
        self.shared
    }
}
