//! Several builds of one path in a recording: each sample is judged by the code that ran, or not at all.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::binaries::{build, mapping, spaces, text};
use skidconv::image::{ImageId, ImageState, Images, Missing, SearchPath};
use skidconv::perfdata::{BuildId, CpuMode, Inode, Mmap};

const RECORDED: &str = "/opt/recorded-elsewhere/bin/program";

/// A build with an id of four equal bytes, `dir/name/program`.
fn built(dir: &Path, name: &str, id: u8) -> PathBuf {
    let folder = dir.join(name);
    fs::create_dir_all(&folder).unwrap();
    let source = format!("int _start(void) {{ return {id}; }}\n");
    let id = format!("-Wl,--build-id=0x{:08x}", u32::from(id) * 0x0101_0101);
    build(&folder, "program", &source, &["-nostdlib", "-static", &id])
}

/// That `pid` maps a file of this number at a time.
fn mapped(path: &str, pid: i32, time: u64, number: u64) -> Mmap {
    let inode = (number > 0).then_some(Inode { device: (8, 1), number, generation: 0 });
    Mmap { pid, tid: pid, time: Some(time), inode, ..mapping(path, 0x1000, 0x1000, 0) }
}

fn header(path: &str, ids: &[u8]) -> Vec<BuildId> {
    let of = |&id: &u8| BuildId {
        pid: -1,
        mode: CpuMode::User,
        bytes: [&[id; 4][..], &[0; 16]].concat(),
        filename: path.into(),
    };
    ids.iter().map(of).collect()
}

fn symfs(dirs: &[&Path]) -> SearchPath {
    SearchPath { symfs: dirs.iter().map(|dir| dir.to_path_buf()).collect(), ..SearchPath::default() }
}

/// What became of each image: the folder of the file that was taken for it, or why there is none.
fn outcomes(mappings: Vec<Mmap>, header: &[BuildId], search: SearchPath) -> Vec<Result<String, Missing>> {
    let images = Images::new(&spaces(mappings), header, search);
    let outcome = |(_, image): (ImageId, &skidconv::image::Image)| match image.state() {
        ImageState::Found { file, .. } => Ok(folder(file)),
        ImageState::Missing(why) => Err(why.clone()),
        other => panic!("{other:?}"),
    };
    images.iter().map(outcome).collect()
}

fn folder(file: &Path) -> String {
    file.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned()
}

fn one_of(path: &str, files: usize, known: bool) -> Result<String, Missing> {
    Err(Missing::OneOfSeveral { path: path.into(), files, known })
}

#[test]
fn mappings_that_state_their_builds_have_each_its_own_code() {
    let dir = tempfile::tempdir().unwrap();
    built(dir.path(), "old", 1);
    built(dir.path(), "new", 2);
    let stating = |pid, id| Mmap { build_id: Some(vec![id; 4]), ..mapped(RECORDED, pid, 5, 0) };
    let search = symfs(&[&dir.path().join("new"), &dir.path().join("old")]);
    // the header knows the later only
    let found = outcomes(vec![stating(1, 1), stating(2, 2)], &header(RECORDED, &[2]), search);
    assert_eq!(found, [Ok("old".into()), Ok("new".into())]);
}

#[test]
fn the_header_s_build_is_that_of_the_file_that_took_the_other_s_place() {
    let dir = tempfile::tempdir().unwrap();
    built(dir.path(), "new", 2);
    let search = || symfs(&[&dir.path().join("new")]);
    let of = |mappings| outcomes(mappings, &header(RECORDED, &[2]), search());
    let rebuilt = vec![mapped(RECORDED, 1, 5, 70), mapped(RECORDED, 2, 6, 70), mapped(RECORDED, 3, 7, 71)];
    assert_eq!(of(rebuilt), [one_of(RECORDED, 2, true), Ok("new".into())]);
    // as in two containers, of which nothing tells whose build the header has
    let both = vec![mapped(RECORDED, 1, 5, 70), mapped(RECORDED, 2, 6, 71), mapped(RECORDED, 3, 7, 70)];
    assert_eq!(of(both), [one_of(RECORDED, 2, false), one_of(RECORDED, 2, false)]);
    let before = vec![mapped(RECORDED, 1, 0, 70), mapped(RECORDED, 2, 0, 71)];
    assert_eq!(of(before), [one_of(RECORDED, 2, false), one_of(RECORDED, 2, false)]);
    let one = vec![mapped(RECORDED, 1, 0, 70), mapped(RECORDED, 2, 6, 70)];
    assert_eq!(of(one), [Ok("new".into())]);
}

