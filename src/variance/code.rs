//! What runs where while calls are recorded: functions, contexts, and which functions are worth sampling.
//!
//! In: registers and stacks of threads that stand still. Out: ids of functions and contexts, with a [`Line`] for each new one,
//! and the entries of hot functions. It knows nothing of how threads are stopped.

use super::lines::{Context, Function, Line};
use crate::code::{Bitness, Flow, decode};
use crate::image::{FunctionRange, FunctionSource, Mappings, Place, Running, Svma, demangle};
use std::collections::HashMap;

/// Functions of a process that are sampled at once.
const MOST: usize = 12;
/// Part of the samples that a function has to be in.
const LEAST: f64 = 0.01;
/// A function takes the place of another that is in so many times fewer samples.
const BETTER: f64 = 2.0;
/// Callers of a context, the nearest.
const DEEPEST: usize = 64;
/// Bytes of a function that are looked through.
const LARGEST: u64 = 1 << 16;

/// Where a function lies in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The address of its first instruction.
    pub start: u64,
    /// The address after its last.
    pub end: u64,
}

#[derive(Default)]
struct Process {
    samples: u64,
    /// Samples with the function on the stack.
    seen: HashMap<Entry, u64>,
    chosen: Vec<Entry>,
}

/// The code of the processes that are recorded.
pub struct Code {
    running: Running,
    processes: HashMap<u32, Process>,
    functions: HashMap<(String, u64), u32>,
    contexts: HashMap<(Option<u32>, u32, u64), u32>,
    callable: HashMap<(String, u64), bool>,
    new: Vec<Line>,
}

/// A frame: its function, and a place in it.
struct Framed {
    function: u32,
    address: u64,
    entry: Entry,
    is_callable: bool,
}

impl Code {
    /// Knows nothing yet but who tells what processes have mapped.
    pub fn new(mappings: Mappings) -> Code {
        Code {
            running: Running::new(mappings),
            processes: HashMap::new(),
            functions: HashMap::new(),
            contexts: HashMap::new(),
            callable: HashMap::new(),
            new: Vec::new(),
        }
    }

    /// The process runs something else from now on.
    pub fn forget(&mut self, pid: u32) {
        self.running.forget(pid);
        self.processes.remove(&pid);
    }

