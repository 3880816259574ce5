//! An event of the recording, as `perf_event_open` was asked for it.

use std::fs::File;

use linux_perf_event_reader::constants as c;

use super::bytes::Endian;
use super::file::MOST_EVENTS;
use super::header::{Header, Section};
use super::names::event_name;
use super::source::read_exact;
use super::{Error, Warning};

/// `struct perf_event_attr` with the ids of its counters. Fields that the recording's version did not have yet are 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attr {
    /// As `perf` prints it: from the recording if it is named there, else derived from type and configuration.
    pub name: String,
    /// `PERF_TYPE_*`, or the number of a PMU.
    pub kind: u32,
    /// Which event of that type.
    pub config: u64,
    /// More of the configuration; the breakpoint's address.
    pub config1: u64,
    /// More of the configuration; the breakpoint's length.
    pub config2: u64,
    /// Kind of breakpoint, `HW_BREAKPOINT_*`.
    pub bp_type: u32,
    /// Whether `sample_period` is a frequency.
    pub freq: bool,
    /// Events between two samples, or samples a second if `freq`.
    pub sample_period: u64,
    /// `PERF_SAMPLE_*`: the fields of this event's samples.
    pub sample_type: u64,
    /// `PERF_FORMAT_*`: the form of counter values.
    pub read_format: u64,
    /// How precise an address was asked for: 0 arbitrary skid … 3 no skid.
    pub precise_ip: u8,
    /// Whether records other than samples end with the fields that tell their origin and time.
    pub sample_id_all: bool,
    /// Whether threads that a thread begins are counted, too.
    pub inherit: bool,
    /// User mode is not counted.
    pub exclude_user: bool,
    /// The kernel is not counted.
    pub exclude_kernel: bool,
    /// The hypervisor is not counted.
    pub exclude_hv: bool,
    /// Idle time is not counted.
    pub exclude_idle: bool,
    /// The host is not counted.
    pub exclude_host: bool,
    /// Guests are not counted.
    pub exclude_guest: bool,
    /// Callchains have no part in user space, as with `--call-graph dwarf`.
    pub exclude_callchain_user: bool,
    /// `PERF_SAMPLE_BRANCH_*`.
    pub branch_sample_type: u64,
    /// Mask of the registers in a sample's user registers.
    pub sample_regs_user: u64,
    /// Bytes of user stack asked for in a sample.
    pub sample_stack_user: u32,
    /// Mask of the registers in a sample's interrupted registers.
    pub sample_regs_intr: u64,
    /// Clock of the time stamps, if one was chosen.
    pub clockid: Option<i32>,
    /// Ids of the event's counters, one for each processor or thread.
    pub ids: Vec<u64>,
    /// The structure as stored, in the recording's byte order.
    pub bytes: Vec<u8>,
}

impl Attr {
    /// Whether its branch stacks hold every branch that was taken, so that code ran straight from each to the next.
    pub fn has_all_branches(&self) -> bool {
        self.branch_sample_type & c::PERF_SAMPLE_BRANCH_ANY != 0 && !self.has_callers_as_branches()
    }

    /// Whether its branch stacks stand for callers.
    pub fn has_callers_as_branches(&self) -> bool {
        self.branch_sample_type & c::PERF_SAMPLE_BRANCH_CALL_STACK != 0
    }

    /// Whether its samples hold copies of stacks, from which callers are unwound.
    pub fn has_stack_copies(&self) -> bool {
        let both = c::PERF_SAMPLE_REGS_USER | c::PERF_SAMPLE_STACK_USER;
        self.sample_type & both == both
    }

