//! Who called: what callchains and branch records show of calls that the code alone does not tell.
//!
//! In: folded samples with their callers, and the decoded functions. Out: calls seen to enter a function, and the functions
//! whose callers stayed hidden. It does not know how chains were made; a chain of frame pointers skips the caller of what has
//! no frame (a comparator that `qsort` calls, most leaves), and then names a call that goes elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use super::linking::place;
use super::survey::{Cell, Survey};
use crate::code::{Flow, Function, Linker, Place, Seen, Told};

/// A stub has at most so many instructions.
const STUB: usize = 4;
/// Functions looked through for the call that a chain skipped.
const MOST_BETWEEN: usize = 16;
/// More calls than this that it may have been tell nothing.
const MOST_CALLS: usize = 8;
/// Share of a function's samples whose caller is hidden that is no accident.
const HIDDEN: f64 = 0.05;

/// What the samples tell of calls between `functions`, which are sorted.
pub fn told(survey: &Survey, functions: &[(u32, Function)], linker: &dyn Linker) -> Told {
    let mut book =
        Book { lookup: Lookup { functions, linker }, seen: BTreeMap::new(), sampled: BTreeMap::new() };
    for cell in &survey.cells {
        book.note(cell, survey.contexts[cell.context as usize].callers.as_deref());
    }
    for (&(from, to), &count) in &survey.branches {
        *book.seen.entry((place(from), place(to))).or_default() += count;
    }
    let chained: f64 = book.sampled.values().map(|s| s.chained).sum();
    let all: f64 = survey.cells.iter().map(|c| c.samples as f64).sum();
    let hidden = |s: &Sampled| s.hidden > HIDDEN * s.chained && s.hidden > 0.0;
    Told {
        hidden: book.sampled.iter().filter(|(_, s)| hidden(s)).map(|(at, _)| *at).collect(),
        seen: book.seen.into_iter().map(|((from, to), count)| Seen { from, to, count }).collect(),
        complete: 2.0 * chained > all,
        samples: BTreeMap::new(),
    }
}

/// Samples per function of `functions`, which are sorted.
pub fn samples(survey: &Survey, functions: &[(u32, Function)]) -> BTreeMap<Place, f64> {
    let mut samples = BTreeMap::new();
    for cell in &survey.cells {
        if let Some(function) = around(functions, place(cell.at)) {
            *samples.entry(Place { space: cell.at.image.0, address: function.range.start }).or_default() +=
                cell.samples as f64;
        }
    }
    samples
}

/// Samples of a function.
#[derive(Clone, Copy, Default)]
struct Sampled {
    /// Those with callers.
    chained: f64,
    /// Those whose first caller does not call the function.
    hidden: f64,
}

struct Book<'a> {
    lookup: Lookup<'a>,
    seen: BTreeMap<(Place, Place), u64>,
    sampled: BTreeMap<Place, Sampled>,
}

impl Book<'_> {
    fn note(&mut self, cell: &Cell, callers: Option<&[Option<crate::image::Location>]>) {
        let Some(function) = self.lookup.function(place(cell.at)) else { return };
        let samples = cell.samples as f64;
        let Some(callers) = callers else { return };
        let mut callee = Some(function);
        let mut explained = false;
        for (depth, caller) in callers.iter().enumerate() {
            let Some(caller) = caller.map(place) else { break };
            if let (Some(call), Some(to)) = (self.lookup.call_before(caller), callee) {
                let calls = self.lookup.calls(call, to);
                explained |= depth == 0 && !calls.is_empty();
                for from in calls {
                    *self.seen.entry((from, to)).or_default() += cell.samples;
                }
            }
            callee = self.lookup.function(caller);
        }
        let sampled = self.sampled.entry(function).or_default();
        sampled.chained += samples;
        sampled.hidden += if explained { 0.0 } else { samples };
    }
}

/// The function whose range holds a place.
fn around(functions: &[(u32, Function)], at: Place) -> Option<&Function> {
    let behind = functions.partition_point(|(space, f)| (*space, f.range.start) <= (at.space, at.address));
    let (space, function) = functions.get(behind.checked_sub(1)?)?;
    (*space == at.space && function.range.contains(&at.address)).then_some(function)
}

