//! A sampled op that retired.

use super::register::{
    Field, Register, op_ctl as ctl, op_data as data, op_data2 as data2, op_data3 as data3,
};
use super::{Capabilities, Counting, DataSource, Dialect, PageSize};

/// The registers of an op, and what they say on this processor.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// What the bits mean.
    pub dialect: Dialect,
    /// `IBS_OP_CTL`.
    pub control: Register,
    /// `IBS_OP_RIP`: its instruction.
    pub rip: u64,
    /// `IBS_OP_DATA`.
    pub data: Register,
    /// `IBS_OP_DATA2`.
    pub data2: Register,
    /// `IBS_OP_DATA3`.
    pub data3: Register,
    /// `IBS_DC_LINADDR`: the address it accessed.
    pub linear: u64,
    /// `IBS_DC_PHYSADDR`: the same, translated.
    pub physical: u64,
    /// `BP_IBSTGT_RIP`: where it branched to.
    pub target: Option<u64>,
    /// `IBS_OP_DATA4`.
    pub data4: Option<Register>,
    /// How many registers came behind those that are known.
    pub rest: usize,
}

/// Where the address of an access was translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Translation {
    /// In the first data TLB.
    First,
    /// In the second.
    Second,
    /// In neither.
    Missed,
}

impl Op {
    fn says(&self, register: Register, field: &Field) -> bool {
        field.is_known(&self.dialect) && register.is(field)
    }

    fn memory(&self, field: &Field) -> bool {
        self.says(self.data3, field)
    }

    /// Whether the registers hold a sample.
    pub fn is_valid(&self) -> bool {
        self.control.is(&ctl::ENABLED) && self.control.is(&ctl::VALID)
    }

    /// By what it was chosen.
    pub fn counting(&self) -> Counting {
        if self.says(self.control, &ctl::COUNTS_OPS) { Counting::Ops } else { Counting::Cycles }
    }

    /// The address of its instruction, if that is known.
    pub fn address(&self) -> Option<u64> {
        (!self.says(self.data, &data::RIP_INVALID)).then_some(self.rip)
    }

    /// Cycles from its being tagged to its retirement.
    pub fn tag_to_retirement(&self) -> u64 {
        self.data.get(&data::TAG_TO_RETIREMENT)
    }

    /// Cycles from its completion to its retirement.
    pub fn completion_to_retirement(&self) -> u64 {
        self.data.get(&data::COMPLETION_TO_RETIREMENT)
    }

    /// It was a branch (event select F103h).
    pub fn is_branch(&self) -> bool {
        self.data.is(&data::BRANCH)
    }

    /// It was a mispredicted branch.
    pub fn is_mispredicted(&self) -> bool {
        self.is_branch() && self.data.is(&data::MISPREDICTED)
    }

    /// It was a taken branch.
    pub fn is_taken(&self) -> bool {
        self.is_branch() && self.data.is(&data::TAKEN)
    }

    /// It was a return.
    pub fn is_return(&self) -> bool {
        self.is_branch() && self.data.is(&data::RETURN)
    }

    /// It was a mispredicted return.
    pub fn is_mispredicted_return(&self) -> bool {
        let told = self.is_branch() && self.says(self.data, &data::MISPREDICTED_RETURN);
        told || self.is_return() && self.is_mispredicted()
    }

    /// It made the pipeline start anew.
    pub fn is_resync(&self) -> bool {
        self.says(self.data, &data::RESYNC)
    }

    /// It was a branch fused with what it depends on.
    pub fn is_fused(&self) -> bool {
        self.is_branch() && self.says(self.data, &data::FUSED)
    }

    /// It came from microcode.
    pub fn is_microcode(&self) -> bool {
        self.says(self.data, &data::MICROCODE)
    }

    /// Where it branched to, if that is told and can be believed.
    pub fn branched_to(&self) -> Option<u64> {
        let believed = self.is_branch() && !self.dialect.doubts_branch_target();
        self.target.filter(|&target| believed && target != 0)
    }

    /// It read.
    pub fn is_load(&self) -> bool {
        self.memory(&data3::LOAD)
    }

    /// It wrote.
    pub fn is_store(&self) -> bool {
        self.memory(&data3::STORE)
    }

    /// It read or wrote.
    pub fn accesses(&self) -> bool {
        self.is_load() || self.is_store()
    }

    /// An access of which `field` is true.
    pub fn access_is(&self, field: &Field) -> bool {
        self.accesses() && self.memory(field)
    }

