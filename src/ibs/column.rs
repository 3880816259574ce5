//! The columns of the tables: what of a sample is counted under which name.
//!
//! Those of fetches and ops are the derived events that CodeAnalyst showed; what newer processors tell beyond them has columns
//! of its own.

use super::register::op_data3 as data3;
use super::{Access, DataSource, Fetch, Level, Op, PageSize, Translation};

/// A column of a table of samples `S`.
pub struct Column<S: 'static> {
    /// For programs.
    pub key: &'static str,
    /// For people.
    pub heading: &'static str,
    /// What it says, in a clause.
    pub about: &'static str,
    /// Whether it has a place in a table that has to be narrow.
    pub brief: bool,
    /// How a sample counts.
    pub value: Value<S>,
}

/// How a sample counts.
pub enum Value<S: 'static> {
    /// It does if this is true of it.
    Count(fn(&S) -> bool),
    /// Its value goes into a mean, if it has one.
    Mean(fn(&S) -> Option<u64>),
}

/// What a column holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Samples that count.
    pub n: u64,
    /// Sum of their values, of a mean.
    pub sum: u64,
}

impl Cell {
    /// Adds what another cell of the same column holds.
    pub fn add(&mut self, other: Cell) {
        self.n += other.n;
        self.sum = self.sum.saturating_add(other.sum);
    }

    /// The mean; `None` of nothing.
    pub fn mean(self) -> Option<f64> {
        (self.n > 0).then(|| self.sum as f64 / self.n as f64)
    }
}

/// Counts a sample. `cells` has one for each column.
pub fn tally<S>(columns: &[Column<S>], sample: &S, cells: &mut [Cell]) {
    for (column, cell) in columns.iter().zip(cells) {
        let value = match column.value {
            Value::Count(counts) => counts(sample).then_some(0),
            Value::Mean(value) => value(sample),
        };
        if let Some(value) = value {
            cell.add(Cell { n: 1, sum: value });
        }
    }
}

const fn column<S>(
    (key, heading, brief): (&'static str, &'static str, bool),
    about: &'static str,
    value: Value<S>,
) -> Column<S> {
    Column { key, heading, about, brief, value }
}

const BRIEF: bool = true;
const MORE: bool = false;

use Value::{Count, Mean};

/// Of fetches.
pub static FETCH: [Column<Fetch>; 15] = [
    column(("all", "All", BRIEF), "samples", Count(|_| true)),
    column(
        ("killed", "Killed", BRIEF),
        "given up before the address was translated",
        Count(Fetch::is_killed),
    ),
    column(("attempted", "Attempted", BRIEF), "not killed", Count(|f| !f.is_killed())),
    column(("completed", "Completed", BRIEF), "delivered to the decoder", Count(Fetch::is_complete)),
    column(("aborted", "Aborted", BRIEF), "attempted and not completed", Count(Fetch::is_aborted)),
    column(("ic_miss", "IC miss", BRIEF), "missed the instruction cache", Count(Fetch::misses_cache)),
    column(
        ("itlb_l1m_l2h", "ITLB L1M L2H", MORE),
        "missed the first instruction TLB and hit the second",
        Count(|f| f.misses_first_tlb() && !f.misses_both_tlbs()),
    ),
    column(
        ("itlb_l1m_l2m", "ITLB L1M L2M", BRIEF),
        "missed both instruction TLBs",
        Count(Fetch::misses_both_tlbs),
    ),
    column(("l2_miss", "L2 miss", MORE), "missed the second cache level", Count(Fetch::misses_l2)),
    column(("l3_miss", "L3 miss", MORE), "missed the third cache level", Count(Fetch::misses_l3)),
    column(("oc_miss", "OC miss", MORE), "missed the op cache", Count(Fetch::misses_op_cache)),
    column(
        ("page_4k", "4K page", MORE),
        "on a page of 4 or, coalesced, 16 KiB",
        Count(|f| matches!(f.page_size(), Some(PageSize::Small | PageSize::Coalesced))),
    ),
    column(
        ("page_large", "Large page", MORE),
        "on a page of 2 MiB or 1 GiB",
        Count(|f| matches!(f.page_size(), Some(PageSize::Large | PageSize::Huge))),
    ),
    column(
        ("latency", "Latency", BRIEF),
        "cycles from its start to its end, mean of attempts",
        Mean(Fetch::latency),
    ),
    column(
        ("itlb_latency", "ITLB latency", MORE),
        "cycles of refilling the instruction TLB, mean",
        Mean(Fetch::tlb_latency),
    ),
];

