//! Functions that are passed to what calls them, as comparators are to what sorts.
//!
//! In: functions linked by their direct calls, and indirect calls in them. Out: the functions that such a call enters because those who
//! call the function it is in pass them, in a register, on the stack, or in an object of their frame or at a constant address, or were
//! passed them themselves; and the functions that were passed something, all of whose callers have to be known. What is stored in an object
//! of a frame counts wherever in the function that is done. It does not know objects that are allocated.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::followed::Followed;
use super::inst::{Inst, Registers};
use super::link::Linker;
use super::program::{CallSite, FunctionIx, Place, Program};
use super::state::{Form, Location, State, Unknown};
use super::values::States;

/// Numbers that are looked at for one call, at most: where something is found it takes 60.
const MOST_STEPS: usize = 400;
/// Numbers that are found to look at, at most: where an interpreter's operations meet each is hundreds of others. CPython by 1,397 samples
/// takes 9 s instead of 144.
const MOST_SOUGHT: usize = 1000;
/// Calls of a function, beyond which what they pass tells nothing.
const MOST_CALLS: usize = 64;
/// Pointers that are followed one behind the other.
const MOST_POINTERS: usize = 3;
/// Registers in which nothing is passed: who is called saves them (System V ABI).
const SAVED: Registers = Registers(0b1111_0000_0011_1000);
/// General registers.
const GENERAL: u8 = 16;
const STACK: Location = Location::Register(Registers::STACK_POINTER);

/// What one call enters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Callbacks {
    /// Where functions begin that it enters, as far as callers were among the functions that were looked at.
    pub entered: BTreeSet<Place>,
    /// Functions that these were passed to, or pointers that lead there.
    pub given: BTreeSet<Place>,
}

/// What was found of functions by their entries, which others ask for again; `None` of one whose numbers do not settle.
#[derive(Default)]
pub struct Memory(BTreeMap<Place, Option<Rc<States>>>);

impl Callbacks {
    /// Those of each of `calls`, which are indirect, in `program`. What is at an entry is the same whenever there is a function in
    /// `memory`.
    pub fn find(
        program: &Program,
        calls: &BTreeSet<Place>,
        linker: &dyn Linker,
        memory: &mut Memory,
    ) -> BTreeMap<Place, Callbacks> {
        let mut search = Search {
            program,
            linker,
            memory,
            followed: BTreeMap::new(),
            work: Vec::new(),
            seen: BTreeSet::new(),
            found: Callbacks::default(),
        };
        calls.iter().map(|&call| (call, search.of(call))).collect()
    }
}

/// A number that is sought: what is read through pointers, the first of which is a function's number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sought {
    function: FunctionIx,
    /// The number.
    form: Form,
    /// What is added to it before it is read through, and to what was read there before that is.
    path: Vec<i64>,
}

struct Search<'a> {
    program: &'a Program,
    linker: &'a dyn Linker,
    memory: &'a mut Memory,
    followed: BTreeMap<FunctionIx, Option<Rc<Followed<'a>>>>,
    work: Vec<Sought>,
    seen: BTreeSet<Sought>,
    found: Callbacks,
}

impl<'a> Search<'a> {
    /// What a call enters.
    fn of(&mut self, call: Place) -> Callbacks {
        self.seen.clear();
        if let Some((function, inst)) = self.program.find(call) {
            self.target(function, inst);
        }
        for _ in 0..MOST_STEPS {
            let Some(next) = self.work.pop() else { break };
            self.step(next);
        }
        self.work.clear();
        std::mem::take(&mut self.found)
    }

    /// Looks for what instruction `inst` of a function jumps to.
    fn target(&mut self, function: FunctionIx, inst: usize) {
        let Some(followed) = self.followed(function) else { return };
        let (state, call) = (followed.values.before(inst), &self.insts(function)[inst]);
        match call.memory {
            Some(operand) => {
                let Some(form) = state.address(operand).filter(is_object) else { return };
                self.seek(Sought { function, form, path: vec![0] });
            }
            None => {
                let register = call.reads.without(Registers::STACK).general_number();
                let Some(register) = register else { return };
                let form = state.value(Location::Register(register));
                self.seek(Sought { function, form, path: Vec::new() });
            }
        }
    }

