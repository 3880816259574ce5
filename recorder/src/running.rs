//! What runs: names, threads and mappings of processes, and the kernel's own code, as they are or as records of what was there
//! before a recording.
//!
//! From /proc, which changes while it is read: what is gone by then is left out.

use crate::records::{Body, KERNEL, Stamp, USER, kinds};
use crate::sys::{Attr, Status};
use std::fs;
use std::ops::Range;

/// The number that stands for the kernel where processes have theirs.
const HOST: u32 = u32::MAX;

/// All processes that there are.
pub fn processes() -> Vec<u32> {
    numbers("/proc")
}

/// The threads of a process.
pub fn threads(pid: u32) -> Vec<u32> {
    numbers(&format!("/proc/{pid}/task"))
}

/// The process that a thread is of; `None` of one that is gone.
pub fn process_of(tid: u32) -> Option<u32> {
    Status::of(tid).process()
}

fn numbers(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut numbers: Vec<u32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort();
    numbers
}

/// The kernel's code, unless its addresses are hidden.
pub fn kernel(attr: &Attr) -> Vec<Vec<u8>> {
    let Ok(symbols) = fs::read_to_string("/proc/kallsyms") else { return vec![] };
    let (mut start, mut end) = (None, None);
    for line in symbols.lines() {
        let mut words = line.split(' ');
        let address = words.next().and_then(|text| u64::from_str_radix(text, 16).ok());
        match words.nth(1) {
            Some("_text") => start = address,
            Some("_stext") => start = start.or(address),
            Some("_etext") => end = address,
            _ => {}
        }
        if start.is_some() && end.is_some() {
            break;
        }
    }
    let (Some(start), Some(end)) = (start.filter(|&start| start > 0), end) else { return vec![] };
    let mut records = vec![mapping(start, end.saturating_sub(start), start, "[kernel.kallsyms]_text", attr)];
    records.extend(modules(attr));
    records
}

fn modules(attr: &Attr) -> Vec<Vec<u8>> {
    let modules = fs::read_to_string("/proc/modules").unwrap_or_default();
    let module = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let start = u64::from_str_radix(words.get(5)?.strip_prefix("0x")?, 16).ok().filter(|&at| at > 0)?;
        Some(mapping(start, words.get(1)?.parse().ok()?, 0, &format!("[{}]", words[0]), attr))
    };
    modules.lines().filter_map(module).collect()
}

/// `struct { u32 pid, tid; u64 addr, len, pgoff; char filename[]; }`
fn mapping(start: u64, len: u64, offset: u64, name: &str, attr: &Attr) -> Vec<u8> {
    let body = Body::default().pair(HOST, 0).word(start).word(len).word(offset).text(name);
    body.record(kinds::MMAP, KERNEL, attr, &Stamp::default())
}

/// A process with its threads and what is mapped to run, all from before the recording.
pub fn process(pid: u32, attr: &Attr) -> Vec<Vec<u8>> {
    let parent = parent(pid).unwrap_or(0);
    let before = Stamp::default();
    // struct { u32 pid, ppid, tid, ptid; u64 time; }
    let fork = |tid, parent| {
        let body = Body::default().pair(pid, parent).pair(tid, parent).word(0);
        body.record(kinds::FORK, 0, attr, &before)
    };
    let mut records: Vec<_> =
        threads(pid).into_iter().map(|tid| fork(tid, if tid == pid { parent } else { pid })).collect();
    records.extend(state(pid, attr, &before));
    records
}

/// Names of its threads and what is mapped to run.
pub fn state(pid: u32, attr: &Attr, stamp: &Stamp) -> Vec<Vec<u8>> {
    let mut records = vec![];
    for tid in threads(pid) {
        let body = Body::default().pair(pid, tid).text(name(pid, tid));
        records.push(body.record(kinds::COMM, 0, attr, stamp));
    }
    records.extend(maps(pid).iter().map(|map| map.record(pid, attr, stamp)));
    records
}

