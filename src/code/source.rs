//! Where the code is: whoever has the bytes, this stage asks for them.

use super::decode::Bitness;
use super::returns::Callee;

/// Where code bytes and tables are read from.
pub trait Source {
    /// Which instruction set the code is of.
    fn bitness(&self) -> Bitness;
    /// Up to `len` bytes at `address`, fewer or none where the image has no more.
    fn read(&self, address: u64, len: usize) -> Vec<u8>;
    /// The number that stands in so many bytes at `address` when the program runs, as far as the image says; `None` where it has none.
    fn word(&self, address: u64, len: usize) -> Option<u64> {
        let mut word = [0; 8];
        let bytes = self.read(address, len);
        word.get_mut(..len).filter(|_| bytes.len() == len)?.copy_from_slice(&bytes);
        Some(u64::from_le_bytes(word))
    }
    /// Where the cell at an address leads while the program runs; `None` where it may change, or leads to another image.
    fn constant_cell(&self, _: u64) -> Option<u64> {
        None
    }
    /// Whether an address is known to be in what may be executed.
    fn executes(&self, _: u64) -> bool {
        false
    }
    /// Whether a function is known never to return.
    fn noreturn(&self, _: Callee) -> bool {
        false
    }
}
