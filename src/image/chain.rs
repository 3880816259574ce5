//! Who called: the frames of a stack, from registers and a copy of it.
//!
//! In: the registers of a thread, its memory from the stack pointer on, and by which rules the caller of an address is found.
//! Out: where the thread is, and the addresses behind the calls that led there. It does not know what is mapped where.

use std::borrow::Borrow;

use super::expression;
use super::unwind::{CallerRules, Cfa, Saved};

/// DWARF's numbers of registers of x86-64.
const RBP: usize = 6;
const RSP: usize = 7;
const RIP: usize = 16;
/// That of the return address.
pub(super) const RETURN: u16 = RIP as u16;
/// Frames of a chain at most.
const LONGEST: usize = 256;

/// General registers of x86-64 in the order of DWARF; the last is the instruction pointer.
pub type Registers = [u64; 17];

/// How the caller of an address is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rules {
    /// As the unwind table of its binary says.
    Table(CallerRules),
    /// By the frame pointer: there is no table, or it says nothing of the address.
    FramePointer,
}

/// Where the thread is, and the addresses behind the calls that led there, innermost first. `stack` is its memory from the
/// stack pointer on; the chain ends where that does, where nobody called, and before an address that `rules` knows nothing of.
/// `rules` is asked with the address of an instruction: for a caller with one inside its call, for behind a call that does not
/// return may be another function.
pub fn chain<R: Borrow<Rules>>(
    registers: &Registers,
    stack: &[u8],
    mut rules: impl FnMut(u64) -> Option<R>,
) -> Vec<u64> {
    let memory = Memory { base: registers[RSP], stack };
    let (mut registers, mut chain) = (*registers, Vec::new());
    let mut called = false;
    while chain.len() < LONGEST {
        let at = registers[RIP];
        let Some(rules) = rules(at.wrapping_sub(called.into())) else { break };
        chain.push(at);
        let rules = rules.borrow();
        match memory.caller(rules, &registers) {
            Some(next) if next[RSP] > registers[RSP] => registers = next,
            _ => break,
        }
        called = !matches!(rules, Rules::Table(table) if table.is_signal);
    }
    chain
}

/// What was copied of a stack.
struct Memory<'a> {
    base: u64,
    stack: &'a [u8],
}

impl Memory<'_> {
    fn word(&self, at: u64) -> Option<u64> {
        let at = usize::try_from(at.checked_sub(self.base)?).ok()?;
        self.stack.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
    }

    /// The registers as the caller finds them; `None` if nobody called.
    fn caller(&self, rules: &Rules, registers: &Registers) -> Option<Registers> {
        match rules {
            Rules::Table(rules) => self.by_table(rules, registers),
            Rules::FramePointer => {
                let (mut next, frame) = (*registers, registers[RBP]);
                next[RBP] = self.word(frame)?;
                next[RIP] = self.word(frame.wrapping_add(8))?;
                next[RSP] = frame.wrapping_add(16);
                Some(next)
            }
        }
    }

    fn by_table(&self, rules: &CallerRules, registers: &Registers) -> Option<Registers> {
        if rules.is_last {
            return None;
        }
        let value =
            |expression: &[u8], first| expression::value(expression, first, registers, |at| self.word(at));
        let cfa = match &rules.cfa {
            Cfa::Register(register, offset) => {
                registers.get(usize::from(*register))?.wrapping_add_signed(*offset)
            }
            Cfa::Expression(expression) => value(expression, None)?,
        };
        let mut next = *registers;
        next[RSP] = cfa;
        for (register, saved) in &rules.saved {
            if let Some(register) = next.get_mut(usize::from(*register)) {
                let at = match saved {
                    Saved::At(offset) => cfa.wrapping_add_signed(*offset),
                    Saved::AtExpression(expression) => value(expression, Some(cfa))?,
                };
                *register = self.word(at)?;
            }
        }
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STACK: u64 = 0x7000;

    fn memory(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn at(ip: u64, frame: u64) -> Registers {
        let mut registers = [0; 17];
        (registers[RIP], registers[RSP], registers[RBP]) = (ip, STACK, frame);
        registers
    }

    fn table(cfa: i64, is_signal: bool) -> Rules {
        let (cfa, saved) = (Cfa::Register(RSP as u16, cfa), vec![(RETURN, Saved::At(-8))]);
        Rules::Table(CallerRules { cfa, saved, is_last: false, is_signal })
    }

    #[test]
    fn callers_are_asked_for_inside_their_calls_and_those_that_a_signal_found_where_they_were() {
        let mut asked = vec![];
        let rules = |at| {
            asked.push(at);
            Some(table(8, at == 0x1fff))
        };
        let found = chain(&at(0x1000, 0), &memory(&[0x2000, 0x3000, 0x4000]), rules);
        assert_eq!(found, [0x1000, 0x2000, 0x3000, 0x4000]);
        assert_eq!(asked, [0x1000, 0x1fff, 0x3000, 0x3fff]);
    }

    #[test]
    fn without_a_table_frame_pointers_lead_to_the_callers() {
        let stack = memory(&[0, STACK + 24, 0x2000, 0, 0x3000]);
        let known = |at| (at < 0x3000).then_some(Rules::FramePointer);
        assert_eq!(chain(&at(0x1000, STACK + 8), &stack, known), [0x1000, 0x2000, 0x3000]);
        let known = |at| (at < 0x2fff).then_some(Rules::FramePointer);
        assert_eq!(chain(&at(0x1000, STACK + 8), &stack, known), [0x1000, 0x2000], "0x3000 is in no binary");
    }

    #[test]
    fn a_stack_that_leads_back_or_outside_of_the_copy_ends_the_chain() {
        assert_eq!(chain(&at(0x1000, 0), &memory(&[0x2000]), |_| Some(table(0, false))), [0x1000]);
        assert_eq!(chain(&at(0x1000, 0), &memory(&[0x2000]), |_| Some(table(64, false))), [0x1000]);
        assert_eq!(chain(&at(0x1000, 1 << 63), &[], |_| Some(Rules::FramePointer)), [0x1000]);
        assert_eq!(chain(&at(0x1000, 0), &[], |_| None::<Rules>), [0; 0]);
    }
}
