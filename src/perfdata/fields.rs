//! Views of the fields of a sample that are lists.

use linux_perf_event_reader::constants as c;

use super::CpuMode;
use super::bytes::{Endian, Words};

/// `PERF_CONTEXT_USER_DEFERRED`, Linux 6.18.
pub(super) const USER_DEFERRED: u64 = -640i64 as u64;

/// The call chain as stored: addresses, innermost first, with markers that tell the mode of what follows.
///
/// What stands before the first marker is of the sample's own mode; old kernels and some tools write no marker at all.
#[derive(Clone, Copy, Debug)]
pub struct Callchain<'a>(pub(super) Words<'a>);

impl<'a> Callchain<'a> {
    /// The entries as stored.
    pub fn bytes(&self) -> &'a [u8] {
        self.0.bytes()
    }

    /// Number of entries, markers included.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The `i`th entry.
    pub fn get(&self, i: usize) -> Option<u64> {
        self.0.get(i)
    }

    /// The entries in order, markers included.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u64> + ExactSizeIterator + Clone + use<'a> {
        self.0.iter()
    }

    /// The addresses in order, each with its index and its mode, which is `mode` before the first marker. Where the user's part
    /// was put off to a later record (`CALLCHAIN_DEFERRED`), the number by which that is found is no address and left out.
    pub fn frames(&self, mode: CpuMode) -> impl Iterator<Item = (usize, CpuMode, u64)> + use<'a> {
        let (mut mode, mut entries) = (mode, self.iter().enumerate());
        std::iter::from_fn(move || {
            loop {
                let (ix, entry) = entries.next()?;
                if entry == USER_DEFERRED {
                    entries.next();
                } else if Self::is_marker(entry) {
                    mode = Self::mode_of(entry).unwrap_or(mode);
                } else {
                    return Some((ix, mode, entry));
                }
            }
        })
    }

    /// Whether an entry is a marker.
    pub fn is_marker(entry: u64) -> bool {
        entry >= c::PERF_CONTEXT_MAX
    }

    /// The mode of what follows a marker; `None` for one that says nothing of it.
    pub fn mode_of(marker: u64) -> Option<CpuMode> {
        let modes =
            [CpuMode::User, CpuMode::Kernel, CpuMode::Hypervisor, CpuMode::GuestKernel, CpuMode::GuestUser];
        modes.into_iter().find(|&mode| Self::marker(mode) == Some(marker))
    }

    /// The marker that begins the part of `mode`.
    pub fn marker(mode: CpuMode) -> Option<u64> {
        match mode {
            CpuMode::User => Some(c::PERF_CONTEXT_USER),
            CpuMode::Kernel => Some(c::PERF_CONTEXT_KERNEL),
            CpuMode::Hypervisor => Some(c::PERF_CONTEXT_HV),
            CpuMode::GuestKernel => Some(c::PERF_CONTEXT_GUEST_KERNEL),
            CpuMode::GuestUser => Some(c::PERF_CONTEXT_GUEST_USER),
            CpuMode::Unknown => None,
        }
    }

    /// The indices of the entries of a sample's own `mode`, innermost first: where the sampled address repeats itself and a
    /// [`Patch`](super::Patch) takes effect. `None` if the chain has no part of that mode.
    pub fn part(&self, mode: CpuMode) -> Option<std::ops::Range<usize>> {
        let first = self.get(0)?;
        let start = if Self::is_marker(first) {
            let marker = Self::marker(mode)?;
            self.iter().position(|e| e == marker)? + 1
        } else {
            0
        };
        let len = self.iter().skip(start).take_while(|&e| !Self::is_marker(e)).count();
        Some(start..start + len)
    }
}

/// One branch that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BranchEntry {
    /// Address of the branch.
    pub from: u64,
    /// Address it went to.
    pub to: u64,
    /// What else is known about it.
    pub flags: BranchFlags,
}

/// `PERF_BR_SPEC_WRONG_PATH`
const SPEC_WRONG_PATH: u64 = 1;

