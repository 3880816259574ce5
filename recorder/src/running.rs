//! What ran before the recording began: names, threads and mappings of processes, and the kernel's own code, as records.
//!
//! From /proc, which changes while it is read: what is gone by then is left out.

use crate::records::{Body, KERNEL, Stamp, USER, kinds};
use crate::sys::Attr;
use std::fs;

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
        let name = fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).unwrap_or_default();
        let body = Body::default().pair(pid, tid).text(name.trim_end_matches('\n'));
        records.push(body.record(kinds::COMM, 0, attr, stamp));
    }
    let maps = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    let maps = String::from_utf8_lossy(&maps);
    records.extend(maps.lines().filter_map(|line| Some(map(line)?.record(pid, attr, stamp))));
    records
}

/// The fourth field of /proc/PID/stat, whose second may hold anything in parentheses.
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// A line of /proc/PID/maps.
#[derive(Debug, PartialEq, Eq)]
struct Map<'t> {
    start: u64,
    end: u64,
    rights: &'t str,
    offset: u64,
    device: (u32, u32),
    inode: u64,
    name: &'t str,
}

/// `None` of what cannot run.
fn map(line: &str) -> Option<Map<'_>> {
    let mut fields = line.splitn(6, ' ');
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end) = fields.next()?.split_once('-')?;
    let rights = fields.next().filter(|rights| rights.as_bytes().get(2) == Some(&b'x'))?;
    let offset = hex(fields.next()?)?;
    let (major, minor) = fields.next()?.split_once(':')?;
    let inode = fields.next()?.parse().ok()?;
    let name = fields.next().map(str::trim_start).filter(|name| !name.is_empty());
    Some(Map {
        start: hex(start)?,
        end: hex(end)?,
        rights,
        offset,
        device: (hex(major)? as u32, hex(minor)? as u32),
        inode,
        name: name.unwrap_or("//anon"),
    })
}

impl Map<'_> {
    /// `struct { u32 pid, tid; u64 addr, len, pgoff; u32 maj, min; u64 ino, ino_generation; u32 prot, flags; char filename[]; }`
    fn record(&self, pid: u32, attr: &Attr, stamp: &Stamp) -> Vec<u8> {
        // PROT_READ, PROT_WRITE, PROT_EXEC; MAP_SHARED, MAP_PRIVATE
        let has = |at: usize, letter| u32::from(self.rights.as_bytes().get(at) == Some(&letter));
        let prot = has(0, b'r') | has(1, b'w') << 1 | 1 << 2;
        let flags = 2 - has(3, b's');
        Body::default()
            .pair(pid, pid)
            .word(self.start)
            .word(self.end.saturating_sub(self.start))
            .word(self.offset)
            .pair(self.device.0, self.device.1)
            .word(self.inode)
            .word(0)
            .pair(prot, flags)
            .text(self.name)
            .record(kinds::MMAP2, USER, attr, stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_that_can_run_are_read_with_all_there_is_in_their_names() {
        let line = "7f00-8f00 r-xp 00001000 fe:00 325843                     /usr/lib/a b.so (deleted)";
        let found = map(line).unwrap();
        assert_eq!((found.start, found.end, found.offset, found.device), (0x7f00, 0x8f00, 0x1000, (0xfe, 0)));
        assert_eq!((found.inode, found.name), (325843, "/usr/lib/a b.so (deleted)"));
        assert_eq!(map("7f00-8f00 r--p 00001000 fe:00 325843 /usr/lib/a.so"), None);
        assert_eq!(map("7f00-8f00 r-xp 00000000 00:00 0 ").unwrap().name, "//anon");
    }

    #[test]
    fn this_process_runs() {
        let pid = std::process::id();
        assert!(processes().contains(&pid) && threads(pid).contains(&pid) && parent(pid).is_some());
    }
}
