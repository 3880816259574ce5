//! How often code ran, as branch stacks show it.
//!
//! In: the straight runs between branches, of the samples of one event, each weighed by what its stack spans: a sample stands
//! for a period, whether its stack holds much of that or little. Out: executions per instruction, as samples that stand where
//! they arose. It does not know executions of code that no stack shows. Unweighed, a stack of 16 branches through long blocks
//! counts for more than one through short ones: on one recording functions were .22 off instead of .015.

use std::collections::BTreeMap;

use super::decoding::place;
use super::survey::Survey;
use crate::code::{FunctionIx, Program};
use crate::perfdata::AttrIx;
use crate::skid::folded::{Counts, Folded};

/// Instructions of a run at most: longer ones miss a branch.
const LONGEST: usize = 1000;

/// Executions per instruction by the stacks of event `attr`; `None` without stacks. What one stack shows of a loop is not
/// many things seen but one: all that it shows is one sample.
pub fn ran(survey: &Survey, program: &Program, attr: AttrIx) -> Option<Folded> {
    let mut weight: BTreeMap<(FunctionIx, usize), f64> = BTreeMap::new();
    for (&(_, first, last), &n) in survey.runs.iter().filter(|((event, ..), _)| *event == attr) {
        if let (Some((f, first)), Some((g, last))) = (program.find(place(first)), program.find(place(last)))
            && f == g
            && is_straight(program, f, first, last)
        {
            (first..=last).for_each(|inst| *weight.entry((f, inst)).or_default() += n as f64);
        }
    }
    let shown: f64 = weight.values().sum();
    let stacks = survey.events.get(attr.0 as usize)?.stacks;
    (shown > 0.0 && stacks > 0).then(|| Folded {
        weight,
        period: shown / stacks as f64,
        counts: Counts::Instructions,
        exact: true,
        stray: 0.0,
    })
}

fn is_straight(program: &Program, f: FunctionIx, first: usize, last: usize) -> bool {
    let insts = &program.functions[f].1.insts;
    first <= last
        && last - first < LONGEST
        && insts[first..=last].windows(2).all(|pair| pair[0].end() == pair[1].address)
}
