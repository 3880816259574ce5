//! A string table of an ELF file.
//!
//! In: its bytes. Out: the strings at offsets. Strings may overlap, so that a small damaged table can hold very many very
//! long ones: all that are asked for together are limited to a few times the table.

/// How many times the table's size is handed out. Linkers merge equal strings and common ends, so that
/// once would be too little.
const SHARING: usize = 16;

/// The strings of a table.
pub struct Strings<'a> {
    bytes: &'a [u8],
    left: usize,
}

impl<'a> Strings<'a> {
    /// Over the bytes of a section.
    pub fn new(bytes: &'a [u8]) -> Strings<'a> {
        Strings { bytes, left: bytes.len().saturating_mul(SHARING) }
    }

    /// The string at an offset; empty where there is none and when too much was asked for.
    pub fn at(&mut self, offset: u32) -> String {
        let rest = self.bytes.get(offset as usize..).unwrap_or_default();
        let within = &rest[..rest.len().min(self.left)];
        let Some(end) = within.iter().position(|&b| b == 0) else {
            self.left = self.left.saturating_sub(within.len());
            return String::new();
        };
        self.left -= end;
        String::from_utf8_lossy(&within[..end]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_end_at_their_nul() {
        let mut strings = Strings::new(b"\0main\0x\xff\0cut");
        assert_eq!(strings.at(0), "");
        assert_eq!(strings.at(1), "main");
        assert_eq!(strings.at(3), "in");
        assert_eq!(strings.at(6), "x\u{fffd}");
        assert_eq!(strings.at(9), "", "no NUL");
        assert_eq!(strings.at(99), "");
    }

    #[test]
    fn overlapping_strings_are_limited_to_a_few_times_the_table() {
        let table = [&[b'a'; 1000][..], b"\0"].concat();
        let mut strings = Strings::new(&table);
        let handed_out: usize = (0..1000).map(|offset| strings.at(offset).len()).sum();
        assert!((8000..17000).contains(&handed_out), "{handed_out}");
    }
}
