//! Stacks that a loop keeps in memory, and the register by which it pushes and pops.
//!
//! In: what locations hold ([`super::values`]). Out: for each such register of a loop, by how much each way through it moves the
//! top. What is pushed is popped, so the ways up go about as far as the ways down, whatever the data: interpreters of stack
//! machines push in one handler and pop in another, whose waits tell little of how often each runs. A register is taken for the top
//! of a stack if the loop moves it up and down by constants, stores through it where it moves one way and loads through it where it
//! moves the other; a cursor that now and then goes back a step does not store what it reads. Ways by which it is set anew may
//! begin another stack.

use super::cfg::{BlockIx, Edge};
use super::followed::Numbers;
use super::function::{Function, Stack};
use super::induction::Inductions;
use super::inst::{Inst, Registers};
use super::loops::LoopIx;
use super::state::{Form, Location, Unknown};

/// The stacks of a function, of its outermost loops that have them.
pub(super) fn stacks(numbers: &Numbers<'_>) -> Vec<Stack> {
    let tops = may_be_tops(numbers.function);
    if tops.is_empty() {
        return Vec::new();
    }
    let Some(inductions) = Inductions::of(numbers) else { return Vec::new() };
    tops.numbers().flat_map(|register| of(&inductions, Location::Register(register as u8))).collect()
}

/// Registers that instructions in loops move up and down, store through and load through.
fn may_be_tops(function: &Function) -> Registers {
    let Function { cfg, loops, insts, .. } = function;
    let [mut up, mut down, mut stored, mut loaded] = [Registers::default(); 4];
    let looped = cfg.blocks.iter().enumerate().filter(|(b, _)| loops.of(*b).is_some());
    for inst in looped.flat_map(|(_, block)| &insts[block.first..block.end]) {
        if let Some(sum) = inst.sum().filter(|sum| sum.added != 0) {
            let way = if sum.added > 0 { &mut up } else { &mut down };
            *way = way.or(Registers::general(sum.from));
        }
        let through =
            inst.memory.and_then(|address| address.base).map(Registers::general).unwrap_or_default();
        stored = if inst.stores { stored.or(through) } else { stored };
        loaded = if inst.loads { loaded.or(through) } else { loaded };
    }
    up.and(down).and(stored).and(loaded).without(Registers::STACK)
}

/// The stacks whose top is in `top`.
fn of(inductions: &Inductions<'_>, top: Location) -> Vec<Stack> {
    let loops = &inductions.function.loops;
    let mut found: Vec<Stack> = Vec::new();
    for ix in 0..loops.all.len() {
        if !found.iter().any(|outer| inductions.holds(outer.of, loops.all[ix].header)) {
            found.extend(Search { inductions, ix, top }.stack());
        }
    }
    found
}

/// A loop, and what may be the top of a stack in it.
struct Search<'a> {
    inductions: &'a Inductions<'a>,
    ix: LoopIx,
    top: Location,
}

