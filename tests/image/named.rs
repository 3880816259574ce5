//! Files that the debug information of a binary names: split units.

use std::fs;
use std::path::{Path, PathBuf};

use super::binaries::{address_of, build, images_with, run, text};
use skidconv::image::{ImageId, Location, SearchPath, Svma, Symbolizer, Wholesym};

/// One function, with another inlined into it, which only the split unit tells.
const SOURCE: &str = "static inline __attribute__((always_inline)) int twice(int n) { volatile int m = n; return m * 2; }\n\
                      __attribute__((noinline)) int first(int n) { return twice(n); }\n\
                      int main(int argc, char **argv) { return first(argc); }\n";

/// A program whose debug information is in a file of its own. (Of GCC's DWARF 5 wholesym gets no lines.)
fn split(dir: &Path, source: &str) -> (PathBuf, PathBuf) {
    let program = build(dir, "program", source, &["-g", "-O1", "-gdwarf-4", "-gsplit-dwarf"]);
    let unit = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let unit = unit.into_iter().find(|path| path.extension().is_some_and(|e| e == "dwo")).expect("a unit");
    (program, unit)
}

/// Whether the function that is inlined into `first` is found.
fn inlines(program: &Path, address: u64, search: SearchPath) -> bool {
    let images = images_with(program, None, search);
    let mut names = Wholesym::new().unwrap();
    (address..address + 8).any(|address| {
        let at = Location { image: ImageId(0), svma: Svma(address) };
        let symbol = names.lookup(&images, at).unwrap();
        assert_eq!(symbol.name, "first");
        symbol.frames.first().is_some_and(|frame| frame.function.as_deref() == Some("twice"))
    })
}

#[test]
fn a_split_unit_is_read_where_the_binary_says_if_it_is_the_right_one() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let (program, unit) = split(dirs[0].path(), SOURCE);
    let (_, other) = split(dirs[1].path(), &format!("\n\n{SOURCE}int more;\n"));
    let first = address_of(&program, "first");
    let inlines = || inlines(&program, first, SearchPath::default());
    assert!(inlines());
    fs::copy(other, &unit).unwrap();
    assert!(!inlines(), "a unit of another program");
    fs::remove_file(&unit).unwrap();
    assert!(!inlines());
    run("mkfifo", &[text(&unit)]);
    assert!(!inlines(), "a pipe, which is not opened");
}

#[test]
fn a_split_unit_is_found_under_symfs() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let (program, unit) = split(dirs[0].path(), SOURCE);
    let first = address_of(&program, "first");
    let under = |path: &Path| dirs[1].path().join(path.strip_prefix("/").unwrap());
    fs::create_dir_all(under(dirs[0].path())).unwrap();
    for file in [&program, &unit] {
        fs::rename(file, under(file)).or_else(|_| fs::copy(file, under(file)).map(drop)).unwrap();
    }
    let _ = fs::remove_file(&unit);
    let symfs = SearchPath { symfs: vec![dirs[1].path().to_owned()], ..SearchPath::default() };
    assert!(inlines(&program, first, symfs));
}

/// A program of an assembler, of whose five named instructions one is in a function of a known size.
fn labelled(dir: &Path) -> PathBuf {
    let source = dir.join("labels.s");
    let code = ".text\n.globl _start\n_start: nop\nspin: nop\nnop\n.globl last\nlast: ret\n\
                .type sized,@function\nsized: ret\n.size sized,1\nret\n.data\nword: .quad 1\n";
    fs::write(&source, code).unwrap();
    let program = dir.join("labels");
    run("cc", &["-nostdlib", "-static", "-no-pie", "-o", text(&program), text(&source)]);
    program
}

#[test]
fn code_of_assemblers_has_the_names_of_its_labels() {
    let dir = tempfile::tempdir().unwrap();
    let program = labelled(dir.path());
    let images = images_with(&program, None, SearchPath::default());
    let mut names = Wholesym::new().unwrap();
    let start = address_of(&program, "_start");
    let mut name = |at: u64| {
        names.lookup(&images, Location { image: ImageId(0), svma: Svma(start + at) }).map(|s| s.name.clone())
    };
    let expected = ["_start", "spin", "spin", "last", "sized"];
    for (at, expected) in (0..).zip(expected) {
        assert_eq!(name(at).as_deref(), Some(expected), "{at}");
    }
    assert_eq!(name(5), None, "behind what has an end");
}

#[test]
fn labels_of_a_stripped_program_are_in_its_debug_file() {
    let dir = tempfile::tempdir().unwrap();
    let program = labelled(dir.path());
    let start = address_of(&program, "_start");
    let debug = dir.path().join("labels.debug");
    run("objcopy", &["--only-keep-debug", text(&program), text(&debug)]);
    run("strip", &[text(&program)]);
    run("objcopy", &[&format!("--add-gnu-debuglink={}", text(&debug)), text(&program)]);
    let labels = || {
        let images = images_with(&program, None, SearchPath::default());
        let image = images.get(ImageId(0));
        let label = |at| image.label_at(Svma(start + at)).and_then(|label| label.name.clone());
        [0, 1, 2, 3].map(label)
    };
    assert_eq!(labels(), ["_start", "spin", "spin", "last"].map(|name| Some(name.into())));
    fs::remove_file(&debug).unwrap();
    assert_eq!(labels(), [const { None }; 4]);
}
