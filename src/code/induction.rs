//! Numbers that grow by the same amount in every turn of a loop: induction variables (Aho, Lam, Sethi, Ullman, "Compilers",
//! 9.1.7 and 9.6).
//!
//! In: what locations hold ([`super::values`]). Out: for a form at some place in a loop, its value in the first turn and what
//! it grows by from turn to turn. It does not know how many turns there are.

use super::cfg::BlockIx;
use super::followed::Numbers;
use super::function::Function;
use super::loops::{Loop, LoopIx};
use super::state::{Form, Location, Unknown};
use super::values::Values;

/// The induction variables of a function.
pub(super) struct Inductions<'a> {
    pub function: &'a Function,
    pub values: &'a Values<'a>,
    /// For each block, the blocks whose edges enter it.
    pub predecessors: &'a [Vec<BlockIx>],
}

impl<'a> Inductions<'a> {
    /// `None` if what locations hold is not known.
    pub fn of(numbers: &'a Numbers<'_>) -> Option<Inductions<'a>> {
        let followed = numbers.followed()?;
        Some(Inductions {
            function: numbers.function,
            values: &followed.values,
            predecessors: &followed.predecessors,
        })
    }

    /// The loop with this index.
    pub fn around(&self, ix: LoopIx) -> &'a Loop {
        &self.function.loops.all[ix]
    }

    /// A form's value in the first turn of a loop, and what it grows by from turn to turn.
    pub fn line(&self, ix: LoopIx, form: &Form) -> Option<(Form, i64)> {
        let mut first = Form::constant(form.constant);
        for &(unknown, c) in &form.terms {
            let begin = match unknown {
                Unknown::Met(block, location) if block == self.around(ix).header => {
                    self.begin(ix, location)?
                }
                _ => Form::of(unknown),
            };
            first = first.plus(&begin, c);
        }
        Some((first, self.step(ix, form)?))
    }

    /// What a form grows by from one turn of a loop to the next.
    pub fn step(&self, ix: LoopIx, form: &Form) -> Option<i64> {
        let mut terms = form.terms.iter();
        terms.try_fold(0i64, |sum, &(unknown, c)| {
            Some(sum.wrapping_add(c.wrapping_mul(self.grows(ix, unknown)?)))
        })
    }

    /// Whether a loop holds a block.
    pub fn holds(&self, ix: LoopIx, block: BlockIx) -> bool {
        self.function.loops.holds(self.around(ix), block)
    }

    /// What an unknown number grows by; 0 for one that stays, `None` for one that changes otherwise.
    fn grows(&self, ix: LoopIx, unknown: Unknown) -> Option<i64> {
        let (block, location) = match unknown {
            Unknown::Given(location) => (None, location),
            Unknown::Made(inst, location) => (Some(self.function.cfg.block_of(inst)), location),
            Unknown::Met(block, location) => (Some(block), location),
        };
        if self.values.is_given(location) {
            return None;
        }
        if block == Some(self.around(ix).header) && matches!(unknown, Unknown::Met(..)) {
            let step =
                |&latch| self.values.leaving(latch).value(location).plus(&Form::of(unknown), -1).known();
            return agreed(self.around(ix).latches.iter().map(step));
        }
        block.is_none_or(|block| !self.holds(ix, block)).then_some(0)
    }

    /// What `location` holds when the loop is entered.
    pub fn begin(&self, ix: LoopIx, location: Location) -> Option<Form> {
        let before = self.predecessors[self.around(ix).header].iter();
        let entries = before.filter(|block| !self.holds(ix, **block));
        agreed(entries.map(|&entry| Some(self.values.leaving(entry).value(location))))
    }
}

/// What all say, if it is the same.
fn agreed<T: PartialEq>(mut all: impl Iterator<Item = Option<T>>) -> Option<T> {
    let first = all.next()??;
    all.all(|other| other.as_ref() == Some(&first)).then_some(first)
}
