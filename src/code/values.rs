//! What registers and slots of the frame hold at the entry of each block, and behind it.
//!
//! In: a function's instructions and their graph. Out: for each block a [`State`]. Where ways meet with different forms, the
//! number is a new unknown of that block, as a φ is in static single assignment form (Cytron et al., "Efficiently computing
//! static single assignment form", 1991).

use std::collections::BTreeSet;
use std::rc::Rc;

use super::cfg::{BlockIx, Cfg};
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
    frame: Rc<Frame>,
    entering: Vec<State>,
    leaving: Vec<State>,
}

impl<'a> Values<'a> {
    /// `None` if the states do not settle, or of a function that is very large; of a large one only the registers are followed.
    pub fn new(insts: &'a [Inst], cfg: &'a Cfg, dominators: &Dominators) -> Option<Values<'a>> {
        let settled = |frame: Frame| Values::settled(insts, cfg, dominators, frame.into());
        let Some(values) = settled(Frame::default()) else {
            return settled(Frame { ignored: true, ..Frame::default() });
        };
        let given = values.given();
        if given.is_empty() { Some(values) } else { settled(Frame { given, ..Frame::default() }) }
    }

    fn settled(
        insts: &'a [Inst],
        cfg: &'a Cfg,
        dominators: &Dominators,
        frame: Rc<Frame>,
    ) -> Option<Values<'a>> {
        let predecessors = cfg.predecessors();
        let none = vec![State::default(); cfg.blocks.len()];
        let mut values = Values { insts, cfg, frame, entering: none.clone(), leaving: none };
        let mut met = Met::new();
        for _ in 0..ROUNDS {
            values.pass(&dominators.order, &predecessors, &mut met)?;
            let known = met.len();
            // what ways back bring
            for edge in cfg.edges.iter().filter(|edge| dominators.is_retreating(edge.from, edge.to)) {
                let differing = values.entering[edge.to].differing(&values.leaving[edge.from]);
                met.extend(differing.map(|location| (edge.to, location)));
            }
            if met.len() == known {
                return Some(values);
            }
        }
        None
    }

    /// Goes through all blocks as if ways agreed but where they `met`; what a way back brings is not looked at. `None` if there is
    /// too much to remember.
    fn pass(&mut self, order: &[BlockIx], predecessors: &[Vec<BlockIx>], met: &mut Met) -> Option<()> {
        let mut left = LARGEST;
        let mut passed = vec![false; self.cfg.blocks.len()];
        for &block in order {
            let mut ways = predecessors[block].iter().filter(|&&p| passed[p]).map(|&p| &self.leaving[p]);
            let entry =
                if block == 0 { Some(State::of_entry(self.frame.clone())) } else { ways.next().cloned() };
            let first = entry.unwrap_or_else(|| State::of_stray(block, self.frame.clone()));
            self.entering[block] = first.meet(block, &ways.collect::<Vec<_>>(), met);
            self.leaving[block] = self.until(block, self.cfg.blocks[block].end);
            passed[block] = true;
            left = left.checked_sub(1 + self.leaving[block].slots())?;
        }
        Some(())
    }

    /// What locations hold before `inst`.
    pub fn before(&self, inst: usize) -> State {
        self.until(self.cfg.block_of(inst), inst)
    }

    /// What locations hold at the entry of `block`.
    pub fn entering(&self, block: BlockIx) -> &State {
        &self.entering[block]
    }

    /// What locations hold behind `block`.
    pub fn leaving(&self, block: BlockIx) -> &State {
        &self.leaving[block]
    }

    fn until(&self, block: BlockIx, end: usize) -> State {
        let mut state = self.entering[block].clone();
        (self.cfg.blocks[block].first..end).for_each(|ix| state.run(ix, &self.insts[ix]));
        state
    }

    /// Shows each instruction of `block`, by its index, with what locations hold before it.
    pub fn follow(&self, block: BlockIx, mut seen: impl FnMut(usize, &State)) {
        let mut state = self.entering[block].clone();
        for ix in self.cfg.blocks[block].first..self.cfg.blocks[block].end {
            seen(ix, &state);
            state.run(ix, &self.insts[ix]);
        }
    }

    /// Whether anyone may write to a location.
    pub fn is_given(&self, location: Location) -> bool {
        self.frame.is_given(location)
    }

    /// Slots whose address is put into a register.
    fn given(&self) -> BTreeSet<Location> {
        let mut given = BTreeSet::new();
        for block in 0..self.cfg.blocks.len() {
            let mut state = self.entering[block].clone();
            for ix in self.cfg.blocks[block].first..self.cfg.blocks[block].end {
                state.run(ix, &self.insts[ix]);
                given.extend(state.given_by(&self.insts[ix]));
            }
        }
        given
    }
}
