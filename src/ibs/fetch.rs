//! A sampled instruction fetch.

use super::Dialect;
use super::register::{Field, Register, fetch_ctl as ctl, fetch_ctl_ext as ext};

/// The registers of a fetch, and what they say on this processor.
#[derive(Clone, Copy, Debug)]
pub struct Fetch {
    /// What the bits mean.
    pub dialect: Dialect,
    /// `IBS_FETCH_CTL`.
    pub control: Register,
    /// The fetched address.
    pub linear: u64,
    /// The same, translated.
    pub physical: u64,
    /// `IC_IBS_EXTD_CTL`.
    pub extended: Option<Register>,
    /// How many registers came behind those that are known.
    pub rest: usize,
}

/// Size of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageSize {
    /// 4 KiB.
    Small,
    /// 16 KiB: four small pages as one entry.
    Coalesced,
    /// 2 MiB.
    Large,
    /// 1 GiB.
    Huge,
    /// An encoding that means nothing.
    Reserved,
}

impl Fetch {
    /// A field, if the processor has it and it says something here.
    fn says(&self, field: &Field) -> bool {
        field.is_known(&self.dialect) && self.speaks() && self.control.is(field)
    }

    /// Whether what the fetch came to is told at all.
    fn speaks(&self) -> bool {
        !self.dialect.fetches_need_translation() || self.control.is(&ctl::PHYSICAL_VALID)
    }

    /// Whether the registers hold a sample.
    pub fn is_valid(&self) -> bool {
        self.control.is(&ctl::ENABLED) && self.control.is(&ctl::VALID)
    }

    /// It was given up before its address was translated (event select F001h).
    pub fn is_killed(&self) -> bool {
        const SIGNS: [&Field; 5] =
            [&ctl::COMPLETE, &ctl::IC_MISS, &ctl::PHYSICAL_VALID, &ctl::L1_TLB_MISS, &ctl::L2_TLB_MISS];
        !SIGNS.iter().any(|field| self.control.is(field))
    }

    /// It delivered bytes to the decoder.
    pub fn is_complete(&self) -> bool {
        self.control.is(&ctl::COMPLETE)
    }

    /// It was given up later than a killed one.
    pub fn is_aborted(&self) -> bool {
        !self.is_killed() && !self.is_complete()
    }

    /// It missed the instruction cache. Erratum 1238: not told on the first Zen 3.
    pub fn misses_cache(&self) -> bool {
        !self.dialect.is_first_zen3() && self.says(&ctl::IC_MISS)
    }

    /// It missed the first instruction TLB.
    pub fn misses_first_tlb(&self) -> bool {
        self.says(&ctl::L1_TLB_MISS)
    }

    /// It missed both instruction TLBs.
    pub fn misses_both_tlbs(&self) -> bool {
        self.misses_first_tlb() && self.says(&ctl::L2_TLB_MISS)
    }

    /// It missed the second cache level.
    pub fn misses_l2(&self) -> bool {
        self.is_complete() && self.says(&ctl::L2_MISS)
    }

    /// It missed the third cache level.
    pub fn misses_l3(&self) -> bool {
        self.says(&ctl::L3_MISS)
    }

    /// It missed the op cache.
    pub fn misses_op_cache(&self) -> bool {
        self.says(&ctl::OP_CACHE_MISS)
    }

    /// The size of its page, if its address was translated.
    pub fn page_size(&self) -> Option<PageSize> {
        use PageSize::{Coalesced, Huge, Large, Reserved, Small};
        // erratum 1347
        let sizes = match self.dialect.is_first_zen3() {
            true => [Small, Coalesced, Large, Huge],
            false => [Small, Large, Huge, Reserved],
        };
        let translated = self.control.is(&ctl::PHYSICAL_VALID);
        translated.then(|| sizes[self.control.get(&ctl::PAGE_SIZE) as usize & 3])
    }

    /// Cycles that it took; of a killed one there is nothing to say.
    pub fn latency(&self) -> Option<u64> {
        (!self.is_killed() && self.speaks()).then(|| self.control.get(&ctl::LATENCY))
    }

    /// Cycles of refilling the instruction TLB, if it missed.
    pub fn tlb_latency(&self) -> Option<u64> {
        let extended = self.extended.filter(|_| self.misses_first_tlb())?;
        Some(extended.get(&ext::TLB_LATENCY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ibs::{Capabilities, Processor};

    fn fetch(control: u64, processor: Option<(u32, u32)>) -> Fetch {
        let processor = processor.map(|(family, model)| Processor { family, model });
        let dialect = Dialect { capabilities: Capabilities(0xbff), processor };
        Fetch { dialect, control: Register(control), linear: 0, physical: 0, extended: None, rest: 0 }
    }

    #[test]
    fn a_fetch_is_killed_complete_or_aborted() {
        let of = |bits: u64| {
            let fetch = fetch(bits | 0xffff_ffff_ffff | 3 << 48, None);
            (fetch.is_killed(), fetch.is_complete(), fetch.is_aborted())
        };
        assert_eq!(of(0), (true, false, false));
        assert_eq!(of(1 << 50), (false, true, false));
        for sign in [51, 52, 55, 56] {
            assert_eq!(of(1 << sign), (false, false, true), "bit {sign}");
        }
    }

    #[test]
    fn errata_silence_fields() {
        let all = u64::MAX;
        assert!(fetch(all, None).misses_cache() && fetch(all, Some((0x19, 0x10))).misses_cache());
        assert!(!fetch(all, Some((0x19, 1))).misses_cache(), "erratum 1238");
        assert_eq!(fetch(all, Some((0x19, 1))).page_size(), Some(PageSize::Huge), "erratum 1347");
        assert_eq!(fetch(all, Some((0x19, 0x10))).page_size(), Some(PageSize::Reserved));
        let untranslated = all & !(1 << 52);
        assert!(fetch(untranslated, Some((0x1a, 0))).misses_both_tlbs());
        let silent = fetch(untranslated, Some((0x1a, 0x50)));
        assert!(!silent.misses_both_tlbs() && silent.latency().is_none() && silent.page_size().is_none());
    }
}
