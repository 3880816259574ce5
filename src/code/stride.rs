//! How far each memory operand moves from one iteration of its loop to the next: what stays in one place stays in the caches.
//!
//! One iteration is followed with registers and slots of the frame as linear forms of what they held at its beginning; a
//! location that ends as itself plus a constant is an induction variable (Aho, Lam, Sethi, Ullman, "Compilers", 9.1.7 and
//! 9.6). Stores elsewhere are taken not to reach the frame, and code that does not run every time not to step anything.

use std::collections::BTreeMap;

use super::explore::Function;
use super::inst::{Address, Effect, Flow, Inst, Number, Registers};
use super::loops::{Loop, LoopIx};

/// How a memory operand moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stride {
    /// It has none, or one that stays.
    Fixed,
    /// By so many bytes.
    By(u64),
    /// As data says, or from call to call.
    Unknown,
}

const STACK: u8 = Registers::STACK_POINTER;
const FRAME: u8 = 5;
/// Registers that a call may change (System V ABI, x86-64).
const CLOBBERED: Registers = Registers(0b1111_1100_0111);
/// Variables that follow each other, at most.
const DEPTH: usize = 8;

/// A place that holds a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Location {
    Register(u8),
    Slot(Address),
}

/// Σ coefficient · location at the beginning of the iteration, + constant.
#[derive(Clone, Debug, Default, PartialEq)]
struct Linear {
    terms: BTreeMap<Location, i64>,
    constant: i64,
}

impl Linear {
    fn of(location: Location) -> Linear {
        Linear { terms: BTreeMap::from([(location, 1)]), constant: 0 }
    }

    fn plus(mut self, other: &Linear, by: i64) -> Linear {
        for (&location, c) in &other.terms {
            let sum = self.terms.entry(location).or_default();
            *sum = sum.wrapping_add(c.wrapping_mul(by));
        }
        self.terms.retain(|_, c| *c != 0);
        self.constant = self.constant.wrapping_add(other.constant.wrapping_mul(by));
        self
    }
}

/// The stride of each instruction of `function` in the innermost loop around it. Outside of loops, what is neither constant
/// nor in the function's own frame is unknown.
pub fn strides(function: &Function) -> Vec<Stride> {
    let outside = Iteration { frame: has_frame(function), values: BTreeMap::new() };
    let once = |inst: &Inst| match inst.memory {
        Some(address) if !outside.is_slot(address) => Stride::Unknown,
        _ => Stride::Fixed,
    };
    let mut strides: Vec<Stride> = function.insts.iter().map(once).collect();
    for (ix, around) in function.loops.all.iter().enumerate() {
        Iteration::follow(function, ix, around, &mut strides);
    }
    strides
}

/// What locations hold while an iteration is followed; `None` for what is not linear.
struct Iteration {
    /// The frame pointer stays.
    frame: bool,
    values: BTreeMap<Location, Option<Linear>>,
}

impl Iteration {
    fn follow(function: &Function, ix: LoopIx, around: &Loop, strides: &mut [Stride]) {
        let insts = || {
            let blocks = around.blocks.iter().map(|&b| &function.cfg.blocks[b]);
            blocks.flat_map(|b| &function.insts[b.first..b.end])
        };
        let moves = |i: &Inst| !writes(i).and(Registers::general(FRAME)).is_empty();
        let mut iteration = Iteration { frame: !insts().any(moves), values: BTreeMap::new() };
        let latches: Vec<usize> =
            function.cfg.edges.iter().filter(|e| e.to == around.header).map(|e| e.from).collect();
        let latches = || latches.iter().filter(|b| around.blocks.binary_search(b).is_ok());
        let mut addresses: Vec<(usize, Option<Linear>)> = Vec::new();
        let rest = around.blocks.iter().filter(|&&b| b != around.header);
        for &b in std::iter::once(&around.header).chain(rest) {
            let always = latches().all(|&latch| function.dominators.dominates(b, latch));
            let own = function.loops.of(b) == Some(ix);
            for i in function.cfg.blocks[b].first..function.cfg.blocks[b].end {
                let inst = &function.insts[i];
                if let Some(address) = inst.memory.filter(|_| own) {
                    addresses.push((i, iteration.address(address)));
                }
                iteration.run(inst, own && always);
            }
        }
        for (i, address) in addresses {
            let step = address.and_then(|a| iteration.step(&a, DEPTH));
            strides[i] = match step {
                Some(0) => Stride::Fixed,
                Some(step) => Stride::By(step.unsigned_abs()),
                None => Stride::Unknown,
            };
        }
    }

    /// How much a form of the iteration's beginning grows by the next one.
    fn step(&self, form: &Linear, depth: usize) -> Option<i64> {
        let mut sum = 0i64;
        for (location, c) in &form.terms {
            let step = match self.values.get(location) {
                None => 0,
                Some(None) => return None,
                Some(Some(end)) => {
                    let rest = end.clone().plus(&Linear::of(*location), -1);
                    match rest.terms.is_empty() {
                        true => rest.constant,
                        // a copy of something that steps
                        false if depth > 0 && !end.terms.contains_key(location) => {
                            self.step(end, depth - 1)?
                        }
                        false => return None,
                    }
                }
            };
            sum = sum.wrapping_add(c.wrapping_mul(step));
        }
        Some(sum)
    }