    /// Decodes a structure that stands at `offset`; `bytes` may be longer than the structure.
    pub(super) fn parse(bytes: &[u8], endian: Endian, offset: u64) -> Result<Attr, Error> {
        let bytes = bytes.get(..attr_len(bytes, endian, offset)?).unwrap_or_default();
        let u32_at = |at| endian.u32(bytes, at).unwrap_or(0);
        let u64_at = |at| endian.u64(bytes, at).unwrap_or(0);
        let flags = Flags::read(bytes, endian);
        let mut attr = Attr {
            name: String::new(),
            kind: u32_at(0),
            config: u64_at(8),
            sample_period: u64_at(16),
            sample_type: u64_at(24),
            read_format: u64_at(32),
            bp_type: u32_at(52),
            config1: u64_at(56),
            config2: u64_at(64),
            branch_sample_type: u64_at(72),
            sample_regs_user: u64_at(80),
            sample_stack_user: u32_at(88),
            sample_regs_intr: u64_at(96),
            clockid: flags.has(c::ATTR_FLAG_BIT_USE_CLOCKID).then(|| u32_at(92) as i32),
            freq: flags.has(c::ATTR_FLAG_BIT_FREQ),
            precise_ip: flags.precise_ip(),
            sample_id_all: flags.has(c::ATTR_FLAG_BIT_SAMPLE_ID_ALL),
            inherit: flags.has(c::ATTR_FLAG_BIT_INHERIT),
            exclude_user: flags.has(c::ATTR_FLAG_BIT_EXCLUDE_USER),
            exclude_kernel: flags.has(c::ATTR_FLAG_BIT_EXCLUDE_KERNEL),
            exclude_hv: flags.has(c::ATTR_FLAG_BIT_EXCLUDE_HV),
            exclude_idle: flags.has(c::ATTR_FLAG_BIT_EXCLUDE_IDLE),
            exclude_host: flags.has(c::ATTR_FLAG_BIT_EXCLUDE_HOST),
            exclude_guest: flags.has(c::ATTR_FLAG_BIT_EXCLUDE_GUEST),
            exclude_callchain_user: flags.has(c::ATTR_FLAG_BIT_EXCLUDE_CALLCHAIN_USER),
            ids: Vec::new(),
            bytes: bytes.to_vec(),
        };
        attr.name = event_name(&attr);
        Ok(attr)
    }
}

/// Length of the structure at the start of `bytes`, which must hold it.
fn attr_len(bytes: &[u8], endian: Endian, offset: u64) -> Result<usize, Error> {
    let bad = |reason| Err(Error::Attr { offset, reason });
    let size = match endian.u32(bytes, 4) {
        Some(0) => c::PERF_ATTR_SIZE_VER0,
        Some(size) => size,
        None => return bad(format!("only {} bytes", bytes.len())),
    };
    match usize::try_from(size) {
        Ok(len) if size < c::PERF_ATTR_SIZE_VER0 || len > bytes.len() => {
            bad(format!("a structure of {size} bytes in {}", bytes.len()))
        }
        Ok(len) => Ok(len),
        Err(_) => bad(format!("a structure of {size} bytes")),
    }
}

/// The bit field of the structure, numbered as on a little-endian machine.
struct Flags {
    bits: u64,
    endian: Endian,
}

impl Flags {
    fn read(bytes: &[u8], endian: Endian) -> Flags {
        let raw = super::bytes::array(bytes, 40).unwrap_or_default();
        let bits = match endian {
            Endian::Little => u64::from_le_bytes(raw),
            // A big-endian compiler fills a bit field from the most significant bit of the first byte.
            Endian::Big => u64::from_be_bytes(raw).reverse_bits(),
        };
        Flags { bits, endian }
    }

    fn has(&self, bit: u64) -> bool {
        self.bits & bit != 0
    }

    fn precise_ip(&self) -> u8 {
        let two = (self.bits & c::ATTR_FLAG_BITMASK_PRECISE_IP) >> 15;
        match (self.endian, two) {
            (Endian::Big, 1) => 2,
            (Endian::Big, 2) => 1,
            _ => two as u8,
        }
    }
}

/// Where the file says where an event's ids are.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdsRow {
    /// Offset in the file of the statement.
    pub at: u64,
    /// What it states.
    pub section: Section,
    /// Whether that is inside the file.
    pub good: bool,
}

