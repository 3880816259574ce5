//! Records that the recorder writes itself, in the form the kernel gives its own.

use crate::sys::{Attr, Fields};

/// `struct perf_event_header { u32 type; u16 misc, size; }`
pub const HEADER: usize = 8;

/// `PERF_RECORD_*`
pub mod kinds {
    #![allow(missing_docs)]
    pub const MMAP: u32 = 1;
    pub const LOST: u32 = 2;
    pub const COMM: u32 = 3;
    pub const EXIT: u32 = 4;
    pub const THROTTLE: u32 = 5;
    pub const FORK: u32 = 7;
    pub const SAMPLE: u32 = 9;
    pub const MMAP2: u32 = 10;
    pub const LOST_SAMPLES: u32 = 13;
    pub const SWITCH: u32 = 14;
    pub const FINISHED_ROUND: u32 = 68;
}

/// `PERF_RECORD_MISC_KERNEL`
pub const KERNEL: u16 = 1;
/// `PERF_RECORD_MISC_USER`
pub const USER: u16 = 2;
/// `PERF_RECORD_MISC_MMAP_BUILD_ID`
pub const HAS_BUILD_ID: u16 = 1 << 14;

/// Of whom, when and by which event a record is; zeros say that it came before all others.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct Stamp {
    pub pid: u32,
    pub tid: u32,
    pub time: u64,
    pub id: u64,
}

/// A record of bytes yet to come.
#[derive(Clone, Debug, Default)]
pub struct Body(Vec<u8>);

impl Body {
    /// Two numbers of 32 bits, such as process and thread.
    pub fn pair(mut self, first: u32, second: u32) -> Body {
        self.0.extend([first, second].iter().flat_map(|n| n.to_ne_bytes()));
        self
    }

    /// A number of 64 bits.
    pub fn word(mut self, word: u64) -> Body {
        self.0.extend(word.to_ne_bytes());
        self
    }

    /// Text, with a NUL, padded to words.
    pub fn text(mut self, text: impl AsRef<[u8]>) -> Body {
        // a record's size has 16 bits
        self.0.extend(text.as_ref().iter().take(4096));
        self.0.resize((self.0.len() + 1).next_multiple_of(8), 0);
        self
    }

    /// The record, with what every record of events like `attr` ends with.
    pub fn record(mut self, kind: u32, misc: u16, attr: &Attr, stamp: &Stamp) -> Vec<u8> {
        // struct sample_id { u32 pid, tid; u64 time, id, stream_id; u32 cpu, res; u64 id; } of what there is
        let process = u64::from(stamp.tid) << 32 | u64::from(stamp.pid);
        let process = if cfg!(target_endian = "big") { process.rotate_left(32) } else { process };
        let told = [
            (Fields::TID, process),
            (Fields::TIME, stamp.time),
            (Fields::ID, stamp.id),
            (Fields::STREAM_ID, stamp.id),
            (Fields::CPU, 0),
            (Fields::IDENTIFIER, stamp.id),
        ];
        let told = told.iter().filter(|(field, _)| attr.fields.contains(*field));
        self.0.extend(told.flat_map(|(_, word)| word.to_ne_bytes()));
        record(kind, misc, &self.0)
    }
}

/// A record, header and all.
pub fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(misc.to_ne_bytes());
    bytes.extend(((HEADER + body.len()) as u16).to_ne_bytes());
    bytes.extend(body);
    bytes
}

/// Type, misc and size of the record that `bytes` begin with.
pub fn header(bytes: &[u8]) -> Option<(u32, u16, usize)> {
    let (kind, rest) = bytes.split_first_chunk()?;
    let (misc, rest) = rest.split_first_chunk()?;
    let size = u16::from_ne_bytes(*rest.first_chunk()?).into();
    (size >= HEADER).then_some((u32::from_ne_bytes(*kind), u16::from_ne_bytes(*misc), size))
}

/// The word at `at`.
pub fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The number of 32 bits at `at`.
pub fn half(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}
