//! What the recording says about itself: its machine, its command, its binaries' build-ids.

use linux_perf_data::Feature;
use linux_perf_event_reader::constants as c;

use super::bytes::{Endian, array, until_nul};
use super::walk::{RECORD_HEADER, parse_header};
use super::{Attr, CpuMode};

/// Longer names of events are cut: any number of events may share one.
const LONGEST_NAME: usize = 1 << 10;

/// A binary's build-id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildId {
    /// Process for which it was noted: −1 for the host.
    pub pid: i32,
    /// Kernel or user space, of the host or a guest.
    pub mode: CpuMode,
    /// The id, up to 20 bytes.
    pub bytes: Vec<u8>,
    /// Path as recorded, or a name in brackets.
    pub filename: Vec<u8>,
}

/// An event as its header section describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Described {
    pub kind: u32,
    pub config: u64,
    pub name: String,
    pub ids: Vec<u64>,
    /// As events' own section has it.
    attr: Option<Attr>,
}

impl Described {
    /// The event, should its own description be lost.
    pub fn attr(&self) -> Option<Attr> {
        Some(Attr { name: self.name.clone(), ids: self.ids.clone(), ..self.attr.clone()? })
    }
}

/// Compression of the recording's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    /// 1 is zstd.
    pub kind: u32,
    /// As given to `perf record -z`.
    pub level: u32,
    /// Mean ratio, as perf noted.
    pub ratio: u32,
}

/// The header sections that this program understands. What is not recorded, or damaged, is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Name of the machine.
    pub hostname: Option<String>,
    /// Version of its kernel.
    pub os_release: Option<String>,
    /// Version of perf.
    pub version: Option<String>,
    /// As `uname -m` gives it.
    pub arch: Option<String>,
    /// Name of the processor.
    pub cpu_desc: Option<String>,
    /// Vendor, family, model and stepping of the processor.
    pub cpu_id: Option<String>,
    /// Processors online and available.
    pub nr_cpus: Option<(u32, u32)>,
    /// Memory in KiB.
    pub total_mem: Option<u64>,
    /// The command that recorded.
    pub cmdline: Vec<String>,
    /// Build-ids of the binaries that were sampled.
    pub build_ids: Vec<BuildId>,
    /// Times of the first and the last sample.
    pub sample_time: Option<(u64, u64)>,
    /// Numbers and names of the PMUs.
    pub pmus: Vec<(u32, String)>,
    /// Resolution of the recording's clock.
    pub clock_resolution: Option<u64>,
    /// The recording's clock, the time of day in nanoseconds when it was looked at, and its time then.
    pub clock: Option<(u32, u64, u64)>,
    /// Compression of the records.
    pub compressed: Option<Compression>,
    pub(super) described: Vec<Described>,
}

impl Features {
    /// Whether a section is read at all.
    pub(super) fn wants(feature: Feature) -> bool {
        matches!(
            feature,
            Feature::BUILD_ID
                | Feature::HOSTNAME
                | Feature::OSRELEASE
                | Feature::VERSION
                | Feature::ARCH
                | Feature::NRCPUS
                | Feature::CPUDESC
                | Feature::CPUID
                | Feature::TOTAL_MEM
                | Feature::CMDLINE
                | Feature::EVENT_DESC
                | Feature::PMU_MAPPINGS
                | Feature::SAMPLE_TIME
                | Feature::CLOCKID
                | Feature::COMPRESSED
                | Feature::CLOCK_DATA
        )
    }

