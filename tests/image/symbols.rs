//! Names, lines and inlined functions, from files and from lists.

use std::fs;
use std::path::Path;

use super::binaries::{address_of, build, images, images_with, mapping, only, spaces};
use skidconv::image::{ImageId, Images, Location, SearchPath, Svma, Symbolizer, When, Wholesym};
use skidconv::perfdata::{BuildId, CpuMode};

/// One function, with another inlined into it.
const SOURCE: &str = r#"
static inline __attribute__((always_inline)) int twice(int n) {
    volatile int m = n;
    return m * 2;
}
__attribute__((noinline)) int first(int n) { int sum = twice(n); return sum; }
int main(int argc, char **argv) { return first(argc); }
"#;

#[test]
fn symbols_have_lines_and_inlined_functions() {
    let dir = tempfile::tempdir().unwrap();
    let file = build(dir.path(), "program", SOURCE, &["-g", "-O1"]);
    let images = images(&file);
    let mut names = Wholesym::new().unwrap();
    let first = only(&images).function_at(Svma(address_of(&file, "first"))).unwrap();
    let symbols: Vec<_> = (first.start.0..first.end.0)
        .filter_map(|at| names.lookup(&images, Location { image: ImageId(0), svma: Svma(at) }))
        .collect();
    assert_eq!(symbols.len() as u64, first.end.0 - first.start.0);
    assert!(symbols.iter().all(|s| s.name == "first" && s.start == first.start && s.mangled.is_none()));
    let inlined = symbols.iter().find(|s| s.frames.len() == 2).expect("some instruction comes from `twice`");
    assert_eq!(inlined.frames[0].function.as_deref(), Some("twice"));
    assert_eq!(inlined.frames[1].function.as_deref(), Some("first"));
    assert!(matches!(inlined.frames[0].line, Some(2..=5)), "{inlined:?}");
    assert_eq!(inlined.frames[1].line, Some(6));
    assert!(inlined.frames[0].file.as_ref().unwrap().ends_with("program.c"));
}

/// `exported` has a name in a stripped program that exports it, what lies behind it has none.
const EXPORTING: &str = r#"
__attribute__((noinline)) int exported(int n) { volatile int m = n; return m * 2; }
static __attribute__((noinline)) int hidden(int n) { volatile int m = n; return m * 3; }
__asm__(".text\n.globl bare\n.type bare, @function\nbare: nop\nret\n.size bare, 2\nhole: nop\nret\n");
int main(int argc, char **argv) { return exported(argc) + hidden(argc); }
"#;

#[test]
fn exported_functions_end_where_they_end() {
    let dir = tempfile::tempdir().unwrap();
    for place in ["-pie", "-no-pie"] {
        let file = build(dir.path(), "exporting", EXPORTING, &["-O1", "-rdynamic", place]);
        let known = ["exported", "hidden", "bare", "main"].map(|name| address_of(&file, name));
        super::binaries::run("strip", &[file.to_str().unwrap()]);
        let images = images(&file);
        let mut names = Wholesym::new().unwrap();
        let mut name = |svma| {
            let found = names.lookup(&images, Location { image: ImageId(0), svma: Svma(svma) });
            found.map(|symbol| (symbol.name.clone(), symbol.invented, symbol.start.0))
        };
        let [exported, hidden, bare, main] = known;
        for (at, its) in [(exported, "exported"), (bare, "bare"), (main, "main")] {
            assert_eq!(name(at + 1), Some((its.into(), false, at)), "{place}");
        }
        let offset = hidden - only(&images).elf().unwrap().segments()[0].svma;
        assert_eq!(name(hidden + 1), Some((format!("fun_{offset:x}"), true, hidden)), "{place}");
        assert_eq!(name(bare + 2), None, "{place}: code that nothing names");
    }
}

#[test]
fn names_keep_their_underscores_and_lose_their_mangling() {
    let source = ".text\n.globl _start, _ZN3foo3barEv\n.type _start, @function\n.type _ZN3foo3barEv, @function\n\
                  _start: nop\n.size _start, 1\n_ZN3foo3barEv: ret\n.size _ZN3foo3barEv, 1\n";
    let dir = tempfile::tempdir().unwrap();
    let file = build(dir.path(), "program", source, &["-nostdlib", "-static"]);
    let images = images(&file);
    let mut names = Wholesym::new().unwrap();
    let mut symbol = |name| {
        let svma = Svma(address_of(&file, name));
        names.lookup(&images, Location { image: ImageId(0), svma }).unwrap()
    };
    assert_eq!((symbol("_start").name.as_str(), symbol("_start").mangled.as_deref()), ("_start", None));
    let method = symbol("_ZN3foo3barEv");
    assert_eq!((method.name.as_str(), method.mangled.as_deref()), ("foo::bar()", Some("_ZN3foo3barEv")));
}

#[test]
fn run_time_code_has_the_names_of_its_processs_map() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("tmp")).unwrap();
    fs::write(dir.path().join("tmp/perf-1.map"), "5000 100 made_at_run_time\n").unwrap();
    let search = SearchPath { symfs: vec![dir.path().to_owned()], ..SearchPath::default() };
    let images = images_with(Path::new("//anon"), None, search);
    let mut names = Wholesym::new().unwrap();
    let mut name = |svma| {
        let at = Location { image: ImageId(0), svma: Svma(svma) };
        names.lookup(&images, at).map(|symbol| (symbol.name.clone(), symbol.start))
    };
    assert_eq!(name(0x5080), Some(("made_at_run_time".into(), Svma(0x5000))));
    assert_eq!(name(0x5100), None);
}

#[test]
fn kernel_code_has_the_names_that_perf_kept_for_its_build() {
    let dir = tempfile::tempdir().unwrap();
    let entry = dir.path().join(".build-id/ab/cdef");
    fs::create_dir_all(&entry).unwrap();
    fs::write(entry.join("kallsyms"), "ffffffff81000000 T _text\nffffffff81000040 T do_work\n").unwrap();
    let text = 0xffff_ffff_9a00_0000;
    let kernel = |name: &str| {
        let mut mmap = mapping(name, text, 0x100_0000, text);
        (mmap.pid, mmap.mode) = (-1, CpuMode::Kernel);
        mmap
    };
    let spaces = spaces(vec![kernel("[kernel.kallsyms]_text")]);
    let search = SearchPath { cache: Some(dir.path().to_owned()), ..SearchPath::default() };
    let name = |build_id: &[u8]| {
        let filename = b"[kernel.kallsyms]".to_vec();
        let stated = BuildId { pid: -1, mode: CpuMode::Kernel, bytes: build_id.to_vec(), filename };
        let images = Images::new(&spaces, &[stated], search.clone());
        let mapped = spaces.resolve(CpuMode::Kernel, 77, When::default(), text + 0x44).unwrap();
        let location = images.location(&mapped).unwrap();
        assert_eq!(images.address(&mapped.mapping, location.svma), Some(text + 0x44));
        Wholesym::new().unwrap().lookup(&images, location).map(|symbol| symbol.name.clone())
    };
    assert_eq!(name(&[0xab, 0xcd, 0xef]).as_deref(), Some("do_work"));
    assert_eq!(name(&[0xab, 0xcd, 0xee]), None, "another build");
}
