//! Opens a recording, walks over its records and decodes them.
#![no_main]

#[path = "../../tests/drive/mod.rs"]
mod drive;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    drop(drive::walk(bytes, &mut drive::Outcome::default()));
});
