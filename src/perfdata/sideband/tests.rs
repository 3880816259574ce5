//! Sideband records in both byte orders, with and without trailer.

use super::super::testing::{Build, attr, sideband};
use super::*;

const ORDERS: [Endian; 2] = [Endian::Little, Endian::Big];

/// An event whose records end with thread, time, processor and identifier.
fn event() -> super::super::Attr {
    let mut attr =
        attr(c::PERF_SAMPLE_TID | c::PERF_SAMPLE_TIME | c::PERF_SAMPLE_CPU | c::PERF_SAMPLE_IDENTIFIER | 1);
    attr.sample_id_all = true;
    attr
}

fn trailer(build: Build, time: u64) -> Vec<u8> {
    build.halves(&[7, 8]).words(&[time]).halves(&[1, 0]).words(&[99]).done()
}

#[test]
fn a_mapping_has_its_inode_or_its_build_id() {
    for endian in ORDERS {
        let head = |misc| {
            let build = Build::new(endian, c::PERF_RECORD_MMAP2, misc).halves(&[7, 8]);
            build.words(&[0x400000, 0x1000, 0x2000])
        };
        let inode = head(2).halves(&[8, 1]).words(&[1234, 9]);
        let record = trailer(inode.halves(&[5, 2]).raw(b"/bin/a\0\0"), 500);
        let Some(Sideband::Mmap(m)) = sideband(&record, &event(), endian) else { panic!() };
        assert_eq!((m.pid, m.tid, m.start, m.len, m.pgoff), (7, 8, 0x400000, 0x1000, 0x2000));
        let file = Inode { device: (8, 1), number: 1234, generation: 9 };
        assert_eq!((m.inode, m.build_id, m.time, m.executable), (Some(file), None, Some(500), true));
        assert_eq!((&m.filename[..], m.mode), (&b"/bin/a"[..], CpuMode::User));

        let id = head(2 | 1 << 14).raw(&[20, 0, 0, 0]).raw(&[0xbb; 20]);
        let record = trailer(id.halves(&[1, 2]).raw(b"/bin/a\0\0"), 500);
        let Some(Sideband::Mmap(m)) = sideband(&record, &event(), endian) else { panic!() };
        assert_eq!((m.build_id, m.inode, m.executable), (Some(vec![0xbb; 20]), None, false));
    }
}

#[test]
fn what_is_no_file_has_no_inode() {
    let build = Build::new(Endian::Little, c::PERF_RECORD_MMAP2, 2).halves(&[7, 8]).words(&[0; 6]);
    let record = trailer(build.halves(&[5, 2]).raw(b"[vdso]\0\0"), 1);
    let Some(Sideband::Mmap(m)) = sideband(&record, &event(), Endian::Little) else { panic!() };
    assert_eq!((m.inode, &m.filename[..]), (None, &b"[vdso]"[..]));
}

#[test]
fn a_build_id_longer_than_can_be_is_cut_to_20_bytes() {
    let build = Build::new(Endian::Little, c::PERF_RECORD_MMAP2, 2 | 1 << 14).halves(&[7, 8]);
    let build = build.words(&[0, 0, 0]).raw(&[255, 0, 0, 0]).raw(&[1; 20]).halves(&[5, 2]).raw(b"x");
    let Some(Sideband::Mmap(m)) = sideband(&trailer(build, 1), &event(), Endian::Little) else { panic!() };
    assert_eq!(m.build_id.unwrap().len(), 20);
}

#[test]
fn data_mappings_of_the_old_kind_are_marked() {
    for (misc, executable) in [(2, true), (2 | 1 << 13, false)] {
        let build = Build::new(Endian::Little, c::PERF_RECORD_MMAP, misc).halves(&[7, 8]);
        let record = trailer(build.words(&[1, 2, 3]).raw(b"/lib/b\0\0"), 1);
        let Some(Sideband::Mmap(m)) = sideband(&record, &event(), Endian::Little) else { panic!() };
        assert_eq!((m.executable, &m.filename[..]), (executable, &b"/lib/b"[..]));
    }
}

#[test]
fn names_tasks_and_losses_are_read() {
    for endian in ORDERS {
        let of = |kind, misc| Build::new(endian, kind, misc);
        let comm = trailer(of(c::PERF_RECORD_COMM, 1 << 13).halves(&[7, 8]).raw(b"name\0\0\0\0"), 5);
        let (time, name) = (Some(5), b"name".to_vec());
        let expected = Sideband::Comm(Comm { time, pid: 7, tid: 8, name, exec: true });
        assert_eq!(sideband(&comm, &event(), endian), Some(expected));
        for (misc, made_up) in [(0, false), (1 << 13, true)] {
            let fork = trailer(of(c::PERF_RECORD_FORK, misc).halves(&[9, 7, 10, 8]).words(&[6]), 66);
            let expected = Sideband::Fork(Task { time: Some(6), pid: 9, ppid: 7, tid: 10, ptid: 8, made_up });
            assert_eq!(sideband(&fork, &event(), endian), Some(expected));
        }
        let lost = trailer(of(c::PERF_RECORD_LOST, 0).words(&[99, 12]), 7);
        assert_eq!(sideband(&lost, &event(), endian), Some(Sideband::Lost { time: Some(7), n: 12 }));
        let lost = trailer(of(c::PERF_RECORD_LOST_SAMPLES, 0).words(&[3]), 7);
        assert_eq!(sideband(&lost, &event(), endian), Some(Sideband::LostSamples { time: Some(7), n: 3 }));
        let filtered = trailer(of(c::PERF_RECORD_LOST_SAMPLES, 1 << 15).words(&[3]), 7);
        assert_eq!(sideband(&filtered, &event(), endian), None, "a filter dropped them on purpose");
    }
}

#[test]
fn without_a_trailer_there_is_no_time() {
    let mut event = event();
    event.sample_id_all = false;
    let comm = Build::new(Endian::Little, c::PERF_RECORD_COMM, 0).halves(&[7, 8]).raw(b"name\0\0\0\0");
    let Some(Sideband::Comm(comm)) = sideband(&comm.done(), &event, Endian::Little) else { panic!() };
    assert_eq!((comm.time, &comm.name[..]), (None, &b"name"[..]));
}

#[test]
fn records_too_short_are_none() {
    let whole = Build::new(Endian::Little, c::PERF_RECORD_MMAP2, 2).halves(&[7, 8]).words(&[0; 3]);
    let whole = trailer(whole.raw(&[0; 24]).halves(&[5, 2]).raw(b"/bin/a\0\0"), 1);
    for len in 8..72 {
        assert_eq!(sideband(&whole[..len], &event(), Endian::Little), None, "{len}");
    }
}
