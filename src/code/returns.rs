//! Whether functions return.
//!
//! In: the code of a function, and what is known of those that it calls. Out: whether some way through it may return, as far as
//! its own code tells. Every doubt counts as a return: bytes that do not decode, jumps to nobody knows where, code that goes on
//! behind the function's end, functions too large to look through. What is left ends in a trap, in a loop, or in a call of
//! another that never returns: `abort`, failed assertions, what throws. And, in a function that was looked through, which blocks
//! lead to nothing else.

use std::collections::BTreeSet;
use std::ops::Range;

use super::cfg::{Block, BlockIx, Cfg, Exit};
use super::decode::decode;
use super::inst::{Flow, Inst, Kind};
use super::source::Source;

/// Instructions looked at: those that never return are short.
const MOST: usize = 4096;
/// Bytes of an instruction, at most.
const LONGEST: usize = 15;

/// The function that a call enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Callee {
    /// The one at this address.
    At(u64),
    /// The one whose address this constant cell holds.
    Through(u64),
}

impl Callee {
    /// What a call enters, if it is one and its code tells.
    pub fn of(inst: &Inst) -> Option<Callee> {
        match inst.flow {
            Flow::Call(to) => Some(Callee::At(to)),
            Flow::IndirectCall { via } => via.map(Callee::Through),
            _ => None,
        }
    }
}

/// Whether the function in `range`, which starts with its entry, may return.
pub fn returns(source: &dyn Source, range: &Range<u64>) -> bool {
    let len = range.end.saturating_sub(range.start).min((MOST * LONGEST) as u64);
    let code = source.read(range.start, len as usize);
    let mut seen = BTreeSet::new();
    let mut work = vec![range.start];
    // calls are looked into last: most functions have a way around
    let mut calls: Vec<(Callee, Option<u64>)> = Vec::new();
    loop {
        while let Some(address) = work.pop() {
            if !seen.insert(address) {
                continue;
            }
            let bytes = address.checked_sub(range.start).and_then(|offset| code.get(offset as usize..));
            let Some(inst) = bytes.and_then(|bytes| decode(source.bitness(), address, bytes)) else {
                return true;
            };
            match ways(&inst, range) {
                Some(found) if seen.len() < MOST => {
                    work.extend(found.next);
                    calls.extend(found.calls);
                }
                _ => return true,
            }
        }
        match calls.pop() {
            None => return false,
            Some((callee, _)) if source.noreturn(callee) => {}
            Some((_, None)) => return true,
            // a call at the very end was not expected to come back
            Some((_, Some(behind))) => work.extend(range.contains(&behind).then_some(behind)),
        }
    }
}

/// For each block, whether every way from it ends in a trap or in a call that does not return. What ends a process or a thread
/// runs once in it.
pub(super) fn doomed(insts: &[Inst], cfg: &Cfg) -> Vec<bool> {
    let mut doomed: Vec<bool> = vec![false; cfg.blocks.len()];
    let ends = |block: &Block| {
        let last = &insts[block.end - 1];
        !block.low_confidence && (last.noreturn || last.flow == Flow::Stop)
    };
    let predecessors = cfg.predecessors();
    let mut work: Vec<BlockIx> = (0..cfg.blocks.len()).filter(|&b| ends(&cfg.blocks[b])).collect();
    while let Some(block) = work.pop() {
        doomed[block] = true;
        let all = |from: BlockIx| {
            cfg.blocks[from].exit == Exit::None && cfg.successors(from).all(|edge| doomed[edge.to])
        };
        work.extend(predecessors[block].iter().copied().filter(|&from| !doomed[from] && all(from)));
    }
    doomed
}

/// Where control goes behind an instruction.
#[derive(Default)]
struct Ways {
    next: Vec<u64>,
    /// Calls, and where each goes on if it comes back: in the caller where there is no such address.
    calls: Option<(Callee, Option<u64>)>,
}

/// Whether a call of `to` stays in the function in `range`, and is none of it.
pub(super) fn inside(to: u64, range: &Range<u64>) -> bool {
    range.contains(&to) && to != range.start
}

