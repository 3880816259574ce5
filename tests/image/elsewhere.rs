//! Symbols that are not in the binary: named by a debug link, packed by `perf archive`, listed by the user.

use std::fs;
use std::path::{Path, PathBuf};

use super::binaries::{address_of, build, images_with, mapping, only, run, spaces, text};
use skidconv::image::{
    Elf, ImageId, ImageState, Images, Location, SearchPath, Svma, Symbolizer, Wholesym, hex, unpack,
};
use skidconv::perfdata::CpuMode;

const SOURCE: &str = "int helper(int n) { return n + 1; }\nint _start(void) { return helper(2); }\n";
const ID: [u8; 4] = [0xab, 0xcd, 3, 4];

/// A stripped program without a build-id, and its symbols in `program.debug`, to which it links.
fn linked(dir: &Path, id: &str) -> (PathBuf, PathBuf) {
    let program = build(dir, "program", SOURCE, &["-g", "-nostdlib", "-static", "-O0", id]);
    let debug = dir.join("program.debug");
    run("objcopy", &["--only-keep-debug", text(&program), text(&debug)]);
    run("objcopy", &["--strip-all", &format!("--add-gnu-debuglink={}", text(&debug)), text(&program)]);
    (program, debug)
}

fn names(program: &Path, search: SearchPath) -> Vec<String> {
    let images = images_with(program, None, search);
    only(&images).functions().iter().filter_map(|f| f.name.clone()).collect()
}

#[test]
fn a_debug_link_leads_to_the_file_of_the_right_checksum() {
    let dir = tempfile::tempdir().unwrap();
    let (program, debug) = linked(dir.path(), "-Wl,--build-id=none");
    let (name, checksum) = Elf::open(&program).unwrap().debug_link().unwrap();
    assert_eq!(name, Path::new("program.debug"));
    let mut crc = flate2::Crc::new();
    crc.update(&fs::read(&debug).unwrap());
    assert_eq!(checksum, crc.sum());
    assert_eq!(names(&program, SearchPath::default()), ["helper", "_start"], "beside the binary");
    let hidden = dir.path().join(".debug");
    fs::create_dir(&hidden).unwrap();
    fs::rename(&debug, hidden.join("program.debug")).unwrap();
    assert_eq!(names(&program, SearchPath::default()), ["helper", "_start"], "in .debug beside it");
    let root = dir.path().join("debug-root");
    let below = root.join(dir.path().strip_prefix("/").unwrap());
    fs::create_dir_all(&below).unwrap();
    fs::rename(hidden.join("program.debug"), below.join("program.debug")).unwrap();
    let search = SearchPath { debug: vec![root], ..SearchPath::default() };
    assert_eq!(names(&program, search.clone()), ["helper", "_start"], "under the folder of debug files");
    let mut other = fs::read(below.join("program.debug")).unwrap();
    other.push(0);
    fs::write(below.join("program.debug"), other).unwrap();
    assert!(names(&program, search).is_empty(), "another build's file is not taken");
}

#[test]
fn an_archive_is_a_cache_of_another_machine() {
    let dir = tempfile::tempdir().unwrap();
    let id = format!("-Wl,--build-id=0x{}", hex(&ID));
    let program = build(dir.path(), "program", SOURCE, &["-nostdlib", "-static", "-O0", &id]);
    let hex = hex(&ID);
    let stored = dir.path().join("cache/opt/program").join(&hex);
    fs::create_dir_all(&stored).unwrap();
    fs::copy(&program, stored.join("elf")).unwrap();
    let links = dir.path().join("cache/.build-id").join(&hex[..2]);
    fs::create_dir_all(&links).unwrap();
    // perf links from one to the other
    std::os::unix::fs::symlink(format!("../../opt/program/{hex}"), links.join(&hex[2..])).unwrap();
    let cache = dir.path().join("cache");
    for (flag, name) in [("cjf", "a.tar.bz2"), ("czf", "a.tar.gz"), ("cf", "a.tar")] {
        let archive = dir.path().join(name);
        run("tar", &[flag, text(&archive), "-C", text(&cache), ".build-id", "opt"]);
        let unpacked = unpack(&archive).unwrap();
        let search = SearchPath { archives: vec![unpacked.path().to_owned()], ..SearchPath::default() };
        let images = images_with(Path::new("/gone/program"), Some(ID.to_vec()), search);
        assert!(matches!(only(&images).state(), ImageState::Found { verified: true, .. }), "{name}");
    }
    let damaged = dir.path().join("damaged");
    for bytes in [&b"BZh9 nonsense"[..], b"\x1f\x8b nonsense", b"nonsense", b""] {
        fs::write(&damaged, bytes).unwrap();
        assert!(unpack(&damaged).is_err());
    }
}

#[test]
fn an_archive_cannot_write_beside_its_folder() {
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("climbs.tar");
    fs::write(dir.path().join("fine"), "fine").unwrap();
    fs::write(dir.path().join("evil"), "evil").unwrap();
    let climb = "--transform=s,^evil$,../skidconv-climbed,";
    run("tar", &["cPf", text(&archive), "-C", text(dir.path()), climb, "fine", "evil"]);
    let unpacked = unpack(&archive).unwrap();
    assert!(unpacked.path().join("fine").exists());
    assert!(!unpacked.path().with_file_name("skidconv-climbed").exists());
}

