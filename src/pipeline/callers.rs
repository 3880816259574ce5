//! Who called: what callchains and branch records show of calls that the code alone does not tell.
//!
//! In: folded samples with their callers, and the decoded functions. Out: calls seen to enter a function, and the functions
//! whose callers stayed hidden. It does not know how chains were made; a chain of frame pointers skips the caller of what has
//! no frame (a comparator that `qsort` calls, most leaves), and then names a call that goes elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use super::decoding::place;
use super::survey::{Cell, Context, Survey};
use crate::code::{Effect, Flow, Function, Inst, Linker, MOST_INSIDE, Number, Place, Registers, Seen, Told};

/// The frame pointer.
const FRAME: u8 = Registers::FRAME_POINTER;
const STACK: u8 = Registers::STACK_POINTER;

/// A stub has at most so many instructions.
const STUB: usize = 4;
/// Functions looked through for the call that a chain skipped.
const MOST_BETWEEN: usize = 16;
/// More calls than this that it may have been tell nothing.
const MOST_CALLS: usize = 8;
/// Share of a function's samples whose caller is hidden, or only inferred, that is no accident; so much of them what calls it has itself.
const NOTABLE: f64 = 0.05;

/// What the samples tell of calls between `functions`, which are sorted and have so many `samples`.
pub fn told(
    survey: &Survey,
    functions: &[(u32, Function)],
    samples: &BTreeMap<Place, f64>,
    linker: &dyn Linker,
) -> Told {
    let lookup = Lookup { functions, samples, linker, entered: BTreeMap::new() };
    let mut book = Book::new(lookup);
    let chains = |visit: &mut dyn FnMut(&Cell, &Context)| {
        survey.cells.iter().for_each(|cell| visit(cell, &survey.contexts[cell.context as usize]));
    };
    chains(&mut |cell, context| book.enter(cell, context));
    chains(&mut |cell, context| book.note(cell, context));
    for (&(from, to), &count) in &survey.branches {
        book.seen.entry((place(from), place(to))).or_default().0 += count;
    }
    book.close(survey.cells.iter().map(|c| c.samples as f64).sum())
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
    /// Those with a callchain.
    chained: f64,
    /// Those whose first caller does not call the function.
    hidden: f64,
}

/// How often each call was seen to enter a function, and samples that were surely inside.
type Calls = BTreeMap<(Place, Place), (u64, u64)>;

/// What is told so far.
struct Book<'a> {
    lookup: Lookup<'a>,
    told: Told,
    /// Calls that chains and branch records name.
    seen: Calls,
    /// Calls that chains must have skipped.
    inferred: Calls,
    sampled: BTreeMap<Place, Sampled>,
    /// Samples whose callchain names a caller.
    named: f64,
    /// What brought control to a function where a chain names a call, of those looked up before.
    known: BTreeMap<(Place, Place), Option<Caller>>,
}

/// What brought control to a function.
enum Caller {
    /// The call that the chain names, or the jump of the stub that it calls.
    By(Place),
    /// Some call of this function, which the chain skipped.
    Within(Place),
    /// One of these, which the chain skipped.
    Among(Vec<Place>),
}