    /// The definitions since the last time, in the order in which they have to be written.
    pub fn new_lines(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.new)
    }

    /// A thread runs here: its context, and the functions of its process that are worth sampling.
    pub fn sample(&mut self, pid: u32, registers: &[u64; 17], stack: &[u8]) -> (Option<u32>, Vec<Entry>) {
        let mut chain = self.chain(pid, registers, stack);
        if let Some(innermost) = chain.first_mut() {
            // a context for each instruction would be many
            innermost.address = self.start_of(innermost.function);
        }
        let context = self.context(&chain);
        let process = self.processes.entry(pid).or_default();
        process.samples += 1;
        let mut entries: Vec<Entry> = chain.iter().filter(|f| f.is_callable).map(|f| f.entry).collect();
        entries.sort_by_key(|entry| entry.start);
        entries.dedup();
        entries.into_iter().for_each(|entry| *process.seen.entry(entry).or_default() += 1);
        process.choose();
        (context, process.chosen.clone())
    }

    /// A call begins here: its function and its caller's context. `None` where no function is known.
    pub fn call(&mut self, pid: u32, registers: &[u64; 17], stack: &[u8]) -> Option<(u32, Option<u32>)> {
        let chain = self.chain(pid, registers, stack);
        let (called, callers) = chain.split_first()?;
        let function = called.function;
        Some((function, self.context(callers)))
    }

    fn chain(&mut self, pid: u32, registers: &[u64; 17], stack: &[u8]) -> Vec<Framed> {
        let places = self.running.chain(pid, registers, stack);
        let framed = places.iter().enumerate().map_while(|(n, place)| self.framed(place, n > 0));
        let mut chain: Vec<Framed> = framed.collect();
        // recursion from one place is one frame
        chain.dedup_by_key(|framed| (framed.function, framed.address));
        chain.truncate(DEEPEST);
        chain
    }

    fn framed(&mut self, place: &Place, is_caller: bool) -> Option<Framed> {
        let within = Svma(place.svma.0.wrapping_sub(u64::from(is_caller)));
        let range = place.image.function_at(within)?;
        let key = (place.image.path.clone(), range.start.0);
        let callable = self.callable.entry(key.clone());
        let is_callable = *callable.or_insert_with(|| is_callable(place, range));
        let next = self.functions.len() as u32;
        let function = *self.functions.entry(key).or_insert(next);
        if function == next {
            let name = range.name.as_deref().map_or_else(|| format!("{:#x}", range.start.0), demangle);
            let image = place.image.path.clone();
            self.new.push(Line::Function(Function { id: next, name, image, address: range.start.0 }));
        }
        let (start, end) = (range.start.0.wrapping_add(place.bias), range.end.0.wrapping_add(place.bias));
        Some(Framed { function, address: place.svma.0, entry: Entry { start, end }, is_callable })
    }

    fn start_of(&self, function: u32) -> u64 {
        self.functions.iter().find(|(_, id)| **id == function).map_or(0, |((_, start), _)| *start)
    }

    /// The context of frames that stand innermost first.
    fn context(&mut self, frames: &[Framed]) -> Option<u32> {
        let mut parent = None;
        for frame in frames.iter().rev() {
            let next = self.contexts.len() as u32;
            let id = *self.contexts.entry((parent, frame.function, frame.address)).or_insert(next);
            if id == next {
                let (function, address) = (frame.function, frame.address);
                self.new.push(Line::Context(Context { id, parent, function, address }));
            }
            parent = Some(id);
        }
        parent
    }
}

impl Process {
    /// Keeps what was chosen, so that every call has the same chance, as long as there is nothing much hotter.
    fn choose(&mut self) {
        let least = (LEAST * self.samples as f64).max(1.5);
        let hot = |(_, count): &(&Entry, &u64)| **count as f64 > least;
        let mut hot: Vec<(Entry, u64)> = self.seen.iter().filter(hot).map(|(e, n)| (*e, *n)).collect();
        hot.sort_by_key(|(entry, count)| (std::cmp::Reverse(*count), entry.start));
        for (entry, count) in hot {
            if self.chosen.contains(&entry) {
                continue;
            }
            if self.chosen.len() < MOST {
                self.chosen.push(entry);
                continue;
            }
            let count_of = |entry: &Entry| self.seen.get(entry).copied().unwrap_or(0);
            let weakest = (0..self.chosen.len()).min_by_key(|&ix| count_of(&self.chosen[ix]));
            match weakest {
                Some(ix) if BETTER * (count_of(&self.chosen[ix]) as f64) < count as f64 => {
                    self.chosen[ix] = entry;
                }
                _ => break,
            }
        }
    }
}

/// Whether calls, and calls only, lead to a function's first instruction: not where it is the head of a loop, not in a stub
/// or in the part of a function that compilers put elsewhere.
fn is_callable(place: &Place, range: &FunctionRange) -> bool {
    let part = range.name.as_deref().is_some_and(|name| name.ends_with(".cold") || name == "_start");
    if range.source == FunctionSource::Plt || part {
        return false;
    }
    let end = range.end.0.min(range.start.0.saturating_add(LARGEST));
    let Some(code) = place.image.code(range.start..Svma(end)) else { return false };
    let mut at = 0;
    while let Some(inst) =
        code.get(at..).and_then(|rest| decode(Bitness::Bits64, range.start.0.wrapping_add(at as u64), rest))
    {
        if let Flow::Jump(to) | Flow::Branch(to) = inst.flow
            && to == range.start.0
        {
            return false;
        }
        at += usize::from(inst.len).max(1);
    }
    true
}
