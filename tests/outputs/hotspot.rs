//! What hotspot's parser makes of a recording: the stream that it sends to hotspot, read back.
//!
//! The stream is Qt's (`QDataStream`, big-endian) behind a magic of its own: packets of a 32-bit little-endian length, whose
//! first byte says what they are (`PerfUnwind::EventType` in <https://github.com/KDAB/perfparser>, app/perfunwind.h).

use std::collections::BTreeMap;
use std::path::Path;

use super::tool::{run, text};

/// Where Debian keeps it.
pub const PERFPARSER: &str = "/usr/lib/x86_64-linux-gnu/libexec/hotspot-perfparser";

const LOCATION: u8 = 3;
const ATTRIBUTES: u8 = 11;
const SAMPLE: u8 = 13;

/// Weight of each event (by its place among the events) at each address, which is the first of a sample's stack.
pub fn leaves(data: &Path, symfs: &Path) -> BTreeMap<(i32, u64), u64> {
    let output = data.with_extension("perfparser");
    run(PERFPARSER, &["--input", text(data), "--output", text(&output), "--sysroot", text(symfs)]);
    let bytes = std::fs::read(&output).unwrap();
    let mut stream = bytes.strip_prefix(b"QPERFSTREAM\0").unwrap().get(4..).unwrap();
    let (mut addresses, mut events, mut leaves) = (BTreeMap::new(), 0, BTreeMap::new());
    while let Some((len, rest)) = stream.split_first_chunk::<4>() {
        let (packet, behind) = rest.split_at(u32::from_le_bytes(*len) as usize);
        stream = behind;
        let mut fields = Fields(&packet[1..]);
        match packet[0] {
            LOCATION => drop(addresses.insert(fields.int(), fields.long())),
            ATTRIBUTES => events += 1,
            SAMPLE => sample(fields, &addresses, &mut leaves),
            _ => {}
        }
    }
    assert!(leaves.keys().all(|(event, _)| *event < events));
    leaves
}

/// Process, thread, time and processor in 20 bytes, the stack's locations, how many of them were guessed, events and their counts.
fn sample(mut fields: Fields<'_>, addresses: &BTreeMap<i32, u64>, leaves: &mut BTreeMap<(i32, u64), u64>) {
    fields.take::<20>();
    let stack: Vec<i32> = (0..fields.int()).map(|_| fields.int()).collect();
    fields.byte();
    for _ in 0..fields.int() {
        let (event, count) = (fields.int(), fields.long());
        *leaves.entry((event, addresses[&stack[0]])).or_default() += count;
    }
    assert!(fields.0.is_empty());
}

struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_first_chunk::<N>().unwrap();
        self.0 = rest;
        *field
    }

    fn byte(&mut self) -> u8 {
        self.take::<1>()[0]
    }

    fn int(&mut self) -> i32 {
        i32::from_be_bytes(self.take())
    }

    fn long(&mut self) -> u64 {
        u64::from_be_bytes(self.take())
    }
}
