//! The registers' fields by AMD's names, one file a register.

pub mod fetch_ctl;
pub mod fetch_ctl_ext;
pub mod op_ctl;
pub mod op_data;
pub mod op_data2;
pub mod op_data3;
pub mod op_data4;

use super::Dialect;

/// Some bits of a register.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// As in the manuals.
    pub name: &'static str,
    /// The lowest bit.
    pub low: u32,
    /// How many bits.
    pub width: u32,
    /// Which processors have it.
    pub of: Of,
}

/// Which processors have a field.
#[derive(Clone, Copy, Debug)]
pub enum Of {
    /// All since family 10h.
    All,
    /// Those with a capability.
    Capability(u32),
    /// Those of which this is true.
    When(fn(&Dialect) -> bool),
}

impl Field {
    const fn bit(name: &'static str, low: u32, of: Of) -> Field {
        Field { name, low, width: 1, of }
    }

    const fn bits(name: &'static str, low: u32, width: u32, of: Of) -> Field {
        Field { name, low, width, of }
    }

    /// The bits it has.
    pub fn mask(&self) -> u64 {
        (u64::MAX >> (u64::BITS - self.width)) << self.low
    }

    /// Whether a processor has it.
    pub fn is_known(&self, dialect: &Dialect) -> bool {
        match self.of {
            Of::All => true,
            Of::Capability(bit) => dialect.has(bit),
            Of::When(known) => known(dialect),
        }
    }
}

/// A register's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Register(pub u64);

impl Register {
    /// The value of a field.
    pub fn get(self, field: &Field) -> u64 {
        (self.0 & field.mask()) >> field.low
    }

    /// Whether any bit of a field is set.
    pub fn is(self, field: &Field) -> bool {
        self.0 & field.mask() != 0
    }

    /// The bits that are set and that no field of this processor explains.
    pub fn unknown(self, fields: &[Field], dialect: &Dialect) -> u64 {
        let known = fields.iter().filter(|field| field.is_known(dialect));
        self.0 & !known.fold(0, |mask, field| mask | field.mask())
    }
}

impl From<u64> for Register {
    fn from(value: u64) -> Register {
        Register(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ibs::{Capabilities, Processor};

    const ALL: [(&str, &[Field]); 7] = [
        ("fetch_ctl", &fetch_ctl::FIELDS),
        ("fetch_ctl_ext", &fetch_ctl_ext::FIELDS),
        ("op_ctl", &op_ctl::FIELDS),
        ("op_data", &op_data::FIELDS),
        ("op_data2", &op_data2::FIELDS),
        ("op_data3", &op_data3::FIELDS),
        ("op_data4", &op_data4::FIELDS),
    ];

    fn dialects() -> impl Iterator<Item = Dialect> {
        let families =
            [None, Some(0x10), Some(0x12), Some(0x14), Some(0x15), Some(0x16), Some(0x17), Some(0x1a)];
        let words = [0x1f, 0xff, 0x1ff, 0x3ff, 0xbff, 0x9_ffff];
        families.into_iter().flat_map(move |family| {
            words.into_iter().map(move |word| Dialect {
                capabilities: Capabilities(word),
                processor: family.map(|family| Processor { family, model: 0 }),
            })
        })
    }

    #[test]
    fn no_bit_has_two_meanings_on_one_processor() {
        for dialect in dialects() {
            for (name, fields) in ALL {
                let mut seen = 0;
                for field in fields.iter().filter(|field| field.is_known(&dialect)) {
                    assert!(field.width > 0 && field.low + field.width <= 64, "{name} {}", field.name);
                    assert_eq!(seen & field.mask(), 0, "{name} {} {dialect:?}", field.name);
                    seen |= field.mask();
                }
            }
        }
    }

    #[test]
    fn bits_that_a_processor_does_not_have_are_unknown_to_it() {
        let old = Dialect { capabilities: Capabilities(0x1f), ..Dialect::default() };
        let new = Dialect { capabilities: Capabilities(0xbff), ..Dialect::default() };
        let all = Register(u64::MAX);
        assert_eq!(all.unknown(&op_ctl::FIELDS, &old), !0x000f_ffff_000e_ffff);
        assert_eq!(all.unknown(&op_ctl::FIELDS, &new), !0x07ff_ffff_07ff_ffff);
        assert_eq!(all.unknown(&op_data2::FIELDS, &old), !0x37);
        assert_eq!(all.unknown(&op_data2::FIELDS, &new), !0xf7);
        assert_eq!(Register(0).unknown(&op_data3::FIELDS, &old), 0);
    }
}