/// Of ops.
pub static OP: [Column<Op>; 34] = [
    column(("all", "All ops", BRIEF), "samples", Count(|_| true)),
    column(("branch", "BR", BRIEF), "branches", Count(Op::is_branch)),
    column(("mispredicted", "Misp", BRIEF), "mispredicted branches", Count(Op::is_mispredicted)),
    column(("taken", "Taken", MORE), "taken branches", Count(Op::is_taken)),
    column(("return", "Return", MORE), "returns", Count(Op::is_return)),
    column(
        ("return_mispredicted", "Return misp", MORE),
        "mispredicted returns",
        Count(Op::is_mispredicted_return),
    ),
    column(("resync", "Resync", MORE), "made the pipeline start anew", Count(Op::is_resync)),
    column(("fused", "Fused", MORE), "branches fused with what they depend on", Count(Op::is_fused)),
    column(("microcode", "Microcode", MORE), "from microcode", Count(Op::is_microcode)),
    column(
        ("tag_to_retire", "Tag to ret", MORE),
        "cycles from tag to retirement, mean",
        Mean(|op| Some(op.tag_to_retirement())),
    ),
    column(
        ("completion_to_retire", "Comp to ret", MORE),
        "cycles from completion to retirement, mean",
        Mean(|op| Some(op.completion_to_retirement())),
    ),
    column(("load_store", "Load/store", BRIEF), "read or wrote", Count(Op::accesses)),
    column(("load", "Load", BRIEF), "read", Count(Op::is_load)),
    column(("store", "Store", BRIEF), "wrote", Count(Op::is_store)),
    column(("dc_miss", "DC miss", BRIEF), "missed the data cache", Count(Op::misses_cache)),
    column(
        ("dtlb_l1m_l2h", "DTLB L1M L2H", MORE),
        "missed the first data TLB and hit the second",
        Count(|op| op.translation() == Some(Translation::Second)),
    ),
    column(
        ("dtlb_l1m_l2m", "DTLB L1M L2M", BRIEF),
        "missed both data TLBs",
        Count(|op| op.translation() == Some(Translation::Missed)),
    ),
    column(("l2_miss", "L2 miss", MORE), "missed the second cache level", Count(Op::misses_l2)),
    column(("mab_hit", "MAB hit", MORE), "missed a line that was on its way already", Count(Op::meets_miss)),
    column(
        ("misaligned", "Misaligned", MORE),
        "crossed a boundary",
        Count(|op| op.access_is(&data3::MISALIGNED)),
    ),
    column(
        ("bank_conflict", "Bank conflict", MORE),
        "met another access to its bank of the cache",
        Count(|op| op.access_is(&data3::LOAD_BANK_CONFLICT) || op.access_is(&data3::STORE_BANK_CONFLICT)),
    ),
    column(
        ("forwarded", "Forwarded", MORE),
        "got its data from a store before it",
        Count(|op| op.is_load() && op.access_is(&data3::FORWARDED)),
    ),
    column(
        ("forwarding_cancelled", "Fwd cancelled", MORE),
        "could not get its data from a store before it",
        Count(|op| op.is_load() && op.access_is(&data3::FORWARDING_CANCELLED)),
    ),
    column(("locked", "Locked", MORE), "locked", Count(|op| op.access_is(&data3::LOCKED))),
    column(
        ("uncached", "Uncached", MORE),
        "of memory that is not cached",
        Count(|op| op.access_is(&data3::UNCACHED)),
    ),
    column(
        ("write_combining", "WC", MORE),
        "of memory that combines writes",
        Count(|op| op.access_is(&data3::WRITE_COMBINING)),
    ),
    column(
        ("prefetch", "Prefetch", MORE),
        "prefetches by the program",
        Count(|op| op.access_is(&data3::PREFETCH)),
    ),
    column(
        ("from_cache", "From cache", MORE),
        "loads answered by a cache of the same node",
        Count(|op| matches!(op.source(), Some(DataSource::LocalCache | DataSource::NearCache))),
    ),
    column(
        ("from_memory", "From memory", MORE),
        "loads answered by memory",
        Count(|op| {
            use DataSource::{Dram, ExtensionMemory, PeerMemory, SlowMemory};
            matches!(op.source(), Some(Dram | SlowMemory | ExtensionMemory | PeerMemory))
        }),
    ),
    column(
        ("from_io", "From I/O", MORE),
        "loads answered by devices",
        Count(|op| op.source() == Some(DataSource::Io)),
    ),
    column(("remote", "Remote", MORE), "loads answered by another node", Count(Op::is_remote)),
    column(
        ("hitm", "HITM", MORE),
        "loads of a line that another cache had changed",
        Count(Op::hits_modified),
    ),
    column(
        ("miss_latency", "Miss latency", BRIEF),
        "cycles from a load's miss to its data, mean",
        Mean(Op::miss_latency),
    ),
    column(
        ("dtlb_latency", "DTLB latency", MORE),
        "cycles of refilling the data TLB, mean",
        Mean(Op::tlb_latency),
    ),
];

