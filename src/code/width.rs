//! How numbers look to what has only some of their bits.

/// Bytes of an operand, 0 where that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Width(pub u8);

impl Width {
    fn bits(self) -> u32 {
        match self.0 {
            bytes @ 1..=7 => 8 * u32::from(bytes),
            _ => 64,
        }
    }

    /// What these bytes of `value` are with a sign.
    pub fn signed(self, value: i64) -> i64 {
        let rest = 64 - self.bits();
        value << rest >> rest
    }

    /// What they are without; of eight, more than fits stays negative.
    pub fn unsigned(self, value: i64) -> i64 {
        match self.bits() {
            64 => value,
            bits => value & ((1 << bits) - 1),
        }
    }

    /// Of the numbers that look like `value`, the one from which steps such as `step` come to 0 first.
    pub fn towards_zero(self, value: i64, step: i64) -> i64 {
        match step < 0 {
            true => self.unsigned(value),
            false => self.unsigned(value.wrapping_neg()).wrapping_neg(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_bytes_are_small_or_negative() {
        assert_eq!([Width(1).signed(200), Width(1).unsigned(-56)], [-56, 200]);
        assert_eq!([Width(4).signed(3_000_000_000), Width(4).unsigned(-1)], [-1_294_967_296, 0xffff_ffff]);
        assert_eq!([Width(8).signed(i64::MIN), Width(8).unsigned(-1)], [i64::MIN, -1]);
        assert_eq!(Width(0).signed(3_000_000_000), 3_000_000_000);
    }

    #[test]
    fn what_counts_to_zero_begins_on_its_side_of_it() {
        assert_eq!([Width(1).towards_zero(-56, -1), Width(1).towards_zero(4, 3)], [200, -252]);
        assert_eq!([Width(4).towards_zero(5, -1), Width(4).towards_zero(0, 1)], [5, 0]);
    }
}
