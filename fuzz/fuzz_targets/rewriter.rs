//! Reads a recording, writes a copy with every sample changed, and reads that.
#![no_main]

#[path = "../../tests/drive/mod.rs"]
mod drive;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = drive::recording(bytes);
});
