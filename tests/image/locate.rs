//! Which file is taken for a recorded binary, and what is said when there is none.

use std::fs;
use std::path::{Path, PathBuf};

use super::binaries::{build, images_with, only, run, text};
use skidconv::image::{ElfError, FunctionSource, ImageState, Missing, SearchPath, hex};

const SOURCE: &str = "int helper(int n) { return n + 1; }\nint _start(void) { return helper(2); }\n";
const RECORDED: &str = "/opt/recorded-elsewhere/bin/program";
const ID: [u8; 20] = [0xab, 0xcd, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20];

/// A program with the build-id [`ID`].
fn program(dir: &Path) -> PathBuf {
    let id = format!("-Wl,--build-id=0x{}", hex(&ID));
    build(dir, "program", SOURCE, &["-nostdlib", "-static", "-O0", &id])
}

fn state(build_id: Option<&[u8]>, search: SearchPath) -> ImageState {
    let images = images_with(Path::new(RECORDED), build_id.map(<[u8]>::to_vec), search);
    only(&images).state().clone()
}

fn symfs(dir: &Path) -> SearchPath {
    SearchPath { symfs: vec![dir.to_owned()], ..SearchPath::default() }
}

fn found(state: ImageState) -> PathBuf {
    match state {
        ImageState::Found { file, .. } => file,
        other => panic!("{other:?}"),
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::copy(from, to).unwrap();
}

#[test]
fn a_symfs_folder_stands_for_the_root_or_holds_the_file_itself() {
    let dir = tempfile::tempdir().unwrap();
    let program = program(dir.path());
    let (deep, flat) = (dir.path().join("deep"), dir.path().join("flat"));
    let in_deep = deep.join("opt/recorded-elsewhere/bin/program");
    copy(&program, &in_deep);
    copy(&program, &flat.join("program"));
    assert_eq!(found(state(Some(&ID), symfs(&deep))), in_deep);
    assert_eq!(found(state(None, symfs(&flat))), flat.join("program"));
    let both = SearchPath { symfs: vec![flat.clone(), deep], ..SearchPath::default() };
    assert_eq!(found(state(Some(&ID), both)), flat.join("program"), "the first hit wins");
}

#[test]
fn another_build_is_refused_and_the_next_folder_tried() {
    let dir = tempfile::tempdir().unwrap();
    let program = program(dir.path());
    let (wrong, right) = (dir.path().join("wrong"), dir.path().join("right"));
    let other = build(dir.path(), "other", SOURCE, &["-nostdlib", "-static", "-Wl,--build-id=0x0102"]);
    copy(&other, &wrong.join("program"));
    copy(&program, &right.join("program"));
    let ImageState::Missing(why) = state(Some(&ID), symfs(&wrong)) else { panic!("took another build") };
    let expected = Missing::BuildIdMismatch {
        file: wrong.join("program"),
        wanted: hex(&ID),
        found: Some("0102".into()),
    };
    assert_eq!(why, expected);
    assert!(why.to_string().contains("0102") && why.advice().contains("--symfs"));
    let search = SearchPath { symfs: vec![wrong, right.clone()], ..SearchPath::default() };
    assert_eq!(found(state(Some(&ID), search)), right.join("program"));
}

#[test]
fn a_short_build_id_may_be_recorded_with_zeros_behind() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), "program", SOURCE, &["-nostdlib", "-static", "-Wl,--build-id=0x01020304"]);
    let padded = |byte: u8| [&[1, 2, 3, 4][..], &[byte; 16]].concat();
    found(state(Some(&padded(0)), symfs(dir.path())));
    assert!(matches!(state(Some(&padded(1)), symfs(dir.path())), ImageState::Missing(_)));
}

#[test]
fn perfs_build_id_cache_is_searched_in_both_its_layouts() {
    let dir = tempfile::tempdir().unwrap();
    let program = program(dir.path());
    let name = hex(&ID);
    let entry = |cache: &str| dir.path().join(cache).join(".build-id").join(&name[..2]).join(&name[2..]);
    copy(&program, &entry("new").join("elf"));
    copy(&program, &entry("old"));
    let cache = |cache: &str| SearchPath { cache: Some(dir.path().join(cache)), ..SearchPath::default() };
    assert_eq!(found(state(Some(&ID), cache("new"))), entry("new").join("elf"));
    assert_eq!(found(state(Some(&ID), cache("old"))), entry("old"));
    assert_eq!(state(None, cache("new")), ImageState::Missing(Missing::NotFound { path: RECORDED.into() }));
}

