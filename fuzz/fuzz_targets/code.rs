//! Decodes instructions, and builds and links the graphs over them.
#![no_main]

#[path = "../../tests/drive/mod.rs"]
mod drive;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = drive::code(bytes);
});