#[test]
fn the_file_that_is_still_at_the_path_is_told_by_its_inode() {
    let dir = tempfile::tempdir().unwrap();
    let program = built(dir.path(), "here", 2);
    let (path, number) = (text(&program), fs::metadata(&program).unwrap().ino());
    let device =
        |mmap: Mmap| Mmap { inode: mmap.inode.map(|inode| Inode { device: (0, 50), ..inode }), ..mmap };
    let of = |ids: &[u8]| {
        let mappings = vec![mapped(path, 1, 5, number), mapped(path, 2, 6, number + 1)];
        outcomes(mappings.into_iter().map(device).collect(), &header(path, ids), SearchPath::default())
    };
    assert_eq!(of(&[]), [Ok("here".into()), one_of(path, 2, true)], "no build-id is known");
    assert_eq!(of(&[2]), [Ok("here".into()), one_of(path, 2, true)], "though the other came last");
    let other = of(&[1, 2]);
    assert_eq!(other[0], Ok("here".into()));
    assert!(
        matches!(&other[1], Err(Missing::BuildIdMismatch { wanted, .. }) if wanted.starts_with("01010101"))
    );
    let gone = vec![mapped(path, 1, 5, number + 1), mapped(path, 2, 6, number + 2)];
    let found = outcomes(gone.clone(), &[], SearchPath::default());
    assert_eq!(found, [one_of(path, 2, false), one_of(path, 2, false)]);
    let elsewhere = outcomes(gone, &[], symfs(&[&dir.path().join("here")]));
    assert_eq!(elsewhere, [one_of(path, 2, false), one_of(path, 2, false)], "the user's copy is of either");
}

#[test]
fn a_deleted_file_does_not_have_the_build_of_what_took_its_place() {
    let dir = tempfile::tempdir().unwrap();
    built(dir.path(), "new", 2);
    let deleted = format!("{RECORDED} (deleted)");
    let of = |number| {
        let mappings = vec![mapped(&deleted, 1, 0, 70), mapped(RECORDED, 2, 6, number)];
        outcomes(mappings, &header(RECORDED, &[2]), symfs(&[&dir.path().join("new")]))
    };
    assert_eq!(of(71), [one_of(RECORDED, 2, true), Ok("new".into())]);
    assert_eq!(of(70), [Ok("new".into()), Ok("new".into())], "it was deleted later");
}

#[test]
fn one_file_of_which_the_header_has_two_builds_is_neither() {
    let dir = tempfile::tempdir().unwrap();
    built(dir.path(), "new", 2);
    let search = || symfs(&[&dir.path().join("new")]);
    let of = |ids: &[u8]| outcomes(vec![mapped(RECORDED, 1, 5, 0)], &header(RECORDED, ids), search());
    assert_eq!(of(&[1, 2]), [one_of(RECORDED, 2, false)]);
    assert_eq!(of(&[2, 2]), [Ok("new".into())]);
    let guest = |id| BuildId { mode: CpuMode::GuestUser, ..header(RECORDED, &[id]).remove(0) };
    let ids = [header(RECORDED, &[2]), vec![guest(1)]].concat();
    assert_eq!(outcomes(vec![mapped(RECORDED, 1, 5, 0)], &ids, search()), [Ok("new".into())]);
}

#[test]
fn a_file_that_was_changed_since_is_another_unless_the_user_points_to_it() {
    let dir = tempfile::tempdir().unwrap();
    let program = built(dir.path(), "here", 2);
    let path = text(&program);
    let changed = fs::metadata(&program).unwrap().mtime();
    let of = |ended: i64, ids: &[u8], symfs: &[&str]| {
        let symfs = symfs.iter().map(PathBuf::from).collect();
        let search = SearchPath { symfs, ended: Some((ended, 0)), ..SearchPath::default() };
        outcomes(vec![mapped(path, 1, 5, 0)], &header(path, ids), search)
    };
    assert_eq!(of(changed + 1, &[], &[]), [Ok("here".into())]);
    assert_eq!(of(changed - 1, &[], &[]), [Err(Missing::Changed { file: program.clone() })]);
    assert_eq!(of(changed - 1, &[2], &[]), [Ok("here".into())], "its build-id tells that it is the one");
    assert_eq!(of(changed - 1, &[], &["/"]), [Ok("here".into())], "the user's word");
}
