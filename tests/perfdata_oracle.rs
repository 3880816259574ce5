//! Another reader finds the same samples: linux-perf-data, where it can be trusted with the file.

mod recording;

use std::fs::File;
use std::io::BufReader;

use linux_perf_data::linux_perf_event_reader::EventRecord;
use linux_perf_data::{PerfFileReader, PerfFileRecord};
use recording::all_testdata;
use skidconv::perfdata::{PerfFile, Sideband};

/// Event, address, process, thread, time.
type Key = (usize, u64, i32, i32, Option<u64>);

#[derive(Debug, Default, PartialEq)]
struct Found {
    samples: Vec<Key>,
    mappings: Vec<(i32, u64, u64, Vec<u8>)>,
    names: Vec<(i32, i32, Vec<u8>, bool)>,
}

impl Found {
    fn sorted(mut self) -> Found {
        self.samples.sort();
        self.mappings.sort();
        self.names.sort();
        self
    }
}

fn ours(file: &PerfFile) -> Found {
    let mut found = Found::default();
    let mut records = file.records().unwrap();
    while let Some(record) = records.next().unwrap() {
        if let Some(s) = file.sample(&record).unwrap() {
            found.samples.push((s.attr.0 as usize, s.ip, s.pid, s.tid, s.time));
        }
        match file.sideband(&record) {
            Some(Sideband::Mmap(m)) => found.mappings.push((m.pid, m.start, m.pgoff, m.filename)),
            Some(Sideband::Comm(c)) => found.names.push((c.pid, c.tid, c.name, c.exec)),
            _ => {}
        }
    }
    found.sorted()
}

fn theirs<R: std::io::Read>(reader: PerfFileReader<R>) -> Found {
    let PerfFileReader { mut perf_file, mut record_iter } = reader;
    let mut found = Found::default();
    // It ends with an error where a message follows the stream.
    while let Ok(Some(record)) = record_iter.next_record(&mut perf_file) {
        let PerfFileRecord::EventRecord { attr_index, record } = record else {
            continue;
        };
        match record.parse().unwrap() {
            EventRecord::Sample(s) => {
                let key = (s.ip.unwrap(), s.pid.unwrap(), s.tid.unwrap(), s.timestamp);
                found.samples.push((attr_index, key.0, key.1, key.2, key.3));
            }
            EventRecord::Mmap(m) => {
                found.mappings.push((m.pid, m.address, m.page_offset, m.path.as_slice().into_owned()));
            }
            EventRecord::Mmap2(m) => {
                found.mappings.push((m.pid, m.address, m.page_offset, m.path.as_slice().into_owned()));
            }
            EventRecord::Comm(c) => {
                found.names.push((c.pid, c.tid, c.name.as_slice().into_owned(), c.is_execve));
            }
            _ => {}
        }
    }
    found.sorted()
}

#[test]
fn both_readers_find_the_same_samples_mappings_and_names() {
    for path in all_testdata().into_iter().filter(|p| !p.to_string_lossy().contains("corrupted")) {
        let file = PerfFile::open(&path).unwrap();
        let input = BufReader::new(File::open(&path).unwrap());
        let theirs = if file.is_pipe() {
            theirs(PerfFileReader::parse_pipe(input).unwrap())
        } else {
            theirs(PerfFileReader::parse_file(input).unwrap())
        };
        let ours = ours(&file);
        assert!(!ours.samples.is_empty() && !ours.names.is_empty());
        assert_eq!(ours.samples, theirs.samples, "{}", path.display());
        assert_eq!(ours.mappings, theirs.mappings, "{}", path.display());
        assert_eq!(ours.names, theirs.names, "{}", path.display());
    }
}

#[test]
fn both_readers_read_the_same_header_sections() {
    for path in all_testdata().into_iter().filter(|p| !p.to_string_lossy().contains("corrupted")) {
        let file = PerfFile::open(&path).unwrap();
        if file.is_pipe() {
            continue;
        }
        let input = BufReader::new(File::open(&path).unwrap());
        let theirs = PerfFileReader::parse_file(input).unwrap().perf_file;
        let f = file.features();
        assert_eq!(f.hostname.as_deref(), theirs.hostname().unwrap());
        assert_eq!(f.os_release.as_deref(), theirs.os_release().unwrap());
        assert_eq!(f.version.as_deref(), theirs.perf_version().unwrap());
        assert_eq!(f.arch.as_deref(), theirs.arch().unwrap());
        assert_eq!(f.cpu_desc.as_deref(), theirs.cpu_desc().unwrap());
        assert_eq!(f.cpu_id.as_deref(), theirs.cpu_id().unwrap());
        assert_eq!(f.cmdline, theirs.cmdline().unwrap().unwrap_or_default());
        assert_eq!(f.nr_cpus.map(|n| n.0), theirs.nr_cpus().unwrap().map(|n| n.nr_cpus_online));
        let names: Vec<_> = theirs.event_attributes().iter().filter_map(|a| a.name()).collect();
        assert_eq!(file.attrs().iter().map(|a| a.name.as_str()).collect::<Vec<_>>(), names);
        let ids: Vec<_> = theirs.event_attributes().iter().map(|a| a.ids().to_vec()).collect();
        assert_eq!(file.attrs().iter().map(|a| a.ids.clone()).collect::<Vec<_>>(), ids);
        let theirs = theirs.build_ids().unwrap();
        for (_, dso) in theirs {
            assert!(f.build_ids.iter().any(|b| b.filename == dso.path && b.bytes.starts_with(&dso.build_id)));
        }
    }
}
