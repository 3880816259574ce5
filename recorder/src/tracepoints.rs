//! Tracepoints: events of the kernel's source, as tracefs lists them, and what readers need to tell their fields.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where tracefs is mounted.
const FOLDERS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Why there is no such tracepoint.
#[derive(Debug, PartialEq, Eq)]
pub enum Missing {
    /// There is no tracefs, or nobody lets us see it.
    Folder(String),
    /// tracefs has none of this name.
    Event,
}

fn folder() -> io::Result<PathBuf> {
    let tried = FOLDERS.map(|folder| fs::read_dir(Path::new(folder).join("events")).map(|_| folder.into()));
    let [first, second] = tried;
    first.or_else(|error| second.map_err(|_| error))
}

/// Its number.
pub fn id(system: &str, name: &str) -> Result<u64, Missing> {
    let is_plain = |text: &str| !text.is_empty() && !text.starts_with('.') && !text.contains('/');
    if !is_plain(system) || !is_plain(name) {
        return Err(Missing::Event);
    }
    let folder = folder().map_err(|error| Missing::Folder(error.to_string()))?;
    let text = fs::read_to_string(folder.join("events").join(system).join(name).join("id"));
    text.ok().and_then(|text| text.trim().parse().ok()).ok_or(Missing::Event)
}

/// What readers parse samples with, as `tracing_data_get` of tools/perf/util/trace-event-info.c writes it.
///
/// ```text
/// 23 8 68 "tracing" "0.6\0" u8 big_endian, sizeof_long; u32 page_size;
/// "header_page\0" u64 size, text; "header_event\0" u64 size, text; u32 files_of_ftrace = 0;
/// u32 systems; { name; u32 events; { u64 size; format } }; u32 symbols = 0; u32 size; formats; u64 size; names
/// ```
pub fn data(tracepoints: &[(String, String)]) -> io::Result<Vec<u8>> {
    let folder = folder()?;
    let mut bytes = b"\x17\x08\x44tracing0.6\0".to_vec();
    bytes.push(u8::from(cfg!(target_endian = "big")));
    bytes.push(size_of::<usize>() as u8);
    bytes.extend((crate::sys::page_size() as u32).to_ne_bytes());
    for name in ["header_page", "header_event"] {
        bytes.extend(name.bytes().chain([0]));
        bytes.extend(sized(&fs::read(folder.join("events").join(name))?));
    }
    let mut systems: Vec<&str> = tracepoints.iter().map(|(system, _)| system.as_str()).collect();
    systems.sort();
    systems.dedup();
    bytes.extend(0u32.to_ne_bytes());
    bytes.extend((systems.len() as u32).to_ne_bytes());
    for system in systems {
        let mut names: Vec<&str> =
            tracepoints.iter().filter(|(of, _)| of == system).map(|(_, name)| name.as_str()).collect();
        names.sort();
        names.dedup();
        bytes.extend(system.bytes().chain([0]));
        bytes.extend((names.len() as u32).to_ne_bytes());
        for name in names {
            let format = folder.join("events").join(system).join(name).join("format");
            bytes.extend(sized(&fs::read(format)?));
        }
    }
    bytes.extend(0u32.to_ne_bytes());
    let printed = fs::read(folder.join("printk_formats")).unwrap_or_default();
    bytes.extend((printed.len() as u32).to_ne_bytes());
    bytes.extend(printed);
    bytes.extend(sized(&fs::read(folder.join("saved_cmdlines")).unwrap_or_default()));
    Ok(bytes)
}

fn sized(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u64).to_ne_bytes(), text].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_else() {
        assert_eq!(id("..", "id"), Err(Missing::Event));
        assert_eq!(id("sched", "../sched_switch"), Err(Missing::Event));
        assert_eq!(id("sched", ""), Err(Missing::Event));
    }
}