    fn run(&mut self, inst: &Inst, always: bool) {
        let (to, value) = match inst.effect {
            Effect::Copy { to, from } => (Some(to), self.number(inst, from)),
            Effect::Add { to, from, minus } => {
                let sum = self.number(inst, to).zip(self.number(inst, from));
                (Some(to), sum.map(|(a, b)| a.plus(&b, if minus { -1 } else { 1 })))
            }
            Effect::Scale { to, from, by } => {
                (Some(to), self.number(inst, from).map(|v| Linear::default().plus(&v, by)))
            }
            Effect::Lea { to } => {
                (Some(Number::Register(to)), inst.memory.and_then(|address| self.address(address)))
            }
            Effect::Other => (inst.stores.then_some(Number::Memory), None),
        };
        let value = value.filter(|_| always);
        let target = to.and_then(|to| self.location(inst, to));
        for register in 0..16 {
            let written = !writes(inst).and(Registers::general(register)).is_empty();
            // pushes and calls move the stack pointer, and what follows them moves it back
            if written && register != STACK {
                self.values.insert(Location::Register(register), None);
            }
        }
        if let Some(target) = target {
            self.values.insert(target, value);
        }
    }

    fn number(&self, inst: &Inst, number: Number) -> Option<Linear> {
        match number {
            Number::Constant(constant) => Some(Linear { terms: BTreeMap::new(), constant }),
            _ => self.value(self.location(inst, number)?),
        }
    }

    fn location(&self, inst: &Inst, number: Number) -> Option<Location> {
        match number {
            Number::Register(register) => Some(Location::Register(register)),
            Number::Memory => inst.memory.filter(|&a| self.is_slot(a)).map(Location::Slot),
            Number::Constant(_) => None,
        }
    }

    fn is_slot(&self, address: Address) -> bool {
        let stays = address.base.is_none_or(|b| b == STACK || b == FRAME && self.frame);
        stays && address.index.is_none() && !address.opaque
    }

    fn value(&self, location: Location) -> Option<Linear> {
        self.values.get(&location).cloned().unwrap_or_else(|| Some(Linear::of(location)))
    }

    fn address(&self, address: Address) -> Option<Linear> {
        if address.opaque {
            return None;
        }
        let base = address.base.map_or(Some(Linear::default()), |b| self.value(Location::Register(b)))?;
        let Some((index, scale)) = address.index else { return Some(base) };
        Some(base.plus(&self.value(Location::Register(index))?, i64::from(scale)))
    }
}

fn writes(inst: &Inst) -> Registers {
    match inst.flow {
        Flow::Call(_) | Flow::IndirectCall { .. } => inst.writes.or(CLOBBERED),
        _ => inst.writes,
    }
}

/// `mov %rsp,%rbp` or the like.
fn has_frame(function: &Function) -> bool {
    let sets = Effect::Copy { to: Number::Register(FRAME), from: Number::Register(STACK) };
    function.insts.iter().any(|i| i.effect == sets)
}

#[cfg(test)]
mod tests {
    use super::super::explore::explore;
    use super::super::testing::Bytes;
    use super::*;

    fn of(code: &[u8]) -> Vec<Stride> {
        strides(&explore(&Bytes(0, code.to_vec()), 0..code.len() as u64, &[]))
    }

    #[test]
    fn a_slot_stays_and_arrays_are_walked_through_as_far_as_their_index_is_scaled() {
        // push %rbp; mov %rsp,%rbp; mov (%rdi),%rcx
        // 7: mov -8(%rbp),%eax; add (%rsi,%rcx,4),%eax; add (%rdx),%eax; dec %rcx; jne 7; pop %rbp; ret
        let code = [
            0x55, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x0f, 0x8b, 0x45, 0xf8, 0x03, 0x04, 0x8e, 0x03, 0x02, 0x48,
            0xff, 0xc9, 0x75, 0xf3, 0x5d, 0xc3,
        ];
        use Stride::{By, Fixed, Unknown};
        assert_eq!(of(&code), [Fixed, Fixed, Unknown, Fixed, By(4), Fixed, Fixed, Fixed, Fixed, Fixed]);
    }

    #[test]
    fn a_counter_in_memory_steps_what_is_made_of_it() {
        // push %rbp; mov %rsp,%rbp; 4: mov -8(%rbp),%eax; cltq; imul $0xdc,%rax,%rdx; mov (%rsi,%rdx,4),%ecx;
        // addl $1,-8(%rbp); jne 4; pop %rbp; ret
        let code = [
            0x55, 0x48, 0x89, 0xe5, 0x8b, 0x45, 0xf8, 0x48, 0x98, 0x48, 0x69, 0xd0, 0xdc, 0, 0, 0, 0x8b,
            0x0c, 0x96, 0x83, 0x45, 0xf8, 0x01, 0x75, 0xeb, 0x5d, 0xc3,
        ];
        assert_eq!(of(&code)[5], Stride::By(880));
    }

    #[test]
    fn a_list_is_followed_nobody_knows_where() {
        // 0: mov (%rdi),%rdi; test %rdi,%rdi; jne 0; ret
        let code = [0x48, 0x8b, 0x3f, 0x48, 0x85, 0xff, 0x75, 0xf8, 0xc3];
        assert_eq!(of(&code)[0], Stride::Unknown);
    }
}
