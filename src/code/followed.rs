//! What is known of a function's locations, found once and kept while its numbers are followed.
//!
//! In: a function. Out: what holds what at each of its instructions, what leads to each block, and what it stores in a slot of its frame,
//! wherever in it that is done.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::cfg::BlockIx;
use super::effect::{Effect, Number};
use super::function::Function;
use super::inst::Inst;
use super::state::{Form, Location, State};
use super::values::{States, Values};

/// A function whose numbers are followed once somebody asks for them.
pub(super) struct Numbers<'a> {
    pub function: &'a Function,
    followed: OnceCell<Option<Followed<'a>>>,
}

impl<'a> Numbers<'a> {
    /// Those of `function`.
    pub fn of(function: &'a Function) -> Numbers<'a> {
        Numbers { function, followed: OnceCell::new() }
    }

    /// `None` of a function whose numbers do not settle.
    pub fn followed(&self) -> Option<&Followed<'a>> {
        self.followed.get_or_init(|| Followed::new(self.function)).as_ref()
    }
}

/// See the module.
pub(super) struct Followed<'a> {
    pub insts: &'a [Inst],
    pub values: Values<'a>,
    pub predecessors: Vec<Vec<BlockIx>>,
    /// What is stored in each slot, once that was asked.
    stored: OnceCell<BTreeMap<Location, BTreeSet<Form>>>,
}

impl<'a> Followed<'a> {
    /// `None` of a function whose numbers do not settle.
    pub fn new(function: &'a Function) -> Option<Followed<'a>> {
        Some(Followed::with(function, Values::new(&function.insts, &function.cfg, &function.dominators)?))
    }

    /// Of a function whose `states` were found before.
    pub fn again(function: &'a Function, states: Rc<States>) -> Followed<'a> {
        Followed::with(function, Values::again(&function.insts, &function.cfg, states))
    }

    fn with(function: &'a Function, values: Values<'a>) -> Followed<'a> {
        let predecessors = function.cfg.predecessors();
        Followed { insts: &function.insts, values, predecessors, stored: OnceCell::new() }
    }

    /// What is stored in a slot, wherever.
    pub fn stored(&self, slot: Location) -> impl Iterator<Item = &Form> {
        let stored = self.stored.get_or_init(|| {
            let mut stored: BTreeMap<Location, BTreeSet<Form>> = BTreeMap::new();
            for block in 0..self.predecessors.len() {
                self.values.follow(block, |ix, state| {
                    if let Some((slot, form)) = store(&self.insts[ix], state) {
                        stored.entry(slot).or_default().insert(form);
                    }
                });
            }
            stored
        });
        stored.get(&slot).into_iter().flatten()
    }

    /// Where what instruction `inst` reads into `register`, all of it, stands.
    pub fn read_from(&self, inst: usize, register: u8) -> Option<Form> {
        let reads = &self.insts[inst];
        let copied = Effect::Copy { to: Number::Register(register), from: Number::Memory };
        let pointer = reads.memory.filter(|_| reads.effect == copied)?;
        self.values.before(inst).address(pointer)
    }
}

/// The slot that `inst` stores something in, and what.
fn store(inst: &Inst, state: &State) -> Option<(Location, Form)> {
    let Effect::Copy { to: Number::Memory, from } = inst.effect else { return None };
    let slot = state.slot(&state.address(inst.memory?)?)?;
    Some((slot, state.number(inst, from)?))
}
