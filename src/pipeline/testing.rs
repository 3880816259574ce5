//! Binaries of the cases, as recordings name them, and small ones that tests compile.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::image::{AddressSpaces, Images, SearchPath};
use crate::perfdata::{CpuMode, Mmap, Sideband};

/// The static binary of a case, mapped alone: it is image 0.
pub fn of_case(name: &str) -> Images {
    of(Path::new(&format!("{}/testdata/cases/symfs/opt/cases/{name}/{name}", env!("CARGO_MANIFEST_DIR"))))
}

/// A program of this C text, which reaches its own functions through its global offset table as Rust's library does; alone, too. It lies
/// in the folder.
pub fn through_offsets(text: &str) -> (TempDir, Images) {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("program.c"), folder.path().join("program"));
    std::fs::write(&source, text).expect("written");
    let options =
        ["-O1", "-fPIC", "-fno-plt", "-fno-inline", "-Wa,-mrelax-relocations=no", "-pie", "-Wl,-z,now"];
    let mut compiler = Command::new("cc");
    let run = compiler.args(options).args(["-nostdlib", "-e", "start", "-o"]).args([&program, &source]);
    let run = run.output().expect("cc is required");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let images = of(&program);
    (folder, images)
}

fn of(file: &Path) -> Images {
    let mapped = Mmap {
        time: Some(0),
        pid: 1,
        tid: 1,
        start: 0,
        len: 1 << 40,
        pgoff: 0,
        filename: file.as_os_str().as_bytes().to_vec(),
        build_id: None,
        inode: None,
        mode: CpuMode::User,
        executable: true,
    };
    let mut spaces = AddressSpaces::new();
    spaces.record(0, &Sideband::Mmap(mapped));
    spaces.seal();
    Images::new(&spaces, &[], SearchPath::default())
}