/// Where control goes behind `inst` of the function in `range`; `None` where it may return.
fn ways(inst: &Inst, range: &Range<u64>) -> Option<Ways> {
    let mut ways = Ways::default();
    let mut jump = |to: u64| match range.contains(&to) {
        true => ways.next.push(to),
        false => ways.calls = Some((Callee::At(to), None)),
    };
    match inst.flow {
        Flow::Jump(to) => jump(to),
        // what is called there has the return address at hand, and may leave it behind
        Flow::Call(to) if inside(to, range) => ways.next.extend([to, inst.end()]),
        Flow::Branch(to) => {
            jump(to);
            ways.next.push(inst.end());
        }
        Flow::Next => ways.next.push(inst.end()),
        Flow::IndirectJump { via } => ways.calls = Some((Callee::Through(via?), None)),
        Flow::Call(_) | Flow::IndirectCall { .. } => match Callee::of(inst) {
            Some(callee) => ways.calls = Some((callee, Some(inst.end()))),
            None => ways.next.extend(range.contains(&inst.end()).then(|| inst.end())),
        },
        Flow::Return => return None,
        Flow::Stop if inst.kind == Kind::Opaque => return None,
        Flow::Stop => {}
    }
    Some(ways)
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bytes;
    use super::super::{Bitness, explore};
    use super::*;

    /// Code whose functions at 0x100 and behind never return.
    struct Aborts(Bytes);

    impl Source for Aborts {
        fn bitness(&self) -> Bitness {
            self.0.bitness()
        }

        fn read(&self, address: u64, len: usize) -> Vec<u8> {
            self.0.read(address, len)
        }

        fn noreturn(&self, callee: Callee) -> bool {
            matches!(callee, Callee::At(0x100..) | Callee::Through(0x100..))
        }
    }

    fn returning(code: &[u8]) -> bool {
        returns(&Aborts(Bytes(0, code.to_vec())), &(0..code.len() as u64))
    }

    #[test]
    fn a_function_returns_if_some_way_does() {
        // 0: je 3; 2: ret; 3: hlt
        assert!(returning(&[0x74, 1, 0xc3, 0xf4]));
        // the same way round a call of one that never returns, and only behind it
        assert!(returning(&[0x74, 5, 0xe8, 0xf9, 0, 0, 0, 0xc3]));
        assert!(!returning(&[0xe8, 0xfb, 0, 0, 0, 0xc3]));
        // a trap in a loop: hlt; jmp 0
        assert!(!returning(&[0xf4, 0xeb, 0xfd]));
        // two tail calls: jmp 0x100, jmp 0x80
        assert!(!returning(&[0xe9, 0xfb, 0, 0, 0]));
        assert!(returning(&[0xe9, 0x7b, 0, 0, 0]));
    }

    #[test]
    fn a_call_at_the_end_is_not_expected_back_and_other_code_there_goes_on() {
        // call 0x80 at the end
        assert!(!returning(&[0xe8, 0x7b, 0, 0, 0]));
        assert!(returning(&[0x90]));
        assert!(returning(&[0x06]), "no code");
        assert!(returning(&[0xff, 0xe0]), "jmp *%rax");
    }

    #[test]
    fn a_call_into_its_own_middle_may_return_from_there() {
        // 0: call 7; 5: jmp 5; 7: mov %rax,(%rsp); b: ret
        let thunk = [0xe8, 2, 0, 0, 0, 0xeb, 0xfe, 0x48, 0x89, 0x04, 0x24, 0xc3];
        assert!(returning(&thunk));
        let f = explore(&Aborts(Bytes(0, thunk.to_vec())), 0..12, &[]);
        assert_eq!(f.insts.iter().map(|inst| inst.address).collect::<Vec<_>>(), [0, 5, 7, 11]);
        assert!(!returning(&[0xe8, 0xfb, 0xff, 0xff, 0xff, 0xeb, 0xfe]), "call 0, which is itself");
    }

    #[test]
    fn nothing_runs_behind_a_call_that_does_not_return() {
        // 0: je 7; 2: call 0x100 or behind; 7: ret
        let code = Aborts(Bytes(0, vec![0x74, 5, 0xe8, 0xf9, 0, 0, 0, 0xc3]));
        let f = explore(&code, 0..8, &[]);
        let call = f.cfg.block_of(1);
        assert_eq!(f.cfg.successors(call).count(), 0);
        assert!(f.insts[1].noreturn && f.doomed[call] && !f.doomed[0]);
    }
}
