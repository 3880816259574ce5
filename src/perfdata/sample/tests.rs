//! Samples with every field, in both byte orders, whole and cut.

use super::super::bytes::Endian;
use super::super::fields::CounterValue;
use super::super::testing::{Build, attr, sample};
use super::*;

const ORDERS: [Endian; 2] = [Endian::Little, Endian::Big];
/// All fields of `sample_type` that are known.
const ALL: u64 = (1 << 25) - 1;

/// A sample with every field, group counters with all options, and a branch stack with index and counters.
fn everything(endian: Endian) -> (Vec<u8>, Attr) {
    let mut attr = attr(ALL);
    (attr.read_format, attr.branch_sample_type) = (0x1f, 1 << 17 | 1 << 19);
    (attr.sample_regs_user, attr.sample_regs_intr) = (1 << 7 | 1 << 8, 1);
    let record = Build::new(endian, 9, 0x4002)
        .words(&[77, 0x401000]) // identifier, ip
        .halves(&[41, 42]) // pid, tid
        .words(&[1000, 0xadd4, 77, 78]) // time, addr, id, stream id
        .halves(&[3, 0]) // cpu
        .words(&[5003])
        .words(&[2, 10, 20, 1, 77, 0, 2, 88, 5]) // read: nr, times, { value, id, lost }[2]
        .words(&[3, c::PERF_CONTEXT_USER, 0x401000, 0x402000])
        .halves(&[12])
        .raw(b"twelve bytes")
        .words(&[1, 9, 0x10, 0x20, 0, 0xc0]) // branches: nr, index, { from, to, flags }, counters
        .words(&[2, 0x7ffe, 0x401000]) // abi, sp, ip
        .words(&[16, 1, 2, 8]) // stack: size, data, bytes used
        .words(&[0x0003_0002_0000_0001, 0xda7a, 0x7])
        .words(&[2, 0xa]) // interrupted registers
        .words(&[0x9999, 0xc6, 4096, 2 << 20])
        .words(&[8, 0xaaaa_aaaa_aaaa_aaaa])
        .done();
    (record, attr)
}

#[test]
fn every_field_is_found_in_either_byte_order() {
    for endian in ORDERS {
        let (record, attr) = everything(endian);
        let s = sample(&record, &attr, endian).unwrap();
        assert_eq!((s.ip, s.pid, s.tid, s.time, s.cpu), (0x401000, 41, 42, Some(1000), Some(3)));
        assert_eq!((s.addr, s.id, s.stream_id, s.period), (Some(0xadd4), Some(77), Some(78), 5003));
        assert_eq!(s.raw, b"twelve bytes");
        let read = s.read.unwrap();
        let value = |value, id, lost| CounterValue { value, id: Some(id), lost: Some(lost) };
        assert_eq!((read.time_enabled, read.time_running), (Some(10), Some(20)));
        assert_eq!(read.iter().collect::<Vec<_>>(), [value(1, 77, 0), value(2, 88, 5)]);
        assert_eq!(s.callchain.iter().skip(1).collect::<Vec<_>>(), [0x401000, 0x402000]);
        let branch = s.branches.iter().next().unwrap();
        assert_eq!((branch.from, branch.to, s.branches.hw_index), (0x10, 0x20, Some(9)));
        assert_eq!((s.branches.len(), s.branches.counters.get(0)), (1, Some(0xc0)));
        let regs = s.user_regs.unwrap();
        assert_eq!((regs.abi, regs.get(7), regs.ip), (2, Some(0x7ffe), Some(0x401000)));
        assert_eq!((s.has_user_stack, s.user_stack.len()), (true, 8));
        assert_eq!((s.weight, s.data_src), (Some(Weight::Struct(1, 2, 3)), Some(0xda7a)));
        assert_eq!((s.transaction, s.phys_addr, s.cgroup), (Some(7), Some(0x9999), Some(0xc6)));
        assert_eq!(s.intr_regs.unwrap().get(0), Some(0xa));
        assert_eq!((s.data_page_size, s.code_page_size), (Some(4096), Some(2 << 20)));
        assert_eq!((s.aux, s.mode, s.exact), (&[0xaa; 8][..], CpuMode::User, true));
    }
}