/// The bit field of a branch entry, numbered as on a little-endian machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BranchFlags(pub u64);

impl BranchFlags {
    /// The target was mispredicted.
    pub fn mispredicted(self) -> bool {
        self.0 & 1 != 0
    }

    /// The target was predicted. If neither this nor [`Self::mispredicted`], it is not known.
    pub fn predicted(self) -> bool {
        self.0 & 2 != 0
    }

    /// Cycles since the branch before, 0 if not known.
    pub fn cycles(self) -> u16 {
        (self.0 >> 4) as u16
    }

    /// `PERF_BR_*`, 0 if not known.
    pub fn kind(self) -> u8 {
        (self.0 >> 20 & 0xf) as u8
    }

    /// It was on a way that the processor guessed and gave up: it did not happen.
    pub fn given_up(self) -> bool {
        self.0 >> 24 & 3 == SPEC_WRONG_PATH
    }

    /// From a word of the recording. A big-endian compiler fills the bit field from the most significant bit.
    fn from_word(word: u64, endian: Endian) -> BranchFlags {
        if endian == Endian::Little {
            return BranchFlags(word);
        }
        const WIDTHS: [u32; 9] = [1, 1, 1, 1, 16, 4, 2, 4, 3];
        let (mut flags, mut low) = (0, 0);
        for width in WIDTHS {
            flags |= (word << low >> (64 - width)) << low;
            low += width;
        }
        BranchFlags(flags)
    }
}

/// The last branches before a sample, the most recent first.
#[derive(Clone, Copy, Debug)]
pub struct BranchStack<'a> {
    pub(super) entries: &'a [u8],
    pub(super) endian: Endian,
    /// Index of the most recent entry in the hardware's buffer, if recorded.
    pub hw_index: Option<u64>,
    /// Event counts of each entry, if recorded.
    pub counters: Words<'a>,
}

impl<'a> BranchStack<'a> {
    /// Number of branches.
    pub fn len(&self) -> usize {
        self.entries.len() / 24
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The branches, most recent first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = BranchEntry> + Clone + use<'a> {
        let endian = self.endian;
        let (entries, _) = self.entries.as_chunks::<24>();
        entries.iter().map(move |raw| {
            let word = |i: usize| endian.u64(raw, 8 * i).unwrap_or(0);
            BranchEntry { from: word(0), to: word(1), flags: BranchFlags::from_word(word(2), endian) }
        })
    }
}

/// The value of one counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterValue {
    /// What it counted so far.
    pub value: u64,
    /// Its id, if recorded: it tells the event.
    pub id: Option<u64>,
    /// Samples it lost so far, if recorded.
    pub lost: Option<u64>,
}

/// Values of the event's counter, or of its whole group, at a sample (`PERF_SAMPLE_READ`).
#[derive(Clone, Copy, Debug)]
pub struct Counters<'a> {
    /// Nanoseconds for which the event was wanted, if recorded.
    pub time_enabled: Option<u64>,
    /// Nanoseconds for which it was counted, if recorded.
    pub time_running: Option<u64>,
    pub(super) single: Option<u64>,
    pub(super) values: Words<'a>,
    pub(super) has_id: bool,
    pub(super) has_lost: bool,
}

impl<'a> Counters<'a> {
    /// The counters, the group's leader first.
    pub fn iter(&self) -> impl Iterator<Item = CounterValue> + use<'a> {
        let Counters { single, values, has_id, has_lost, .. } = *self;
        let mut words = single.into_iter().chain(values.iter());
        std::iter::from_fn(move || {
            let value = words.next()?;
            let id = if has_id { words.next() } else { None };
            let lost = if has_lost { words.next() } else { None };
            Some(CounterValue { value, id, lost })
        })
    }
}

/// Registers at a sample.
#[derive(Clone, Copy, Debug)]
pub struct Registers<'a> {
    /// `PERF_SAMPLE_REGS_ABI_*`: 0 none, 1 of 32 bits, 2 of 64 bits.
    pub abi: u64,
    /// Which registers there are, `PERF_REG_*` of the recording's architecture.
    pub mask: u64,
    /// Their values, in ascending order of register numbers.
    pub values: Words<'a>,
    /// The program counter, if it is among them and the architecture is known.
    pub ip: Option<u64>,
    /// Its offset in the record.
    pub ip_offset: Option<usize>,
}

