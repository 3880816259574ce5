//! MSRC001_1037, `IBS_OP_DATA3`: what the op did in memory.

use super::{Field, Of};
use crate::ibs::Dialect;

/// It read.
pub const LOAD: Field = Field::bit("IbsLdOp", 0, Of::All);
/// It wrote.
pub const STORE: Field = Field::bit("IbsStOp", 1, Of::All);
/// It missed the first data TLB.
pub const L1_TLB_MISS: Field = Field::bit("IbsDcL1TlbMiss", 2, Of::All);
/// It missed the second data TLB.
pub const L2_TLB_MISS: Field = Field::bit("IbsDcL2TlbMiss", 3, Of::All);
/// It hit a page of 2 MiB in the first data TLB.
pub const L1_TLB_HIT_2M: Field = Field::bit("IbsDcL1TlbHit2M", 4, Of::All);
/// It hit a page of 1 GiB in the first data TLB.
pub const L1_TLB_HIT_1G: Field = Field::bit("IbsDcL1TlbHit1G", 5, Of::When(has_large_pages));
/// It hit a page of 2 MiB in the second data TLB.
pub const L2_TLB_HIT_2M: Field = Field::bit("IbsDcL2TlbHit2M", 6, Of::All);
/// It missed the data cache.
pub const MISS: Field = Field::bit("IbsDcMiss", 7, Of::All);
/// It crossed a boundary that costs time.
pub const MISALIGNED: Field = Field::bit("IbsDcMisAcc", 8, Of::All);
/// As a load it met another access to its bank.
pub const LOAD_BANK_CONFLICT: Field = Field::bit("IbsDcLdBnkCon", 9, Of::When(is_first));
/// As a store it met another access to its bank.
pub const STORE_BANK_CONFLICT: Field = Field::bit("IbsDcStBnkCon", 10, Of::When(has_store_conflicts));
/// It got its data from a store before it.
pub const FORWARDED: Field = Field::bit("IbsDcStToLdFwd", 11, Of::When(tells_of_forwarding));
/// It could not get its data from a store before it.
pub const FORWARDING_CANCELLED: Field = Field::bit("IbsDcStToLdCan", 12, Of::When(is_first));
/// Its memory combines writes.
pub const WRITE_COMBINING: Field = Field::bit("IbsDcWcMemAcc", 13, Of::All);
/// Its memory is not cached.
pub const UNCACHED: Field = Field::bit("IbsDcUcMemAcc", 14, Of::All);
/// It was locked.
pub const LOCKED: Field = Field::bit("IbsDcLockedOp", 15, Of::All);
/// A miss of its line was on its way already; before [`NO_BUFFER`].
pub const BUFFER_HIT: Field = Field::bit("IbsDcMabHit", 16, Of::When(tells_of_hits));
/// Its miss took no buffer of its own.
pub const NO_BUFFER: Field = Field::bit("IbsDcMissNoMabAlloc", 16, Of::When(Dialect::tells_of_misses));
/// Its address is known.
pub const LINEAR_VALID: Field = Field::bit("IbsDcLinAddrValid", 17, Of::All);
/// Its address was translated.
pub const PHYSICAL_VALID: Field = Field::bit("IbsDcPhyAddrValid", 18, Of::All);
/// It hit a page of 1 GiB in the second data TLB.
pub const L2_TLB_HIT_1G: Field = Field::bit("IbsDcL2tlbHit1G", 19, Of::When(has_large_pages));
/// It missed the second cache level.
pub const L2_MISS: Field = Field::bit("IbsL2Miss", 20, Of::When(Dialect::tells_of_misses));
/// It was a prefetch that the program asked for.
pub const PREFETCH: Field = Field::bit("IbsSwPf", 21, Of::When(Dialect::tells_of_misses));
/// Bytes accessed: 2 to the power of one less.
pub const WIDTH: Field = Field::bits("IbsOpMemWidth", 22, 4, Of::When(Dialect::tells_of_misses));
/// Misses on their way when its line came.
pub const OPEN_MISSES: Field =
    Field::bits("IbsOpDcMissOpenMemReqs", 26, 6, Of::When(Dialect::tells_of_misses));
/// Cycles from its miss to its data; of a load.
pub const MISS_LATENCY: Field = Field::bits("IbsDcMissLat", 32, 16, Of::All);
/// Cycles of refilling the first data TLB.
pub const TLB_LATENCY: Field = Field::bits("IbsTlbRefillLat", 48, 16, Of::When(Dialect::tells_of_misses));

/// All of them.
pub const FIELDS: [Field; 27] = [
    LOAD,
    STORE,
    L1_TLB_MISS,
    L2_TLB_MISS,
    L1_TLB_HIT_2M,
    L1_TLB_HIT_1G,
    L2_TLB_HIT_2M,
    MISS,
    MISALIGNED,
    LOAD_BANK_CONFLICT,
    STORE_BANK_CONFLICT,
    FORWARDED,
    FORWARDING_CANCELLED,
    WRITE_COMBINING,
    UNCACHED,
    LOCKED,
    BUFFER_HIT,
    NO_BUFFER,
    LINEAR_VALID,
    PHYSICAL_VALID,
    L2_TLB_HIT_1G,
    L2_MISS,
    PREFETCH,
    WIDTH,
    OPEN_MISSES,
    MISS_LATENCY,
    TLB_LATENCY,
];

/// Family 14h has no pages of 1 GiB.
fn has_large_pages(dialect: &Dialect) -> bool {
    !dialect.family_in(&[0x14])
}

fn is_first(dialect: &Dialect) -> bool {
    dialect.family_in(&[0x10, 0x12]) || dialect.is_bulldozer()
}

fn has_store_conflicts(dialect: &Dialect) -> bool {
    dialect.family_in(&[0x10, 0x12])
}

fn tells_of_forwarding(dialect: &Dialect) -> bool {
    dialect.family_in(&[0x10, 0x12, 0x14, 0x16]) || dialect.is_bulldozer()
}

fn tells_of_hits(dialect: &Dialect) -> bool {
    !dialect.tells_of_misses()
}
