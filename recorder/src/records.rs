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
    pub const FINISHED_ROUND: u32 = 68;
}

/// `PERF_RECORD_MISC_KERNEL`
pub const KERNEL: u16 = 1;
/// `PERF_RECORD_MISC_USER`
pub const USER: u16 = 2;
/// `PERF_RECORD_MISC_MMAP_BUILD_ID`
pub const HAS_BUILD_ID: u16 = 1 << 14;

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
    pub fn text(mut self, text: &str) -> Body {
        // a record's size has 16 bits
        self.0.extend(text.bytes().take(4096));
        self.0.resize((self.0.len() + 1).next_multiple_of(8), 0);
        self
    }

    /// The record, with room for what every record of events like `attr` ends with; zeros there say that it came before all.
    pub fn record(mut self, kind: u32, misc: u16, attr: &Attr) -> Vec<u8> {
        self.0.resize(self.0.len() + trailer(attr), 0);
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

/// Bytes of `struct sample_id`, which other records than samples end with.
pub fn trailer(attr: &Attr) -> usize {
    let told = [Fields::TID, Fields::TIME, Fields::ID, Fields::STREAM_ID, Fields::CPU, Fields::IDENTIFIER];
    8 * told.iter().filter(|field| attr.fields.contains(**field)).count()
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
