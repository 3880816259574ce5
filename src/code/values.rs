//! What registers and slots of the frame hold at the entry of each block, and behind it.
//!
//! In: a function's instructions and their graph. Out: for each block a [`State`]. Where ways meet with different forms, the
//! number is a new unknown of that block, as a φ is in static single assignment form (Cytron et al., "Efficiently computing
//! static single assignment form", 1991).

use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

use super::cfg::{BlockIx, Cfg, Edge};
use super::dominators::Dominators;
use super::frame::Frame;
use super::inst::Inst;
use super::state::{Location, Met, State};

/// Times that all blocks are gone through, at most.
const ROUNDS: usize = 24;
/// Blocks of a function, and slots that they remember together, at most.
const LARGEST: usize = 1 << 17;

/// What locations hold at the entry of each block, and behind it.
pub(super) struct Values<'a> {
    insts: &'a [Inst],
    cfg: &'a Cfg,
    states: Rc<States>,
}

/// The same without the function.
#[derive(Debug)]
pub struct States {
    frame: Rc<Frame>,
    entering: Vec<State>,
    leaving: Vec<State>,
}

impl<'a> Values<'a> {
    /// `None` if the states do not settle, or of a function that is very large; of a large one only the registers are followed.
    pub fn new(insts: &'a [Inst], cfg: &'a Cfg, dominators: &Dominators) -> Option<Values<'a>> {
        let search = Search { insts, cfg, dominators };
        let values = |states: States| Values { insts, cfg, states: Rc::new(states) };
        let Some(settled) = search.settled(Frame::default()).map(values) else {
            return search.settled(Frame { ignored: true, ..Frame::default() }).map(values);
        };
        let given = settled.given();
        match given.is_empty() {
            true => Some(settled),
            false => search.settled(Frame { given, ..Frame::default() }).map(values),
        }
    }

    /// Those of a function whose `states` were found before.
    pub fn again(insts: &'a [Inst], cfg: &'a Cfg, states: Rc<States>) -> Values<'a> {
        Values { insts, cfg, states }
    }

    /// What they are without the function.
    pub fn states(&self) -> Rc<States> {
        self.states.clone()
    }

    /// What locations hold before `inst`.
    pub fn before(&self, inst: usize) -> State {
        self.until(self.cfg.block_of(inst), inst)
    }

    /// What locations hold at the entry of `block`.
    pub fn entering(&self, block: BlockIx) -> &State {
        &self.states.entering[block]
    }

    /// What locations hold behind `block`.
    pub fn leaving(&self, block: BlockIx) -> &State {
        &self.states.leaving[block]
    }

    fn until(&self, block: BlockIx, end: usize) -> State {
        self.states.entering[block].clone().until(self.insts, self.cfg.blocks[block].first..end)
    }

    /// Shows each instruction of `block`, by its index, with what locations hold before it.
    pub fn follow(&self, block: BlockIx, mut seen: impl FnMut(usize, &State)) {
        let mut state = self.entering(block).clone();
        for ix in self.cfg.blocks[block].first..self.cfg.blocks[block].end {
            seen(ix, &state);
            state.run(ix, &self.insts[ix]);
        }
    }

    /// Whether anyone may write to a location.
    pub fn is_given(&self, location: Location) -> bool {
        self.states.frame.is_given(location)
    }

    /// Slots whose address is put into a register.
    fn given(&self) -> BTreeSet<Location> {
        let mut given = BTreeSet::new();
        for block in 0..self.cfg.blocks.len() {
            let mut state = self.entering(block).clone();
            for ix in self.cfg.blocks[block].first..self.cfg.blocks[block].end {
                state.run(ix, &self.insts[ix]);
                given.extend(state.given_by(&self.insts[ix]));
            }
        }
        given
    }
}

/// A function whose states are sought.
struct Search<'a> {
    insts: &'a [Inst],
    cfg: &'a Cfg,
    dominators: &'a Dominators,
}

impl Search<'_> {
    /// The states, where that is known of the frame.
    fn settled(&self, frame: Frame) -> Option<States> {
        let predecessors = self.cfg.predecessors();
        let none = vec![State::default(); self.cfg.blocks.len()];
        let mut states = States { frame: frame.into(), entering: none.clone(), leaving: none };
        let mut met = Met::new();
        let mut due = vec![true; self.cfg.blocks.len()];
        for _ in 0..ROUNDS {
            self.pass(&mut states, &predecessors, &mut met, &mut due)?;
            // what ways back bring
            let back = |edge: &&Edge| self.dominators.is_retreating(edge.from, edge.to);
            for edge in self.cfg.edges.iter().filter(back) {
                let differing = states.entering[edge.to].differing(&states.leaving[edge.from]);
                for location in differing {
                    due[edge.to] |= met.insert((edge.to, location));
                }
            }
            if !due.contains(&true) {
                return Some(states);
            }
        }
        None
    }

    /// Goes through the blocks that are `due`, and those behind what changes, as if ways agreed but where they `met`; what a way back
    /// brings is not looked at. `None` if there is too much to remember.
    fn pass(
        &self,
        states: &mut States,
        predecessors: &[Vec<BlockIx>],
        met: &mut Met,
        due: &mut [bool],
    ) -> Option<()> {
        let mut left = LARGEST;
        let mut passed = vec![false; self.cfg.blocks.len()];
        let mut changed = vec![false; self.cfg.blocks.len()];
        for &block in &self.dominators.order {
            let before = || predecessors[block].iter().copied().filter(|&p| passed[p]);
            if std::mem::take(&mut due[block]) || before().any(|p| changed[p]) {
                let entering = self.entering(states, block, before(), met);
                let own = &self.cfg.blocks[block];
                let leaving = entering.clone().until(self.insts, own.first..own.end);
                changed[block] = leaving != states.leaving[block];
                states.leaving[block] = leaving;
                states.entering[block] = entering;
            }
            passed[block] = true;
            left = left.checked_sub(1 + states.leaving[block].slots())?;
        }
        Some(())
    }

    /// What locations hold at the entry of `block`, by what those `before` leave.
    fn entering(
        &self,
        states: &States,
        block: BlockIx,
        before: impl Iterator<Item = BlockIx>,
        met: &mut Met,
    ) -> State {
        let mut ways = before.map(|p| &states.leaving[p]);
        let frame = || states.frame.clone();
        let entry = if block == 0 { Some(State::of_entry(frame())) } else { ways.next().cloned() };
        let first = entry.unwrap_or_else(|| State::of_stray(block, frame()));
        first.meet(block, &ways.collect::<Vec<_>>(), met)
    }
}

impl State {
    /// This state behind a range of `insts`.
    fn until(mut self, insts: &[Inst], range: Range<usize>) -> State {
        range.for_each(|ix| self.run(ix, &insts[ix]));
        self
    }
}