/// What a thread calls itself; empty of one that is gone.
pub fn name(pid: u32, tid: u32) -> Vec<u8> {
    let name = fs::read(format!("/proc/{pid}/task/{tid}/comm")).unwrap_or_default();
    name.strip_suffix(b"\n").unwrap_or(&name).to_vec()
}

/// What a process has mapped to run, in order.
pub fn maps(pid: u32) -> Vec<Map> {
    let maps = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    maps.split(|byte| *byte == b'\n').filter_map(map).collect()
}

/// The fourth field of /proc/PID/stat, whose second may hold anything in parentheses.
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// A mapping that can run: a line of /proc/PID/maps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    /// Its addresses.
    pub range: Range<u64>,
    /// As `r-xp`.
    rights: [u8; 4],
    /// Where in the file it begins.
    pub offset: u64,
    device: (u32, u32),
    inode: u64,
    /// The file's path, a name in brackets, or `//anon`.
    pub name: Vec<u8>,
}

/// `START-END RIGHTS OFFSET DEVICE INODE NAME`; `None` of what cannot run.
fn map(line: &[u8]) -> Option<Map> {
    let mut fields = line.splitn(6, |byte| *byte == b' ');
    let mut field = || fields.next().and_then(|field| std::str::from_utf8(field).ok());
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end) = field()?.split_once('-')?;
    let rights = *field()?.as_bytes().first_chunk()?;
    let offset = hex(field()?)?;
    let (major, minor) = field()?.split_once(':')?;
    let inode = field()?.parse().ok()?;
    let name = fields.next().map(<[u8]>::trim_ascii_start).filter(|name| !name.is_empty());
    let map = Map {
        range: hex(start)?..hex(end)?,
        rights,
        offset,
        device: (hex(major)? as u32, hex(minor)? as u32),
        inode,
        name: name.unwrap_or(b"//anon").to_vec(),
    };
    (rights[2] == b'x').then_some(map)
}

impl Map {
    /// `struct { u32 pid, tid; u64 addr, len, pgoff; u32 maj, min; u64 ino, ino_generation; u32 prot, flags; char filename[]; }`
    fn record(&self, pid: u32, attr: &Attr, stamp: &Stamp) -> Vec<u8> {
        // PROT_READ, PROT_WRITE, PROT_EXEC; MAP_SHARED, MAP_PRIVATE
        let has = |at: usize, letter| u32::from(self.rights[at] == letter);
        let prot = has(0, b'r') | has(1, b'w') << 1 | 1 << 2;
        let flags = 2 - has(3, b's');
        Body::default()
            .pair(pid, pid)
            .word(self.range.start)
            .word(self.range.end.saturating_sub(self.range.start))
            .word(self.offset)
            .pair(self.device.0, self.device.1)
            .word(self.inode)
            .word(0)
            .pair(prot, flags)
            .text(&self.name)
            .record(kinds::MMAP2, USER, attr, stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_that_can_run_are_read_with_all_there_is_in_their_names() {
        let line = b"7f00-8f00 r-xp 00001000 fe:00 325843                     /usr/lib/a b\xff.so (deleted)";
        let found = map(line).unwrap();
        assert_eq!((found.range, found.offset, found.device), (0x7f00..0x8f00, 0x1000, (0xfe, 0)));
        assert_eq!((found.inode, &found.name[..]), (325843, &b"/usr/lib/a b\xff.so (deleted)"[..]));
        assert_eq!(map(b"7f00-8f00 r--p 00001000 fe:00 325843 /usr/lib/a.so"), None);
        assert_eq!(map(b"7f00-8f00 r-xp 00000000 00:00 0 ").unwrap().name, b"//anon");
    }

    #[test]
    fn this_process_runs() {
        let pid = std::process::id();
        assert!(processes().contains(&pid) && threads(pid).contains(&pid) && parent(pid).is_some());
    }
}
