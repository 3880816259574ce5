//! Functions → a program: which calls enter which of them.
//!
//! A direct call is linked by its address, a call through a stub or a constant cell by what the images say of it, any other
//! by what callchains and branch records saw; where an indirect call may go that none of them explains is guessed
//! ([`guess`](super::guess)).

use std::collections::{BTreeMap, BTreeSet};

use super::cfg::Exit;
use super::function::Function;
use super::function::Through;
use super::inst::Flow;
use super::program::{CallSite, FunctionIx, Place, Program, Target};

/// What the images know about where control goes.
pub trait Linker {
    /// Where a call or jump to `place` ends up when that is a stub; `None` when it is not, or not known.
    fn stub(&self, place: Place) -> Option<Place>;
    /// What the constant cell at `place` holds when the program runs.
    fn cell(&self, place: Place) -> Option<Place>;
    /// What the cell at `place` holds when the program starts, which the program may change.
    fn initial(&self, place: Place) -> Option<Place>;
    /// Those of `functions` whose addresses data or code holds.
    fn taken(&self, functions: &BTreeSet<Place>) -> BTreeMap<Place, Taken>;
    /// Whether the function at `place` is called when the program starts, as `main` is, and by nothing else.
    fn begins(&self, place: Place) -> bool;
}

/// A word of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    /// How many bytes behind where pointers to the object lead.
    pub offset: i64,
    /// Bytes of the object; 0 where nobody knows.
    pub size: i64,
}

/// Who has a function's address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Where in objects it stands when the program starts, or is put.
    pub slots: BTreeSet<Slot>,
    /// Whether an instruction makes it.
    pub by_code: bool,
}

/// A call or jump that was seen to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The call or jump instruction.
    pub from: Place,
    /// The function entered.
    pub to: Place,
    /// How often.
    pub count: u64,
    /// Samples taken inside that call, as callchains tell; none where it may have been another.
    pub inside: u64,
}

/// What a recording tells of calls.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// Calls between places; those between places that are no function of the program are ignored.
    pub seen: Vec<Seen>,
    /// Whether it would have shown an indirect call, as callchains do.
    pub complete: bool,
    /// Functions that are also called by what it does not show.
    pub hidden: BTreeSet<Place>,
    /// Samples in the second of two functions and below, called by the first, nobody knows from where in it.
    pub skipped: BTreeMap<(Place, Place), u64>,
    /// Samples in functions.
    pub samples: BTreeMap<Place, f64>,
    /// The functions that indirect calls enter because they were passed there.
    pub callbacks: BTreeMap<Place, BTreeSet<Place>>,
}

/// For each call, how often it was seen to enter each function, and samples inside.
type Observed = BTreeMap<Place, BTreeMap<FunctionIx, (u64, u64)>>;

impl Program {
    /// Links `functions` by what the code, the images and the recording tell. Where it told all, an indirect call that was not
    /// seen to enter a function does not enter it, unless nobody was seen to.
    pub fn link(functions: Vec<(u32, Function)>, linker: &dyn Linker, told: &Told) -> Program {
        let entry = |(ix, (space, f)): (usize, &(u32, Function))| {
            (Place { space: *space, address: f.range.start }, ix)
        };
        let entries = functions.iter().enumerate().map(entry).collect();
        let mut program = Program { functions, entries, complete: told.complete, ..Program::default() };
        let observed = program.observed(&told.seen);
        for caller in 0..program.functions.len() {
            let sites = program.sites(caller, linker, &observed);
            program.calls.extend(sites);
        }
        program.entered = entered(&program.calls, program.functions.len());
        let direct: BTreeSet<FunctionIx> = program.calls.iter().filter_map(CallSite::known).collect();
        let hidden = told.hidden.iter().filter_map(|&at| program.function_at(at));
        program.hidden = hidden.filter(|f| !direct.contains(f)).collect();
        let between = |(&(from, to), &samples): (&(Place, Place), &u64)| {
            Some(((program.function_at(from)?, program.function_at(to)?), samples))
        };
        program.skipped = told.skipped.iter().filter_map(between).collect();
        if !program.complete || !program.hidden.is_empty() {
            program.guess(told, linker);
        }
        program
    }

    fn observed(&self, seen: &[Seen]) -> Observed {
        let mut observed = Observed::new();
        for s in seen {
            if let Some(&function) = self.entries.get(&s.to) {
                let (seen, inside) = observed.entry(s.from).or_default().entry(function).or_default();
                (*seen, *inside) = (*seen + s.count, *inside + s.inside);
            }
        }
        observed
    }

