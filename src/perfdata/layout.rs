//! Where the fields of a sample stand inside its record: the one place that knows, for reader and rewriter alike.
//!
//! In: an event's description and a whole record. Out: offsets, all of them checked to lie inside the record.

use linux_perf_event_reader::constants as c;

use super::Attr;
use super::bytes::Endian;

/// `PERF_SAMPLE_BRANCH_COUNTERS`, Linux 6.8.
const BRANCH_COUNTERS: u64 = 1 << 19;
/// `PERF_FORMAT_LOST`, Linux 6.0.
const FORMAT_LOST: u64 = 1 << 4;
/// All bits of `sample_type` whose fields are known here.
const KNOWN: u64 = (c::PERF_SAMPLE_WEIGHT_STRUCT << 1) - 1;
/// The fields of fixed size, in the order of the record. They come first.
const FIXED: [u64; 9] = [
    c::PERF_SAMPLE_IDENTIFIER,
    c::PERF_SAMPLE_IP,
    c::PERF_SAMPLE_TID,
    c::PERF_SAMPLE_TIME,
    c::PERF_SAMPLE_ADDR,
    c::PERF_SAMPLE_ID,
    c::PERF_SAMPLE_STREAM_ID,
    c::PERF_SAMPLE_CPU,
    c::PERF_SAMPLE_PERIOD,
];

/// A part of a record. A record has at most 65535 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub start: u16,
    pub len: u16,
}

impl Span {
    #[inline]
    pub fn of(self, record: &[u8]) -> &[u8] {
        let start = usize::from(self.start);
        record.get(start..start + usize::from(self.len)).unwrap_or_default()
    }
}

/// Offsets in a record of the fields of fixed size, in the order of [`FIXED`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fixed {
    pub identifier: Option<u16>,
    pub ip: Option<u16>,
    pub tid: Option<u16>,
    pub time: Option<u16>,
    pub addr: Option<u16>,
    pub id: Option<u16>,
    pub stream_id: Option<u16>,
    pub cpu: Option<u16>,
    pub period: Option<u16>,
}

/// Registers in a record: which ABI they are of, and their values.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RegsAt {
    pub abi: u64,
    pub values: Span,
}

/// Counter values in a record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadAt {
    pub time_enabled: Option<u16>,
    pub time_running: Option<u16>,
    /// Without a group: the value, which stands before the times.
    pub single: Option<u16>,
    /// What stands behind the times.
    pub values: Span,
}

/// Offsets and extents of the fields of variable size.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Variable {
    pub read: Option<ReadAt>,
    /// Offset of the number of entries.
    pub chain_nr: Option<u16>,
    pub chain: Span,
    pub raw: Span,
    pub branch_index: Option<u16>,
    pub branches: Span,
    pub branch_counters: Span,
    pub regs_user: Option<RegsAt>,
    pub stack_user: Span,
    /// Bytes of the stack that were really copied.
    pub stack_used: u64,
    pub weight: Option<u16>,
    pub data_src: Option<u16>,
    pub transaction: Option<u16>,
    pub regs_intr: Option<RegsAt>,
    pub phys_addr: Option<u16>,
    pub cgroup: Option<u16>,
    pub data_page_size: Option<u16>,
    pub code_page_size: Option<u16>,
    pub aux: Span,
}

/// How an event's samples are laid out.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub endian: Endian,
    pub fixed: Fixed,
    /// Where the fields of variable size begin.
    fixed_end: usize,
    sample_type: u64,
    read_format: u64,
    branch_sample_type: u64,
    pub regs_user: u64,
    pub regs_intr: u64,
    /// Index of the program counter among the user registers, if they contain it.
    pub user_ip: Option<u16>,
    /// Size of the trailer of records other than samples, and the offsets in it of the thread and the time.
    pub trailer: usize,
    pub trailer_tid: Option<usize>,
    pub trailer_time: Option<usize>,
}

impl Layout {
    /// `arch` is the recording's, as `uname -m` gives it.
    pub fn new(attr: &Attr, endian: Endian, arch: Option<&str>) -> Layout {
        let (fixed, fixed_end) = fixed(attr.sample_type);
        let trailer = |fields: u64| 8 * (attr.sample_type & fields & TRAILER).count_ones() as usize;
        let has = |bit| attr.sample_id_all && attr.sample_type & bit != 0;
        Layout {
            endian,
            fixed,
            fixed_end,
            sample_type: attr.sample_type,
            read_format: attr.read_format,
            branch_sample_type: attr.branch_sample_type,
            regs_user: attr.sample_regs_user,
            regs_intr: attr.sample_regs_intr,
            user_ip: program_counter(attr.sample_regs_user, arch),
            trailer: if attr.sample_id_all { trailer(TRAILER) } else { 0 },
            trailer_tid: has(c::PERF_SAMPLE_TID).then_some(4),
            trailer_time: has(c::PERF_SAMPLE_TIME).then(|| trailer(c::PERF_SAMPLE_TID)),
        }
    }

