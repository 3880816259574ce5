//! What is read from ELF files of all shapes, against what the binutils say.

use super::binaries::{address_of, build, images, mapping, nm, only, run, spaces, text};
use skidconv::image::{Class, Elf, FunctionSource, Image, Images, SearchPath, Svma, When};
use skidconv::perfdata::CpuMode;

/// Two functions that need a frame, one that is inlined, one that calls another file.
const SOURCE: &str = r#"
#include <stdio.h>
static inline __attribute__((always_inline)) int twice(int n) {
    volatile int m = n;
    return m * 2;
}
__attribute__((noinline)) int first(int n) { int sum = twice(n); return sum; }
__attribute__((noinline)) int second(int n) { printf("%d %s\n", first(n), "text"); return n; }
int main(int argc, char **argv) { puts("start"); return second(argc) - 1; }
"#;

/// `mov $1337, %eax; ret`, which stands nowhere else.
const MARKED: &str = r#"
.text
.globl marked, _start
.type marked, @function
.type _start, @function
_start: nop
marked: .byte 0xb8, 0x39, 0x05, 0x00, 0x00, 0xc3
.size marked, . - marked
.section .rodata
.globl table
table: .long 17, 23
"#;

const MARKED_CODE: [u8; 6] = [0xb8, 0x39, 0x05, 0, 0, 0xc3];

#[test]
fn every_function_of_the_symbol_table_is_found() {
    let dir = tempfile::tempdir().unwrap();
    for (name, args) in
        [("pie", &["-pie", "-fPIE"][..]), ("fixed", &["-no-pie"]), ("shared", &["-shared", "-fPIC"])]
    {
        let file = build(dir.path(), name, SOURCE, args);
        let images = images(&file);
        let image = only(&images);
        for name in ["first", "second", "main"] {
            let at = address_of(&file, name);
            let function = image.function_at(Svma(at)).unwrap();
            assert_eq!((function.start.0, function.name.as_deref()), (at, Some(name)));
            assert_eq!(function.source, FunctionSource::Symtab);
            assert_eq!(image.function_at(Svma(function.end.0 - 1)).unwrap().start.0, at);
            assert_ne!(image.function_at(function.end).map(|next| next.start.0), Some(at));
        }
        let inner = image.function_at(Svma(address_of(&file, "second") + 3)).unwrap();
        assert_eq!(inner.name.as_deref(), Some("second"));
        assert_eq!(image.class(), Some(Class::Bits64));
    }
}

#[test]
fn offsets_become_addresses_where_the_two_differ() {
    let dir = tempfile::tempdir().unwrap();
    for segment in ["-Wl,-Ttext-segment=0x40000", "-Wl,-Ttext=0x777000", "-Wl,-z,noseparate-code"] {
        let file = build(dir.path(), "marked", MARKED, &["-nostdlib", "-pie", segment]);
        let bytes = std::fs::read(&file).unwrap();
        let offset = bytes.windows(6).position(|code| code == MARKED_CODE).unwrap() as u64;
        let svma = address_of(&file, "marked");
        let (base, page) = (0x5555_0000_0000, offset & !0xfff);
        let spaces = spaces(vec![mapping(text(&file), base, 0x1000, page)]);
        let images = Images::new(&spaces, &[], SearchPath::default());
        let (at, address) = (When::default(), base + offset - page);
        let mapped = spaces.resolve(CpuMode::User, 1, at, address).unwrap();
        let location = images.location(&mapped).unwrap();
        assert_eq!(location.svma.0, svma, "{segment}");
        assert_eq!(images.address(&mapped.mapping, location.svma), Some(address));
        assert_eq!(images.address_in(&spaces, CpuMode::User, 1, at, location), Some(address));
        assert_eq!(images.address(&mapped.mapping, Svma(svma + 0x1000)), None);
        let image = images.get(location.image);
        assert_eq!(image.code(Svma(svma)..Svma(svma + 6)).unwrap(), MARKED_CODE);
        assert_eq!(image.function_at(location.svma).unwrap().name.as_deref(), Some("marked"));
    }
}

