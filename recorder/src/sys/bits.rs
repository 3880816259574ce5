//! Sets of the bits that perf_event_open(2) names.
// the manual page tells of each
#![allow(missing_docs)]

use bitflags::bitflags;

bitflags! {
    /// What a sample holds: `PERF_SAMPLE_*`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Fields: u64 {
        const IP = 1;
        const TID = 1 << 1;
        const TIME = 1 << 2;
        const ADDR = 1 << 3;
        const READ = 1 << 4;
        const CALLCHAIN = 1 << 5;
        const ID = 1 << 6;
        const CPU = 1 << 7;
        const PERIOD = 1 << 8;
        const STREAM_ID = 1 << 9;
        const RAW = 1 << 10;
        const BRANCH_STACK = 1 << 11;
        const REGS_USER = 1 << 12;
        const STACK_USER = 1 << 13;
        const WEIGHT = 1 << 14;
        const DATA_SRC = 1 << 15;
        const IDENTIFIER = 1 << 16;
        const REGS_INTR = 1 << 18;
    }

    /// What reading a counter gives beside its value: `PERF_FORMAT_*`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct ReadFormat: u64 {
        const TOTAL_TIME_ENABLED = 1;
        const TOTAL_TIME_RUNNING = 1 << 1;
        const ID = 1 << 2;
        const GROUP = 1 << 3;
        const LOST = 1 << 4;
    }

    /// Which branches a branch stack holds: `PERF_SAMPLE_BRANCH_*`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Branches: u64 {
        const USER = 1;
        const KERNEL = 1 << 1;
        const ANY = 1 << 3;
        const ANY_CALL = 1 << 4;
        const CALL_STACK = 1 << 11;
        const NO_FLAGS = 1 << 14;
        const NO_CYCLES = 1 << 15;
    }

    /// The bits of the attr, in their order there; `precise_ip` is a field of [`Attr`](super::Attr).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Flags: u64 {
        const DISABLED = 1;
        const INHERIT = 1 << 1;
        const PINNED = 1 << 2;
        const EXCLUSIVE = 1 << 3;
        const EXCLUDE_USER = 1 << 4;
        const EXCLUDE_KERNEL = 1 << 5;
        const EXCLUDE_HV = 1 << 6;
        const EXCLUDE_IDLE = 1 << 7;
        const MMAP = 1 << 8;
        const COMM = 1 << 9;
        /// Set with [`Rate::Frequency`](super::Rate::Frequency).
        const FREQ = 1 << 10;
        const INHERIT_STAT = 1 << 11;
        const ENABLE_ON_EXEC = 1 << 12;
        const TASK = 1 << 13;
        const WATERMARK = 1 << 14;
        const MMAP_DATA = 1 << 17;
        const SAMPLE_ID_ALL = 1 << 18;
        const EXCLUDE_HOST = 1 << 19;
        const EXCLUDE_GUEST = 1 << 20;
        const EXCLUDE_CALLCHAIN_KERNEL = 1 << 21;
        const EXCLUDE_CALLCHAIN_USER = 1 << 22;
        const MMAP2 = 1 << 23;
        const COMM_EXEC = 1 << 24;
        /// Set with [`Attr::clock`](super::Attr::clock).
        const USE_CLOCKID = 1 << 25;
        const CONTEXT_SWITCH = 1 << 26;
        const KSYMBOL = 1 << 29;
        const BPF_EVENT = 1 << 30;
        const BUILD_ID = 1 << 34;
        const INHERIT_THREAD = 1 << 35;
        const REMOVE_ON_EXEC = 1 << 36;
        const SIGTRAP = 1 << 37;
    }
}