    fn seek(&mut self, mut sought: Sought) {
        if let Some(first) = sought.path.first_mut() {
            *first = first.wrapping_add(std::mem::take(&mut sought.form.constant));
        }
        let few = self.seen.len() < MOST_SOUGHT && sought.path.len() <= MOST_POINTERS;
        if few && self.seen.insert(sought.clone()) {
            self.work.push(sought);
        }
    }

    fn step(&mut self, sought: Sought) {
        let Sought { function, form, path } = sought;
        let Some(followed) = self.followed(function) else { return };
        let added = path.first().copied().unwrap_or(form.constant);
        let pointer = Form { constant: added, ..form.clone() };
        let slot = followed.values.entering(0).slot(&pointer).filter(|_| !path.is_empty());
        match (slot, form.terms.as_slice()) {
            (Some(slot), _) => self.stored(function, &followed, slot, &path[1..]),
            (None, []) => self.constant(function, added, &path),
            (None, &[(unknown, 1)]) => {
                let rest =
                    |form: Form, by: i64| Sought { function, form: form.shifted(by), path: path.clone() };
                match unknown {
                    Unknown::Given(location) => self.passed(function, location, form.constant, &path),
                    Unknown::Met(block, location) => {
                        for &before in &followed.predecessors[block] {
                            let met = followed.values.leaving(before).value(location);
                            self.seek(rest(met, form.constant));
                        }
                    }
                    Unknown::Made(inst, location) => self.read(function, inst, location, form.constant, path),
                }
            }
            _ => {}
        }
    }

    /// Looks for what was in a `location` where the function was called, with `added` to it.
    fn passed(&mut self, function: FunctionIx, location: Location, added: i64, path: &[i64]) {
        if matches!(location, Location::Register(register) if SAVED.has(register)) {
            return;
        }
        self.found.given.insert(self.program.entry(function));
        let calls: Vec<&CallSite> = self.program.calls_of(function).take(MOST_CALLS + 1).collect();
        for call in calls.iter().filter(|_| calls.len() <= MOST_CALLS) {
            let Some(followed) = self.followed(call.caller) else { continue };
            let state = followed.values.before(call.inst);
            let there = match location {
                Location::Slot(None, at) => self.argument(call, &state, at),
                _ => Some(location),
            };
            if let Some(there) = there {
                let form = state.value(there).shifted(added);
                self.seek(Sought { function: call.caller, form, path: path.to_vec() });
            }
        }
    }

    /// The slot of the caller that is at `at` of the function called.
    fn argument(&self, call: &CallSite, state: &State, at: i64) -> Option<Location> {
        let word = i64::from(self.insts(call.caller)[call.inst].word);
        let pushed = if self.program.pushes(call) { word } else { 0 };
        state.slot(&state.value(STACK).shifted(at.wrapping_sub(pushed)))
    }

    /// Looks for what a function stores in a slot of its frame, or was passed there.
    fn stored(&mut self, function: FunctionIx, followed: &Followed<'_>, slot: Location, path: &[i64]) {
        let stored = followed.stored(slot).cloned();
        let passed = matches!(slot, Location::Slot(None, at) if at > 0);
        for form in stored.chain(passed.then(|| Form::of(Unknown::Given(slot)))) {
            self.seek(Sought { function, form, path: path.to_vec() });
        }
    }

    /// Looks for what instruction `inst` of a function reads into a `location`, with `added` to it.
    fn read(&mut self, function: FunctionIx, inst: usize, location: Location, added: i64, path: Vec<i64>) {
        let Some(followed) = self.followed(function) else { return };
        let Location::Register(register) = location else {
            return self.stored(function, &followed, location, &path);
        };
        let reads = &self.insts(function)[inst];
        let state = followed.values.before(inst);
        if reads.mnemonic.starts_with("cmov") {
            let general = |&number: &usize| number < usize::from(GENERAL);
            for one in reads.reads.numbers().filter(general) {
                let form = state.value(Location::Register(one as u8)).shifted(added);
                self.seek(Sought { function, form, path: path.clone() });
            }
        }
        let form = followed.read_from(inst, register);
        if let Some(form) = form.filter(|form| added == 0 && (!path.is_empty() || is_object(form))) {
            self.seek(Sought { function, form, path: [vec![0], path].concat() });
        }
    }

