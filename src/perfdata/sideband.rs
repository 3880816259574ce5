//! Records about processes and their memory, and about what was lost.

use super::CpuMode;

/// A part of a file, mapped into a process. `MMAP` and `MMAP2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mmap {
    /// When; 0 for what existed before the recording began.
    pub time: Option<u64>,
    /// Process, −1 for the kernel.
    pub pid: i32,
    /// Thread.
    pub tid: i32,
    /// First address.
    pub start: u64,
    /// Bytes.
    pub len: u64,
    /// Offset in the file of the first address.
    pub pgoff: u64,
    /// The file, or a name in brackets, as recorded.
    pub filename: Vec<u8>,
    /// Of the file, if this record has it.
    pub build_id: Option<Vec<u8>>,
    /// Inode of the file, if this record has it.
    pub inode: Option<u64>,
    /// Whether it is code of user space, the kernel, or a guest.
    pub mode: CpuMode,
    /// Whether code can be executed there.
    pub executable: bool,
}

/// A process or thread that began (`FORK`) or ended (`EXIT`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// When.
    pub time: Option<u64>,
    /// Process.
    pub pid: i32,
    /// Its parent.
    pub ppid: i32,
    /// Thread.
    pub tid: i32,
    /// The thread that created it.
    pub ptid: i32,
}

/// A thread's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comm {
    /// When; 0 for what existed before the recording began.
    pub time: Option<u64>,
    /// Process.
    pub pid: i32,
    /// Thread.
    pub tid: i32,
    /// The name.
    pub name: Vec<u8>,
    /// Whether it changed because another program was executed: the old mappings are gone.
    pub exec: bool,
}

/// A record that is no sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sideband {
    /// A mapping.
    Mmap(Mmap),
    /// A name.
    Comm(Comm),
    /// A beginning.
    Fork(Task),
    /// An end.
    Exit(Task),
    /// Records that found no room in the buffer.
    Lost {
        /// When the loss was noted.
        time: Option<u64>,
        /// How many.
        n: u64,
    },
}