impl<'a> Book<'a> {
    fn new(lookup: Lookup<'a>) -> Book<'a> {
        Book {
            lookup,
            told: Told::default(),
            seen: Calls::new(),
            inferred: Calls::new(),
            sampled: BTreeMap::new(),
            named: 0.0,
            known: BTreeMap::new(),
        }
    }

    /// Notes the functions with frames that indirect calls enter.
    fn enter(&mut self, cell: &Cell, context: &Context) {
        for (depth, call, callee) in self.lookup.chain(cell, context) {
            let framed = || match depth {
                0 => self.lookup.is_framed(place(cell.at)),
                _ => self.lookup.has_frame(callee),
            };
            if self.lookup.is_indirect(call) && (context.unwound || framed()) {
                self.lookup.entered.entry(call).or_default().insert(callee);
            }
        }
    }

    fn note(&mut self, cell: &Cell, context: &Context) {
        let Some(function) = self.lookup.function(place(cell.at)).filter(|_| context.callers.is_some())
        else {
            return;
        };
        let mut explained = false;
        for (depth, call, callee) in self.lookup.chain(cell, context) {
            let lookup = &self.lookup;
            let known = self.known.entry((call, callee));
            let Some(caller) = known.or_insert_with(|| lookup.caller(call, callee)) else { continue };
            explained |= depth == 0;
            let add = |into: &mut Calls, from, inside| {
                let entry = into.entry((from, callee)).or_default();
                *entry = (entry.0 + cell.samples, entry.1 + inside);
            };
            match caller {
                Caller::By(call) => add(&mut self.seen, *call, cell.samples),
                Caller::Within(caller) => {
                    *self.told.skipped.entry((*caller, callee)).or_default() += cell.samples;
                }
                Caller::Among(calls) => {
                    let inside = if calls.len() == 1 { cell.samples } else { 0 };
                    calls.iter().for_each(|call| add(&mut self.inferred, *call, inside));
                }
            }
        }
        let (samples, sampled) = (cell.samples as f64, self.sampled.entry(function).or_default());
        sampled.chained += samples;
        self.named += if context.callers.iter().flatten().flatten().next().is_some() { samples } else { 0.0 };
        sampled.hidden += if explained { 0.0 } else { samples };
    }

    fn close(mut self, samples: f64) -> Told {
        // chains of frame pointers name next to nobody in code without them
        let complete = 2.0 * self.named > samples;
        let own = |callee: &Place| self.sampled.get(callee).map_or(0.0, |s| s.chained);
        let inferred =
            self.inferred.into_iter().filter(|((_, to), calls)| calls.0 as f64 > NOTABLE * own(to));
        for (call, (count, inside)) in inferred {
            let entry = self.seen.entry(call).or_default();
            *entry = (entry.0 + count, entry.1 + inside);
        }
        let hidden = self.sampled.iter().filter(|(_, s)| s.hidden > NOTABLE * s.chained);
        let seen = |((from, to), (count, inside))| Seen { from, to, count, inside };
        Told {
            hidden: hidden.map(|(at, _)| *at).collect(),
            complete,
            seen: self.seen.into_iter().map(seen).collect(),
            ..self.told
        }
    }
}

fn sets_up_frame(inst: &Inst) -> bool {
    inst.effect == Effect::Copy { to: Number::Register(FRAME), from: Number::Register(STACK) }
}

/// The innermost function whose range holds a place.
fn around(functions: &[(u32, Function)], at: Place) -> Option<&Function> {
    let behind = functions.partition_point(|(space, f)| (*space, f.range.start) <= (at.space, at.address));
    let mut before = functions[..behind].iter().rev().take(MOST_INSIDE);
    let holds = |(space, f): &&(u32, Function)| *space == at.space && f.range.contains(&at.address);
    before.find(holds).map(|(_, function)| function)
}

/// Finds decoded code by place.
struct Lookup<'a> {
    functions: &'a [(u32, Function)],
    /// Samples of each.
    samples: &'a BTreeMap<Place, f64>,
    linker: &'a dyn Linker,
    /// Functions that indirect calls were seen to enter, of those that have frames.
    entered: BTreeMap<Place, BTreeSet<Place>>,
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

    /// The calls that a sample's chain names, innermost first, each with its depth and the function inside.
    fn chain(&self, cell: &Cell, context: &Context) -> Vec<(usize, Place, Place)> {
        let mut chain = Vec::new();
        let mut callee = self.function(place(cell.at));
        for (depth, caller) in context.callers.iter().flatten().enumerate() {
            let Some(caller) = caller.map(place) else { break };
            if let (Some(call), Some(callee)) = (self.call_before(caller), callee) {
                chain.push((depth, call, callee));
            }
            callee = self.function(caller);
        }
        chain
    }

    /// The call whose return address this is.
    fn call_before(&self, back: Place) -> Option<Place> {
        let function = self.around(Place { address: back.address.checked_sub(1)?, ..back })?;
        let behind = function.insts.partition_point(|i| i.address < back.address);
        let call = function.insts.get(behind.checked_sub(1)?)?;
        (call.is_call() && call.end() == back.address).then_some(Place { address: call.address, ..back })
    }

    fn flow(&self, at: Place) -> Option<Flow> {
        let function = self.around(at)?;
        Some(function.insts[function.at(at.address)?].flow)
    }

    fn is_indirect(&self, call: Place) -> bool {
        matches!(self.flow(call), Some(Flow::IndirectCall { .. }))
    }

    /// Whether a function sets up a frame of its own before it calls: a chain of frame pointers then names its caller.
    fn has_frame(&self, at: Place) -> bool {
        self.starting(at).is_some_and(|f| f.insts.iter().any(sets_up_frame))
    }

    /// Whether the frame pointer is its function's at an instruction: behind where it is set up, and not at the return.
    fn is_framed(&self, at: Place) -> bool {
        let of = |f: &Function| {
            let (here, begins) = (f.at(at.address)?, f.insts.iter().position(sets_up_frame)?);
            Some(here > begins && f.insts[here].flow != Flow::Return)
        };
        self.around(at).and_then(of).unwrap_or(false)
    }

    /// What brings control to `to` where a chain names the call at `call`.
    fn caller(&self, call: Place, to: Place) -> Option<Caller> {
        match self.flow(call)? {
            Flow::Call(target) => {
                let target = Place { address: target, ..call };
                if target == to {
                    return Some(Caller::By(call));
                }
                self.jump_of_stub(target, to).map(Caller::By).or_else(|| self.beneath(target, to))
            }
            _ => match self.entered.get(&call) {
                // it enters functions with frames; one without is below them, where a chain of frame pointers skips its caller
                Some(entered) if !entered.contains(&to) => {
                    entered.iter().find_map(|&at| self.beneath(at, to))
                }
                _ => Some(Caller::By(call)),
            },
        }
    }