/// Reads the section of events of a file of `len` bytes.
pub(super) fn read_attrs(
    file: &File,
    header: &Header,
    len: u64,
    warnings: &mut Vec<Warning>,
) -> Result<(Vec<Attr>, Vec<IdsRow>), Error> {
    let Section { offset, size } = header.attrs;
    header.attrs.check("the section of events", len)?;
    let bad = |reason: String| Error::Attr { offset, reason };
    let least = u64::from(c::PERF_ATTR_SIZE_VER0) + 16;
    if header.attr_size < least || header.attr_size > 1 << 16 {
        return Err(bad(format!("entries of {} bytes", header.attr_size)));
    }
    if size / header.attr_size > MOST_EVENTS {
        return Err(bad(format!("{} events", size / header.attr_size)));
    }
    let mut budget = len / 8;
    let (mut attrs, mut rows) = (vec![], vec![]);
    for i in 0..size / header.attr_size {
        let at = offset + i * header.attr_size;
        let bytes = read_exact(file, at, header.attr_size as usize)?;
        let (head, _) = bytes.split_at(bytes.len() - 16);
        let mut attr = Attr::parse(head, header.endian, at)?;
        let section = Section::parse(&bytes, attr.bytes.len(), header.endian).unwrap_or_default();
        // Sections of ids do not overlap; without a budget a small file could ask for much memory.
        let fits = section.end_within(len).and_then(|_| budget.checked_sub(section.size / 8));
        match fits {
            Some(left) => {
                budget = left;
                let raw = read_exact(file, section.offset, section.size as usize)?;
                attr.ids = super::bytes::Words::new(&raw, header.endian).iter().collect();
            }
            None => {
                let Section { offset, size } = section;
                warnings.push(Warning::IdsLost { offset, size });
            }
        }
        rows.push(IdsRow { at: at + attr.bytes.len() as u64, section, good: fits.is_some() });
        attrs.push(attr);
    }
    Ok((attrs, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attr_bytes(size: u32, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        bytes[4..8].copy_from_slice(&size.to_le_bytes());
        bytes[24..32].copy_from_slice(&0x1_0007u64.to_le_bytes());
        bytes
    }

    #[test]
    fn the_oldest_and_a_future_size_are_kept_verbatim() {
        for (stated, len) in [(0, 64), (64, 64), (200, 200)] {
            let mut bytes = attr_bytes(stated, len);
            *bytes.last_mut().unwrap() = 7;
            let attr = Attr::parse(&bytes, Endian::Little, 0).unwrap();
            assert_eq!(attr.bytes, bytes);
            assert_eq!(attr.sample_type, 0x1_0007);
        }
        assert_eq!(Attr::parse(&attr_bytes(64, 128), Endian::Little, 0).unwrap().branch_sample_type, 0);
    }

    #[test]
    fn a_size_that_does_not_fit_is_refused() {
        for (stated, len) in [(63, 64), (65, 64), (u32::MAX, 64)] {
            assert!(Attr::parse(&attr_bytes(stated, len), Endian::Little, 9).is_err());
        }
        assert!(Attr::parse(&[0; 7], Endian::Little, 9).is_err());
    }

    #[test]
    fn bit_fields_of_a_big_endian_machine_are_turned_round() {
        let mut bytes = vec![0; 64];
        bytes[4..8].copy_from_slice(&64u32.to_be_bytes());
        // disabled, exclude_kernel (bit 5); freq (bit 10), precise_ip = 2 (bits 15, 16: the first is the more significant)
        bytes[40..43].copy_from_slice(&[0b1000_0100, 0b0010_0001, 0]);
        let attr = Attr::parse(&bytes, Endian::Big, 0).unwrap();
        assert!(attr.exclude_kernel && attr.freq && !attr.exclude_user);
        assert_eq!(attr.precise_ip, 2);
    }
}
