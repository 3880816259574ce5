//! Where the code is: whoever has the bytes, this stage asks for them.

use super::decode::Bitness;
use super::returns::Callee;

/// Where code bytes and tables are read from.
pub trait Source {
    /// Which instruction set the code is of.
    fn bitness(&self) -> Bitness;
    /// Up to `len` bytes at `address`, fewer or none where the image has no more.
    fn read(&self, address: u64, len: usize) -> Vec<u8>;
    /// Whether a function is known never to return.
    fn noreturn(&self, _: Callee) -> bool {
        false
    }
}