    fn sites(&self, caller: FunctionIx, linker: &dyn Linker, observed: &Observed) -> Vec<CallSite> {
        let (space, function) = &self.functions[caller];
        let place = |address: u64| Place { space: *space, address };
        let cell = |inst: usize| match function.through(inst) {
            Through::Cell(at) => Some(at),
            _ => None,
        };
        let mut sites = Vec::new();
        for (inst, i) in function.insts.iter().enumerate() {
            let (known, tail) = match i.flow {
                Flow::Call(to) => (self.through_stub(place(to), linker), i.noreturn),
                Flow::IndirectCall { .. } => {
                    (cell(inst).and_then(|at| self.through_cell(place(at), linker)), i.noreturn)
                }
                _ => match self.leaves(function, inst) {
                    Some(Exit::Tail(to)) => (self.through_stub(place(to), linker), true),
                    Some(Exit::Indirect { .. }) => (
                        cell(inst).and_then(|at| self.through_cell(place(at), linker)).or_else(|| {
                            linker.stub(place(function.range.start)).and_then(|p| self.function_at(p))
                        }),
                        true,
                    ),
                    _ => continue,
                },
            };
            let mut targets: Vec<Target> =
                known.map(|function| Target { function, seen: 0, inside: 0 }).into_iter().collect();
            for (&function, &(seen, inside)) in observed.get(&place(i.address)).into_iter().flatten() {
                let target = Target { function, seen, inside };
                match targets.iter_mut().find(|t| t.function == function) {
                    Some(known) => *known = target,
                    None => targets.push(target),
                }
            }
            let open = known.is_none();
            sites.push(CallSite { caller, inst, tail, targets, open });
        }
        sites
    }

    fn leaves(&self, function: &Function, inst: usize) -> Option<Exit> {
        let block = &function.cfg.blocks[function.cfg.block_of(inst)];
        (block.end == inst + 1).then_some(block.exit)
    }

    pub(super) fn through_stub(&self, to: Place, linker: &dyn Linker) -> Option<FunctionIx> {
        self.function_at(to).or_else(|| self.function_at(linker.stub(to)?))
    }

    fn through_cell(&self, cell: Place, linker: &dyn Linker) -> Option<FunctionIx> {
        self.function_at(linker.cell(cell)?)
    }
}

/// For each of so many functions, the calls that may enter it.
fn entered(calls: &[CallSite], functions: usize) -> Vec<Vec<usize>> {
    let mut entered = vec![Vec::new(); functions];
    for (ix, call) in calls.iter().enumerate() {
        call.targets.iter().for_each(|target| entered[target.function].push(ix));
    }
    entered
}

#[cfg(test)]
mod tests {
    use super::super::explore::explore;
    use super::super::testing::{Bytes, NoStubs};
    use super::*;

    fn program(seen: &[Seen]) -> Program {
        // a at 0: call 0x10; call *%rax; ret — b at 0x10: ret — c at 0x18: jmp 0x10
        let mut code = vec![0xe8, 0x0b, 0, 0, 0, 0xff, 0xd0, 0xc3];
        code.resize(0x10, 0xcc);
        code.push(0xc3);
        code.resize(0x18, 0xcc);
        code.extend([0xeb, 0xf6]);
        let source = Bytes(0, code);
        let functions = [0..8, 0x10..0x11, 0x18..0x1a].map(|r| (0, explore(&source, r, &[])));
        let told = Told { seen: seen.to_vec(), ..Told::default() };
        Program::link(functions.into(), &NoStubs, &told)
    }

    #[test]
    fn direct_calls_and_tail_calls_are_linked() {
        let p = program(&[]);
        assert_eq!(p.calls[0].targets, [Target { function: 1, seen: 0, inside: 0 }]);
        let tail = p.calls.iter().find(|c| c.tail).expect("c jumps to b");
        assert_eq!((tail.caller, tail.targets[0].function), (2, 1));
    }

    #[test]
    fn an_unexplained_call_may_enter_what_nothing_calls() {
        let p = program(&[]);
        assert_eq!(p.calls[1].targets, [Target { function: 2, seen: 0, inside: 0 }]);
        assert!(p.calls[1].open);
    }

    #[test]
    fn a_seen_call_needs_no_guess() {
        let at = |address| Place { space: 0, address };
        let p = program(&[Seen { from: at(5), to: at(0x10), count: 7, inside: 0 }]);
        assert_eq!(p.calls[1].targets, [Target { function: 1, seen: 7, inside: 0 }]);
    }

    #[test]
    fn what_complete_evidence_does_not_show_is_not_guessed() {
        let guessed = program(&[]);
        let functions = guessed.functions.clone();
        let p = Program::link(functions, &NoStubs, &Told { complete: true, ..Told::default() });
        assert!(p.calls[1].targets.is_empty() && !guessed.calls[1].targets.is_empty());
    }

    #[test]
    fn what_nobody_was_seen_to_call_is_guessed_all_the_same() {
        let functions = program(&[]).functions;
        let hidden = BTreeSet::from([Place { space: 0, address: 0x18 }]);
        let p = Program::link(functions, &NoStubs, &Told { complete: true, hidden, ..Told::default() });
        assert_eq!(p.calls[1].targets, [Target { function: 2, seen: 0, inside: 0 }]);
    }
}
