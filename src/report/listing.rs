//! A function, instruction by instruction, as plain data: for the terminal's `annotate` and for the HTML page.
//!
//! Weights are sums of periods; what a share is of, the reader of a listing decides.

use super::Verdict;
use serde::Serialize;

/// One function.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Listing {
    /// Demangled.
    pub function: String,
    /// The binary's path as recorded.
    pub image: String,
    /// Its first address in the binary.
    pub address: u64,
    /// The events with samples here, in the recording's order.
    pub events: Vec<ListedEvent>,
    /// Its instructions, by address.
    pub lines: Vec<Line>,
    /// Its loops, outer before inner.
    pub loops: Vec<ListedLoop>,
}

/// One event in a function.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ListedEvent {
    /// As perf prints it.
    pub name: String,
    /// Its position in the recording.
    pub index: usize,
    /// Its weight in the whole recording.
    pub total: u64,
    /// Weight in the function as recorded.
    pub before: u64,
    /// Weight after.
    pub after: u64,
    /// Lower end of the 90 % interval of `after`.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// What was done to most of it.
    pub verdict: Verdict,
}

/// One instruction.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Line {
    /// In the binary.
    pub address: u64,
    /// Disassembled.
    pub text: String,
    /// Where its code came from, if debug information tells.
    pub source: Option<SourceLine>,
    /// The innermost loop around it: an index into [`Listing::loops`].
    pub inside: Option<usize>,
    /// One per event of the listing.
    pub cells: Vec<Cell>,
}

/// A line of source code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SourceLine {
    /// As the debug information states it.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
    /// What stands there, if the file is there.
    pub text: Option<String>,
    /// The function that it was inlined from.
    pub inlined: Option<String>,
}

/// Weight of one event on one instruction.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Cell {
    /// As recorded.
    pub before: u64,
    /// After.
    pub after: u64,
    /// Lower end of the 90 % interval of `after`.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// What stands behind `after`.
    pub verdict: Verdict,
}

/// A natural loop.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ListedLoop {
    /// The instruction by which it is entered: an index into [`Listing::lines`].
    pub header: usize,
    /// The loop around it: an index into [`Listing::loops`].
    pub parent: Option<usize>,
    /// Nesting depth, 1 for an outermost loop.
    pub depth: u32,
    /// How often its header runs each time it is entered; `None` where that is not known.
    pub trips: Option<Trips>,
    /// Weight as recorded and after of each event of the listing, inner loops included.
    pub weight: Vec<(u64, u64)>,
}

/// How often a loop's header runs each time the loop is entered, ≥ 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Trips {
    /// The posterior's median.
    pub value: f64,
    /// Lower end of the 90 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Listing {
    /// The largest share that any event has here, before or after.
    pub fn heat(&self) -> f64 {
        let share = |e: &ListedEvent| e.before.max(e.after) as f64 / e.total.max(1) as f64;
        self.events.iter().map(share).fold(0.0, f64::max)
    }
}

/// The outermost loops around each instruction of a listing.
#[derive(Clone, Debug)]
pub struct Nests<'a> {
    lines: &'a [Line],
    /// For each loop those around it, outermost first, and the loop itself; of more than are wanted the first.
    chains: Vec<Vec<usize>>,
}

impl<'a> Nests<'a> {
    /// No more than `most` around each.
    pub fn of(listing: &'a Listing, most: usize) -> Nests<'a> {
        let mut chains: Vec<Vec<usize>> = Vec::new();
        for (ix, l) in listing.loops.iter().enumerate() {
            let mut chain = l.parent.and_then(|outer| chains.get(outer).cloned()).unwrap_or_default();
            chain.extend((chain.len() < most).then_some(ix));
            chains.push(chain);
        }
        Nests { lines: &listing.lines, chains }
    }

    /// The loops around an instruction, outermost first; none around one that is not there.
    pub fn around(&self, line: usize) -> &[usize] {
        let innermost = self.lines.get(line).and_then(|line| line.inside);
        innermost.and_then(|l| self.chains.get(l)).map_or(&[], Vec::as_slice)
    }
}