impl Registers<'_> {
    /// The value of a register.
    pub fn get(&self, register: u32) -> Option<u64> {
        let bit = 1u64.checked_shl(register)?;
        let before = (self.mask & (bit - 1)).count_ones() as usize;
        (self.mask & bit != 0).then(|| self.values.get(before)).flatten()
    }
}

/// `PERF_SAMPLE_WEIGHT`, or its newer form in three parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// One number: how costly the access was.
    Full(u64),
    /// Three numbers of the processor's choice, on Intel memory latency, instruction latency and pipeline stall.
    Struct(u32, u16, u16),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    fn part(words: &[u64], mode: CpuMode) -> Option<std::ops::Range<usize>> {
        Callchain(Words::new(&bytes(words), Endian::Little)).part(mode)
    }

    #[test]
    fn the_part_of_a_mode_is_behind_its_marker() {
        let chain = [c::PERF_CONTEXT_KERNEL, 1, 2, c::PERF_CONTEXT_USER, 3, 4, 5];
        assert_eq!(part(&chain, CpuMode::Kernel), Some(1..3));
        assert_eq!(part(&chain, CpuMode::User), Some(4..7));
        assert_eq!(part(&chain, CpuMode::GuestUser), None);
        assert_eq!(part(&chain, CpuMode::Unknown), None);
    }

    #[test]
    fn a_chain_without_marker_is_of_the_samples_mode() {
        assert_eq!(part(&[3, 4], CpuMode::User), Some(0..2));
        assert_eq!(part(&[3, 4, c::PERF_CONTEXT_USER, 5], CpuMode::Kernel), Some(0..2));
        assert_eq!(part(&[], CpuMode::User), None);
        assert_eq!(part(&[c::PERF_CONTEXT_USER], CpuMode::User), Some(1..1));
    }

    #[test]
    fn frames_have_the_mode_of_their_marker_and_leave_out_what_is_no_address() {
        let words = bytes(&[7, c::PERF_CONTEXT_KERNEL, 1, 2, c::PERF_CONTEXT_USER, 3]);
        let frames = |words: &[u8]| {
            Callchain(Words::new(words, Endian::Little)).frames(CpuMode::User).collect::<Vec<_>>()
        };
        let (kernel, user) = (CpuMode::Kernel, CpuMode::User);
        assert_eq!(frames(&words), [(0, user, 7), (2, kernel, 1), (3, kernel, 2), (5, user, 3)]);
        let words = bytes(&[c::PERF_CONTEXT_KERNEL, 1, USER_DEFERRED, 99]);
        assert_eq!(frames(&words), [(1, kernel, 1)]);
    }

    #[test]
    fn a_deferred_user_part_is_no_part() {
        assert_eq!(part(&[-640i64 as u64, 77], CpuMode::User), None);
    }

    #[test]
    fn branch_flags_read_the_same_from_both_byte_orders() {
        let little = BranchFlags::from_word(1 | 0x1234 << 4 | 5 << 20, Endian::Little);
        let big = BranchFlags::from_word(1 << 63 | 0x1234 << 44 | 5 << 40, Endian::Big);
        assert_eq!(little, big);
        assert_eq!((big.mispredicted(), big.predicted(), big.cycles(), big.kind()), (true, false, 0x1234, 5));
    }

    #[test]
    fn registers_are_found_by_their_rank_in_the_mask() {
        let b = bytes(&[10, 18, 20]);
        let values = Words::new(&b, Endian::Little);
        let regs = Registers { abi: 2, mask: 1 | 1 << 8 | 1 << 10, values, ip: None, ip_offset: None };
        assert_eq!((regs.get(8), regs.get(10), regs.get(1), regs.get(64)), (Some(18), Some(20), None, None));
    }
}
