//! What a DWARF expression comes to: frames of stubs and of signals are not found by a register and an offset.
//!
//! In: an expression of an unwind table, registers, and words of memory. Out: a number. It takes nothing that needs more of the
//! program than that.

use gimli::{
    Encoding, EndianSlice, EvaluationResult, Expression, Format, LittleEndian, Location, Register, Value,
};

use super::chain::Registers;

/// Operations at most: an expression may jump back.
const MOST: u32 = 1000;
/// Those of 64-bit programs.
const ENCODING: Encoding = Encoding { address_size: 8, format: Format::Dwarf32, version: 4 };

/// The value of an expression that begins with `first` on its stack, if it needs nothing but registers and `word`s of memory.
pub fn value(
    expression: &[u8],
    first: Option<u64>,
    registers: &Registers,
    word: impl Fn(u64) -> Option<u64>,
) -> Option<u64> {
    let mut evaluation = Expression(EndianSlice::new(expression, LittleEndian)).evaluation(ENCODING);
    evaluation.set_max_iterations(MOST);
    if let Some(first) = first {
        evaluation.set_initial_value(first);
    }
    let mut result = evaluation.evaluate().ok()?;
    loop {
        result = match result {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresRegister { register: Register(ix), .. } => {
                let value = *registers.get(usize::from(ix))?;
                evaluation.resume_with_register(Value::Generic(value)).ok()?
            }
            EvaluationResult::RequiresMemory { address, size: 8, space: None, .. } => {
                evaluation.resume_with_memory(Value::Generic(word(address)?)).ok()?
            }
            _ => return None,
        };
    }
    match evaluation.result().first()?.location {
        Location::Address { address } => Some(address),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RSP_8: [u8; 2] = [0x77, 8];
    const DEREF: u8 = 0x06;

    fn registers() -> Registers {
        let mut registers = [0; 17];
        (registers[7], registers[16]) = (0x1000, 0x40_100b);
        registers
    }

    #[test]
    fn a_stub_has_pushed_or_not_by_how_far_it_is() {
        // rsp + 8 + ((rip & 15) >= 11) << 3, as linkers write for .plt
        let stub = [0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22];
        let mut registers = registers();
        assert_eq!(value(&stub, None, &registers, |_| None), Some(0x1010));
        registers[16] -= 1;
        assert_eq!(value(&stub, None, &registers, |_| None), Some(0x1008));
    }

    #[test]
    fn memory_is_read_and_where_it_is_not_there_nothing_comes_out() {
        let saved = [RSP_8[0], RSP_8[1], DEREF];
        assert_eq!(value(&saved, None, &registers(), |at| (at == 0x1008).then_some(7)), Some(7));
        assert_eq!(value(&saved, None, &registers(), |_| None), None);
    }

    #[test]
    fn what_was_saved_is_found_from_the_frame() {
        let below = [0x23, 16]; // plus 16
        assert_eq!(value(&below, Some(0x2000), &registers(), |_| None), Some(0x2010));
    }

    #[test]
    fn an_expression_that_goes_round_for_ever_comes_to_nothing() {
        let back = [0x2f, 0xfd, 0xff]; // skip -3
        assert_eq!(value(&back, None, &registers(), |_| None), None);
        assert_eq!(value(&[0x9f], None, &registers(), |_| None), None, "a value without a value");
        assert_eq!(value(&[], None, &registers(), |_| None), None);
    }
}