    /// Takes in a section. `None` if it does not have the form it should; what could be read is kept.
    pub(super) fn read(&mut self, feature: Feature, bytes: &[u8], endian: Endian) -> Option<()> {
        let at = &mut Cursor { rest: bytes, endian };
        match feature {
            Feature::BUILD_ID => return self.read_build_ids(bytes, endian),
            Feature::HOSTNAME => self.hostname = Some(at.string()?),
            Feature::OSRELEASE => self.os_release = Some(at.string()?),
            Feature::VERSION => self.version = Some(at.string()?),
            Feature::ARCH => self.arch = Some(at.string()?),
            Feature::CPUDESC => self.cpu_desc = Some(at.string()?),
            Feature::CPUID => self.cpu_id = Some(at.string()?),
            Feature::NRCPUS => {
                let available = at.u32()?;
                self.nr_cpus = Some((at.u32()?, available));
            }
            Feature::TOTAL_MEM => self.total_mem = Some(at.u64()?),
            Feature::CMDLINE => {
                for _ in 0..at.u32()? {
                    self.cmdline.push(at.string()?);
                }
            }
            Feature::EVENT_DESC => return self.read_events(at),
            Feature::PMU_MAPPINGS => {
                for _ in 0..at.u32()? {
                    self.pmus.push((at.u32()?, at.string()?));
                }
            }
            Feature::SAMPLE_TIME => self.sample_time = Some((at.u64()?, at.u64()?)),
            Feature::CLOCKID => self.clock_resolution = Some(at.u64()?),
            Feature::COMPRESSED => {
                let (_version, kind, level, ratio) = (at.u32()?, at.u32()?, at.u32()?, at.u32()?);
                self.compressed = Some(Compression { kind, level, ratio });
            }
            Feature::CLOCK_DATA => {
                let (_version, clock) = (at.u32()?, at.u32()?);
                self.clock = Some((clock, at.u64()?, at.u64()?));
            }
            _ => {}
        }
        Some(())
    }

    /// `u32 nr, attr_size; { attr; u32 nr_ids; string name; u64 ids[nr_ids]; }[nr]`
    fn read_events(&mut self, at: &mut Cursor<'_>) -> Option<()> {
        let (nr, attr_size) = (at.u32()?, at.u32()?);
        for _ in 0..nr {
            let attr = at.take(usize::try_from(attr_size).ok()?)?;
            let nr_ids = usize::try_from(at.u32()?).ok()?;
            let name = at.text(LONGEST_NAME)?;
            let ids = at.take(nr_ids.checked_mul(8)?)?;
            self.described.push(Described {
                kind: at.endian.u32(attr, 0)?,
                config: at.endian.u64(attr, 8)?,
                name,
                ids: super::bytes::Words::new(ids, at.endian).iter().collect(),
                attr: Attr::parse(attr, at.endian, 0).ok(),
            });
        }
        Some(())
    }

    fn read_build_ids(&mut self, bytes: &[u8], endian: Endian) -> Option<()> {
        // As perf does: entries of its first versions have no pid, which shows in the kernel's name.
        let old = bytes.get(36..).is_some_and(|name| name.starts_with(b"nel.kallsyms]"));
        let mut rest = bytes;
        while !rest.is_empty() {
            let (.., size) = parse_header(rest.get(..RECORD_HEADER)?, endian);
            let (entry, behind) = rest.split_at_checked(size.into())?;
            self.read_build_id(entry, endian, old)?;
            rest = behind;
        }
        Some(())
    }

    /// `struct perf_event_header; s32 pid; u8 build_id[20], size, reserved[3]; char filename[];`
    pub(super) fn read_build_id(&mut self, entry: &[u8], endian: Endian, old: bool) -> Option<()> {
        let (_, misc, _) = parse_header(entry.get(..RECORD_HEADER)?, endian);
        let pid = if old { -1 } else { endian.i32(entry, 8)? };
        let at = if old { 8 } else { 12 };
        let id: [u8; 24] = array(entry, at)?;
        let len =
            if misc & c::PERF_RECORD_MISC_BUILD_ID_SIZE != 0 { usize::from(id[20]).min(20) } else { 20 };
        let filename = until_nul(entry.get(at + 24..)?).to_vec();
        let mode = CpuMode::of(misc);
        self.build_ids.push(BuildId { pid, mode, bytes: id[..len].to_vec(), filename });
        Some(())
    }
}

