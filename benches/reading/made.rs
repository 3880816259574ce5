//! A large recording, made from this program's own mappings: samples of cpu-clock with callchains, of several threads.
//!
//! Stacks are drawn from a few thousand, by Zipf's law, as some are far more frequent than others in real programs; the addresses
//! lie in real binaries, so that whoever reads it has symbols to look up.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

/// `PERF_SAMPLE_IP | TID | TIME | CALLCHAIN | PERIOD`
const FIELDS: u64 = 1 | 2 | 4 | 0x20 | 0x100;
/// `PERF_CONTEXT_USER`
const USER: u64 = -512i64 as u64;
const ATTR: u64 = 112;
const HEADER: u64 = 104;
const PROCESSES: u32 = 2;
const THREADS: u64 = 4;
const STACKS: usize = 4000;
/// Samples between two `FINISHED_ROUND`.
const ROUND: u64 = 10_000;

/// Writes a recording of `samples` samples, unless the one that is there has as many.
pub fn recording(path: &Path, samples: u64) -> io::Result<()> {
    let stamp = path.with_extension("samples");
    if path.exists() && std::fs::read_to_string(&stamp).is_ok_and(|text| text == samples.to_string()) {
        return Ok(());
    }
    let mut out = Counted { out: BufWriter::with_capacity(1 << 20, File::create(path)?), bytes: 0 };
    let data_at = HEADER + ATTR + 16;
    out.write_all(&vec![0; data_at as usize])?;
    let mappings = own_code()?;
    for process in 1..=PROCESSES {
        sideband(&mut out, 1000 * process, &mappings)?;
    }
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let stacks: Vec<Vec<u64>> = (0..STACKS).map(|_| stack(&mut dice, &mappings)).collect();
    for n in 0..samples {
        let which = dice.rank(STACKS);
        let pid = 1000 * (1 + dice.below(u64::from(PROCESSES)));
        let thread = pid + dice.below(THREADS);
        sample(&mut out, thread << 32 | pid, 1_000_000 + n * 1000, &stacks[which])?;
        if n % ROUND == ROUND - 1 {
            record(&mut out, 68, 0, &[])?;
        }
    }
    let size = out.bytes - data_at;
    let mut out = out.out;
    out.seek(SeekFrom::Start(0))?;
    out.write_all(&head(data_at, size))?;
    out.flush()?;
    std::fs::write(stamp, samples.to_string())
}

/// A writer that knows how much it wrote.
struct Counted<W> {
    out: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    /// A rank below `n`, each as frequent as its inverse (Zipf's law).
    fn rank(&mut self, n: usize) -> usize {
        let uniform = self.below(1 << 53) as f64 / (1u64 << 53) as f64;
        ((n as f64).powf(uniform) as usize).min(n) - 1
    }
}

/// A mapping of code into this process.
struct Mapping {
    start: u64,
    len: u64,
    offset: u64,
    path: String,
}

fn own_code() -> io::Result<Vec<Mapping>> {
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let mapping = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (range, offset, path) = (words.first()?, words.get(2)?, words.get(5)?);
        let (start, end) = range.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        let (start, end, offset) = (number(start)?, number(end)?, number(offset)?);
        let code = words.get(1)?.contains('x') && path.starts_with('/');
        code.then(|| Mapping { start, len: end - start, offset, path: (*path).to_owned() })
    };
    Ok(maps.lines().filter_map(mapping).collect())
}

fn stack(dice: &mut Dice, mappings: &[Mapping]) -> Vec<u64> {
    let depth = 1 + dice.below(5);
    let address = |_| {
        let mapping = &mappings[dice.below(mappings.len() as u64) as usize];
        mapping.start + dice.below(mapping.len)
    };
    (0..depth).map(address).collect()
}

fn record(out: &mut impl Write, kind: u32, misc: u16, body: &[u8]) -> io::Result<()> {
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&misc.to_le_bytes())?;
    out.write_all(&(8 + body.len() as u16).to_le_bytes())?;
    out.write_all(body)
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The name and the mappings of a process, with trailers of process and time.
fn sideband(out: &mut impl Write, pid: u32, mappings: &[Mapping]) -> io::Result<()> {
    let ids = u64::from(pid) << 32 | u64::from(pid);
    for thread in 0..THREADS {
        let ids = ids + (thread << 32);
        let comm = [words(&[ids]), b"reading\0".to_vec(), words(&[ids, 0])].concat();
        record(out, 3, 0, &comm)?;
    }
    for Mapping { start, len, offset, path } in mappings {
        let mut body = words(&[ids, *start, *len, *offset]);
        body.extend(path.as_bytes());
        body.resize((body.len() + 1).next_multiple_of(8), 0);
        body.extend(words(&[ids, 0]));
        record(out, 1, 2, &body)?;
    }
    Ok(())
}

fn sample(out: &mut impl Write, ids: u64, time: u64, stack: &[u64]) -> io::Result<()> {
    let head = [stack[0], ids, time, 1_000_000, stack.len() as u64 + 1, USER];
    let mut body = [0; 8 * 12];
    let len = 8 * (head.len() + stack.len());
    for (word, at) in head.iter().chain(stack).zip(body.chunks_exact_mut(8)) {
        at.copy_from_slice(&word.to_le_bytes());
    }
    record(out, 9, 2, &body[..len])
}

/// The header and one event, `cpu-clock` by period, whose records all have trailers.
fn head(data_at: u64, size: u64) -> Vec<u8> {
    let mut bytes = b"PERFILE2".to_vec();
    bytes.extend(words(&[HEADER, ATTR + 16, HEADER, ATTR + 16, data_at, size, 0, 0, 0, 0, 0, 0]));
    bytes.extend([1u32.to_le_bytes(), (ATTR as u32).to_le_bytes()].concat());
    // mmap, comm, task and sample_id_all
    let flags = 1 << 8 | 1 << 9 | 1 << 13 | 1 << 18;
    bytes.extend(words(&[0, 1_000_000, FIELDS, 0, flags]));
    bytes.resize((HEADER + ATTR) as usize, 0);
    bytes.extend(words(&[0, 0]));
    bytes
}
