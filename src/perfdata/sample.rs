//! A sample, decoded.

use linux_perf_event_reader::constants as c;

use super::bytes::Words;
use super::fields::{BranchStack, Callchain, Counters, Registers, Weight};
use super::layout::{Layout, ReadAt, RegsAt, Variable};
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
    /// Counter values.
    pub read: Option<Counters<'a>>,
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
    /// Whether readers unwind it from its registers and a copy of its stack.
    pub fn is_unwound(&self) -> bool {
        self.has_user_stack && self.user_regs.is_some()
    }

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
            period: read.period(attr),
            read: found.read.map(|at| read.counters(at)),
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

/// Of a sample what tells it from others, at less cost than all of it.
#[derive(Clone, Copy, Debug)]
pub struct Glance<'a> {
    /// Which event was sampled.
    pub attr: AttrIx,
    /// The sampled address.
    pub ip: u64,
    /// Process.
    pub pid: i32,
    /// Thread.
    pub tid: i32,
    /// When.
    pub time: Option<u64>,
    /// How many events the sample stands for.
    pub period: u64,
    /// Who called the sampled function.
    pub callchain: Callchain<'a>,
}

impl<'a> Glance<'a> {
    /// Of a sample that [`Layout::is_plain`].
    #[inline]
    pub(super) fn decode(
        bytes: &'a [u8],
        attr_ix: AttrIx,
        attr: &Attr,
        layout: &Layout,
    ) -> Result<Glance<'a>, &'static str> {
        let chain = layout.locate_plain(bytes)?;
        let read = Reader { bytes, layout };
        let fixed = &layout.fixed;
        Ok(Glance {
            attr: attr_ix,
            ip: read.word(fixed.ip).unwrap_or(0),
            pid: read.int(fixed.tid, 0).unwrap_or(-1),
            tid: read.int(fixed.tid, 4).unwrap_or(-1),
            time: read.word(fixed.time),
            period: read.period(attr),
            callchain: Callchain(read.words(chain.of(bytes))),
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

    fn period(&self, attr: &Attr) -> u64 {
        let stated = if attr.freq { 1 } else { attr.sample_period.max(1) };
        self.word(self.layout.fixed.period).unwrap_or(stated)
    }

    fn words(&self, bytes: &'a [u8]) -> Words<'a> {
        Words::new(bytes, self.layout.endian)
    }

    fn counters(&self, at: ReadAt) -> Counters<'a> {
        Counters {
            time_enabled: self.word(at.time_enabled),
            time_running: self.word(at.time_running),
            single: self.word(at.single),
            values: self.words(at.values.of(self.bytes)),
            has_id: self.layout.read_has_id(),
            has_lost: self.layout.read_has_lost(),
        }
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
mod tests;
