//! Sums of unknown numbers with constant factors.

/// Σ coefficient · unknown + constant, in 64 bits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Linear<V> {
    /// Unknown numbers, ascending, with their coefficients, none of which is 0.
    pub terms: Vec<(V, i64)>,
    pub constant: i64,
}

impl<V> Default for Linear<V> {
    fn default() -> Linear<V> {
        Linear::constant(0)
    }
}

impl<V> Linear<V> {
    pub fn constant(constant: i64) -> Linear<V> {
        Linear { terms: Vec::new(), constant }
    }

    /// The number, if it depends on nothing unknown.
    pub fn known(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }
}

impl<V: Copy + Ord> Linear<V> {
    /// An unknown number.
    pub fn of(unknown: V) -> Linear<V> {
        Linear { terms: vec![(unknown, 1)], constant: 0 }
    }

    /// With `other` added so many times.
    pub fn plus(mut self, other: &Linear<V>, by: i64) -> Linear<V> {
        for &(unknown, c) in &other.terms {
            let more = c.wrapping_mul(by);
            match self.terms.binary_search_by_key(&unknown, |term| term.0) {
                Ok(ix) => self.terms[ix].1 = self.terms[ix].1.wrapping_add(more),
                Err(ix) => self.terms.insert(ix, (unknown, more)),
            }
        }
        self.terms.retain(|term| term.1 != 0);
        self.constant = self.constant.wrapping_add(other.constant.wrapping_mul(by));
        self
    }

    /// With a constant added.
    pub fn shifted(self, by: i64) -> Linear<V> {
        self.plus(&Linear::constant(by), 1)
    }
}
