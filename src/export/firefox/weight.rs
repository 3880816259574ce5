//! Periods as the format's 32-bit weights.
//!
//! An event's unit is the greatest common divisor of its periods: with a fixed period every sample weighs 1, with a
//! frequency the weights mostly are the periods, and both are exact. Only where a period is above 2³¹ units is the unit
//! enlarged; then what one sample loses to rounding the thread's next one gets, and sums are right to one unit.

use crate::perfdata::AttrIx;
use std::collections::BTreeMap;

/// The units of all events.
#[derive(Default)]
pub(super) struct Units(BTreeMap<AttrIx, Unit>);

/// How many events one unit of weight stands for.
#[derive(Clone, Copy, Default)]
pub(super) struct Unit {
    divisor: u64,
    largest: u64,
}

impl Units {
    /// Learns of a sample's period.
    pub fn add(&mut self, attr: AttrIx, weight: u64) {
        let unit = self.0.entry(attr).or_default();
        unit.divisor = gcd(unit.divisor, weight);
        unit.largest = unit.largest.max(weight);
    }

    /// The unit of an event.
    pub fn of(&self, attr: AttrIx) -> Unit {
        self.0.get(&attr).copied().unwrap_or_default()
    }

    /// The events that were seen.
    pub fn iter(&self) -> impl Iterator<Item = (AttrIx, Unit)> {
        self.0.iter().map(|(attr, unit)| (*attr, *unit))
    }
}

impl Unit {
    /// Events per unit, ≥ 1.
    pub fn size(self) -> u64 {
        let least = self.largest.div_ceil(i32::MAX as u64);
        self.divisor.max(least).max(1)
    }

    /// Weights of consecutive periods.
    pub fn scale(self, periods: impl Iterator<Item = u64>) -> impl Iterator<Item = i32> {
        let size = self.size();
        periods.scan(0, move |carry: &mut u64, period| {
            let sum = period.saturating_add(*carry);
            *carry = sum % size;
            Some(i32::try_from(sum / size).unwrap_or(i32::MAX))
        })
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scaled(periods: &[u64]) -> (u64, Vec<i32>) {
        let mut units = Units::default();
        periods.iter().for_each(|period| units.add(AttrIx(0), *period));
        let unit = units.of(AttrIx(0));
        (unit.size(), unit.scale(periods.iter().copied()).collect())
    }

    #[test]
    fn a_fixed_period_makes_every_sample_weigh_one() {
        assert_eq!(scaled(&[100_003; 3]), (100_003, vec![1; 3]));
    }

    #[test]
    fn changing_periods_are_kept_exactly() {
        assert_eq!(scaled(&[1, 250_000, 299_993]), (1, vec![1, 250_000, 299_993]));
        assert_eq!(scaled(&[3_000, 4_500]), (1_500, vec![2, 3]));
    }

    #[test]
    fn a_period_beyond_32_bits_loses_nothing_in_the_sum() {
        let periods = [1 << 40, (1 << 40) + 1, 700, 300, (1 << 39) + 3];
        let (size, weights) = scaled(&periods);
        let sum: u64 = weights.iter().map(|w| *w as u64).sum();
        assert_eq!(sum, periods.iter().sum::<u64>() / size);
        assert!(weights.iter().all(|w| *w >= 0));
    }

    #[test]
    fn odd_periods_do_not_divide_by_zero() {
        assert_eq!(scaled(&[0, 0]), (1, vec![0, 0]));
        assert_eq!(scaled(&[u64::MAX]), (u64::MAX, vec![1]));
    }
}
