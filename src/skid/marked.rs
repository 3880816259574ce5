//! A set of small numbers that may grow and shrink while it is gone through in ascending order.

/// The set.
#[derive(Clone, Debug, Default)]
pub struct Marked {
    /// Bit `i % 64` of word `i / 64` is number `i`.
    words: Vec<u64>,
}

impl Marked {
    /// Empties the set, and makes room for numbers below `n`.
    pub fn clear(&mut self, n: usize) {
        self.words.clear();
        self.words.resize(n.div_ceil(64), 0);
    }

    /// Adds `i`, for which there must be room.
    pub fn insert(&mut self, i: usize) {
        self.words[i / 64] |= 1 << (i % 64);
    }

    /// Takes `i` out.
    pub fn remove(&mut self, i: usize) {
        self.words[i / 64] &= !(1 << (i % 64));
    }

    /// The least member that is not below `from`.
    pub fn next(&self, from: usize) -> Option<usize> {
        let mut at = from / 64;
        let mut word = self.words.get(at)? & (u64::MAX << (from % 64));
        while word == 0 {
            at += 1;
            word = *self.words.get(at)?;
        }
        Some(at * 64 + word.trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_in_order_with_those_added_meanwhile() {
        let mut set = Marked::default();
        set.clear(200);
        [199, 3, 64, 63].iter().for_each(|&i| set.insert(i));
        let (mut seen, mut from) = (Vec::new(), 0);
        while let Some(i) = set.next(from) {
            from = i + 1;
            seen.push(i);
            if i == 63 {
                set.insert(5);
                set.insert(128);
                set.remove(64);
            }
        }
        assert_eq!(seen, [3, 63, 128, 199]);
        assert_eq!((set.next(4), set.next(200)), (Some(5), None));
    }
}