/// Finds decoded code by place.
struct Lookup<'a> {
    functions: &'a [(u32, Function)],
    linker: &'a dyn Linker,
}

impl Lookup<'_> {
    fn around(&self, at: Place) -> Option<&Function> {
        around(self.functions, at)
    }

    fn starting(&self, at: Place) -> Option<&Function> {
        self.around(at).filter(|f| f.range.start == at.address)
    }

    fn function(&self, at: Place) -> Option<Place> {
        Some(Place { address: self.around(at)?.range.start, ..at })
    }

    /// The call whose return address this is.
    fn call_before(&self, back: Place) -> Option<Place> {
        let function = self.around(Place { address: back.address.checked_sub(1)?, ..back })?;
        let behind = function.insts.partition_point(|i| i.address < back.address);
        let call = function.insts.get(behind.checked_sub(1)?)?;
        let calls = matches!(call.flow, Flow::Call(_) | Flow::IndirectCall { .. });
        (calls && call.end() == back.address).then_some(Place { address: call.address, ..back })
    }

    /// The instructions that may bring control to `to` where a chain names the call at `from`: the call, the jump of the
    /// stub it calls, or the calls below what it calls, where the chain skipped one.
    fn calls(&self, from: Place, to: Place) -> Vec<Place> {
        let Some(function) = self.around(from) else { return Vec::new() };
        match function.at(from.address).map(|ix| function.insts[ix].flow) {
            Some(Flow::IndirectCall { .. }) => vec![from],
            Some(Flow::Call(target)) if target == to.address && from.space == to.space => vec![from],
            Some(Flow::Call(target)) => {
                let target = Place { address: target, ..from };
                self.jump_of_stub(target, to).map_or_else(|| self.beneath(target), |jump| vec![jump])
            }
            _ => Vec::new(),
        }
    }

    /// The jump to `to` of the stub at `stub`, where that may be one.
    fn jump_of_stub(&self, stub: Place, to: Place) -> Option<Place> {
        let insts = &self.starting(stub)?.insts;
        let leads = |flow| match flow {
            Flow::Jump(target) => target == to.address && stub.space == to.space,
            Flow::IndirectJump { .. } => self.linker.stub(stub).is_none_or(|known| known == to),
            _ => false,
        };
        let jump = insts.iter().find(|i| leads(i.flow)).filter(|_| insts.len() <= STUB)?;
        Some(Place { address: jump.address, ..stub })
    }

    /// Calls that go nobody knows where, of the function at `at`, or else of those that it calls. None if there are many.
    fn beneath(&self, at: Place) -> Vec<Place> {
        let (mut known, mut ring) = (BTreeSet::from([at]), vec![at]);
        while !ring.is_empty() && known.len() <= MOST_BETWEEN {
            let functions = || ring.iter().filter_map(|&at| Some((at, self.starting(at)?)));
            let flows = |(at, f): (Place, &Function)| -> Vec<(Place, Flow)> {
                f.insts.iter().map(|i| (Place { address: i.address, ..at }, i.flow)).collect()
            };
            let flows: Vec<(Place, Flow)> = functions().flat_map(flows).collect();
            let open = |flow: Flow| matches!(flow, Flow::IndirectCall { via: None });
            let calls: Vec<Place> = flows.iter().filter(|(_, flow)| open(*flow)).map(|(at, _)| *at).collect();
            if !calls.is_empty() {
                return if calls.len() <= MOST_CALLS { calls } else { Vec::new() };
            }
            let next = |(at, flow): (Place, Flow)| match flow {
                Flow::Call(address) | Flow::Jump(address) => Some(Place { address, ..at }),
                _ => None,
            };
            let next: BTreeSet<Place> = flows.into_iter().filter_map(next).collect();
            ring = next.into_iter().filter(|at| self.starting(*at).is_some() && known.insert(*at)).collect();
        }
        Vec::new()
    }
}
