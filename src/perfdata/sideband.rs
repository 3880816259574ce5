//! Records that are no samples: what was mapped, forked, renamed, lost.

use super::CpuMode;

/// A mapping of a file (or of nothing) into a process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Mmap {
    pub time: Option<u64>,
    pub pid: i32,
    pub tid: i32,
    pub start: u64,
    pub len: u64,
    pub pgoff: u64,
    pub filename: Vec<u8>,
    pub build_id: Option<Vec<u8>>,
    pub mode: CpuMode,
    pub executable: bool,
}

/// What a record other than a sample says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Sideband {
    Mmap(Mmap),
    Comm {
        time: Option<u64>,
        pid: i32,
        tid: i32,
        name: Vec<u8>,
        exec: bool,
    },
    Fork {
        time: Option<u64>,
        pid: i32,
        ppid: i32,
        tid: i32,
        ptid: i32,
    },
    Exit {
        time: Option<u64>,
        pid: i32,
        ppid: i32,
        tid: i32,
        ptid: i32,
    },
}
