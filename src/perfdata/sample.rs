//! A sample, decoded.

use linux_perf_event_reader::constants as c;

use super::bytes::Words;
use super::fields::{BranchStack, Callchain, Registers, Weight};
use super::layout::{Layout, RegsAt, Variable};
use super::{Attr, AttrIx, CpuMode, Record};

/// Offsets in the record of the fields that a rewriter changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FieldOffsets {
    /// The sampled address.
    pub ip: Option<usize>,
    /// The number of entries of the callchain.
    pub callchain_nr: Option<usize>,
    /// The first entry of the callchain.
    pub callchain: Option<usize>,
    /// The program counter among the user registers.
    pub user_regs_ip: Option<usize>,
}

/// `PERF_RECORD_SAMPLE`. Fields that were not recorded are 0, empty or `None`.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// Which event was sampled.
    pub attr: AttrIx,
    /// In which mode the processor was.
    pub mode: CpuMode,
    /// Whether the address is exact: the processor noted it, or a rewriter put it right.
    pub exact: bool,
    /// The sampled address.
    pub ip: u64,
    /// Process, −1 or 0 for none.
    pub pid: i32,
    /// Thread.
    pub tid: i32,
    /// When, in nanoseconds of the recording's clock.
    pub time: Option<u64>,
    /// On which processor.
    pub cpu: Option<u32>,
    /// The data address that the event is about.
    pub addr: Option<u64>,
    /// Id of the counter.
    pub id: Option<u64>,
    /// Id of the counter, without inheritance.
    pub stream_id: Option<u64>,
    /// How many events the sample stands for: its own period, else the event's, else 1.
    pub period: u64,
    /// Counter values, undecoded.
    pub read: &'a [u8],
    /// Who called the sampled function.
    pub callchain: Callchain<'a>,
    /// What the event's own source added: a tracepoint's fields, the IBS registers.
    pub raw: &'a [u8],
    /// The last branches.
    pub branches: BranchStack<'a>,
    /// The registers in user space.
    pub user_regs: Option<Registers<'a>>,
    /// Whether there is a copy of the user stack, from which tools unwind.
    pub has_user_stack: bool,
    /// The copy, cut to what was really copied.
    pub user_stack: &'a [u8],
    /// Cost of the event.
    pub weight: Option<Weight>,
    /// Where the data came from, `union perf_mem_data_src`.
    pub data_src: Option<u64>,
    /// Why a transaction was aborted.
    pub transaction: Option<u64>,
    /// The registers at the interrupt, or at the event if it is precise.
    pub intr_regs: Option<Registers<'a>>,
    /// Physical address of the data.
    pub phys_addr: Option<u64>,
    /// Control group.
    pub cgroup: Option<u64>,
    /// Size of the page the data are on.
    pub data_page_size: Option<u64>,
    /// Size of the page the code is on.
    pub code_page_size: Option<u64>,
    /// Trace data of the time before the sample.
    pub aux: &'a [u8],
    /// Where a rewriter finds its fields.
    pub layout: FieldOffsets,
}