impl Search<'_> {
    /// `None` if it is none.
    fn stack(&self) -> Option<Stack> {
        let Function { cfg, .. } = self.inductions.function;
        let header = self.inductions.around(self.ix).header;
        let within = |block| self.inductions.holds(self.ix, block);
        if !self.meets(header) {
            return None;
        }
        let mut stack = Stack { moves: Vec::new(), anew: Vec::new(), of: self.ix };
        let inner = cfg.edges.iter().filter(|edge| within(edge.from) && within(edge.to));
        for &Edge { from, to, .. } in inner.filter(|edge| self.meets(edge.to)) {
            match self.step(&self.inductions.values.leaving(from).value(self.top)) {
                Some(0) => {}
                Some(by) => stack.moves.push((from, to, by)),
                None => stack.anew.push((from, to)),
            }
        }
        let both = |up: bool| self.stores(&stack, up) && self.loads(&stack, !up);
        (both(true) || both(false)).then_some(stack)
    }

    /// Whether ways meet at `block` that leave different tops.
    fn meets(&self, block: BlockIx) -> bool {
        self.inductions.values.entering(block).value(self.top) == Form::of(Unknown::Met(block, self.top))
    }

    /// How far `form` is from what the top was where ways met before, in the loop.
    fn step(&self, form: &Form) -> Option<i64> {
        match form.terms.as_slice() {
            &[(Unknown::Met(block, of), 1)] if of == self.top && self.inductions.holds(self.ix, block) => {
                Some(form.constant)
            }
            _ => None,
        }
    }

    /// Whether all blocks behind which the top has moved that way, up or down, store through it.
    fn stores(&self, stack: &Stack, up: bool) -> bool {
        let mut moves = stack.moves.iter().filter(|by| (by.2 > 0) == up).peekable();
        moves.peek().is_some() && moves.all(|by| self.reaches(by.0, |inst| inst.stores))
    }

    /// Whether some block behind which it has moved that way loads through it.
    fn loads(&self, stack: &Stack, up: bool) -> bool {
        let mut moves = stack.moves.iter().filter(|by| (by.2 > 0) == up);
        moves.any(|by| self.reaches(by.0, |inst| inst.loads))
    }

    /// Whether such an instruction of `block` goes to memory at a constant distance from the top.
    fn reaches(&self, block: BlockIx, such: impl Fn(&Inst) -> bool) -> bool {
        let mut reaches = false;
        self.inductions.values.follow(block, |ix, state| {
            let inst = &self.inductions.function.insts[ix];
            let pointer = inst.memory.filter(|_| such(inst)).and_then(|address| state.address(address));
            reaches |= pointer.is_some_and(|pointer| self.step(&pointer).is_some());
        });
        reaches
    }
}

#[cfg(test)]
mod tests {
    use super::super::explore::explore;
    use super::super::testing::{Bytes, PUSHES_AND_POPS};

    /// Bytes by which the stacks of `code` move, and how many ways set their register anew.
    fn moves(code: &[u8]) -> Vec<(Vec<i64>, usize)> {
        let function = explore(&Bytes(0, code.to_vec()), 0..code.len() as u64, &[]);
        let by = |stack: &super::Stack| (stack.moves.iter().map(|by| by.2).collect(), stack.anew.len());
        function.stacks.iter().map(by).collect()
    }

    /// The code with other bytes from `at` on.
    fn with(at: usize, bytes: &[u8]) -> Vec<u8> {
        let mut code = PUSHES_AND_POPS.to_vec();
        code[at..at + bytes.len()].copy_from_slice(bytes);
        code
    }

    #[test]
    fn what_is_stored_one_way_and_loaded_the_other_is_a_stack() {
        let mut found = moves(&PUSHES_AND_POPS);
        assert_eq!(found.len(), 1);
        found[0].0.sort_unstable();
        assert_eq!(found[0].0, [-8, 8]);
    }

    #[test]
    fn a_cursor_that_goes_back_now_and_then_is_none() {
        // mov (%rcx),%rax instead of mov %rax,(%rcx)
        assert!(moves(&with(4, &[0x48, 0x8b, 0x01])).is_empty());
        // add $8,%rcx both times
        assert!(moves(&with(0xd, &[0x48, 0x83, 0xc1, 8])).is_empty());
    }

    #[test]
    fn where_its_register_is_set_anew_another_may_begin() {
        // dec %edi; jne 0; ret → dec %edi; je 1f; test $1,%edi; jne 0; mov %rsi,%rcx; jmp 0; 1: ret
        let mut code = PUSHES_AND_POPS.to_vec();
        code.truncate(0x16);
        code.extend([0x74, 0x0d, 0xf7, 0xc7, 1, 0, 0, 0, 0x75, 0xe0, 0x48, 0x89, 0xf1, 0xeb, 0xdb, 0xc3]);
        let found = moves(&code);
        assert_eq!((moves(&PUSHES_AND_POPS)[0].1, found.len(), found[0].1), (0, 1, 1));
    }
}
