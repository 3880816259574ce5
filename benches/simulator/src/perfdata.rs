//! Writes a recording as `perf record` would have: file mode, one process, `PERF_SAMPLE_IDENTIFIER` first in each sample.
//!
//! Layout: header, ids of each attribute, attribute table, records, then the feature sections behind their table.

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use crate::counter::{Event, Period, Setup};
use crate::image::Mapping;
use crate::interrupt::Skid;
use crate::sampler::{Plan, Recording, Sample};
use crate::{Error, Result};

const HEADER_SIZE: u64 = 104;
const ATTR_SIZE: u32 = 128;
const PID: u32 = 4242;
const START: u64 = 1_000_000_000;
const SAMPLES_PER_ROUND: usize = 1000;

const RECORD_COMM: u32 = 3;
const RECORD_EXIT: u32 = 4;
const RECORD_SAMPLE: u32 = 9;
const RECORD_MMAP2: u32 = 10;
const RECORD_FINISHED_ROUND: u32 = 68;
const MISC_USER: u16 = 2;
const MISC_COMM_EXEC: u16 = 1 << 13;
const MISC_EXACT_IP: u16 = 1 << 14;
const CONTEXT_USER: u64 = -512i64 as u64;

/// What a file says about itself.
#[derive(Debug, Clone)]
pub struct About<'a> {
    /// Name of the process.
    pub comm: &'a str,
    /// Where which code is mapped.
    pub mappings: Vec<(Mapping, &'a str)>,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// The processor.
    pub processor: &'a str,
}

/// Writes `recording` to `path`.
pub fn write(path: &Path, about: &About<'_>, plan: &Plan, recording: &Recording) -> Result<()> {
    let file = std::fs::File::create(path).map_err(Error::io(path))?;
    let mut out = std::io::BufWriter::new(file);
    write_all(&mut out, about, plan, recording).map_err(Error::io(path))
}

fn write_all(
    out: &mut (impl Write + Seek),
    about: &About<'_>,
    plan: &Plan,
    recording: &Recording,
) -> std::io::Result<()> {
    let attrs = plan.counters.len() as u64;
    let attrs_at = HEADER_SIZE + attrs * 8;
    let data_at = attrs_at + attrs * u64::from(ATTR_SIZE + 16);
    out.write_all(&vec![0; HEADER_SIZE as usize])?;
    for i in 0..attrs {
        out.write_all(&id(i as usize).to_le_bytes())?;
    }
    for (i, setup) in plan.counters.iter().enumerate() {
        out.write_all(&attr(setup, i, plan))?;
        out.write_all(&words(&[HEADER_SIZE + i as u64 * 8, 8]))?;
    }
    let last = recording.samples.last().map_or(0, |s| s.cycle).max(recording.cycles);
    write_records(out, about, plan, recording, last)?;
    let end = out.stream_position()?;
    let features = features(about, plan, last);
    let mut at = end + features.len() as u64 * 16;
    for (_, content) in &features {
        out.write_all(&words(&[at, content.len() as u64]))?;
        at += content.len() as u64;
    }
    for (_, content) in &features {
        out.write_all(content)?;
    }
    let bits = features.iter().fold(0, |bits, (bit, _)| bits | 1u64 << bit);
    out.seek(SeekFrom::Start(0))?;
    out.write_all(b"PERFILE2")?;
    let table = attrs * u64::from(ATTR_SIZE + 16);
    out.write_all(&words(&[
        HEADER_SIZE,
        u64::from(ATTR_SIZE + 16),
        attrs_at,
        table,
        data_at,
        end - data_at,
        0,
        0,
        bits,
        0,
        0,
        0,
    ]))?;
    out.flush()
}

fn write_records(
    out: &mut impl Write,
    about: &About<'_>,
    plan: &Plan,
    recording: &Recording,
    last: u64,
) -> std::io::Result<()> {
    out.write_all(&comm(about))?;
    for (map, path) in &about.mappings {
        out.write_all(&mmap2(map, path))?;
    }
    for (i, sample) in recording.samples.iter().enumerate() {
        out.write_all(&sample_record(sample, plan))?;
        if i % SAMPLES_PER_ROUND == SAMPLES_PER_ROUND - 1 {
            out.write_all(&record(RECORD_FINISHED_ROUND, 0, &[]))?;
        }
    }
    let mut exit = ints(&[PID, PID, PID, PID]);
    exit.extend(words(&[time(last)]));
    out.write_all(&record(RECORD_EXIT, 0, &with_id(exit, last)))?;
    out.write_all(&record(RECORD_FINISHED_ROUND, 0, &[]))
}

fn id(counter: usize) -> u64 {
    101 + counter as u64
}

fn time(cycle: u64) -> u64 {
    START + cycle
}