/// Of accesses that the kernel describes.
pub static MEMORY: [Column<Access>; 17] = [
    column(("all", "All", BRIEF), "samples", Count(|_| true)),
    column(("load", "Load", BRIEF), "read", Count(Access::is_load)),
    column(("store", "Store", BRIEF), "wrote", Count(Access::is_store)),
    column(("prefetch", "Prefetch", MORE), "prefetches", Count(Access::is_prefetch)),
    column(
        ("l1_hit", "L1 hit", BRIEF),
        "answered by the first cache level",
        Count(|a| a.came_from(Level::L1)),
    ),
    column(
        ("dc_miss", "DC miss", BRIEF),
        "not answered by the first cache level",
        Count(Access::misses_cache),
    ),
    column(
        ("fill_buffer", "LFB", MORE),
        "of a line that was on its way already",
        Count(|a| a.came_from(Level::FillBuffer)),
    ),
    column(
        ("l2_hit", "L2 hit", MORE),
        "answered by the second cache level",
        Count(|a| a.came_from(Level::L2)),
    ),
    column(
        ("l3_hit", "L3 hit", BRIEF),
        "answered by the third cache level",
        Count(|a| a.came_from(Level::L3)),
    ),
    column(
        ("from_cache", "Cache", MORE),
        "answered by another cache",
        Count(|a| a.came_from(Level::OtherCache)),
    ),
    column(("from_memory", "Memory", BRIEF), "answered by memory", Count(|a| a.came_from(Level::Ram))),
    column(
        ("from_io", "I/O", MORE),
        "of devices, or of memory that is not cached",
        Count(|a| a.came_from(Level::Io)),
    ),
    column(("remote", "Remote", MORE), "answered by another node", Count(Access::is_remote)),
    column(("hitm", "HITM", BRIEF), "of a line that another core had changed", Count(Access::hits_modified)),
    column(("dtlb_miss", "DTLB miss", BRIEF), "missed the data TLBs", Count(Access::misses_tlb)),
    column(("locked", "Locked", MORE), "locked", Count(Access::is_locked)),
    column(
        ("latency", "Latency", BRIEF),
        "cycles of the access as the sample weighs it, mean",
        Mean(|a| a.latency),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn distinct<S>(columns: &[Column<S>]) {
        let keys: BTreeSet<&str> = columns.iter().map(|column| column.key).collect();
        assert_eq!(keys.len(), columns.len());
        assert!(columns[0].key == "all", "the first column counts every sample");
    }

    #[test]
    fn no_two_columns_of_a_table_share_a_key() {
        distinct(&FETCH);
        distinct(&OP);
        distinct(&MEMORY);
    }

    #[test]
    fn a_mean_is_of_the_samples_that_have_a_value() {
        let columns = [
            column(("n", "", false), "", Count(|_: &Option<u64>| true)),
            column(("mean", "", false), "", Mean(|value: &Option<u64>| *value)),
        ];
        let mut cells = [Cell::default(); 2];
        [Some(10), None, Some(20)].iter().for_each(|sample| tally(&columns, sample, &mut cells));
        assert_eq!((cells[0].n, cells[1].n, cells[1].mean()), (3, 2, Some(15.0)));
        assert_eq!(Cell::default().mean(), None);
    }
}