    /// Takes what is found at a constant address, or the constant itself.
    fn constant(&mut self, function: FunctionIx, constant: i64, path: &[i64]) {
        let place = Place { space: self.program.functions[function].0, address: constant as u64 };
        let Some((_, rest)) = path.split_first() else {
            self.found.entered.insert(place);
            return;
        };
        let Some(held) = self.linker.cell(place).or_else(|| self.linker.initial(place)) else { return };
        if rest.is_empty() {
            self.found.entered.insert(held);
        } else if held.space == place.space {
            let form = Form::constant(held.address as i64);
            self.seek(Sought { function, form, path: rest.to_vec() });
        }
    }

    fn insts(&self, function: FunctionIx) -> &'a [Inst] {
        &self.program.functions[function].1.insts
    }

    fn followed(&mut self, function: FunctionIx) -> Option<Rc<Followed<'a>>> {
        let Search { program, memory, followed, .. } = self;
        let follow = || {
            let (at, function) = (program.entry(function), &program.functions[function].1);
            if let Some(known) = memory.0.get(&at) {
                return Some(Rc::new(Followed::again(function, known.clone()?)));
            }
            let found = Followed::new(function).map(Rc::new);
            memory.0.insert(at, found.as_ref().map(|found| found.values.states()));
            found
        };
        followed.entry(function).or_insert_with(follow).clone()
    }
}

