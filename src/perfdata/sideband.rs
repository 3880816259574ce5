//! Records about processes and their memory, and about what was lost.

use linux_perf_event_reader::constants as c;

use super::CpuMode;
use super::bytes::{Endian, array, until_nul};
use super::layout::Layout;
use super::records::Record;

const PROT_EXEC: u32 = 4;
/// `PERF_RECORD_MISC_LOST_SAMPLES_BPF`: samples that a filter was to drop.
const DROPPED_BY_FILTER: u16 = 1 << 15;

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
    /// Which file it is, if this record has it.
    pub inode: Option<Inode>,
    /// Whether it is code of user space, the kernel, or a guest.
    pub mode: CpuMode,
    /// Whether code can be executed there.
    pub executable: bool,
}

/// A file as the kernel knows it, whatever its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inode {
    /// Major and minor number of the device; the major number of what is no disk is 0.
    pub device: (u32, u32),
    /// Its number there, > 0.
    pub number: u64,
    /// Tells it from files that had the number before; 0 where that is not known, as to whoever reads `/proc/PID/maps`.
    pub generation: u64,
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
    /// perf made the record up for what was there before the recording: mappings that it has are told after it, and none are
    /// its parent's.
    pub made_up: bool,
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
    /// Samples that were lost, by the hardware or for want of room.
    LostSamples {
        /// When the loss was noted.
        time: Option<u64>,
        /// How many.
        n: u64,
    },
    /// Sampling came too fast and was stopped.
    Throttle {
        /// When.
        time: Option<u64>,
    },
    /// Sampling goes on.
    Unthrottle {
        /// When.
        time: Option<u64>,
    },
}

impl Sideband {
    /// When it happened; `None` if the recording does not tell.
    pub fn time(&self) -> Option<u64> {
        match self {
            Sideband::Mmap(Mmap { time, .. })
            | Sideband::Comm(Comm { time, .. })
            | Sideband::Fork(Task { time, .. })
            | Sideband::Exit(Task { time, .. })
            | Sideband::Lost { time, .. }
            | Sideband::LostSamples { time, .. }
            | Sideband::Throttle { time }
            | Sideband::Unthrottle { time } => *time,
        }
    }

    /// `None` for other types, for records too short to be what they say, and for losses that were asked for.
    pub(super) fn decode(record: &Record<'_>, layout: &Layout) -> Option<Sideband> {
        let (body, time) = split_trailer(record.bytes, layout);
        let at = Body { bytes: body, endian: layout.endian };
        Some(match record.kind {
            c::PERF_RECORD_MMAP => Sideband::Mmap(at.mmap(record.misc, time)?),
            c::PERF_RECORD_MMAP2 => Sideband::Mmap(at.mmap2(record.misc, time)?),
            c::PERF_RECORD_COMM => Sideband::Comm(at.comm(record.misc, time)?),
            c::PERF_RECORD_FORK => Sideband::Fork(at.task(record.misc, time)?),
            c::PERF_RECORD_EXIT => Sideband::Exit(at.task(record.misc, time)?),
            c::PERF_RECORD_LOST => Sideband::Lost { time, n: at.u64(16)? },
            c::PERF_RECORD_LOST_SAMPLES if record.misc & DROPPED_BY_FILTER != 0 => return None,
            c::PERF_RECORD_LOST_SAMPLES => Sideband::LostSamples { time, n: at.u64(8)? },
            c::PERF_RECORD_THROTTLE => Sideband::Throttle { time: at.u64(8).or(time) },
            c::PERF_RECORD_UNTHROTTLE => Sideband::Unthrottle { time: at.u64(8).or(time) },
            _ => return None,
        })
    }
}

/// A record without its trailer, and the time in the trailer. `!0` stands for no time.
fn split_trailer<'a>(record: &'a [u8], layout: &Layout) -> (&'a [u8], Option<u64>) {
    match record.len().checked_sub(layout.trailer) {
        Some(end) if end >= 8 => {
            let time = layout.trailer_time.and_then(|at| layout.endian.u64(record, end + at));
            (&record[..end], time.filter(|&t| t != u64::MAX))
        }
        _ => (record, None),
    }
}

/// A record without trailer; offsets count from its header.
struct Body<'a> {
    bytes: &'a [u8],
    endian: Endian,
}

impl Body<'_> {
    fn i32(&self, at: usize) -> Option<i32> {
        self.endian.i32(self.bytes, at)
    }

    fn u64(&self, at: usize) -> Option<u64> {
        self.endian.u64(self.bytes, at)
    }

    fn name(&self, at: usize) -> Option<Vec<u8>> {
        self.bytes.get(at..).map(|name| until_nul(name).to_vec())
    }

    /// `u32 pid, tid; u64 addr, len, pgoff; char filename[];`
    fn mmap(&self, misc: u16, time: Option<u64>) -> Option<Mmap> {
        Some(Mmap {
            time,
            pid: self.i32(8)?,
            tid: self.i32(12)?,
            start: self.u64(16)?,
            len: self.u64(24)?,
            pgoff: self.u64(32)?,
            filename: self.name(40)?,
            build_id: None,
            inode: None,
            mode: CpuMode::of(misc),
            executable: misc & c::PERF_RECORD_MISC_MMAP_DATA == 0,
        })
    }

    /// ```text
    /// u32 pid, tid; u64 addr, len, pgoff;
    /// union { struct { u32 maj, min; u64 ino, ino_generation; };
    ///         struct { u8 build_id_size, reserved[3]; u8 build_id[20]; }; };
    /// u32 prot, flags; char filename[];
    /// ```
    fn mmap2(&self, misc: u16, time: Option<u64>) -> Option<Mmap> {
        let id: [u8; 24] = array(self.bytes, 40)?;
        let has_build_id = misc & c::PERF_RECORD_MISC_MMAP_BUILD_ID != 0;
        let size = usize::from(id[0]).min(20);
        Some(Mmap {
            filename: self.name(72)?,
            build_id: has_build_id.then(|| id[4..4 + size].to_vec()),
            inode: if has_build_id { None } else { self.inode(40) },
            executable: self.endian.u32(self.bytes, 64)? & PROT_EXEC != 0,
            ..self.mmap(misc, time)?
        })
    }

    /// `u32 maj, min; u64 ino, ino_generation;`
    fn inode(&self, at: usize) -> Option<Inode> {
        let half = |at: usize| self.endian.u32(self.bytes, at);
        let device = (half(at)?, half(at + 4)?);
        let (number, generation) = (self.u64(at + 8)?, self.u64(at + 16)?);
        (number != 0).then_some(Inode { device, number, generation })
    }

    /// `u32 pid, tid; char comm[];`
    fn comm(&self, misc: u16, time: Option<u64>) -> Option<Comm> {
        let exec = misc & c::PERF_RECORD_MISC_COMM_EXEC != 0;
        Some(Comm { time, pid: self.i32(8)?, tid: self.i32(12)?, name: self.name(16)?, exec })
    }

    /// `u32 pid, ppid, tid, ptid; u64 time;`
    fn task(&self, misc: u16, time: Option<u64>) -> Option<Task> {
        Some(Task {
            time: self.u64(24).or(time),
            pid: self.i32(8)?,
            ppid: self.i32(12)?,
            tid: self.i32(16)?,
            ptid: self.i32(20)?,
            made_up: misc & c::PERF_RECORD_MISC_FORK_EXEC != 0,
        })
    }
}

#[cfg(test)]
mod tests;
