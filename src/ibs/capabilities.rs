//! What a processor's sampling can do: the word in front of the registers of every sample.

use std::fmt;

/// CPUID Fn8000_001B_EAX, as the kernel found it when the recording was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Capabilities(pub u32);

impl Capabilities {
    /// The feature bits are valid.
    pub const VALID: u32 = 0;
    /// Fetch sampling.
    pub const FETCH: u32 = 1;
    /// Op sampling.
    pub const OP: u32 = 2;
    /// The op counter can be read and written.
    pub const OP_COUNTER: u32 = 3;
    /// Ops can be tagged by dispatched ops instead of cycles.
    pub const OP_COUNT: u32 = 4;
    /// The target of a branch is reported.
    pub const BRANCH_TARGET: u32 = 5;
    /// The op counter and its limit have seven bits more.
    pub const OP_COUNT_EXTENDED: u32 = 6;
    /// A sample says when its address is not valid.
    pub const RIP_INVALID: u32 = 7;
    /// A sample says whether a branch was fused with what it depends on.
    pub const BRANCH_FUSED: u32 = 8;
    /// Fetches have a second control register, with the latency of the instruction TLB.
    pub const FETCH_EXTENDED: u32 = 9;
    /// Ops have a fourth data register.
    pub const OP_DATA4: u32 = 10;
    /// Misses of the third cache level, and finer sources of data.
    pub const ZEN4: u32 = 11;
    /// Loads are sampled only above a latency.
    pub const LOAD_LATENCY: u32 = 12;
    /// Streaming stores and remote sockets are reported.
    pub const STREAMING_STORE: u32 = 16;
    /// Page sizes of the data TLB are reported in the place of which level hit them.
    pub const DTLB_PAGE_SIZE: u32 = 19;

    /// Whether a bit is set.
    pub fn has(self, bit: u32) -> bool {
        1u32.checked_shl(bit).is_some_and(|mask| self.0 & mask != 0)
    }

    /// Names of the bits that are set, lowest first; `bit 17` where none is known.
    pub fn names(self) -> impl Iterator<Item = String> {
        (0..u32::BITS).filter(move |&bit| self.has(bit)).map(|bit| match name(bit) {
            Some(name) => name.to_owned(),
            None => format!("bit {bit}"),
        })
    }

    /// The bits that are set and that no name is known of.
    pub fn unknown(self) -> u32 {
        (0..u32::BITS).filter(|&bit| self.has(bit) && name(bit).is_none()).map(|bit| 1 << bit).sum()
    }
}

/// As AMD's manuals call it; from bit 12 on as Linux does (`IBS_CAPS_*`).
fn name(bit: u32) -> Option<&'static str> {
    const NAMES: [&str; 17] = [
        "IBSFFV",
        "FetchSam",
        "OpSam",
        "RdWrOpCnt",
        "OpCnt",
        "BrnTrgt",
        "OpCntExt",
        "RipInvalidChk",
        "OpBrnFuse",
        "IbsFetchCtlExtd",
        "IbsOpData4",
        "Zen4IbsExtensions",
        "OpLdLat",
        "Dis",
        "FetchLat",
        "Bit63Filter",
        "StrmStRmtSocket",
    ];
    match bit {
        19 => Some("OpDtlbPgSize"),
        bit => NAMES.get(bit as usize).copied(),
    }
}

impl fmt::Display for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)?;
        self.names().try_for_each(|name| write!(f, " {name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_is_named_or_numbered() {
        let all = Capabilities(u32::MAX);
        assert_eq!(all.names().count(), 32);
        assert_eq!(all.unknown(), !0x9_ffff);
        let odd = Capabilities(1 << 11 | 1 << 17 | 1 << 31);
        assert_eq!(odd.to_string(), "0x80020800 Zen4IbsExtensions bit 17 bit 31");
        assert!(!all.has(32) && !all.has(99));
    }
}
