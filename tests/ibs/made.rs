//! Recordings with the registers of AMD's sampling, made by hand.

use std::path::Path;

use crate::recording::{FIELDS, Recording};

/// Numbers that the made machine gave its units.
pub const FETCH: u32 = 9;
pub const OP: u32 = 10;
/// `PERF_SAMPLE_RAW`, `ADDR`, `WEIGHT`, `DATA_SRC`
pub const RAW: u64 = 0x400;
pub const MEMORY: u64 = 8 | 0x4000 | 0x8000;
/// `PERF_RECORD_MISC_USER` and `EXACT_IP`
pub const EXACT: u16 = 2 | 1 << 14;

/// Size of `struct perf_event_attr` in Linux 6.1.
const ATTR: usize = 128;

/// Where one event's samples come from.
#[derive(Clone, Debug)]
pub struct Event {
    pub kind: u32,
    pub config: u64,
    pub name: &'static str,
}

/// What a sample says.
#[derive(Clone, Debug, Default)]
pub struct Sampled {
    /// Which event, counted from 0.
    pub event: usize,
    pub ip: u64,
    pub raw: Vec<u8>,
    pub address: u64,
    pub weight: u64,
    pub data_src: u64,
    /// 0 for 1000.
    pub period: u64,
}

/// A machine that records.
pub struct Machine {
    pub events: Vec<Event>,
    /// `PERF_SAMPLE_*` beside those that every recording here has.
    pub more: u64,
    /// As perf notes it.
    pub cpu_id: &'static str,
    /// Whether the units say that they have Zen 4's extensions.
    pub zen4: bool,
    recording: Recording,
    time: u64,
}

/// The capability word and registers as the kernel lays them out.
pub fn raw(capabilities: u32, registers: &[u64]) -> Vec<u8> {
    let words = registers.iter().flat_map(|word| word.to_le_bytes());
    capabilities.to_le_bytes().into_iter().chain(words).collect()
}

impl Machine {
    pub fn new(cpu_id: &'static str, more: u64, events: Vec<Event>) -> Machine {
        let ids = (0..events.len() as u64).map(|n| vec![n + 1]).collect();
        let recording = Recording { events: ids, attr_size: Some(ATTR), ..Recording::default() };
        Machine { events, more, cpu_id, zen4: false, recording, time: 1 }
    }

    /// Maps a binary's text at its own addresses.
    pub fn map(&mut self, binary: &Path, start: u64, len: u64, offset: u64) {
        let record = self.recording.mmap(binary, start, len, offset);
        self.recording.records.push(record);
    }

    pub fn sample(&mut self, misc: u16, sampled: &Sampled) {
        self.time += 1;
        let r = &self.recording;
        let mut body: Vec<u8> = Vec::with_capacity(160);
        let mut words = |words: &[u64]| body.extend(words.iter().flat_map(|w| w.to_le_bytes()));
        words(&[sampled.event as u64 + 1, sampled.ip, 42 << 32 | 41, self.time]);
        if self.more & 8 != 0 {
            words(&[sampled.address]);
        }
        words(&[if sampled.period == 0 { 1000 } else { sampled.period }, 0]);
        if self.more & RAW != 0 {
            // the kernel pads so that the next field begins at a whole word
            let padded = (4 + sampled.raw.len()).next_multiple_of(8) - 4;
            body.extend((padded as u32).to_le_bytes());
            body.extend(&sampled.raw);
            body.resize(body.len() + padded - sampled.raw.len(), 0);
        }
        for (field, word) in [(0x4000, sampled.weight), (0x8000, sampled.data_src)] {
            if self.more & field != 0 {
                body.extend(word.to_le_bytes());
            }
        }
        let record = r.record(9, misc, &body);
        self.recording.records.push(record);
    }

    /// The recording as a file.
    pub fn write(&mut self, path: &Path) {
        self.recording.features = self.features();
        let mut bytes = self.recording.file();
        let attrs_at = u64::from_le_bytes(bytes[24..32].try_into().unwrap()) as usize;
        for (n, event) in self.events.iter().enumerate() {
            let at = attrs_at + n * (ATTR + 16);
            self.patch(event, &mut bytes[at..at + ATTR]);
        }
        std::fs::write(path, bytes).unwrap();
    }

    fn patch(&self, event: &Event, attr: &mut [u8]) {
        attr[..4].copy_from_slice(&event.kind.to_le_bytes());
        attr[8..16].copy_from_slice(&event.config.to_le_bytes());
        attr[24..32].copy_from_slice(&(FIELDS | self.more).to_le_bytes());
    }

    fn features(&self) -> Vec<(u32, Vec<u8>)> {
        let r = &self.recording;
        let mut names = [r.half(self.events.len() as u32), r.half(ATTR as u32)].concat();
        for (n, event) in self.events.iter().enumerate() {
            let mut attr = r.attr(ATTR);
            self.patch(event, &mut attr);
            names.extend([&attr[..], &r.half(1), &r.string(event.name), &r.word(n as u64 + 1)].concat());
        }
        let units = [(4, "cpu"), (FETCH, "ibs_fetch"), (OP, "ibs_op")];
        let unit = |(number, name): (u32, &str)| [&r.half(number)[..], &r.string(name)].concat();
        let mut features = vec![
            (6, r.string("x86_64")),
            (9, r.string(self.cpu_id)),
            (12, names),
            (16, [r.half(3).to_vec(), units.map(unit).concat()].concat()),
        ];
        if self.zen4 {
            let capability = [r.string("zen4_ibs_extensions"), r.string("1")].concat();
            let unit = |name| [&r.half(1)[..], &capability, &r.string(name)].concat();
            features.push((31, [&r.half(2)[..], &unit("ibs_fetch"), &unit("ibs_op")].concat()));
        }
        features
    }
}
