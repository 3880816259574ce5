//! What the first instruction of a block tells of lateness, compared with what every way to it ends with.
//!
//! In: a function, and which of its blocks have samples. Out: weights of a sample on each first instruction. It does not know how many
//! there are, and nothing of what is behind it ([`reporting`](super::reporting)).

use super::fusion;
use super::reporting::{longer, outlasts, slow, wait};
use crate::code::{Edge, Function, Inst, Kind};

/// A load so few instructions before a branch may keep it waiting.
const CLOSE: usize = 5;

/// What the first instruction of a block tells: weights, 0 where it tells nothing.
#[derive(Clone, Copy)]
pub struct Head {
    /// It is waited for more than what every way to it ends with.
    pub on: f64,
    /// It is waited for less than what every way to it ends with that is seen to run.
    pub behind: f64,
    /// The longest that any way to it ends with is waited for.
    pub longest: f64,
    /// It may have to be fetched first.
    pub refilled: bool,
}

/// What the first instruction of each block tells, but where it is entered in other ways.
pub fn heads(function: &Function, seen: &dyn Fn(usize) -> bool) -> Vec<Head> {
    let refilled = refilled(function);
    let blocks = &function.cfg.blocks;
    let mut ends: Vec<Vec<(f64, bool)>> = vec![Vec::new(); blocks.len()];
    for edge in function.cfg.edges.iter().filter(|edge| edge.to > 0) {
        let from = &blocks[edge.from];
        ends[edge.to].push((ending(&function.insts[from.first..from.end]), seen(edge.from)));
    }
    let head = |(b, ends): (usize, Vec<(f64, bool)>)| {
        let first = blocks[b].first;
        let own = slow(&function.insts[first], refilled[b]);
        let longest = ends.iter().map(|end| end.0).reduce(f64::max);
        let shortest = ends.iter().filter(|end| end.1).map(|end| end.0).reduce(f64::min);
        let on = longest.map_or(0.0, |quick| outlasts(&function.insts, first, own, quick));
        let behind = shortest.filter(|slow| slow.is_finite()).map_or(0.0, |slow| longer(slow, own));
        let on = if fusion::may_stay(&function.insts, first) { 0.0 } else { on };
        Head { on, behind, longest: longest.unwrap_or(0.0), refilled: refilled[b] }
    };
    ends.into_iter().enumerate().map(head).collect()
}

/// For how long what ends a block is waited for; a compare and its branch are one, and no call is over when it has left.
fn ending(insts: &[Inst]) -> f64 {
    match insts {
        [.., last] if last.kind == Kind::Call => f64::INFINITY,
        [.., compare, branch] if branch.is_conditional() => {
            wait(compare, false).max(wait(branch, compare.fuses))
        }
        [.., last] => wait(last, false),
        [] => 0.0,
    }
}

/// Blocks whose first instruction is waited for until it has been fetched, where the branch before them was mispredicted.
/// A branch with a load close before it may be waited for itself.
fn refilled(function: &Function) -> Vec<bool> {
    let mut refilled = vec![false; function.cfg.blocks.len()];
    for edge in &function.cfg.edges {
        let from = &function.cfg.blocks[edge.from];
        let close = &function.insts[from.end.saturating_sub(CLOSE).max(from.first)..from.end];
        refilled[edge.to] |= is_guessed(function, edge) && !close.iter().any(|i| i.loads);
    }
    refilled
}

/// Whether `edge` is a way of a branch that may be mispredicted. Branches back to the head of a loop seldom are.
pub fn is_guessed(function: &Function, edge: &Edge) -> bool {
    let from = &function.cfg.blocks[edge.from];
    let branches = function.insts[from.first..from.end].last().is_some_and(Inst::is_conditional);
    branches && !function.dominators.dominates(edge.to, edge.from)
}
