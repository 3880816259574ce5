//! A loop that runs on numbers alone, turn by turn.
//!
//! In: a loop, and what is known at its header. Out: what is known when it comes there again, and which way its branches went on the
//! way. Where something unknown decides both ways are gone, and where they meet what both brought is known. What an inner loop
//! writes is unknown.

use std::collections::{BTreeMap, BTreeSet};

use super::cfg::{BlockIx, Edge, EdgeKind};
use super::function::Function;
use super::induction::Inductions;
use super::inst::Registers;
use super::known::Known;
use super::loops::{Loop, LoopIx};
use super::state::Location;

/// Whether `block` ends in a branch between blocks of the loop, and is in no inner one.
pub(super) fn stays(function: &Function, ix: LoopIx, block: BlockIx) -> bool {
    let within = |edge: &Edge| function.loops.holds(&function.loops.all[ix], edge.to);
    let ways = || function.cfg.successors(block);
    function.loops.of(block) == Some(ix) && ways().count() == 2 && ways().all(within)
}

/// The blocks that every turn of a loop comes by.
pub(super) fn passed(function: &Function, around: &Loop) -> BTreeSet<BlockIx> {
    let up = |&block: &BlockIx| function.dominators.parent(block).filter(|_| block != around.header);
    std::iter::successors(function.last_passed(around), up).collect()
}

/// See the module.
pub(super) struct Course<'a> {
    inductions: &'a Inductions<'a>,
    /// The loop.
    pub ix: LoopIx,
    /// Its instructions.
    pub size: usize,
    /// Its blocks in order.
    steps: Vec<Step>,
    /// The slots that are the memory operands of its instructions.
    slots: BTreeMap<usize, Location>,
    /// Those that instructions may change besides.
    lost: BTreeMap<usize, Vec<Location>>,
    /// What it writes, what is lost included.
    written: BTreeSet<Location>,
}

/// A block on the way round.
struct Step {
    block: BlockIx,
    /// Every turn comes by it.
    passed: bool,
    /// It ends in a branch between blocks of the loop.
    stays: bool,
    /// What the inner loop writes that begins here.
    forgets: BTreeSet<Location>,
}

/// One turn of a loop.
pub(super) struct Turn {
    /// What is known at the header when it comes there again; `None` if it has ended.
    pub next: Option<Known>,
    /// Branches between its blocks that every turn comes by, or that one that is decided leads to, and whether they were taken.
    pub branches: Vec<(BlockIx, Option<bool>)>,
    /// Something unknown may have ended it.
    pub may_end: bool,
}

