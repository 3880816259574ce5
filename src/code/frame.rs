//! Which slots of a function's frame others may write to.
//!
//! In: pointers into the frame that the function makes. Out: for a slot, whether one of them gives it away. It knows no types: how
//! large what a pointer leads to is, is a guess.

use std::collections::BTreeSet;

use super::state::Location;

/// Bytes behind a pointer that it gives away: strings, vectors and most structures are no larger, and what stands behind an array
/// is mostly its own.
const OBJECT: i64 = 64;

/// What is known of a frame before its slots are followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    /// There is too much of it to follow.
    pub ignored: bool,
    /// Slots whose address is in a register.
    pub given: BTreeSet<Location>,
}

impl Frame {
    /// Whether anyone may write to a location.
    pub fn is_given(&self, location: Location) -> bool {
        let Location::Slot(base, at) = location else { return false };
        let from = Location::Slot(base, at.saturating_sub(OBJECT - 1));
        self.given.range(from..=location).next().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_gives_away_what_stands_at_it_and_shortly_behind() {
        let slot = |base, at| Location::Slot(base, at);
        let frame = Frame { given: [slot(None, -32), slot(Some(7), -200)].into(), ..Frame::default() };
        let given = [slot(None, -32), slot(None, -24), slot(None, 31), slot(Some(7), -137)];
        assert!(given.iter().all(|&at| frame.is_given(at)));
        let kept = [slot(None, -33), slot(None, 32), slot(Some(7), -136), slot(Some(8), -200)];
        assert!(!kept.iter().any(|&at| frame.is_given(at)));
        assert!(!frame.is_given(Location::Register(3)));
    }
}