/// The image of a kernel with the build-id [`ID`].
fn kernel(dir: &Path) -> PathBuf {
    let id = format!("-Wl,--build-id=0x{}", hex(&ID));
    let source =
        "void _text(void) {}\nint helper(int n) { return n + 1; }\nint _start(void) { return helper(2); }\n";
    build(dir, "vmlinux", source, &["-nostdlib", "-static", "-O0", &id])
}

#[test]
fn the_kernel_s_own_image_names_its_functions_where_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let vmlinux = kernel(dir.path());
    let entry = dir.path().join(".build-id").join(&hex(&ID)[..2]).join(&hex(&ID)[2..]);
    fs::create_dir_all(&entry).unwrap();
    fs::copy(&vmlinux, entry.join("vmlinux")).unwrap();
    let symbol = |name: &str| address_of(&vmlinux, name);
    let moved = 0xffff_ffff_9000_0000u64;
    let at = moved + symbol("helper") - symbol("_text") + 1;
    let search = SearchPath { cache: Some(dir.path().to_owned()), ..SearchPath::default() };
    assert_eq!(kernel_symbol(search, Some(ID.to_vec()), moved, at).as_deref(), Some("helper"));
    let list = dir.path().join("kallsyms");
    fs::write(&list, "ffffffff81000000 T _text\nffffffff81000100 T schedule\n").unwrap();
    let search = SearchPath { kallsyms: Some(list), ..SearchPath::default() };
    let named = kernel_symbol(search, None, moved, moved + 0x108);
    assert_eq!(named.as_deref(), Some("schedule"), "the user's list needs no build-id");
}

/// The symbol at an address of a kernel whose `_text` was at `text`.
fn kernel_symbol(search: SearchPath, build_id: Option<Vec<u8>>, text: u64, at: u64) -> Option<String> {
    let mut mmap = mapping("[kernel.kallsyms]_text", text, 1 << 30, text);
    (mmap.pid, mmap.mode, mmap.build_id) = (-1, CpuMode::Kernel, build_id);
    let images = Images::new(&spaces(vec![mmap]), &[], search);
    let place = Location { image: ImageId(0), svma: Svma(at) };
    Wholesym::new().unwrap().lookup(&images, place).map(|symbol| symbol.name.clone())
}

#[test]
fn the_kernel_s_image_may_be_named_or_lie_where_distributions_install_it() {
    let dir = tempfile::tempdir().unwrap();
    let vmlinux = kernel(dir.path());
    let moved = 0xffff_ffff_9000_0000u64;
    let at = moved + address_of(&vmlinux, "helper") - address_of(&vmlinux, "_text") + 1;
    let search = SearchPath { kallsyms: Some(vmlinux.clone()), ..SearchPath::default() };
    assert_eq!(kernel_symbol(search, None, moved, at).as_deref(), Some("helper"), "named");
    let root = dir.path().join("root");
    fs::create_dir_all(root.join("boot")).unwrap();
    fs::rename(&vmlinux, root.join("boot/vmlinux-6.1.0")).unwrap();
    let search = SearchPath { symfs: vec![root], ..SearchPath::default() };
    let named = kernel_symbol(search.clone(), Some(ID.to_vec()), moved, at);
    assert_eq!(named.as_deref(), Some("helper"), "found below a root");
    assert_eq!(kernel_symbol(search, Some(vec![9; 20]), moved, at), None, "another kernel's");
}

#[test]
fn a_kernel_module_s_own_file_names_its_functions_where_the_kernel_put_them() {
    let dir = tempfile::tempdir().unwrap();
    // code that is thrown away comes first in the file, and the last section stands behind a gap
    let source = "
        __attribute__((section(\".init.text\"))) int begin(void) { return 1; }
        int first(int n) { return n + 1; }
        int second(int n) { return first(n) * 3; }
        __attribute__((section(\".text.late\"), aligned(64))) int late(int n) { return n / 3; }";
    let object = build(dir.path(), "net", source, &["-c", "-O1", "-mcmodel=kernel", "-fno-pic"]);
    let path = "/lib/modules/6.1.0/kernel/net/net.ko";
    let file = dir.path().join(&path[1..]);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::rename(object, &file).unwrap();
    let start = 0xffff_ffff_c012_3000u64;
    let name = |at: u64| {
        let mut mmap = mapping(path, start, 0x1000, 0);
        (mmap.pid, mmap.mode) = (-1, CpuMode::Kernel);
        let search = SearchPath { symfs: vec![dir.path().to_owned()], ..SearchPath::default() };
        let images = Images::new(&spaces(vec![mmap]), &[], search);
        assert_eq!(*only(&images).state(), ImageState::KernelModule);
        let place = Location { image: ImageId(0), svma: Svma(at) };
        Wholesym::new().unwrap().lookup(&images, place).map(|symbol| (symbol.name.clone(), symbol.start.0))
    };
    let second = start + address_of(&file, "second");
    assert_eq!(name(start), Some(("first".into(), start)));
    assert_eq!(name(second + 2), Some(("second".into(), second)));
    let text = Elf::open(&file).unwrap().section(".text").unwrap().size;
    let late = (start + text).next_multiple_of(64);
    assert_eq!(name(late + 1), Some(("late".into(), late)));
    assert_eq!(name(late + 0x800), None);
}