fn words(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn ints(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn padded(text: &str, to: usize) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((bytes.len() + 1).next_multiple_of(to), 0);
    bytes
}

/// `struct perf_event_attr`, version 7.
fn attr(setup: &Setup, index: usize, plan: &Plan) -> Vec<u8> {
    let (kind, config) = setup.event.code();
    let (amount, frequency) = match setup.period {
        Period::Fixed(n) => (n, 0),
        Period::Frequency(n) => (n, 1u64),
    };
    // IP, TID, TIME, CPU, PERIOD, IDENTIFIER; CALLCHAIN; BRANCH_STACK
    let sample_type = 0x1_0187 | u64::from(plan.call_chains) << 5 | u64::from(plan.branch_depth > 0) << 11;
    // disabled, inherit, exclude_kernel, exclude_hv, enable_on_exec, sample_id_all; precise_ip
    let mut flags = 1u64 | 1 << 1 | 1 << 5 | 1 << 6 | 1 << 12 | 1 << 18 | frequency << 10;
    flags |= u64::from(setup.skid == Skid::Precise) << 16;
    if index == 0 {
        // mmap, comm, task, mmap2, comm_exec
        flags |= 1 << 8 | 1 << 9 | 1 << 13 | 1 << 23 | 1 << 24;
    }
    let mut bytes = ints(&[kind, ATTR_SIZE]);
    // read_format is PERF_FORMAT_ID; branch_sample_type is user, any.
    bytes.extend(words(&[config, amount, sample_type, 4, flags, 0, 0, 0]));
    bytes.extend(words(&[if plan.branch_depth > 0 { 9 } else { 0 }]));
    bytes.resize(ATTR_SIZE as usize, 0);
    bytes
}

/// `struct perf_event_header { u32 type; u16 misc; u16 size; }` and its body.
fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = kind.to_le_bytes().to_vec();
    bytes.extend(misc.to_le_bytes());
    bytes.extend(((8 + body.len()) as u16).to_le_bytes());
    bytes.extend(body);
    bytes
}

/// Appends what `sample_id_all` puts behind every record: pid, tid, time, cpu, identifier.
fn with_id(mut body: Vec<u8>, cycle: u64) -> Vec<u8> {
    body.extend(ints(&[PID, PID]));
    body.extend(words(&[time(cycle), 0, id(0)]));
    body
}

fn comm(about: &About<'_>) -> Vec<u8> {
    let mut body = ints(&[PID, PID]);
    body.extend(padded(about.comm, 8));
    record(RECORD_COMM, MISC_COMM_EXEC, &with_id(body, 0))
}

fn mmap2(map: &Mapping, path: &str) -> Vec<u8> {
    let mut body = ints(&[PID, PID]);
    body.extend(words(&[map.start, map.end - map.start, map.offset]));
    // major, minor, inode, generation; then r-x, private
    body.extend(words(&[0, 0, 0]));
    body.extend(ints(&[5, 2]));
    body.extend(padded(path, 8));
    record(RECORD_MMAP2, MISC_USER, &with_id(body, 0))
}

fn sample_record(sample: &Sample, plan: &Plan) -> Vec<u8> {
    let mut body = words(&[id(sample.counter), sample.address]);
    body.extend(ints(&[PID, PID]));
    body.extend(words(&[time(sample.cycle), 0, sample.period]));
    if plan.call_chains {
        body.extend(words(&[sample.callers.len() as u64 + 2, CONTEXT_USER, sample.address]));
        body.extend(words(&sample.callers));
    }
    if plan.branch_depth > 0 {
        body.extend(words(&[sample.branches.len() as u64]));
        for b in &sample.branches {
            let flags = u64::from(b.mispredicted) | u64::from(!b.mispredicted) << 1 | b.cycles << 4;
            body.extend(words(&[b.from, b.to, flags]));
        }
    }
    record(RECORD_SAMPLE, MISC_USER | if sample.exact { MISC_EXACT_IP } else { 0 }, &body)
}

/// Feature sections by bit, ascending.
fn features(about: &About<'_>, plan: &Plan, last: u64) -> Vec<(u32, Vec<u8>)> {
    let mut list = vec![
        (3, text("bench")),
        (4, text("6.1.0")),
        (6, text("x86_64")),
        (7, ints(&[1, 1])),
        (8, text(about.processor)),
        (11, command_line(about)),
        (12, event_description(plan)),
        (21, words(&[time(0), time(last)])),
    ];
    if plan.branch_depth > 0 {
        list.insert(7, (15, Vec::new()));
    }
    list
}

fn text(s: &str) -> Vec<u8> {
    let bytes = padded(s, 64);
    [ints(&[bytes.len() as u32]), bytes].concat()
}

fn command_line(about: &About<'_>) -> Vec<u8> {
    let mut bytes = ints(&[about.command.len() as u32]);
    about.command.iter().for_each(|word| bytes.extend(text(word)));
    bytes
}

fn event_description(plan: &Plan) -> Vec<u8> {
    let mut bytes = ints(&[plan.counters.len() as u32, ATTR_SIZE]);
    for (i, setup) in plan.counters.iter().enumerate() {
        bytes.extend(attr(setup, i, plan));
        bytes.extend(ints(&[1]));
        bytes.extend(text(&event_name(setup)));
        bytes.extend(words(&[id(i)]));
    }
    bytes
}

fn event_name(setup: &Setup) -> String {
    let precise = if setup.skid == Skid::Precise { "pp" } else { "" };
    let event: Event = setup.event;
    format!("{}:u{precise}", event.name())
}
