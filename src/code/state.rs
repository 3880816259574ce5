//! What registers and slots of the frame hold at one point of a function, as sums of numbers that nobody knows.
//!
//! In: instructions, one after the other. Out: for each location a form; two locations with the same form hold the same number.
//! Of widths it knows what copies make of constants; no sum is taken to overflow. It does not know memory other than the frame;
//! what others know of that, calls and stores through other pointers may change.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::cfg::BlockIx;
use super::effect::{Effect, Number};
use super::frame::Frame;
use super::inst::{Address, Inst, Kind, Registers};
use super::linear::Linear;
use super::width::Width;

/// A form of more terms is a number that nobody knows.
const MOST_TERMS: usize = 4;
/// Bytes that a store writes, where that is not known.
const LARGEST_STORE: i64 = 64;
/// General registers.
const REGISTERS: usize = 16;
const STACK: u8 = Registers::STACK_POINTER;
const FRAME: u8 = Registers::FRAME_POINTER;

/// A place that holds a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Location {
    /// A general register.
    Register(u8),
    /// Memory at this distance from what the stack pointer was at the entry, or was made by an instruction.
    Slot(Option<usize>, i64),
}

/// A number that nobody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unknown {
    /// What a location held when the function was entered.
    Given(Location),
    /// What an instruction left in it.
    Made(usize, Location),
    /// What it holds where ways meet.
    Met(BlockIx, Location),
}

/// A number as a sum.
pub(super) type Form = Linear<Unknown>;

/// Where ways meet with different forms of a location.
pub(super) type Met = BTreeSet<(BlockIx, Location)>;

/// What locations hold at one point. Those not mentioned hold what they did at the function's entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    registers: [Option<Rc<Form>>; REGISTERS],
    /// Mostly those of the block before.
    slots: Rc<BTreeMap<Location, Rc<Form>>>,
    frame: Rc<Frame>,
}

impl State {
    /// At the entry of a function.
    pub fn of_entry(frame: Rc<Frame>) -> State {
        State { frame, ..State::default() }
    }

    /// At a block that nothing is known to lead to.
    pub fn of_stray(block: BlockIx, frame: Rc<Frame>) -> State {
        let met = |register| Some(Rc::new(Form::of(Unknown::Met(block, Location::Register(register as u8)))));
        State { registers: std::array::from_fn(met), ..State::of_entry(frame) }
    }

    /// What `location` holds.
    pub fn value(&self, location: Location) -> Form {
        self.get(location).map_or_else(|| Form::of(Unknown::Given(location)), |form| Form::clone(form))
    }

