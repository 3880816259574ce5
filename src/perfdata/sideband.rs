//! Records about processes and their memory, and about what was lost.

use linux_perf_event_reader::constants as c;

use super::CpuMode;
use super::bytes::{Endian, array, until_nul};
use super::layout::Layout;
use super::records::Record;

const PROT_EXEC: u32 = 4;

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
    /// Samples that the hardware lost.
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

    /// `None` for other types and for records too short to be what they say.
    pub(super) fn decode(record: &Record<'_>, layout: &Layout) -> Option<Sideband> {
        let (body, time) = split_trailer(record.bytes, layout);
        let at = Body { bytes: body, endian: layout.endian };
        Some(match record.kind {
            c::PERF_RECORD_MMAP => Sideband::Mmap(at.mmap(record.misc, time)?),
            c::PERF_RECORD_MMAP2 => Sideband::Mmap(at.mmap2(record.misc, time)?),
            c::PERF_RECORD_COMM => Sideband::Comm(at.comm(record.misc, time)?),
            c::PERF_RECORD_FORK => Sideband::Fork(at.task(time)?),
            c::PERF_RECORD_EXIT => Sideband::Exit(at.task(time)?),
            c::PERF_RECORD_LOST => Sideband::Lost { time, n: at.u64(16)? },
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
            inode: if has_build_id { None } else { self.u64(48) },
            executable: self.endian.u32(self.bytes, 64)? & PROT_EXEC != 0,
            ..self.mmap(misc, time)?
        })
    }

    /// `u32 pid, tid; char comm[];`
    fn comm(&self, misc: u16, time: Option<u64>) -> Option<Comm> {
        let exec = misc & c::PERF_RECORD_MISC_COMM_EXEC != 0;
        Some(Comm { time, pid: self.i32(8)?, tid: self.i32(12)?, name: self.name(16)?, exec })
    }

    /// `u32 pid, ppid, tid, ptid; u64 time;`
    fn task(&self, time: Option<u64>) -> Option<Task> {
        Some(Task {
            time: self.u64(24).or(time),
            pid: self.i32(8)?,
            ppid: self.i32(12)?,
            tid: self.i32(16)?,
            ptid: self.i32(20)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Build, attr, sideband};
    use super::*;

    const ORDERS: [Endian; 2] = [Endian::Little, Endian::Big];

    /// An event whose records end with thread, time, processor and identifier.
    fn event() -> super::super::Attr {
        let mut attr = attr(
            c::PERF_SAMPLE_TID | c::PERF_SAMPLE_TIME | c::PERF_SAMPLE_CPU | c::PERF_SAMPLE_IDENTIFIER | 1,
        );
        attr.sample_id_all = true;
        attr
    }

    fn trailer(build: Build, time: u64) -> Vec<u8> {
        build.halves(&[7, 8]).words(&[time]).halves(&[1, 0]).words(&[99]).done()
    }

    #[test]
    fn a_mapping_has_its_inode_or_its_build_id() {
        for endian in ORDERS {
            let head = |misc| {
                let build = Build::new(endian, c::PERF_RECORD_MMAP2, misc).halves(&[7, 8]);
                build.words(&[0x400000, 0x1000, 0x2000])
            };
            let inode = head(2).halves(&[8, 1]).words(&[1234, 0]);
            let record = trailer(inode.halves(&[5, 2]).raw(b"/bin/a\0\0"), 500);
            let Some(Sideband::Mmap(m)) = sideband(&record, &event(), endian) else { panic!() };
            assert_eq!((m.pid, m.tid, m.start, m.len, m.pgoff), (7, 8, 0x400000, 0x1000, 0x2000));
            assert_eq!((m.inode, m.build_id, m.time, m.executable), (Some(1234), None, Some(500), true));
            assert_eq!((&m.filename[..], m.mode), (&b"/bin/a"[..], CpuMode::User));

            let id = head(2 | 1 << 14).raw(&[20, 0, 0, 0]).raw(&[0xbb; 20]);
            let record = trailer(id.halves(&[1, 2]).raw(b"/bin/a\0\0"), 500);
            let Some(Sideband::Mmap(m)) = sideband(&record, &event(), endian) else { panic!() };
            assert_eq!((m.build_id, m.inode, m.executable), (Some(vec![0xbb; 20]), None, false));
        }
    }

    #[test]
    fn a_build_id_longer_than_can_be_is_cut_to_20_bytes() {
        let build = Build::new(Endian::Little, c::PERF_RECORD_MMAP2, 2 | 1 << 14).halves(&[7, 8]);
        let build = build.words(&[0, 0, 0]).raw(&[255, 0, 0, 0]).raw(&[1; 20]).halves(&[5, 2]).raw(b"x");
        let Some(Sideband::Mmap(m)) = sideband(&trailer(build, 1), &event(), Endian::Little) else { panic!() };
        assert_eq!(m.build_id.unwrap().len(), 20);
    }

    #[test]
    fn data_mappings_of_the_old_kind_are_marked() {
        for (misc, executable) in [(2, true), (2 | 1 << 13, false)] {
            let build = Build::new(Endian::Little, c::PERF_RECORD_MMAP, misc).halves(&[7, 8]);
            let record = trailer(build.words(&[1, 2, 3]).raw(b"/lib/b\0\0"), 1);
            let Some(Sideband::Mmap(m)) = sideband(&record, &event(), Endian::Little) else { panic!() };
            assert_eq!((m.executable, &m.filename[..]), (executable, &b"/lib/b"[..]));
        }
    }

    #[test]
    fn names_tasks_and_losses_are_read() {
        for endian in ORDERS {
            let of = |kind, misc| Build::new(endian, kind, misc);
            let comm = trailer(of(c::PERF_RECORD_COMM, 1 << 13).halves(&[7, 8]).raw(b"name\0\0\0\0"), 5);
            let (time, name) = (Some(5), b"name".to_vec());
            let expected = Sideband::Comm(Comm { time, pid: 7, tid: 8, name, exec: true });
            assert_eq!(sideband(&comm, &event(), endian), Some(expected));
            let fork = trailer(of(c::PERF_RECORD_FORK, 0).halves(&[9, 7, 10, 8]).words(&[6]), 66);
            let expected = Sideband::Fork(Task { time: Some(6), pid: 9, ppid: 7, tid: 10, ptid: 8 });
            assert_eq!(sideband(&fork, &event(), endian), Some(expected));
            let lost = trailer(of(c::PERF_RECORD_LOST, 0).words(&[99, 12]), 7);
            assert_eq!(sideband(&lost, &event(), endian), Some(Sideband::Lost { time: Some(7), n: 12 }));
            let lost = trailer(of(c::PERF_RECORD_LOST_SAMPLES, 0).words(&[3]), 7);
            assert_eq!(sideband(&lost, &event(), endian), Some(Sideband::LostSamples { time: Some(7), n: 3 }));
        }
    }

    #[test]
    fn without_a_trailer_there_is_no_time() {
        let mut event = event();
        event.sample_id_all = false;
        let comm = Build::new(Endian::Little, c::PERF_RECORD_COMM, 0).halves(&[7, 8]).raw(b"name\0\0\0\0");
        let Some(Sideband::Comm(comm)) = sideband(&comm.done(), &event, Endian::Little) else { panic!() };
        assert_eq!((comm.time, &comm.name[..]), (None, &b"name"[..]));
    }

    #[test]
    fn records_too_short_are_none() {
        let whole = Build::new(Endian::Little, c::PERF_RECORD_MMAP2, 2).halves(&[7, 8]).words(&[0; 3]);
        let whole = trailer(whole.raw(&[0; 24]).halves(&[5, 2]).raw(b"/bin/a\0\0"), 1);
        for len in 8..72 {
            assert_eq!(sideband(&whole[..len], &event(), Endian::Little), None, "{len}");
        }
    }
}