/// Whether a pointer leads to some object, not to a variable that holds a function: that may hold another later.
fn is_object(pointer: &Form) -> bool {
    pointer.known().is_none()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bytes, NoStubs};
    use super::super::{Told, explore};
    use super::*;
    use std::ops::Range;

    /// Where what is called at `call` begins, and who was passed something, in functions at these ranges of `code`.
    fn found(code: Vec<u8>, ranges: &[Range<u64>], call: u64) -> (Vec<u64>, Vec<u64>) {
        let source = Bytes(0, code);
        let functions = ranges.iter().map(|range| (0, explore(&source, range.clone(), &[]))).collect();
        let program = Program::link(functions, &NoStubs, &Told { complete: true, ..Told::default() });
        let calls = BTreeSet::from([Place { space: 0, address: call }]);
        let callbacks = &Callbacks::find(&program, &calls, &NoStubs, &mut Memory::default())
            [&Place { space: 0, address: call }];
        let addresses = |places: &BTreeSet<Place>| places.iter().map(|at| at.address).collect();
        (addresses(&callbacks.entered), addresses(&callbacks.given))
    }

    /// So many bytes of `code` at each of these addresses.
    fn at(parts: &[(usize, &[u8])]) -> Vec<u8> {
        let mut all = Vec::new();
        for (start, code) in parts {
            all.resize(*start, 0xcc);
            all.extend(*code);
        }
        all
    }

    #[test]
    fn what_is_passed_in_a_register_is_called() {
        // 0: mov %rsi,%rbx; call *%rbx; ret
        let calls = [0x48, 0x89, 0xf3, 0xff, 0xd3, 0xc3];
        // 10: mov %rdi,%rsi; jmp 0
        let passes = [0x48, 0x89, 0xfe, 0xe9, 0xe8, 0xff, 0xff, 0xff];
        // 20: lea 0x40,%rdi; call 10; lea 0x50,%rdi; call 10; ret
        let makes = [
            0x48, 0x8d, 0x3d, 0x19, 0, 0, 0, 0xe8, 0xe4, 0xff, 0xff, 0xff, 0x48, 0x8d, 0x3d, 0x1d, 0, 0, 0,
            0xe8, 0xd8, 0xff, 0xff, 0xff, 0xc3,
        ];
        let code = at(&[(0, &calls), (0x10, &passes), (0x20, &makes)]);
        let ranges = [0..6, 0x10..0x18, 0x20..0x39];
        assert_eq!(found(code.clone(), &ranges, 3), (vec![0x40, 0x50], vec![0, 0x10]));
        assert_eq!(found(code, &ranges[..1], 3), (vec![], vec![0]), "nobody knows who calls it");
    }

    #[test]
    fn what_is_passed_in_an_object_of_the_frame_is_called() {
        // 0: mov 0x10(%rdi),%rax; mov %rax,-8(%rsp); mov -8(%rsp),%rax; call *%rax; test %eax,%eax; jne 0; ret
        let calls = [
            0x48, 0x8b, 0x47, 0x10, 0x48, 0x89, 0x44, 0x24, 0xf8, 0x48, 0x8b, 0x44, 0x24, 0xf8, 0xff, 0xd0,
            0x85, 0xc0, 0x75, 0xec, 0xc3,
        ];
        // 20: sub $0x38,%rsp; mov %rcx,0x20(%rsp); lea 0x10(%rsp),%rdi; call 0; add $0x38,%rsp; ret
        let passes = [
            0x48, 0x83, 0xec, 0x38, 0x48, 0x89, 0x4c, 0x24, 0x20, 0x48, 0x8d, 0x7c, 0x24, 0x10, 0xe8, 0xcd,
            0xff, 0xff, 0xff, 0x48, 0x83, 0xc4, 0x38, 0xc3,
        ];
        // 40: mov $0x60,%ecx; call 20; ret
        let makes = [0xb9, 0x60, 0, 0, 0, 0xe8, 0xd6, 0xff, 0xff, 0xff, 0xc3];
        let code = at(&[(0, &calls), (0x20, &passes), (0x40, &makes)]);
        assert_eq!(found(code, &[0..0x15, 0x20..0x38, 0x40..0x4b], 0xe), (vec![0x60], vec![0, 0x20]));
    }

    #[test]
    fn what_is_passed_on_the_stack_is_called() {
        // 0: mov 8(%rsp),%rax; call *%rax; ret
        let calls = [0x48, 0x8b, 0x44, 0x24, 0x08, 0xff, 0xd0, 0xc3];
        // 10: sub $8,%rsp; movq $0x40,(%rsp); call 0; add $8,%rsp; ret
        let passes = [
            0x48, 0x83, 0xec, 0x08, 0x48, 0xc7, 0x04, 0x24, 0x40, 0, 0, 0, 0xe8, 0xdf, 0xff, 0xff, 0xff,
            0x48, 0x83, 0xc4, 0x08, 0xc3,
        ];
        let code = at(&[(0, &calls), (0x10, &passes)]);
        assert_eq!(found(code, &[0..8, 0x10..0x26], 5), (vec![0x40], vec![0]));
    }

    #[test]
    fn either_of_two_may_be_passed() {
        // 0: call *%rcx; ret
        let calls = [0xff, 0xd1, 0xc3];
        // 10: lea 0x40,%rax; lea 0x50,%rcx; test %edi,%edi; cmove %rax,%rcx; call 0; ret
        let passes = [
            0x48, 0x8d, 0x05, 0x29, 0, 0, 0, 0x48, 0x8d, 0x0d, 0x32, 0, 0, 0, 0x85, 0xff, 0x48, 0x0f, 0x44,
            0xc8, 0xe8, 0xd7, 0xff, 0xff, 0xff, 0xc3,
        ];
        let code = at(&[(0, &calls), (0x10, &passes)]);
        assert_eq!(found(code, &[0..3, 0x10..0x2a], 0), (vec![0x40, 0x50], vec![0]));
    }

    #[test]
    fn a_function_that_passes_on_what_it_was_passed_ends() {
        // 0: call 0; call *%rsi; ret — 10: call 0; ret
        let (calls, passes) =
            ([0xe8, 0xfb, 0xff, 0xff, 0xff, 0xff, 0xd6, 0xc3], [0xe8, 0xeb, 0xff, 0xff, 0xff, 0xc3]);
        let code = at(&[(0, &calls), (0x10, &passes)]);
        assert_eq!(found(code, &[0..8, 0x10..0x16], 5), (vec![], vec![0, 0x10]));
    }
}
