//! The name of an instruction.

use std::fmt;
use std::ops::Deref;

/// Bytes of a name that are kept; the longest there is has seventeen.
const LONGEST: usize = 23;

/// A mnemonic as the disassembler prints it. There are millions of instructions, so none has its name on the heap.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mnemonic {
    len: u8,
    text: [u8; LONGEST],
}

impl Mnemonic {
    /// The name that `what` prints.
    pub fn of(what: impl fmt::Display) -> Mnemonic {
        let mut name = Mnemonic::default();
        // what does not fit is left away
        let _ = fmt::write(&mut name, format_args!("{what}"));
        name
    }
}

impl fmt::Write for Mnemonic {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let at = usize::from(self.len);
        let mut fits = part.len().min(LONGEST - at);
        while !part.is_char_boundary(fits) {
            fits -= 1;
        }
        self.text[at..at + fits].copy_from_slice(&part.as_bytes()[..fits]);
        self.len += fits as u8;
        if fits < part.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

impl Deref for Mnemonic {
    type Target = str;

    fn deref(&self) -> &str {
        std::str::from_utf8(&self.text[..usize::from(self.len)]).unwrap_or_default()
    }
}

impl fmt::Display for Mnemonic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for Mnemonic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_as_far_as_they_fit() {
        assert_eq!(&*Mnemonic::of("vgf2p8affineinvqb"), "vgf2p8affineinvqb");
        assert_eq!(&*Mnemonic::of("a".repeat(22) + "ä"), "a".repeat(22), "a letter is whole or not there");
        assert_eq!((&*Mnemonic::of(""), format!("{:?}", Mnemonic::of("jne"))), ("", "\"jne\"".into()));
    }
}