    /// Whether an indirect call was seen to enter a function.
    fn enters(&self, call: Place, to: Place) -> bool {
        self.entered.get(&call).is_some_and(|entered| entered.contains(&to))
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

    /// Whether the function at `from` has enough samples to be what calls the one at `to`.
    fn is_warm(&self, from: Place, to: Place) -> bool {
        let own = |at: Place| self.samples.get(&at).copied().unwrap_or(0.0);
        own(from) >= NOTABLE * own(to)
    }

    /// What calls `to` among the function at `at` and those that it calls, the nearest first: a function that does, or calls
    /// that go nobody knows where, if they are few.
    fn beneath(&self, at: Place, to: Place) -> Option<Caller> {
        let (mut known, mut ring) = (BTreeSet::from([at]), vec![at]);
        while !ring.is_empty() && known.len() <= MOST_BETWEEN {
            let mut next = BTreeSet::new();
            let (mut open, mut seen) = (Vec::new(), Vec::new());
            for &from in &ring {
                let Some(function) = self.starting(from) else { continue };
                for inst in &function.insts {
                    match inst.flow {
                        Flow::Call(address) | Flow::Jump(address) => {
                            next.insert(Place { address, ..from });
                        }
                        Flow::IndirectCall { via: None } if self.is_warm(from, to) => {
                            let call = Place { address: inst.address, ..from };
                            open.push(call);
                            seen.extend(Some(call).filter(|call| self.enters(*call, to)));
                        }
                        _ => {}
                    }
                }
                if next.contains(&to) {
                    return Some(Caller::Within(from));
                }
            }
            if !seen.is_empty() {
                return Some(Caller::Among(seen));
            }
            if !open.is_empty() {
                return (open.len() <= MOST_CALLS).then_some(Caller::Among(open));
            }
            ring = next.into_iter().filter(|at| self.starting(*at).is_some() && known.insert(*at)).collect();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::explore;
    use crate::code::testing::{Bytes, NoStubs};
    use crate::image::{ImageId, Location, Svma};
    use crate::perfdata::AttrIx;

    /// What ten samples tell, `named` of which have a caller on their chain.
    fn told_of(named: u64) -> Told {
        // 0: call 6; 5: ret — 6: nop; 7: ret
        let source = Bytes(0, vec![0xe8, 1, 0, 0, 0, 0xc3, 0x90, 0xc3]);
        let functions = [0..6, 6..8].map(|range| (0, explore(&source, range, &[])));
        let samples = BTreeMap::new();
        let lookup =
            Lookup { functions: &functions, samples: &samples, linker: &NoStubs, entered: BTreeMap::new() };
        let mut book = Book::new(lookup);
        let location = |address| Location { image: ImageId(0), svma: Svma(address) };
        for (samples, callers) in [(named, vec![Some(location(5))]), (10 - named, Vec::new())] {
            let cell =
                Cell { attr: AttrIx(0), at: location(6), context: 0, samples, weight: samples, exact: 0 };
            book.note(&cell, &Context { callers: Some(callers.into()), unwound: false, view: None });
        }
        book.close(10.0)
    }

    #[test]
    fn chains_that_name_nobody_show_no_calls() {
        assert!(told_of(6).complete && told_of(6).seen.len() == 1);
        assert!(!told_of(4).complete, "code without frame pointers");
    }

    #[test]
    fn cold_code_does_not_call_what_is_hot() {
        // 0: call 8; 5: ret — 8: call 18; call 20; ret — 18: call *%rax; ret — 20: call *%rax; ret — 28: ret
        let mut code = vec![0xe8, 3, 0, 0, 0, 0xc3];
        code.resize(8, 0xcc);
        code.extend([0xe8, 0x0b, 0, 0, 0, 0xe8, 0x0e, 0, 0, 0, 0xc3]);
        for start in [0x18, 0x20] {
            code.resize(start, 0xcc);
            code.extend([0xff, 0xd0, 0xc3]);
        }
        code.resize(0x28, 0xcc);
        code.push(0xc3);
        let source = Bytes(0, code);
        let ranges = [0..6, 8..0x13, 0x18..0x1b, 0x20..0x23, 0x28..0x29];
        let functions = ranges.map(|range| (0, explore(&source, range, &[])));
        let at = |address| Place { space: 0, address };
        let called_by = |samples: &[(u64, f64)]| {
            let samples = samples.iter().map(|&(address, own)| (at(address), own)).collect();
            let (functions, linker) = (&functions, &NoStubs);
            let lookup = Lookup { functions, samples: &samples, linker, entered: BTreeMap::new() };
            match lookup.caller(at(0), at(0x28)) {
                Some(Caller::Among(calls)) => calls.iter().map(|call| call.address).collect(),
                _ => Vec::new(),
            }
        };
        assert_eq!(called_by(&[(0x18, 90.0), (0x20, 80.0), (0x28, 100.0)]), [0x18, 0x20]);
        assert_eq!(called_by(&[(0x18, 2.0), (0x20, 80.0), (0x28, 100.0)]), [0x20]);
    }
}