    /// How many slots are mentioned.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    fn get(&self, location: Location) -> Option<&Rc<Form>> {
        match location {
            Location::Register(register) => self.registers[usize::from(register) % REGISTERS].as_ref(),
            Location::Slot(..) => self.slots.get(&location),
        }
    }

    fn put(&mut self, location: Location, form: Form) {
        match location {
            Location::Register(register) => {
                self.registers[usize::from(register) % REGISTERS] = Some(Rc::new(form));
            }
            Location::Slot(..) => drop(Rc::make_mut(&mut self.slots).insert(location, Rc::new(form))),
        }
    }

    fn holds_alike(&self, other: &State, location: Location) -> bool {
        match (self.get(location), other.get(location)) {
            (Some(a), Some(b)) => Rc::ptr_eq(a, b) || a == b,
            (None, None) => true,
            _ => self.value(location) == other.value(location),
        }
    }

    /// The operand of `inst`, where it is a register, a constant or a slot.
    pub fn number(&self, inst: &Inst, number: Number) -> Option<Form> {
        match number {
            // as wide as a counter mostly is: what looks like 2³² − 1 is −1
            Number::Constant(constant) => Some(Form::constant(match constant >> 31 {
                1 => constant - (1 << 32),
                _ => constant,
            })),
            _ => Some(self.value(self.location(inst, number)?)),
        }
    }

    /// What locations hold at the entry of `block`, to which others lead as well. What they disagree about is put with what has
    /// `met` there: it stays a number of its own, for what is the same whatever is known is the same if more is known.
    pub fn meet(mut self, block: BlockIx, others: &[&State], met: &mut Met) -> State {
        for other in others {
            met.extend(self.differing(other).map(|location| (block, location)));
        }
        let here = met.range((block, Location::Register(0))..).take_while(|(at, _)| *at == block);
        here.for_each(|&(_, location)| self.put(location, Form::of(Unknown::Met(block, location))));
        self
    }

    /// Locations in which `other` holds something else.
    pub fn differing<'a>(&'a self, other: &'a State) -> impl Iterator<Item = Location> + 'a {
        let registers = (0..REGISTERS as u8).map(Location::Register);
        let unlike = (!Rc::ptr_eq(&self.slots, &other.slots)).then_some([&other.slots, &self.slots]);
        let slots = unlike.into_iter().flatten().flat_map(|slots| slots.keys().copied());
        registers.chain(slots).filter(|&location| !self.holds_alike(other, location))
    }

    /// Where an operand of `inst` is, if that is a register or a slot.
    pub fn location(&self, inst: &Inst, number: Number) -> Option<Location> {
        match number {
            Number::Register(register) => Some(Location::Register(register)),
            Number::Memory => self.slot(&self.address(inst.memory?)?),
            Number::Constant(_) => None,
        }
    }

    /// The slot that a pointer of this form points to.
    pub fn slot(&self, pointer: &Form) -> Option<Location> {
        if self.frame.ignored {
            return None;
        }
        let mut terms = pointer.terms.iter();
        let stack = Location::Register(STACK);
        match (terms.next(), terms.next()) {
            (Some(&(Unknown::Given(from), 1)), None) if from == stack => {
                Some(Location::Slot(None, pointer.constant))
            }
            (Some(&(Unknown::Made(inst, from), 1)), None) if from == stack => {
                Some(Location::Slot(Some(inst), pointer.constant))
            }
            _ => None,
        }
    }

    /// The address that an operand means.
    pub fn address(&self, address: Address) -> Option<Form> {
        if address.opaque {
            return None;
        }
        let mut form = Form::constant(address.disp);
        if let Some(base) = address.base {
            form = form.plus(&self.value(Location::Register(base)), 1);
        }
        if let Some((index, scale)) = address.index {
            form = form.plus(&self.value(Location::Register(index)), i64::from(scale));
        }
        Some(form)
    }

    /// Lets the instruction with number `ix` run.
    pub fn run(&mut self, ix: usize, inst: &Inst) {
        let (to, value) = self.effect(inst);
        let target = to.and_then(|to| self.location(inst, to));
        let stack = self.stack_behind(inst);
        let stored = inst.memory.filter(|_| inst.stores).and_then(|memory| self.address(memory));
        let changes = |&register: &u8| inst.changes().has(register);
        for register in (0..REGISTERS as u8).filter(changes).map(Location::Register) {
            self.put(register, Form::of(Unknown::Made(ix, register)));
        }
        if let Some(stack) = stack {
            self.put(Location::Register(STACK), stack);
        }
        if let Some(target) = target {
            let value = value.filter(|form| form.terms.len() <= MOST_TERMS);
            self.put(target, value.unwrap_or_else(|| Form::of(Unknown::Made(ix, target))));
        }
        let overwritten = stored.map(|pointer| self.overwritten(&pointer, inst.width)).unwrap_or_default();
        let elsewhere = inst.stores && inst.memory.is_some() && target.is_none();
        let anywhere = inst.is_call() || elsewhere || inst.kind == Kind::String;
        let anyones = anywhere && !self.frame.given.is_empty();
        let given = anyones.then(|| self.slots.keys().copied().filter(|&slot| self.frame.is_given(slot)));
        let changed: Vec<Location> =
            given.into_iter().flatten().chain(overwritten).filter(|&slot| Some(slot) != target).collect();
        changed.into_iter().for_each(|slot| self.put(slot, Form::of(Unknown::Made(ix, slot))));
    }

    /// Slots that begin in what a store through `pointer` writes, which is an element of an array if it has an index.
    fn overwritten(&self, pointer: &Form, width: u8) -> Vec<Location> {
        let size = if width == 0 { LARGEST_STORE } else { i64::from(width) };
        let size = if self.slot(pointer).is_some() { size } else { i64::MAX };
        let of_frame = pointer.terms.iter().filter_map(|&(unknown, times)| match unknown {
            Unknown::Given(Location::Register(STACK)) if times == 1 => Some(None),
            Unknown::Made(inst, Location::Register(STACK)) if times == 1 => Some(Some(inst)),
            _ => None,
        });
        let at = pointer.constant;
        let within = |base| Location::Slot(base, at)..Location::Slot(base, at.saturating_add(size));
        of_frame.flat_map(|base| self.slots.range(within(base))).map(|(&slot, _)| slot).collect()
    }

    /// Slots whose address `inst` puts into a register, behind it.
    pub fn given_by<'a>(&'a self, inst: &Inst) -> impl Iterator<Item = Location> + 'a {
        let to = match inst.effect {
            Effect::Lea { to } => Some(to),
            Effect::Copy { to: Number::Register(to), .. } | Effect::Add { to: Number::Register(to), .. } => {
                Some(to)
            }
            _ => None,
        };
        let to = to.filter(|&to| to != STACK && !(to == FRAME && self.is_frame()));
        to.into_iter().filter_map(|to| self.slot(&self.value(Location::Register(to))))
    }

    /// Whether the frame pointer is where it was set up, with the caller's pushed right there.
    fn is_frame(&self) -> bool {
        self.value(Location::Register(FRAME)) == self.value(Location::Register(STACK))
    }

    /// The operand that `inst` writes, and what it then holds.
    fn effect(&self, inst: &Inst) -> (Option<Number>, Option<Form>) {
        match inst.effect {
            Effect::Copy { to, from } => {
                (Some(to), self.number(inst, from).map(|form| extended(inst, to, form)))
            }
            Effect::Add { to, from, minus } => {
                let both = self.number(inst, to).zip(self.number(inst, from));
                (Some(to), both.map(|(a, b)| a.plus(&b, if minus { -1 } else { 1 })))
            }
            Effect::Scale { to, from, by } => {
                (Some(to), self.number(inst, from).map(|v| Form::default().plus(&v, by)))
            }
            Effect::Lea { to } => {
                (Some(Number::Register(to)), inst.memory.and_then(|address| self.address(address)))
            }
            Effect::Mask { to, .. } => (Some(to), None),
            Effect::Compare { .. } | Effect::Test { .. } => (None, None),
            Effect::Combine { .. } | Effect::Product { .. } | Effect::Other => {
                (inst.stores.then_some(Number::Memory), None)
            }
        }
    }

    /// The stack pointer behind pushes, pops, calls and `leave`.
    fn stack_behind(&self, inst: &Inst) -> Option<Form> {
        let (now, word) = (|| self.value(Location::Register(STACK)), i64::from(inst.word));
        match &*inst.mnemonic {
            "push" => Some(now().shifted(-word)),
            "pop" => Some(now().shifted(word)),
            "leave" => Some(self.value(Location::Register(FRAME)).shifted(word)),
            _ => inst.is_call().then(now),
        }
    }
}

/// What a copy `to` some place makes of a form, if that is a constant.
fn extended(inst: &Inst, to: Number, form: Form) -> Form {
    form.known().map_or(form, |value| Form::constant(copied(inst, to, value)))
}

/// What a copy `to` some place makes of a number: the rest of a register is cleared, or filled with the sign.
pub(super) fn copied(inst: &Inst, to: Number, value: i64) -> i64 {
    let width = Width(inst.width);
    match (&*inst.mnemonic, to) {
        ("cdqe", _) => Width(4).signed(value),
        ("cwde", _) => Width(2).signed(value),
        ("movsx" | "movsxd", _) => width.signed(value),
        (_, Number::Register(_)) => width.unsigned(value),
        _ => value,
    }
}