/// Reads a section from front to back.
struct Cursor<'a> {
    rest: &'a [u8],
    endian: Endian,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(n)?;
        self.rest = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        let endian = self.endian;
        endian.u32(self.take(4)?, 0)
    }

    fn u64(&mut self) -> Option<u64> {
        let endian = self.endian;
        endian.u64(self.take(8)?, 0)
    }

    /// `u32 len; char text[len];`, padded by NULs.
    fn string(&mut self) -> Option<String> {
        self.text(usize::MAX)
    }

    /// The same, cut to so many bytes.
    fn text(&mut self, longest: usize) -> Option<String> {
        let len = usize::try_from(self.u32()?).ok()?;
        let text = until_nul(self.take(len)?);
        Some(String::from_utf8_lossy(&text[..text.len().min(longest)]).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(text: &str) -> Vec<u8> {
        let mut bytes = 64u32.to_le_bytes().to_vec();
        bytes.extend(text.as_bytes());
        bytes.resize(68, 0);
        bytes
    }

    fn build_id(misc: u16, pid: Option<i32>, size: u8, name: &str) -> Vec<u8> {
        let mut body = pid.map(|pid| pid.to_le_bytes().to_vec()).unwrap_or_default();
        body.extend([0xab; 20]);
        body.extend([size, 0, 0, 0]);
        body.extend(name.as_bytes());
        body.push(0);
        let mut bytes = 67u32.to_le_bytes().to_vec();
        bytes.extend(misc.to_le_bytes());
        bytes.extend((8 + body.len() as u16).to_le_bytes());
        bytes.extend(body);
        bytes
    }

    #[test]
    fn strings_and_lists_are_read() {
        let mut f = Features::default();
        f.read(Feature::ARCH, &string("x86_64"), Endian::Little).unwrap();
        let cmdline = [&2u32.to_le_bytes()[..], &string("perf"), &string("record")].concat();
        f.read(Feature::CMDLINE, &cmdline, Endian::Little).unwrap();
        assert_eq!(f.arch.as_deref(), Some("x86_64"));
        assert_eq!(f.cmdline, ["perf", "record"]);
    }

    #[test]
    fn a_section_that_promises_too_much_keeps_what_is_there() {
        let mut f = Features::default();
        let cmdline = [&u32::MAX.to_le_bytes()[..], &string("perf")].concat();
        assert_eq!(f.read(Feature::CMDLINE, &cmdline, Endian::Little), None);
        assert_eq!(f.cmdline, ["perf"]);
        let events = [&1u32.to_le_bytes()[..], &u32::MAX.to_le_bytes()].concat();
        assert_eq!(f.read(Feature::EVENT_DESC, &events, Endian::Little), None);
        assert_eq!(f.read(Feature::HOSTNAME, &u32::MAX.to_le_bytes(), Endian::Little), None);
    }

    #[test]
    fn build_ids_have_their_stated_length_up_to_20() {
        let mut f = Features::default();
        let entries = [
            build_id(1 | 1 << 15, Some(-1), 16, "[kernel.kallsyms]"),
            build_id(2 | 1 << 15, Some(7), 200, "/a"),
        ];
        f.read(Feature::BUILD_ID, &entries.concat(), Endian::Little).unwrap();
        let found: Vec<_> = f.build_ids.iter().map(|b| (b.pid, b.mode, b.bytes.len())).collect();
        assert_eq!(found, [(-1, CpuMode::Kernel, 16), (7, CpuMode::User, 20)]);
        assert_eq!(f.build_ids[0].filename, b"[kernel.kallsyms]");
    }

    #[test]
    fn build_ids_of_the_first_versions_have_no_pid() {
        let mut f = Features::default();
        f.read(Feature::BUILD_ID, &build_id(1, None, 0, "[kernel.kallsyms]"), Endian::Little).unwrap();
        assert_eq!((f.build_ids[0].bytes.len(), &f.build_ids[0].filename[..4]), (20, &b"[ker"[..]));
    }
}
