//! The bytes of a sample → its capability word and registers.

use super::register::Register;
use super::{Capabilities, Dialect, Fetch, Op, Processor};

/// Registers of an op sample that are always there: control, address, three of data, and two data addresses.
const OP_REGISTERS: usize = 7;
/// Registers of a fetch sample that are always there: control and two addresses.
const FETCH_REGISTERS: usize = 3;

/// `u32 caps; u64 regs[];`, in the byte order of x86.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a> {
    /// What the processor can do.
    pub capabilities: Capabilities,
    words: &'a [[u8; 8]],
}

/// Why the bytes of a sample could not be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// Not even the capability word is there.
    #[error("{0} bytes are too few for a capability word")]
    NoCapabilities(usize),
    /// Registers are missing that every such sample has.
    #[error("{found} registers, where {least} are always there")]
    Short {
        /// How many there are.
        found: usize,
        /// How many there are at least.
        least: usize,
    },
}

impl<'a> Raw<'a> {
    /// Splits the bytes. What is left behind the last whole register is padding.
    pub fn new(bytes: &'a [u8]) -> Result<Raw<'a>, Damage> {
        let (word, registers) = bytes.split_first_chunk().ok_or(Damage::NoCapabilities(bytes.len()))?;
        let (words, _) = registers.as_chunks();
        Ok(Raw { capabilities: Capabilities(u32::from_le_bytes(*word)), words })
    }

    /// The registers in the order of the sample.
    pub fn registers(self) -> impl Iterator<Item = u64> + 'a {
        self.words.iter().map(|word| u64::from_le_bytes(*word))
    }

    /// As a fetch.
    pub fn fetch(self, processor: Option<Processor>) -> Result<Fetch, Damage> {
        let [control, linear, physical] = self.fixed()?;
        let dialect = Dialect { capabilities: self.capabilities, processor };
        let mut more = self.registers().skip(FETCH_REGISTERS);
        let mut optional = |present: bool| if present { more.next() } else { None };
        let extended = optional(dialect.has(Capabilities::FETCH_EXTENDED)).map(Register);
        Ok(Fetch { dialect, control: Register(control), linear, physical, extended, rest: more.count() })
    }

    /// As an op.
    pub fn op(self, processor: Option<Processor>) -> Result<Op, Damage> {
        let [control, rip, data, data2, data3, linear, physical] = self.fixed()?;
        let dialect = Dialect { capabilities: self.capabilities, processor };
        let mut more = self.registers().skip(OP_REGISTERS);
        let mut optional = |present: bool| if present { more.next() } else { None };
        let target = optional(dialect.has(Capabilities::BRANCH_TARGET));
        let data4 = optional(dialect.has(Capabilities::OP_DATA4)).map(Register);
        let [control, data, data2, data3] = [control, data, data2, data3].map(Register);
        let rest = more.count();
        Ok(Op { dialect, control, rip, data, data2, data3, linear, physical, target, data4, rest })
    }

    /// The registers that are always there.
    fn fixed<const N: usize>(self) -> Result<[u64; N], Damage> {
        let words = self.words.first_chunk().ok_or(Damage::Short { found: self.words.len(), least: N })?;
        Ok(words.map(u64::from_le_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(capabilities: u32, registers: &[u64]) -> Vec<u8> {
        let registers = registers.iter().flat_map(|r| r.to_le_bytes());
        capabilities.to_le_bytes().into_iter().chain(registers).collect()
    }

    #[test]
    fn registers_that_not_all_processors_have_are_found_by_the_capability_word() {
        let all: Vec<u64> = (1..=10).collect();
        let op = |capabilities| Raw::new(&bytes(capabilities, &all)).unwrap().op(None).unwrap();
        let none = op(0);
        assert_eq!((none.physical, none.target, none.data4.map(|d| d.0), none.rest), (7, None, None, 3));
        let both = op(1 << 5 | 1 << 10);
        assert_eq!((both.target, both.data4.map(|d| d.0), both.rest), (Some(8), Some(9), 1));
        let fourth = op(1 << 10);
        assert_eq!((fourth.target, fourth.data4.map(|d| d.0), fourth.rest), (None, Some(8), 2));
        let fetch = |capabilities| Raw::new(&bytes(capabilities, &all[..4])).unwrap().fetch(None).unwrap();
        assert_eq!((fetch(0).extended.map(|e| e.0), fetch(0).rest), (None, 1));
        assert_eq!((fetch(1 << 9).extended.map(|e| e.0), fetch(1 << 9).rest), (Some(4), 0));
    }

    #[test]
    fn too_few_bytes_are_told_and_padding_is_passed_over() {
        assert_eq!(Raw::new(&[1, 2, 3]).unwrap_err(), Damage::NoCapabilities(3));
        let short = bytes(0, &[1, 2, 3, 4, 5, 6]);
        assert_eq!(Raw::new(&short).unwrap().op(None).unwrap_err(), Damage::Short { found: 6, least: 7 });
        let mut padded = bytes(0, &[1, 2, 3]);
        padded.extend([0; 7]);
        assert_eq!(Raw::new(&padded).unwrap().fetch(None).unwrap().rest, 0);
        assert_eq!(
            Raw::new(&padded[..27]).unwrap().fetch(None).unwrap_err(),
            Damage::Short { found: 2, least: 3 }
        );
    }
}