    /// The fields of `sample_type` whose form is not known; they would come last.
    pub fn unknown(&self) -> u64 {
        self.sample_type & !KNOWN
    }

    /// Whether samples have nothing of variable size but perhaps a callchain.
    pub fn is_plain(&self) -> bool {
        let known = FIXED.iter().fold(c::PERF_SAMPLE_CALLCHAIN, |all, field| all | field);
        self.sample_type & !known == 0
    }

    /// Finds the callchain of a plain sample, the rest of which are fields of fixed size.
    #[inline]
    pub fn locate_plain(&self, record: &[u8]) -> Result<Span, &'static str> {
        if record.len() < self.fixed_end {
            return Err("fixed-size");
        }
        let mut at = Cursor { record, at: self.fixed_end, endian: self.endian };
        if self.sample_type & c::PERF_SAMPLE_CALLCHAIN == 0 {
            return Ok(Span::default());
        }
        let entries = at.word("callchain")?;
        at.span(entries, 8, "callchain")
    }

    /// Finds the fields of variable size. The error names the field that does not fit.
    #[inline]
    pub fn locate(&self, record: &[u8]) -> Result<Variable, &'static str> {
        if record.len() < self.fixed_end {
            return Err("fixed-size");
        }
        let mut at = Cursor { record, at: self.fixed_end, endian: self.endian };
        let mut found = Variable::default();
        let has = |bit| self.sample_type & bit != 0;
        if has(c::PERF_SAMPLE_READ) {
            found.read = Some(self.read(&mut at)?);
        }
        if has(c::PERF_SAMPLE_CALLCHAIN) {
            found.chain_nr = Some(at.here());
            let entries = at.word("callchain")?;
            found.chain = at.span(entries, 8, "callchain")?;
        }
        if has(c::PERF_SAMPLE_RAW) {
            let size = at.half("raw")?;
            found.raw = at.span(size.into(), 1, "raw")?;
        }
        if has(c::PERF_SAMPLE_BRANCH_STACK) {
            self.branches(&mut at, &mut found)?;
        }
        if self.sample_type & BEHIND_BRANCHES != 0 {
            self.rest(&mut at, &mut found)?;
        }
        Ok(found)
    }

    /// ```text
    /// { u64 value, [time_enabled], [time_running], [id], [lost] }                     without GROUP
    /// { u64 nr, [time_enabled], [time_running], { u64 value, [id], [lost] }[nr] }     with GROUP
    /// ```
    fn read(&self, at: &mut Cursor<'_>) -> Result<ReadAt, &'static str> {
        const FIELD: &str = "counter values";
        let has = |bit| self.read_format & bit != 0;
        let after_value = u64::from(self.read_has_id()) + u64::from(self.read_has_lost());
        let group = has(c::PERF_FORMAT_GROUP);
        let single = (!group).then(|| at.here());
        let first = at.word(FIELD)?;
        let time_enabled = at.optional(has(c::PERF_FORMAT_TOTAL_TIME_ENABLED), FIELD)?;
        let time_running = at.optional(has(c::PERF_FORMAT_TOTAL_TIME_RUNNING), FIELD)?;
        let values = match group {
            true => at.span(first, 8 + 8 * after_value, FIELD)?,
            false => at.span(after_value, 8, FIELD)?,
        };
        Ok(ReadAt { time_enabled, time_running, single, values })
    }

    pub fn read_has_id(&self) -> bool {
        self.read_format & c::PERF_FORMAT_ID != 0
    }

    pub fn read_has_lost(&self) -> bool {
        self.read_format & FORMAT_LOST != 0
    }

    /// `{ u64 nr, [u64 hw_idx], { u64 from, to, flags }[nr], [u64 counters[nr]] }`
    fn branches(&self, at: &mut Cursor<'_>, found: &mut Variable) -> Result<(), &'static str> {
        const FIELD: &str = "branch stack";
        let nr = at.word(FIELD)?;
        // Where a sample has no branch stack at all, some kernels write nr = 0 and no index.
        let index = self.branch_sample_type & c::PERF_SAMPLE_BRANCH_HW_INDEX != 0;
        if index && (nr > 0 || at.left() >= 8) {
            found.branch_index = Some(at.here());
            at.word(FIELD)?;
        }
        found.branches = at.span(nr, 24, FIELD)?;
        if self.branch_sample_type & BRANCH_COUNTERS != 0 {
            found.branch_counters = at.span(nr, 8, "branch counters")?;
        }
        Ok(())
    }

    fn rest(&self, at: &mut Cursor<'_>, found: &mut Variable) -> Result<(), &'static str> {
        let has = |bit| self.sample_type & bit != 0;
        if has(c::PERF_SAMPLE_REGS_USER) {
            found.regs_user = Some(at.regs(self.regs_user, "user registers")?);
        }
        if has(c::PERF_SAMPLE_STACK_USER) {
            let size = at.word("user stack")?;
            if size > 0 {
                found.stack_user = at.span(size, 1, "user stack")?;
                found.stack_used = at.word("user stack")?;
            }
        }
        let weight = has(c::PERF_SAMPLE_WEIGHT | c::PERF_SAMPLE_WEIGHT_STRUCT);
        found.weight = at.optional(weight, "weight")?;
        found.data_src = at.optional(has(c::PERF_SAMPLE_DATA_SRC), "data source")?;
        found.transaction = at.optional(has(c::PERF_SAMPLE_TRANSACTION), "transaction")?;
        if has(c::PERF_SAMPLE_REGS_INTR) {
            found.regs_intr = Some(at.regs(self.regs_intr, "interrupted registers")?);
        }
        found.phys_addr = at.optional(has(c::PERF_SAMPLE_PHYS_ADDR), "physical address")?;
        found.cgroup = at.optional(has(c::PERF_SAMPLE_CGROUP), "cgroup")?;
        found.data_page_size = at.optional(has(c::PERF_SAMPLE_DATA_PAGE_SIZE), "data page size")?;
        found.code_page_size = at.optional(has(c::PERF_SAMPLE_CODE_PAGE_SIZE), "code page size")?;
        if has(c::PERF_SAMPLE_AUX) {
            let size = at.word("aux")?;
            found.aux = at.span(size, 1, "aux")?;
        }
        Ok(())
    }
}

/// Fields behind the branch stack.
const BEHIND_BRANCHES: u64 = KNOWN & !(c::PERF_SAMPLE_REGS_USER - 1) & !c::PERF_SAMPLE_IDENTIFIER;
/// Fields of the trailer of records other than samples: `tid, time, id, stream_id, cpu, identifier`.
const TRAILER: u64 = c::PERF_SAMPLE_TID
    | c::PERF_SAMPLE_TIME
    | c::PERF_SAMPLE_ID
    | c::PERF_SAMPLE_STREAM_ID
    | c::PERF_SAMPLE_CPU
    | c::PERF_SAMPLE_IDENTIFIER;

fn fixed(sample_type: u64) -> (Fixed, usize) {
    let mut end = 8u16;
    let at = FIXED.map(|bit| {
        let here = (sample_type & bit != 0).then_some(end);
        end += if here.is_some() { 8 } else { 0 };
        here
    });
    let [identifier, ip, tid, time, addr, id, stream_id, cpu, period] = at;
    let fixed = Fixed { identifier, ip, tid, time, addr, id, stream_id, cpu, period };
    (fixed, usize::from(end))
}

/// Index of the program counter among the registers of `mask`.
fn program_counter(mask: u64, arch: Option<&str>) -> Option<u16> {
    let register = match arch {
        Some("aarch64" | "arm64") => c::PERF_REG_ARM64_PC,
        Some(arm) if arm.starts_with("arm") => c::PERF_REG_ARM_PC,
        Some("x86_64" | "i386" | "i486" | "i586" | "i686") => c::PERF_REG_X86_IP,
        // Without a header section for it: 33 registers are those of aarch64.
        None if mask >> c::PERF_REG_ARM64_PC != 0 => c::PERF_REG_ARM64_PC,
        None => c::PERF_REG_X86_IP,
        Some(_) => return None,
    };
    let before = (mask & ((1 << register) - 1)).count_ones() as u16;
    (mask & 1 << register != 0).then_some(before)
}

/// A place in a record that only moves forward.
struct Cursor<'a> {
    record: &'a [u8],
    at: usize,
    endian: Endian,
}

impl Cursor<'_> {
    fn here(&self) -> u16 {
        // Records are at most 65535 bytes long, and the cursor stays inside.
        self.at as u16
    }

    fn left(&self) -> usize {
        self.record.len() - self.at
    }

    #[inline]
    fn word(&mut self, field: &'static str) -> Result<u64, &'static str> {
        let word = self.endian.u64(self.record, self.at).ok_or(field)?;
        self.at += 8;
        Ok(word)
    }

    fn half(&mut self, field: &'static str) -> Result<u32, &'static str> {
        let half = self.endian.u32(self.record, self.at).ok_or(field)?;
        self.at += 4;
        Ok(half)
    }

    /// Offset of a word that is there if `present`.
    fn optional(&mut self, present: bool, field: &'static str) -> Result<Option<u16>, &'static str> {
        let here = self.here();
        match present {
            true => self.word(field).map(|_| Some(here)),
            false => Ok(None),
        }
    }

    #[inline]
    fn span(&mut self, n: u64, each: u64, field: &'static str) -> Result<Span, &'static str> {
        let len = n.checked_mul(each).filter(|&len| len <= self.left() as u64).ok_or(field)?;
        let start = self.here();
        self.at += len as usize;
        Ok(Span { start, len: len as u16 })
    }

    /// `{ u64 abi, regs[weight(mask)] }`; no registers if the ABI is none.
    fn regs(&mut self, mask: u64, field: &'static str) -> Result<RegsAt, &'static str> {
        let abi = self.word(field)?;
        let n = if abi == 0 { 0 } else { mask.count_ones() };
        Ok(RegsAt { abi, values: self.span(n.into(), 8, field)? })
    }
}
