//! Maps, forks and executes, and asks what is where.
#![no_main]

#[path = "../../tests/drive/mod.rs"]
mod drive;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = drive::space(bytes);
});