impl<'a> Sample<'a> {
    /// The error names the field that does not fit into the record.
    pub(super) fn decode(
        record: &Record<'a>,
        attr_ix: AttrIx,
        attr: &Attr,
        layout: &Layout,
    ) -> Result<Sample<'a>, &'static str> {
        let found = layout.locate(record.bytes)?;
        let read = Reader { bytes: record.bytes, layout };
        let fixed = &layout.fixed;
        let user_regs = found.regs_user.map(|at| read.regs(at, layout.regs_user, layout.user_ip));
        Ok(Sample {
            attr: attr_ix,
            mode: CpuMode::of(record.misc),
            exact: record.misc & c::PERF_RECORD_MISC_EXACT_IP != 0,
            ip: read.word(fixed.ip).unwrap_or(0),
            pid: read.int(fixed.tid, 0).unwrap_or(-1),
            tid: read.int(fixed.tid, 4).unwrap_or(-1),
            time: read.word(fixed.time),
            cpu: read.int(fixed.cpu, 0).map(|cpu| cpu as u32),
            addr: read.word(fixed.addr),
            id: read.word(fixed.identifier).or(read.word(fixed.id)),
            stream_id: read.word(fixed.stream_id),
            period: read.word(fixed.period).unwrap_or(if attr.freq { 1 } else { attr.sample_period.max(1) }),
            read: found.read.unwrap_or_default().of(record.bytes),
            callchain: Callchain(read.words(found.chain.of(record.bytes))),
            raw: found.raw.of(record.bytes),
            branches: read.branches(&found),
            user_regs,
            has_user_stack: found.stack_user.len > 0,
            user_stack: read.stack(&found),
            weight: read.weight(found.weight, attr.sample_type),
            data_src: read.word(found.data_src),
            transaction: read.word(found.transaction),
            intr_regs: found.regs_intr.map(|at| read.regs(at, layout.regs_intr, None)),
            phys_addr: read.word(found.phys_addr),
            cgroup: read.word(found.cgroup),
            data_page_size: read.word(found.data_page_size),
            code_page_size: read.word(found.code_page_size),
            aux: found.aux.of(record.bytes),
            layout: FieldOffsets {
                ip: fixed.ip.map(usize::from),
                callchain_nr: found.chain_nr.map(usize::from),
                callchain: found.chain_nr.map(|nr| usize::from(nr) + 8),
                user_regs_ip: user_regs.and_then(|regs| regs.ip_offset),
            },
        })
    }
}

/// Reads located fields of one record.
#[derive(Clone, Copy)]
struct Reader<'a, 'l> {
    bytes: &'a [u8],
    layout: &'l Layout,
}

impl<'a> Reader<'a, '_> {
    #[inline]
    fn word(&self, at: Option<u16>) -> Option<u64> {
        self.layout.endian.u64(self.bytes, at?.into())
    }

    /// The half of a word that holds two numbers: `offset` is 0 or 4 in either byte order.
    #[inline]
    fn int(&self, at: Option<u16>, offset: usize) -> Option<i32> {
        self.layout.endian.i32(self.bytes, usize::from(at?) + offset)
    }

    fn words(&self, bytes: &'a [u8]) -> Words<'a> {
        Words::new(bytes, self.layout.endian)
    }

    fn branches(&self, found: &Variable) -> BranchStack<'a> {
        BranchStack {
            entries: found.branches.of(self.bytes),
            endian: self.layout.endian,
            hw_index: self.word(found.branch_index),
            counters: self.words(found.branch_counters.of(self.bytes)),
        }
    }

    fn stack(&self, found: &Variable) -> &'a [u8] {
        let stack = found.stack_user.of(self.bytes);
        let used = usize::try_from(found.stack_used).unwrap_or(usize::MAX).min(stack.len());
        &stack[..used]
    }

    fn regs(&self, at: RegsAt, mask: u64, ip: Option<u16>) -> Registers<'a> {
        let values = self.words(at.values.of(self.bytes));
        let ip = ip.map(usize::from).filter(|&i| i < values.len());
        Registers {
            abi: at.abi,
            mask,
            values,
            ip: ip.and_then(|i| values.get(i)),
            ip_offset: ip.map(|i| usize::from(at.values.start) + 8 * i),
        }
    }

    fn weight(&self, at: Option<u16>, sample_type: u64) -> Option<Weight> {
        let full = self.word(at)?;
        Some(match sample_type & c::PERF_SAMPLE_WEIGHT_STRUCT {
            0 => Weight::Full(full),
            _ => Weight::Struct(full as u32, (full >> 32) as u16, (full >> 48) as u16),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::bytes::Endian;
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
            assert_eq!((s.read.len(), s.raw), (72, &b"twelve bytes"[..]));
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
        for (format, words) in [(0, 1), (4, 2), (0x14, 3), (0x17, 5)] {
            attr.read_format = format;
            let read = vec![1; words];
            let record = Build::new(Endian::Little, 9, 1).words(&read).words(&[1, 0xc4a1]).done();
            let s = sample(&record, &attr, Endian::Little).unwrap();
            assert_eq!((s.read.len(), s.callchain.get(0)), (8 * words, Some(0xc4a1)));
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
}
