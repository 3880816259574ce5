//! What to count and what to say of it: `struct perf_event_attr` with names and types.

use super::bits::{Branches, Fields, Flags, ReadFormat};
use perf_event_open_sys::bindings::{self as raw, perf_event_attr};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// An event by `type` and `config` to `config3`: hardware, software, or of a unit that /sys/bus/event_source lists.
    Event {
        /// `PERF_TYPE_*`, or the number of the unit.
        kind: u32,
        /// What of it.
        config: [u64; 4],
    },
    /// Each access to memory, or each execution of an instruction: a debug register.
    Breakpoint {
        /// Which access.
        access: Access,
        /// Virtual, in the process that is counted.
        address: u64,
        /// 1, 2, 4 or 8 bytes; of an instruction `sizeof(long)`.
        length: u64,
    },
}

/// What a breakpoint waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
#[repr(u32)]
pub enum Access {
    Read = 1,
    Write = 2,
    ReadWrite = 3,
    Execute = 4,
}

/// How often there is a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rate {
    /// Never: the event is only counted.
    #[default]
    Never,
    /// After so many events. With [`Fields::PERIOD`] the kernel takes each software event or breakpoint for a sample, clocks
    /// aside.
    Period(u64),
    /// So many times a second; the kernel adapts the period.
    Frequency(u64),
}

/// Where `precise_ip` is among the flags.
const PRECISE_SHIFT: u32 = 15;

/// What to count, how often to sample, and what to say then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Attr {
    /// What is counted.
    pub source: Source,
    /// How often there is a sample.
    pub rate: Rate,
    /// What a sample holds.
    pub fields: Fields,
    /// What reading gives.
    pub read_format: ReadFormat,
    /// Who is counted, and which other records there are.
    pub flags: Flags,
    /// 0 any skid, 1 constant, 2 none asked for, 3 none.
    pub precise: u8,
    /// Bytes in the ring, with [`Flags::WATERMARK`], or samples, after which a waiting reader is woken; 0 is half the ring.
    pub wakeup: u32,
    /// The clock of all times, `CLOCK_*`; the kernel's own if there is none.
    pub clock: Option<super::Clock>,
    /// With [`Fields::BRANCH_STACK`].
    pub branches: Branches,
    /// With [`Fields::REGS_USER`]: one bit a register.
    pub user_registers: u64,
    /// With [`Fields::STACK_USER`]: bytes, a multiple of 8.
    pub user_stack: u32,
    /// With [`Fields::REGS_INTR`]: one bit a register.
    pub registers: u64,
    /// Entries of a callchain; 0 is the system's limit.
    pub max_stack: u16,
    /// What the signal of [`Flags::SIGTRAP`] carries.
    pub signal_data: u64,
}

impl Attr {
    /// Counts `source` and says nothing.
    pub fn new(source: Source) -> Attr {
        Attr {
            source,
            rate: Rate::Never,
            fields: Fields::empty(),
            read_format: ReadFormat::empty(),
            flags: Flags::empty(),
            precise: 0,
            wakeup: 0,
            clock: None,
            branches: Branches::empty(),
            user_registers: 0,
            user_stack: 0,
            registers: 0,
            max_stack: 0,
            signal_data: 0,
        }
    }

    /// Its flags with those that other fields imply.
    pub fn all_flags(&self) -> u64 {
        let mut flags = self.flags;
        flags.set(Flags::FREQ, matches!(self.rate, Rate::Frequency(_)));
        flags.set(Flags::USE_CLOCKID, self.clock.is_some());
        flags.bits() | u64::from(self.precise & 3) << PRECISE_SHIFT
    }

    /// The bytes of the kernel's structure, which begins with `u32 type, size`.
    pub fn bytes(&self) -> Vec<u8> {
        let attr = self.raw();
        // SAFETY: the structure is initialised, has no padding, and lives until its bytes are copied.
        unsafe { std::slice::from_raw_parts((&raw const attr).cast::<u8>(), size_of_val(&attr)) }.to_vec()
    }

    /// The kernel's structure.
    pub(super) fn raw(&self) -> perf_event_attr {
        let mut attr = perf_event_attr { size: size_of::<perf_event_attr>() as u32, ..Default::default() };
        match self.source {
            Source::Event { kind, config: [config, config1, config2, config3] } => {
                (attr.type_, attr.config, attr.config3) = (kind, config, config3);
                (attr.config1, attr.config2) = (config1, config2);
            }
            Source::Breakpoint { access, address, length } => {
                (attr.type_, attr.bp_type) = (raw::PERF_TYPE_BREAKPOINT, access as u32);
                (attr.bp_addr, attr.bp_len) = (address, length);
            }
        }
        (attr.sample_period, attr.wakeup_events) = (self.rate.number(), self.wakeup);
        (attr.sample_type, attr.read_format) = (self.fields.bits(), self.read_format.bits());
        attr._bitfield_1 = raw::__BindgenBitfieldUnit::new(self.all_flags().to_ne_bytes());
        attr.clockid = self.clock.map_or(0, |clock| clock as i32);
        attr.branch_sample_type = self.branches.bits();
        (attr.sample_regs_user, attr.sample_stack_user) = (self.user_registers, self.user_stack);
        (attr.sample_regs_intr, attr.sample_max_stack) = (self.registers, self.max_stack);
        attr.sig_data = self.signal_data;
        attr
    }
}

impl Rate {
    /// `sample_period` or `sample_freq`.
    pub fn number(self) -> u64 {
        match self {
            Rate::Never => 0,
            Rate::Period(number) | Rate::Frequency(number) => number,
        }
    }
}
