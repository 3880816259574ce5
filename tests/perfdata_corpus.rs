//! Recordings of other people's machines are read whole.

mod recording;

use std::io::Write;

use recording::testdata;
use skidconv::perfdata::{AttrIx, PerfFile, Sideband, Tally, Warning, kinds};

/// File, records, and the name, precision and samples of each event.
type Expected = (&'static str, u64, &'static [(&'static str, u8, u64)]);

#[rustfmt::skip]
const EXPECTED: &[Expected] = &[
    ("autofdo-pebs-lbr.data", 159, &[("cycles:P", 3, 145)]),
    ("lpd-fibo.compressed2.pipe.data", 1783, &[("cycles:P", 3, 547), ("dummy:u", 0, 0)]),
    ("lpd-sleep.compressed.data", 95, &[("cycles:P", 3, 8)]),
    ("lpd-sleep.compressed.pipe.data", 118, &[("cycles:P", 3, 8)]),
    ("lpd-sleep.compressed2.data", 20, &[("cycles:Pu", 3, 7)]),
    ("lpd-sleep.compressed2.pipe.data", 209, &[("cycles:P", 3, 7)]),
    ("lpd-sleep.data", 20, &[("cycles:Pu", 3, 7)]),
    ("quipper-hybrid_topology.data", 124,
        &[("cpu_core/cycles:ppp/", 3, 7), ("cpu_atom/cycles:ppp/", 3, 0), ("dummy:HG", 0, 0)]),
    ("quipper-intel_pt-4.14.data", 257,
        &[("intel_pt//", 0, 0), ("cycles", 0, 15), ("dummy:u", 0, 0), ("dummy:u", 0, 0)]),
    ("quipper-lost_samples-4.4.data", 243,
        &[("cycles:pp", 2, 97), ("instructions:pp", 2, 80), ("branch-instructions:pp", 2, 14)]),
    ("quipper-piped.header_features_aligned-6.12.data", 45, &[("cycles:u", 0, 9)]),
    ("quipper-raw_callgraph_branch-3.4.data", 2391, &[("cycles", 0, 513)]),
    ("quipper-remmap-3.2.data", 343, &[("cycles", 0, 198)]),
    ("quipper-singleprocess-3.8.data", 119, &[("cycles", 0, 13)]),
];

/// Walks a recording, decoding all it can.
fn walk(file: &PerfFile) -> (Tally, Vec<Warning>, Vec<Sideband>) {
    let mut records = file.records().unwrap();
    let mut sideband = vec![];
    while let Some(record) = records.next().unwrap() {
        file.sample(&record).unwrap();
        sideband.extend(file.sideband(&record));
    }
    assert_eq!(records.position(), file.data_len());
    (records.tally().clone(), records.warnings().to_vec(), sideband)
}

#[test]
fn every_sample_is_counted_for_its_event() {
    for (name, total, events) in EXPECTED {
        let file = PerfFile::open(&testdata(name)).unwrap();
        assert_eq!(file.warnings(), [], "{name}");
        let (tally, ..) = walk(&file);
        assert_eq!(tally.records(), *total, "{name}");
        assert_eq!((tally.unknown(), tally.samples_of_unknown_event), (0, 0), "{name}");
        let found: Vec<_> = (0..)
            .zip(file.attrs())
            .map(|(i, a)| (a.name.as_str(), a.precise_ip, tally.samples(AttrIx(i))))
            .collect();
        assert_eq!(found, *events, "{name}");
    }
}

fn of_bytes(bytes: &[u8]) -> PerfFile {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    PerfFile::from_file(file).unwrap()
}

#[test]
fn recordings_of_the_first_version_are_read_as_later_ones() {
    let mut bytes = std::fs::read(testdata("quipper-remmap-3.2.data")).unwrap();
    bytes[..8].copy_from_slice(b"PERFFILE");
    let (tally, warnings, _) = walk(&of_bytes(&bytes));
    assert_eq!((tally.records(), tally.samples(AttrIx(0)), warnings), (343, 198, vec![]));
}

#[test]
fn formats_of_tracepoints_that_count_as_their_record_s_own_bytes_are_passed_over_once() {
    let mut bytes = std::fs::read(testdata("quipper-piped.header_features_aligned-6.12.data")).unwrap();
    // as simpleperf writes them: the size of what follows inside of what the record says that it has
    for part in [[66, 32 << 16], [20, 1], [2, 3], [4, 5], [68, 8 << 16]] {
        bytes.extend(part.into_iter().flat_map(u32::to_le_bytes));
    }
    let (tally, warnings, _) = walk(&of_bytes(&bytes));
    assert_eq!((tally.records(), tally.samples(AttrIx(0)), warnings), (47, 9, vec![]));
}

#[test]
fn the_table_names_every_file() {
    let mut named: Vec<_> = EXPECTED.iter().map(|(name, ..)| testdata(name)).collect();
    named.push(testdata("quipper-piped.corrupted.zero_size_sample-3.2.data"));
    named.sort();
    assert_eq!(named, recording::all_testdata());
}

#[test]
fn what_follows_a_stream_is_reported_with_its_place() {
    let file = PerfFile::open(&testdata("lpd-sleep.compressed2.pipe.data")).unwrap();
    let (_, warnings, _) = walk(&file);
    assert_eq!(warnings, [Warning::RecordCut { offset: 0x7c40, size: 29216, have: 143 }]);
}

#[test]
fn behind_a_record_of_size_0_nothing_is_found_and_that_is_said() {
    let name = "quipper-piped.corrupted.zero_size_sample-3.2.data";
    let file = PerfFile::open(&testdata(name)).unwrap();
    let (tally, warnings, _) = walk(&file);
    assert_eq!(tally.records(), 570);
    assert_eq!(warnings, [Warning::RecordSize { offset: 0xbfd0, size: 0, left: 11536 }]);
}

#[test]
fn header_sections_are_read() {
    let file = PerfFile::open(&testdata("lpd-sleep.data")).unwrap();
    let f = file.features();
    assert_eq!(f.arch.as_deref(), Some("x86_64"));
    assert_eq!(f.os_release.as_deref(), Some("5.15.193-1-MANJARO"));
    assert_eq!(f.cpu_desc.as_deref(), Some("Intel(R) Core(TM) i7-10700K CPU @ 3.80GHz"));
    assert_eq!(f.sample_time, Some((3696173031626, 3696173096794)));
    assert!(f.cmdline.iter().any(|word| word == "record"));
    assert_eq!((f.build_ids.len(), f.build_ids[0].bytes.len()), (3, 20));
    assert!(f.compressed.is_none() && f.nr_cpus.is_some_and(|(online, available)| online <= available));
    let file = PerfFile::open(&testdata("lpd-sleep.compressed2.data")).unwrap();
    assert_eq!(file.features().compressed.map(|c| c.kind), Some(1));
}

#[test]
fn processes_mappings_and_losses_have_their_times() {
    let file = PerfFile::open(&testdata("quipper-lost_samples-4.4.data")).unwrap();
    let (tally, _, sideband) = walk(&file);
    assert_eq!(sideband.len(), 51);
    assert!(sideband.iter().all(|s| s.time().is_some()));
    let lost = sideband.iter().filter(|s| matches!(s, Sideband::LostSamples { n: 1.., .. })).count();
    assert_eq!((lost, tally.of_kind(13)), (2, 2));
    let code = sideband.iter().filter(|s| matches!(s, Sideband::Mmap(m) if m.executable)).count();
    assert_eq!(code, 45);
}

#[test]
fn trace_data_are_passed_over_and_counted() {
    let file = PerfFile::open(&testdata("quipper-intel_pt-4.14.data")).unwrap();
    let (tally, ..) = walk(&file);
    assert_eq!((tally.of_kind(kinds::AUXTRACE), tally.payload_bytes), (2, 149968));
}

#[test]
fn user_stacks_and_registers_are_found() {
    let file = PerfFile::open(&testdata("lpd-fibo.compressed2.pipe.data")).unwrap();
    let mut records = file.records().unwrap();
    let (mut user, mut stacks) = (0, 0);
    while let Some(record) = records.next().unwrap() {
        let Some(sample) = file.sample(&record).unwrap() else {
            continue;
        };
        assert!(record.compressed && sample.exact);
        stacks += u64::from(sample.has_user_stack);
        let in_user = sample.mode == skidconv::perfdata::CpuMode::User;
        // At an exact sample the registers are those of the interrupt, which may be later.
        user += u64::from(in_user && sample.user_regs.is_some_and(|r| r.ip.is_some_and(|ip| ip != 0)));
    }
    assert!(stacks > 400 && user > 300, "{stacks} {user}");
}
