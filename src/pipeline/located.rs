//! Cells → the instructions of the program that they stand on.
//!
//! In: the first walk's cells, and a program. Out: cells by event and function, each with its instruction, so that what looks at
//! one function or one event does not look through all. It does not know cells whose code was not decoded.

use std::collections::BTreeMap;

use super::decoding::place;
use super::survey::{Cell, CellIx, Survey};
use crate::code::{FunctionIx, Program};

/// Cells by where they stand.
pub struct Located<'a> {
    survey: &'a Survey,
    /// For each event and function, its cells and their instructions, in the order of the survey.
    on: BTreeMap<(usize, FunctionIx), Vec<(CellIx, usize)>>,
}

impl<'a> Located<'a> {
    /// Finds those `among` the cells of `survey` that stand in `program`.
    pub fn new(survey: &'a Survey, program: &Program, among: &dyn Fn(CellIx) -> bool) -> Located<'a> {
        let mut on: BTreeMap<(usize, FunctionIx), Vec<(CellIx, usize)>> = BTreeMap::new();
        for (ix, cell) in survey.cells.iter().enumerate().map(|(ix, cell)| (ix as CellIx, cell)) {
            if let Some((f, inst)) = program.find(place(cell.at)).filter(|_| among(ix)) {
                on.entry((cell.attr.0 as usize, f)).or_default().push((ix, inst));
            }
        }
        Located { survey, on }
    }

    /// Cells of an event in function `f`, by their number, with their instructions.
    pub fn within(&self, event: usize, f: FunctionIx) -> impl Iterator<Item = (CellIx, &'a Cell, usize)> {
        let cells = &self.survey.cells;
        self.on.get(&(event, f)).into_iter().flatten().map(|&(ix, inst)| (ix, &cells[ix as usize], inst))
    }

    /// Weight of an event per instruction.
    pub fn weight(&self, event: usize) -> BTreeMap<(FunctionIx, usize), f64> {
        let mut weight = BTreeMap::new();
        for (&(_, f), cells) in self.on.range((event, 0)..(event + 1, 0)) {
            for &(cell, inst) in cells {
                *weight.entry((f, inst)).or_default() += self.survey.cells[cell as usize].weight as f64;
            }
        }
        weight
    }
}