impl<'a> Course<'a> {
    /// `None` of a loop with more than one entry inside.
    pub fn of(inductions: &'a Inductions<'a>, ix: LoopIx) -> Option<Course<'a>> {
        let function = inductions.function;
        let inside =
            |&&(from, to): &&(BlockIx, BlockIx)| inductions.holds(ix, from) && inductions.holds(ix, to);
        if function.loops.irreducible.iter().find(inside).is_some() {
            return None;
        }
        let around = inductions.around(ix);
        let order = function.dominators.in_order(function.loops.blocks(around));
        let (steps, slots, lost, written) = Default::default();
        let mut course = Course { inductions, ix, size: 0, steps, slots, lost, written };
        let writes = order.iter().map(|&block| (block, course.note(block))).collect();
        let passed = passed(function, around);
        let step = |block| course.step(block, passed.contains(&block), &writes);
        course.steps = order.into_iter().map(step).collect();
        course.written = writes.into_values().flatten().collect();
        Some(course)
    }

    fn step(&self, block: BlockIx, passed: bool, writes: &BTreeMap<BlockIx, BTreeSet<Location>>) -> Step {
        let function = self.inductions.function;
        let loops = &function.loops;
        let inner = loops.of(block).filter(|&inner| inner != self.ix).map(|inner| &loops.all[inner]);
        let begun = inner.filter(|inner| inner.header == block).into_iter();
        let written = begun.flat_map(|inner| loops.blocks(inner)).filter_map(|block| writes.get(&block));
        Step {
            block,
            passed,
            stays: stays(function, self.ix, block),
            forgets: written.flatten().copied().collect(),
        }
    }

    /// Notes what instructions of `block` do to locations; those that they write.
    fn note(&mut self, block: BlockIx) -> BTreeSet<Location> {
        let function = self.inductions.function;
        let mut writes = BTreeSet::new();
        self.size += function.cfg.blocks[block].end - function.cfg.blocks[block].first;
        self.inductions.values.follow(block, |at, state| {
            let inst = &function.insts[at];
            let slot = inst.memory.and_then(|address| state.slot(&state.address(address)?));
            self.slots.extend(slot.map(|slot| (at, slot)));
            let changes = |&register: &u8| inst.changes().has(register);
            writes.extend((0..16).filter(changes).map(Location::Register));
            if inst.stores || inst.is_call() {
                writes.extend(slot.filter(|_| inst.stores));
                let mut behind = state.clone();
                behind.run(at, inst);
                let other = |&l: &Location| matches!(l, Location::Slot(..)) && Some(l) != slot;
                let lost: Vec<Location> = behind.differing(state).filter(other).collect();
                writes.extend(&lost);
                self.lost.insert(at, lost);
            }
        });
        writes.remove(&Location::Register(Registers::STACK_POINTER));
        writes
    }

    /// What it writes.
    pub fn written(&self) -> impl Iterator<Item = Location> {
        self.written.iter().copied()
    }

    /// What is known when it is entered.
    pub fn beginning(&self) -> Known {
        self.locations().map(|location| (location, self.begins(location))).collect()
    }

    /// What is known if it is somewhere on its way, where what it writes is `some` number.
    pub fn somewhere(&self, some: impl Fn(Location) -> Option<u64>) -> Known {
        let number = |location| match self.written.contains(&location) {
            true => some(location),
            false => self.begins(location),
        };
        self.locations().map(|location| (location, number(location))).collect()
    }

    /// What `location` holds when it is entered.
    fn begins(&self, location: Location) -> Option<u64> {
        Some(self.inductions.begin(self.ix, location)?.known()? as u64)
    }

    /// Registers, and slots that it uses.
    fn locations(&self) -> impl Iterator<Item = Location> {
        let registers = (0..16).filter(|&register| register != Registers::STACK_POINTER);
        registers.map(Location::Register).chain(self.slots.values().copied())
    }

    /// One turn from what is known at the header. If it never `ends`, what numbers decide stays in it.
    pub fn turn(&self, known: Known, ends: bool) -> Turn {
        let function = self.inductions.function;
        let around = self.inductions.around(self.ix);
        let mut ways = Ways { entering: BTreeMap::from([(around.header, known)]), led: BTreeSet::new() };
        let mut turn = Turn { next: None, branches: Vec::new(), may_end: false };
        for step in &self.steps {
            let block = step.block;
            let Some(mut known) = ways.entering.remove(&block) else { continue };
            self.run(step, &mut known);
            let takes = self.takes(block, &known, ends);
            let certain = step.passed || ways.led.contains(&block);
            if certain && step.stays {
                turn.branches.push((block, takes));
            }
            turn.may_end |= function.cfg.blocks[block].exit.leaves();
            let gone = |edge: &&Edge| takes.is_none_or(|takes| takes == (edge.kind == EdgeKind::Taken));
            for edge in function.cfg.successors(block).filter(gone) {
                if certain && takes.is_some() && self.inductions.predecessors[edge.to].len() == 1 {
                    ways.led.insert(edge.to);
                }
                match edge.to {
                    to if to == around.header => meet(&mut turn.next, &known),
                    to if self.inductions.holds(self.ix, to) => ways.enter(to, &known),
                    _ => turn.may_end |= takes.is_none(),
                }
            }
        }
        turn
    }

    /// Lets a block run, without what an inner loop writes that begins there.
    fn run(&self, step: &Step, known: &mut Known) {
        let Function { cfg, insts, .. } = self.inductions.function;
        step.forgets.iter().for_each(|&location| known.put(location, None));
        let block = &cfg.blocks[step.block];
        for (at, inst) in insts.iter().enumerate().take(block.end).skip(block.first) {
            known.run(inst, self.slots.get(&at).copied());
            self.lost.get(&at).into_iter().flatten().for_each(|&slot| known.put(slot, None));
        }
    }

    /// Whether the branch at the end of `block` is taken, if there is one that numbers decide.
    fn takes(&self, block: BlockIx, known: &Known, ends: bool) -> Option<bool> {
        let Function { cfg, insts, .. } = self.inductions.function;
        let branch = &insts[cfg.blocks[block].end - 1];
        let takes = known.takes(&branch.mnemonic).filter(|_| branch.is_conditional())?;
        let within = |edge: &&Edge| ends || self.inductions.holds(self.ix, edge.to);
        let mut ways = cfg.successors(block).filter(within).map(|edge| edge.kind == EdgeKind::Taken);
        match (ways.next(), ways.next()) {
            (Some(only), None) => Some(only),
            _ => Some(takes),
        }
    }
}

/// Where a turn goes.
struct Ways {
    /// What is known at blocks that it comes to.
    entering: BTreeMap<BlockIx, Known>,
    /// Blocks that only a branch leads to that is decided.
    led: BTreeSet<BlockIx>,
}

impl Ways {
    fn enter(&mut self, block: BlockIx, known: &Known) {
        let mut met = self.entering.remove(&block);
        meet(&mut met, known);
        self.entering.extend(met.map(|met| (block, met)));
    }
}

fn meet(met: &mut Option<Known>, known: &Known) {
    match met {
        Some(met) => met.meet(known),
        None => *met = Some(known.clone()),
    }
}
