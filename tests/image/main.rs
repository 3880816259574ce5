//! The image stage, held against what the binutils say of the same files.

mod binaries;
mod elf;
mod elsewhere;
mod locate;
mod named;
mod plt;
mod rebuilt;
mod symbols;