    /// It missed the data cache; of memory that is not cached there is nothing to say.
    pub fn misses_cache(&self) -> bool {
        self.access_is(&data3::MISS) && !self.memory(&data3::UNCACHED)
    }

    /// It missed the second cache level too.
    pub fn misses_l2(&self) -> bool {
        self.misses_cache() && self.memory(&data3::L2_MISS) && !self.is_garbled()
    }

    /// A miss of its line was on its way already (erratum 717: only if it missed).
    pub fn meets_miss(&self) -> bool {
        self.misses_cache() && (self.memory(&data3::BUFFER_HIT) || self.memory(&data3::NO_BUFFER))
    }

    /// Erratum 1293: what came of its miss is void.
    pub(super) fn is_garbled(&self) -> bool {
        let trigger = self.data3.is(&data3::NO_BUFFER) || self.data3.is(&data3::PREFETCH);
        self.dialect.is_first_zen3() && trigger
    }

    /// Cycles from its miss to its data, which only loads tell reliably (event select F219h).
    pub fn miss_latency(&self) -> Option<u64> {
        (self.is_load() && self.misses_cache()).then(|| self.data3.get(&data3::MISS_LATENCY))
    }

    /// Where its address was translated, if it has one.
    pub fn translation(&self) -> Option<Translation> {
        let valid = match self.dialect.has(Capabilities::DTLB_PAGE_SIZE) {
            true => self.memory(&data3::LINEAR_VALID) && self.memory(&data3::PHYSICAL_VALID),
            false => self.memory(&data3::LINEAR_VALID),
        };
        let found = match (self.memory(&data3::L1_TLB_MISS), self.memory(&data3::L2_TLB_MISS)) {
            (false, _) => Translation::First,
            (true, false) => Translation::Second,
            (true, true) => Translation::Missed,
        };
        (valid && self.accesses()).then_some(found)
    }

    /// The size of its page, where a TLB knew it.
    pub fn page_size(&self) -> Option<PageSize> {
        let sized = |large: &Field, huge: &Field| match (self.memory(large), self.memory(huge)) {
            (false, false) => PageSize::Small,
            (true, false) => PageSize::Large,
            (false, true) => PageSize::Huge,
            (true, true) => PageSize::Reserved,
        };
        let first = || sized(&data3::L1_TLB_HIT_2M, &data3::L1_TLB_HIT_1G);
        match self.translation()? {
            _ if self.dialect.has(Capabilities::DTLB_PAGE_SIZE) => Some(first()),
            Translation::First => Some(first()),
            Translation::Second => Some(sized(&data3::L2_TLB_HIT_2M, &data3::L2_TLB_HIT_1G)),
            Translation::Missed => None,
        }
    }

    /// Cycles of refilling the first data TLB, if it missed; Zen 4 tells it of translated addresses only.
    pub fn tlb_latency(&self) -> Option<u64> {
        let missed = self.translation().is_some_and(|at| at != Translation::First);
        let told = !self.dialect.has(Capabilities::ZEN4) || self.memory(&data3::PHYSICAL_VALID);
        let known = data3::TLB_LATENCY.is_known(&self.dialect);
        (missed && told && known).then(|| self.data3.get(&data3::TLB_LATENCY))
    }

    /// Bytes that it accessed.
    pub fn width(&self) -> Option<u64> {
        let width = if data3::WIDTH.is_known(&self.dialect) { self.data3.get(&data3::WIDTH) } else { 0 };
        (self.accesses() && width > 0).then(|| 1 << (width - 1))
    }

    /// What its data came from: of loads that missed the data cache, and the second level where that is told.
    pub fn source(&self) -> Option<DataSource> {
        let hit_l2 = self.dialect.tells_of_misses() && !self.memory(&data3::L2_MISS);
        let void = !self.is_load() || !self.misses_cache() || hit_l2 || self.is_garbled();
        if void { None } else { DataSource::of(self.data2, &self.dialect) }
    }

    /// Whether its data came from a cache that had changed them.
    pub fn hits_modified(&self) -> bool {
        use DataSource::{FarCache, LocalCache, NearCache};
        let cache = matches!(self.source(), Some(LocalCache | NearCache | FarCache));
        let told = !self.dialect.hides_cache_state() && data2::OWNED.is_known(&self.dialect);
        cache && told && !self.data2.is(&data2::OWNED)
    }

    /// Whether its data came from another node.
    pub fn is_remote(&self) -> bool {
        let far = |source| source == DataSource::FarCache;
        self.source().is_some_and(|source| far(source) || self.says(self.data2, &data2::REMOTE))
    }
}

#[cfg(test)]
#[path = "op/tests.rs"]
mod tests;