#[test]
fn the_offsets_of_a_rewriter_point_at_the_fields() {
    for endian in ORDERS {
        let (record, attr) = everything(endian);
        let at = sample(&record, &attr, endian).unwrap().layout;
        let word = |at: Option<usize>| endian.u64(&record, at.unwrap()).unwrap();
        assert_eq!((word(at.ip), word(at.callchain_nr)), (0x401000, 3));
        assert_eq!((word(at.callchain), word(at.user_regs_ip)), (c::PERF_CONTEXT_USER, 0x401000));
    }
}

#[test]
fn a_sample_cut_anywhere_is_an_error_that_names_a_field() {
    let (record, attr) = everything(Endian::Little);
    for len in 8..record.len() {
        assert!(sample(&record[..len], &attr, Endian::Little).is_err(), "cut to {len}");
    }
}

#[test]
fn counts_that_overflow_are_refused() {
    let bits = [c::PERF_SAMPLE_CALLCHAIN, c::PERF_SAMPLE_BRANCH_STACK, c::PERF_SAMPLE_STACK_USER];
    for bit in bits.into_iter().chain([c::PERF_SAMPLE_AUX, c::PERF_SAMPLE_READ]) {
        for n in [u64::MAX, 1 << 61, 1 << 32, 2] {
            let mut attr = attr(bit);
            attr.read_format = c::PERF_FORMAT_GROUP;
            let record = Build::new(Endian::Little, 9, 0).words(&[n]).done();
            assert!(sample(&record, &attr, Endian::Little).is_err(), "{bit:#x} {n:#x}");
        }
    }
}

#[test]
fn counter_values_without_group_take_only_the_fields_asked_for() {
    let mut attr = attr(c::PERF_SAMPLE_READ | c::PERF_SAMPLE_CALLCHAIN);
    let forms = [
        (0, &[5][..], None, None, None),
        (4, &[5, 77], None, Some(77), None),
        (0x14, &[5, 77, 3], None, Some(77), Some(3)),
        (0x17, &[5, 10, 20, 77, 3], Some(10), Some(77), Some(3)),
    ];
    for (format, words, time, id, lost) in forms {
        attr.read_format = format;
        let record = Build::new(Endian::Little, 9, 1).words(words).words(&[1, 0xc4a1]).done();
        let s = sample(&record, &attr, Endian::Little).unwrap();
        let read = s.read.unwrap();
        assert_eq!((read.time_enabled, s.callchain.get(0)), (time, Some(0xc4a1)));
        assert_eq!(read.iter().collect::<Vec<_>>(), [CounterValue { value: 5, id, lost }]);
    }
}

#[test]
fn registers_without_abi_and_a_stack_of_size_0_take_one_word_each() {
    let mut attr = attr(c::PERF_SAMPLE_REGS_USER | c::PERF_SAMPLE_STACK_USER | c::PERF_SAMPLE_WEIGHT);
    attr.sample_regs_user = 1 << 8;
    let record = Build::new(Endian::Little, 9, 1).words(&[0, 0, 55]).done();
    let s = sample(&record, &attr, Endian::Little).unwrap();
    assert_eq!((s.weight, s.has_user_stack), (Some(Weight::Full(55)), false));
    assert_eq!((s.user_regs.unwrap().ip, s.layout.user_regs_ip), (None, None));
}

#[test]
fn a_sample_without_branches_may_lack_their_index() {
    let mut attr = attr(c::PERF_SAMPLE_BRANCH_STACK);
    attr.branch_sample_type = c::PERF_SAMPLE_BRANCH_HW_INDEX;
    for words in [&[0][..], &[0, 3]] {
        let record = Build::new(Endian::Little, 9, 1).words(words).done();
        assert!(sample(&record, &attr, Endian::Little).unwrap().branches.is_empty());
    }
}

#[test]
fn a_period_that_was_not_recorded_is_the_events_own() {
    let mut attr = attr(c::PERF_SAMPLE_IP);
    let record = Build::new(Endian::Little, 9, 1).words(&[1]).done();
    attr.sample_period = 4000;
    assert_eq!(sample(&record, &attr, Endian::Little).unwrap().period, 4000);
    attr.freq = true;
    assert_eq!(sample(&record, &attr, Endian::Little).unwrap().period, 1);
}
