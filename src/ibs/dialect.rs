//! What decides the meaning of a register's bits: the capability word, and in places the processor.

use super::Capabilities;

/// Which AMD processor, as CPUID tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Processor {
    /// With the extended family added: 10h is Barcelona, 1Ah is Zen 5.
    pub family: u32,
    /// With the extended model.
    pub model: u32,
}

impl Processor {
    /// From `vendor,family,model,stepping`, as `perf record` notes it; `None` for other vendors.
    pub fn parse(cpu_id: &str) -> Option<Processor> {
        let mut parts = cpu_id.strip_prefix("AuthenticAMD,")?.split(',').map(|part| part.trim().parse());
        Some(Processor { family: parts.next()?.ok()?, model: parts.next()?.ok()? })
    }

    fn is(self, family: u32, models: std::ops::Range<u32>) -> bool {
        self.family == family && models.contains(&self.model)
    }
}

/// What the bits mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dialect {
    /// Of the sample.
    pub capabilities: Capabilities,
    /// Of the recording, if it tells.
    pub processor: Option<Processor>,
}

impl Dialect {
    /// Whether the processor has a capability.
    pub fn has(&self, capability: u32) -> bool {
        self.capabilities.has(capability)
    }

    /// Whether the processor is known and of one of `families`.
    pub(super) fn family_in(&self, families: &[u32]) -> bool {
        self.processor.is_some_and(|p| families.contains(&p.family))
    }

    /// Family 15h models 00h to 0Fh, Bulldozer.
    pub(super) fn is_bulldozer(&self) -> bool {
        self.processor.is_some_and(|p| p.is(0x15, 0..0x10))
    }

    /// Whether op data say more of a cache miss: from family 15h models 30h and family 16h on. The same processors tell of
    /// fused branches, so that the capability word says it.
    pub(super) fn tells_of_misses(&self) -> bool {
        self.has(Capabilities::BRANCH_FUSED)
    }

    /// Family 19h models 00h to 0Fh: errata 1238 (no `IbsIcMiss`), 1293 (no `IbsL2Miss`, `IbsOpDcMissOpenMemReqs` and
    /// `IbsOpData2` where `IbsDcMissNoMabAlloc` or `IbsSwPf` is set) and 1347 (other encoding of `IbsL1TlbPgSz`).
    pub(super) fn is_first_zen3(&self) -> bool {
        self.processor.is_some_and(|p| p.is(0x19, 0..0x10))
    }

    /// Whether `NbIbsReqCacheHitSt` is not to be believed: family 19h models 00h to 0Fh and 20h to 5Fh.
    pub(super) fn hides_cache_state(&self) -> bool {
        self.is_first_zen3() || self.processor.is_some_and(|p| p.is(0x19, 0x20..0x60))
    }

    /// Whether a fetch says nothing without `IbsPhyAddrValid`: family 1Ah models 50h to 5Fh, 80h to AFh and C0h to CFh, and
    /// later families.
    pub(super) fn fetches_need_translation(&self) -> bool {
        self.processor.is_some_and(|p| {
            p.family > 0x1a
                || [0x50..0x60, 0x80..0xb0, 0xc0..0xd0].into_iter().any(|models| p.is(0x1a, models))
        })
    }

    /// Erratum 717 of family 15h models 00h to 0Fh: the branch target may be wrong.
    pub(super) fn doubts_branch_target(&self) -> bool {
        self.is_bulldozer()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_amd_processors_are_read() {
        let zen3 = Processor { family: 0x19, model: 1 };
        assert_eq!(Processor::parse("AuthenticAMD,25,1,1"), Some(zen3));
        assert_eq!(Processor::parse("GenuineIntel,6,85,4"), None);
        assert_eq!(Processor::parse("AuthenticAMD,25"), None);
        let dialect = Dialect { processor: Some(zen3), ..Dialect::default() };
        assert!(
            dialect.is_first_zen3() && dialect.hides_cache_state() && !dialect.fetches_need_translation()
        );
        let zen5 = Dialect { processor: Processor::parse("AuthenticAMD,26,80,0"), ..Dialect::default() };
        assert!(zen5.fetches_need_translation() && !Dialect::default().fetches_need_translation());
    }
}
