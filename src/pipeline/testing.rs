//! Binaries of the cases, as recordings name them.

use crate::image::{AddressSpaces, Images, SearchPath};
use crate::perfdata::{CpuMode, Mmap, Sideband};

/// The static binary of a case, mapped alone: it is image 0.
pub fn of_case(name: &str) -> Images {
    let file = format!("{}/testdata/cases/symfs/opt/cases/{name}/{name}", env!("CARGO_MANIFEST_DIR"));
    let mapped = Mmap {
        time: Some(0),
        pid: 1,
        tid: 1,
        start: 0,
        len: 1 << 40,
        pgoff: 0,
        filename: file.into(),
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
