//! Sums of unknown numbers with constant factors.

use std::collections::BTreeMap;

/// Σ coefficient · unknown + constant, in 64 bits; terms whose coefficient is 0 are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Linear<V> {
    pub terms: BTreeMap<V, i64>,
    pub constant: i64,
}

impl<V> Default for Linear<V> {
    fn default() -> Linear<V> {
        Linear::constant(0)
    }
}

impl<V> Linear<V> {
    pub fn constant(constant: i64) -> Linear<V> {
        Linear { terms: BTreeMap::new(), constant }
    }

    /// The number, if it depends on nothing unknown.
    pub fn known(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }
}

impl<V: Copy + Ord> Linear<V> {
    /// An unknown number.
    pub fn of(unknown: V) -> Linear<V> {
        Linear { terms: BTreeMap::from([(unknown, 1)]), constant: 0 }
    }

    /// With `other` added so many times.
    pub fn plus(mut self, other: &Linear<V>, by: i64) -> Linear<V> {
        for (&unknown, c) in &other.terms {
            let sum = self.terms.entry(unknown).or_default();
            *sum = sum.wrapping_add(c.wrapping_mul(by));
        }
        self.terms.retain(|_, c| *c != 0);
        self.constant = self.constant.wrapping_add(other.constant.wrapping_mul(by));
        self
    }

    /// With a constant added.
    pub fn shifted(self, by: i64) -> Linear<V> {
        self.plus(&Linear::constant(by), 1)
    }
}
