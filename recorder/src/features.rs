//! The sections behind the records that say how and where they were recorded.
//!
//! As tools/perf/Documentation/perf.data-file-format.txt has them.

use crate::machine::Machine;
use crate::records::{KERNEL, USER};
use crate::units;

/// `HEADER_*`
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
#[repr(u32)]
pub enum Feature {
    TracingData = 1,
    BuildId = 2,
    HostName = 3,
    OsRelease = 4,
    Version = 5,
    Arch = 6,
    Processors = 7,
    Processor = 8,
    CpuId = 9,
    Memory = 10,
    CommandLine = 11,
    Events = 12,
    BranchStack = 15,
    Units = 16,
    Groups = 17,
    SampleTime = 21,
    Clock = 23,
    ClockData = 29,
}

/// Names are padded to multiples of it, as perf does.
const NAME: usize = 64;
/// The type of an entry of build-ids.
const HEADER_BUILD_ID: u32 = 67;
/// In the misc of an entry of build-ids: its size is told.
const SIZE_IS_TOLD: u16 = 1 << 15;

/// `u32 len; char text[len];` with a NUL.
pub fn string(text: &str) -> Vec<u8> {
    let len = (text.len() + 1).next_multiple_of(NAME);
    let mut bytes = (len as u32).to_ne_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes.resize(4 + len, 0);
    bytes
}

/// `u32 nr; string texts[nr];`
pub fn strings(texts: &[String]) -> Vec<u8> {
    let mut bytes = (texts.len() as u32).to_ne_bytes().to_vec();
    bytes.extend(texts.iter().flat_map(|text| string(text)));
    bytes
}

/// The sections that tell of the machine.
pub fn machine(machine: &Machine) -> Vec<(Feature, Vec<u8>)> {
    let processors = [machine.possible, machine.online.len() as u32];
    vec![
        (Feature::HostName, string(&machine.host)),
        (Feature::OsRelease, string(&machine.release)),
        (Feature::Version, string(concat!("skidconv ", env!("CARGO_PKG_VERSION")))),
        (Feature::Arch, string(&machine.arch)),
        (Feature::Processors, processors.iter().flat_map(|n| n.to_ne_bytes()).collect()),
        (Feature::Processor, string(&machine.processor)),
        (Feature::CpuId, string(&machine.cpuid)),
        (Feature::Memory, machine.memory.to_ne_bytes().to_vec()),
        (Feature::Units, units()),
    ]
}

/// `u32 nr; struct { u32 type; string name; } units[nr];`
fn units() -> Vec<u8> {
    let units = units::all();
    let mut bytes = (units.len() as u32).to_ne_bytes().to_vec();
    for (name, number) in units {
        bytes.extend(number.to_ne_bytes());
        bytes.extend(string(&name));
    }
    bytes
}

/// An event as the sections tell of it.
pub struct Event<'a> {
    /// Its attr, as in the file.
    pub attr: &'a [u8],
    /// Its name.
    pub name: &'a str,
    /// Its numbers in records.
    pub ids: &'a [u64],
}

/// `u32 nr, attr_size; struct { attr; u32 nr_ids; string name; u64 ids[nr_ids]; } events[nr];`
pub fn events(events: &[Event<'_>]) -> Vec<u8> {
    let size = events.first().map_or(0, |event| event.attr.len());
    let mut bytes: Vec<u8> = [events.len(), size].iter().flat_map(|&n| (n as u32).to_ne_bytes()).collect();
    for event in events {
        bytes.extend(event.attr);
        bytes.extend((event.ids.len() as u32).to_ne_bytes());
        bytes.extend(string(event.name));
        bytes.extend(event.ids.iter().flat_map(|id| id.to_ne_bytes()));
    }
    bytes
}

/// `u32 nr; struct { string name; u32 leader, members; } groups[nr];` of each with more than one member, given as the place
/// of its first event and how many it has.
pub fn groups(groups: &[(u32, u32)]) -> Vec<u8> {
    let mut bytes = (groups.len() as u32).to_ne_bytes().to_vec();
    for &(leader, members) in groups {
        bytes.extend(string(""));
        bytes.extend([leader, members].iter().flat_map(|n| n.to_ne_bytes()));
    }
    bytes
}

/// `struct { header; i32 pid; u8 build_id[20], size, pad[3]; char filename[]; }` of each.
pub fn build_ids(kernel: Option<&[u8]>, binaries: &[(String, Vec<u8>)]) -> Vec<u8> {
    let kernel = kernel.iter().map(|&id| ("[kernel.kallsyms]", id, KERNEL));
    let binaries = binaries.iter().map(|(name, id)| (name.as_str(), id.as_slice(), USER));
    let mut bytes = vec![];
    for (name, id, mode) in kernel.chain(binaries).filter(|(_, id, _)| id.len() <= 20) {
        let room = (name.len() + 1).next_multiple_of(NAME);
        let mut entry = HEADER_BUILD_ID.to_ne_bytes().to_vec();
        entry.extend((mode | SIZE_IS_TOLD).to_ne_bytes());
        entry.extend(((8 + 4 + 24 + room) as u16).to_ne_bytes());
        entry.extend((-1i32).to_ne_bytes());
        entry.extend(id);
        entry.resize(8 + 4 + 20, 0);
        entry.extend([id.len() as u8, 0, 0, 0]);
        entry.extend(name.as_bytes());
        entry.resize(8 + 4 + 24 + room, 0);
        bytes.extend(entry);
    }
    bytes
}

/// `u32 version, clockid; u64 wall_clock_ns, clockid_time_ns;`
pub fn clock_data(clock: u32, day: u64, time: u64) -> Vec<u8> {
    let head = [1, clock].into_iter().flat_map(u32::to_ne_bytes);
    head.chain([day, time].into_iter().flat_map(u64::to_ne_bytes)).collect()
}
