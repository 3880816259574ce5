//! Numbers in the byte order of the recording, out of slices that may be too short.

/// The byte order of the machine that recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endian {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

/// The `N` bytes at `at`, if they are there.
#[inline]
pub(super) fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

impl Endian {
    #[inline]
    pub(super) fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let raw = array(bytes, at)?;
        Some(match self {
            Endian::Little => u16::from_le_bytes(raw),
            Endian::Big => u16::from_be_bytes(raw),
        })
    }

    #[inline]
    pub(super) fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let raw = array(bytes, at)?;
        Some(match self {
            Endian::Little => u32::from_le_bytes(raw),
            Endian::Big => u32::from_be_bytes(raw),
        })
    }

    #[inline]
    pub(super) fn i32(self, bytes: &[u8], at: usize) -> Option<i32> {
        self.u32(bytes, at).map(|v| v as i32)
    }

    #[inline]
    pub(super) fn u64(self, bytes: &[u8], at: usize) -> Option<u64> {
        let raw = array(bytes, at)?;
        Some(self.word(raw))
    }

    #[inline]
    pub(super) fn word(self, raw: [u8; 8]) -> u64 {
        match self {
            Endian::Little => u64::from_le_bytes(raw),
            Endian::Big => u64::from_be_bytes(raw),
        }
    }

    #[inline]
    pub(super) fn u64_bytes(self, value: u64) -> [u8; 8] {
        match self {
            Endian::Little => value.to_le_bytes(),
            Endian::Big => value.to_be_bytes(),
        }
    }

    #[inline]
    pub(super) fn u16_bytes(self, value: u16) -> [u8; 2] {
        match self {
            Endian::Little => value.to_le_bytes(),
            Endian::Big => value.to_be_bytes(),
        }
    }
}

/// The bytes up to the first NUL, or all.
pub(super) fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|&b| b == 0).next().unwrap_or(bytes)
}

/// A run of 64-bit words inside a record.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    bytes: &'a [u8],
    endian: Endian,
}

impl<'a> Words<'a> {
    /// `bytes` is taken in whole words; a rest is ignored.
    pub(super) fn new(bytes: &'a [u8], endian: Endian) -> Self {
        Words { bytes, endian }
    }

    /// The words as stored.
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// How many words there are.
    pub fn len(&self) -> usize {
        self.bytes.len() / 8
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The `i`th word.
    pub fn get(&self, i: usize) -> Option<u64> {
        self.endian.u64(self.bytes, i.checked_mul(8)?)
    }

    /// The words in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u64> + ExactSizeIterator + Clone + use<'a> {
        let endian = self.endian;
        let (words, _) = self.bytes.as_chunks::<8>();
        words.iter().map(move |raw| endian.word(*raw))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_the_byte_order_and_stop_at_the_end() {
        let b = [1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(Endian::Little.u32(&b, 0), Some(0x0403_0201));
        assert_eq!(Endian::Big.u32(&b, 0), Some(0x0102_0304));
        assert_eq!(Endian::Big.u64(&b, 0), Some(0x0102_0304_0506_0708));
        assert_eq!(Endian::Big.u64(&b, 1), None);
        assert_eq!(Endian::Little.u16(&b, usize::MAX), None);
    }

    #[test]
    fn words_ignore_a_rest_that_is_no_word() {
        let b = [0, 0, 0, 0, 0, 0, 0, 9, 1, 1];
        let words = Words::new(&b, Endian::Big);
        assert_eq!((words.len(), words.iter().collect::<Vec<_>>()), (1, vec![9]));
        assert_eq!(words.get(1), None);
        assert_eq!(words.get(usize::MAX), None);
    }

    #[test]
    fn a_name_without_nul_is_taken_whole() {
        assert_eq!(until_nul(b"ab\0c"), b"ab");
        assert_eq!(until_nul(b"abc"), b"abc");
        assert_eq!(until_nul(b""), b"");
    }
}