#[test]
fn data_can_be_read_and_is_no_code() {
    let dir = tempfile::tempdir().unwrap();
    let file = build(dir.path(), "marked", MARKED, &["-nostdlib", "-static", "-Wl,-z,separate-code"]);
    let images = images(&file);
    let (image, listing) = (only(&images), run("nm", &[text(&file)]));
    let table = listing.lines().find(|line| line.ends_with(" table")).unwrap();
    let table = Svma(u64::from_str_radix(table.split(' ').next().unwrap(), 16).unwrap());
    assert_eq!(image.read_data(table, 8).unwrap(), [17, 0, 0, 0, 23, 0, 0, 0]);
    assert_eq!(image.code(table..Svma(table.0 + 8)), None);
    assert_eq!(image.read_data(table, 1 << 40), None);
    assert_eq!(image.read_data(Svma(0), 1), None);
    let marked = address_of(&file, "marked");
    let cut = image.code(Svma(marked)..Svma(u64::MAX)).unwrap();
    assert_eq!(cut[..6], MARKED_CODE, "a range that leaves the segment is cut");
}

#[test]
fn a_stripped_program_has_the_functions_of_its_unwind_table() {
    let dir = tempfile::tempdir().unwrap();
    let file = build(dir.path(), "program", SOURCE, &["-O1"]);
    let stripped = dir.path().join("stripped");
    run("strip", &["-o", text(&stripped), text(&file)]);
    let images = images(&stripped);
    for name in ["first", "second", "main"] {
        let at = Svma(address_of(&file, name));
        let function = only(&images).function_at(Svma(at.0 + 1)).unwrap();
        assert_eq!((function.start, &function.name), (at, &None));
        assert_eq!(function.source, FunctionSource::EhFrame);
    }
    let full = super::binaries::images(&file);
    let end = |image: &Image| image.function_at(Svma(address_of(&file, "second"))).unwrap().end;
    assert_eq!(end(only(&images)), end(only(&full)));
}

#[test]
fn exported_functions_are_found_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let file = build(dir.path(), "shared", SOURCE, &["-shared", "-fPIC"]);
    let images = images(&file);
    assert_eq!(only(&images).exported("first"), Some(Svma(address_of(&file, "first"))));
    assert_eq!(only(&images).exported("puts"), None, "needed, not defined");
}

#[test]
fn unwind_rows_are_equal_just_where_their_rules_are() {
    let framed = |name: &str| {
        format!(
            ".globl {name}\n{name}: .cfi_startproc\nnop\npush %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset %rbx, -16\n\
             nop\nnop\npop %rbx\n.cfi_def_cfa_offset 8\n.cfi_restore %rbx\nret\n.cfi_endproc\n"
        )
    };
    let source = format!(".text\n{}{}", framed("_start"), framed("other"));
    let dir = tempfile::tempdir().unwrap();
    let file = build(dir.path(), "program", &source, &["-nostdlib", "-static"]);
    let images = images(&file);
    let row =
        |name: &str, inside: u64| only(&images).unwind_row(Svma(address_of(&file, name) + inside)).unwrap();
    // nop 0, push 1, nop 2, nop 3, pop 4, ret 5
    assert_eq!(row("_start", 0), row("_start", 1));
    assert_ne!(row("_start", 1), row("_start", 2));
    assert_eq!(row("_start", 2), row("_start", 4));
    assert_eq!(row("_start", 0), row("_start", 5), "as before the push");
    assert_eq!(row("_start", 2), row("other", 3), "another function with the same rules");
    assert_eq!(only(&images).unwind_row(Svma(1)), None);
}

#[test]
fn damaged_files_are_errors_and_never_panics() {
    let dir = tempfile::tempdir().unwrap();
    let file = build(dir.path(), "program", SOURCE, &["-O1", "-g"]);
    let good = std::fs::read(&file).unwrap();
    let damaged = dir.path().join("damaged");
    let try_all = |bytes: &[u8]| {
        std::fs::write(&damaged, bytes).unwrap();
        let images = images(&damaged);
        let image = only(&images);
        let functions: Vec<_> = image.functions().iter().take(50).cloned().collect();
        for function in functions {
            image.unwind_row(function.start);
            image.plt_target(function.start);
            image.code(function.start..function.end);
        }
        image.exported("main");
    };
    for length in (0..good.len()).step_by(good.len() / 200) {
        try_all(&good[..length]);
    }
    let mut random = 1u64;
    let mut draw = |below: usize| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) as usize % below
    };
    let tables = good.len() - 64 * 40;
    for _ in 0..600 {
        let mut bytes = good.clone();
        for _ in 0..4 {
            let at = [draw(0x400), tables + draw(64 * 40), draw(good.len())][draw(3)];
            bytes[at] = [0, 0xff, draw(256) as u8][draw(3)];
        }
        try_all(&bytes);
    }
    assert!(Elf::open(&file).is_ok());
    assert!(!nm(&file).is_empty());
}