#[test]
fn names_come_from_a_separate_debug_file() {
    let dir = tempfile::tempdir().unwrap();
    let program = program(dir.path());
    let (root, name) = (dir.path().join("root"), hex(&ID));
    let debug = root.join(format!("usr/lib/debug/.build-id/{}/{}.debug", &name[..2], &name[2..]));
    fs::create_dir_all(debug.parent().unwrap()).unwrap();
    fs::create_dir_all(root.join("bin")).unwrap();
    run("objcopy", &["--only-keep-debug", text(&program), text(&debug)]);
    run("strip", &["-o", text(&root.join("program")), text(&program)]);
    let helper = |search: SearchPath| {
        let images = images_with(Path::new(RECORDED), Some(ID.to_vec()), search);
        let functions =
            only(&images).functions().iter().map(|f| (f.source, f.name.clone())).collect::<Vec<_>>();
        functions.contains(&(FunctionSource::Symtab, Some("helper".into())))
    };
    assert!(helper(symfs(&root)));
    fs::remove_file(&debug).unwrap();
    assert!(!helper(symfs(&root)));
}

#[test]
fn a_pipe_or_a_folder_is_no_binary_and_is_not_opened() {
    let dir = tempfile::tempdir().unwrap();
    run("mkfifo", &[text(&dir.path().join("program"))]);
    let ImageState::Missing(Missing::Unusable { error, .. }) = state(None, symfs(dir.path())) else {
        panic!()
    };
    assert!(error.to_string().contains("not a regular file"));
    fs::remove_file(dir.path().join("program")).unwrap();
    fs::create_dir(dir.path().join("program")).unwrap();
    assert!(matches!(state(None, symfs(dir.path())), ImageState::Missing(Missing::Unusable { .. })));
}

#[test]
fn only_a_file_that_may_not_be_read_is_to_be_made_readable() {
    let dir = tempfile::tempdir().unwrap();
    let found = |bytes: &[u8]| {
        fs::write(dir.path().join("program"), bytes).unwrap();
        let ImageState::Missing(why) = state(None, symfs(dir.path())) else { panic!("{bytes:?}") };
        let helps = format!("{} {}", why.advice(), why.command(None, false));
        assert!(!helps.contains("readable") && !helps.contains("chmod"), "{helps}");
        (why.to_string().split_once(": ").unwrap().1.to_owned(), helps)
    };
    for windows in [&b"MZ"[..], b"MZ\x90\0\x03\0\0\0"] {
        let (what, helps) = found(windows);
        assert!(what == "not an ELF file but one of Windows (PE)" && helps.starts_with("nothing"), "{helps}");
    }
    for other in [&b""[..], b"#!/bin/sh\n", b"\x7fEL"] {
        let (what, helps) = found(other);
        assert!(what == "not an ELF file" && helps.starts_with("nothing, unless"), "{helps}");
    }
    let (what, helps) = found(b"\x7fELF");
    assert!(what.starts_with("not a valid ELF file") && helps.contains("--symfs"), "{what}");
    let error = ElfError::from(std::io::Error::from(std::io::ErrorKind::PermissionDenied));
    let denied = Missing::Unusable { file: "/opt/program".into(), error };
    assert!(denied.advice().contains("readable"));
    assert_eq!(denied.command(None, false), "chmod a+r /opt/program");
}

#[test]
fn a_recorded_path_cannot_climb_out_of_symfs() {
    let dir = tempfile::tempdir().unwrap();
    let program = program(dir.path());
    let inside = dir.path().join("inside");
    fs::create_dir(&inside).unwrap();
    copy(&program, &dir.path().join("outside"));
    for name in ["/../outside", "/a/../../outside", "../outside", "outside", "/", ""] {
        let images = images_with(Path::new(name), None, symfs(&inside));
        assert!(!matches!(only(&images).state(), ImageState::Found { .. }), "{name}");
    }
}

#[test]
fn a_deleted_file_is_taken_only_by_its_build_id() {
    let dir = tempfile::tempdir().unwrap();
    let program = program(dir.path());
    let recorded = PathBuf::from(format!("{} (deleted)", text(&program)));
    let state = |build_id: Option<Vec<u8>>| {
        only(&images_with(&recorded, build_id, SearchPath::default())).state().clone()
    };
    assert_eq!(state(None), ImageState::Missing(Missing::Deleted { path: text(&program).into() }));
    assert_eq!(found(state(Some(ID.to_vec()))), program);
}

#[test]
fn names_without_a_file_have_a_state_of_their_own() {
    let state = |name: &str| only(&images_with(Path::new(name), None, SearchPath::default())).state().clone();
    assert_eq!(state("[vdso]"), ImageState::Vdso);
    assert_eq!(state("//anon"), ImageState::Jit { map: "/tmp/perf-1.map".into() });
    assert_eq!(state("/memfd:jit (deleted)"), ImageState::Jit { map: "/tmp/perf-1.map".into() });
    assert_eq!(state("[stack]"), ImageState::Anonymous);
    assert_eq!(state("[kernel.kallsyms]_text"), ImageState::Kernel);
    assert_eq!(
        state("/proc/self/exe"),
        ImageState::Missing(Missing::NotFound { path: "/proc/self/exe".into() })
    );
}
