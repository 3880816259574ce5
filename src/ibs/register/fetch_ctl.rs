//! MSRC001_1030, `IBS_FETCH_CTL`: what became of the fetch.

use super::{Field, Of};
use crate::ibs::{Capabilities, Dialect};

/// Sampling period: completed fetches, in units of 16.
pub const MAX_COUNT: Field = Field::bits("IbsFetchMaxCnt", 0, 16, Of::All);
/// Completed fetches so far, in units of 16.
pub const COUNT: Field = Field::bits("IbsFetchCnt", 16, 16, Of::All);
/// Cycles from its start to its completion or abort.
pub const LATENCY: Field = Field::bits("IbsFetchLat", 32, 16, Of::All);
/// Sampling is on.
pub const ENABLED: Field = Field::bit("IbsFetchEn", 48, Of::All);
/// There is a sample.
pub const VALID: Field = Field::bit("IbsFetchVal", 49, Of::All);
/// It delivered bytes to the decoder.
pub const COMPLETE: Field = Field::bit("IbsFetchComp", 50, Of::All);
/// It missed the instruction cache.
pub const IC_MISS: Field = Field::bit("IbsIcMiss", 51, Of::All);
/// Its address was translated.
pub const PHYSICAL_VALID: Field = Field::bit("IbsPhyAddrValid", 52, Of::All);
/// Size of its page.
pub const PAGE_SIZE: Field = Field::bits("IbsL1TlbPgSz", 53, 2, Of::All);
/// It missed the first instruction TLB.
pub const L1_TLB_MISS: Field = Field::bit("IbsL1TlbMiss", 55, Of::All);
/// It missed the second instruction TLB.
pub const L2_TLB_MISS: Field = Field::bit("IbsL2TlbMiss", 56, Of::All);
/// The lowest bits of the counter are random.
pub const RANDOM: Field = Field::bit("IbsRandEn", 57, Of::All);
/// It missed the second cache level; of a complete fetch.
pub const L2_MISS: Field = Field::bit("IbsFetchL2Miss", 58, Of::When(has_l2_miss));
/// Only fetches that miss the third cache level are sampled.
pub const L3_MISS_ONLY: Field = Field::bit("IbsFetchL3MissOnly", 59, Of::Capability(Capabilities::ZEN4));
/// It missed the op cache.
pub const OP_CACHE_MISS: Field = Field::bit("IbsFetchOcMiss", 60, Of::Capability(Capabilities::ZEN4));
/// It missed the third cache level.
pub const L3_MISS: Field = Field::bit("IbsFetchL3Miss", 61, Of::Capability(Capabilities::ZEN4));

/// All of them.
pub const FIELDS: [Field; 16] = [
    MAX_COUNT,
    COUNT,
    LATENCY,
    ENABLED,
    VALID,
    COMPLETE,
    IC_MISS,
    PHYSICAL_VALID,
    PAGE_SIZE,
    L1_TLB_MISS,
    L2_TLB_MISS,
    RANDOM,
    L2_MISS,
    L3_MISS_ONLY,
    OP_CACHE_MISS,
    L3_MISS,
];

/// From family 17h on. Where the family is not known, the capability that came with it has to do.
fn has_l2_miss(dialect: &Dialect) -> bool {
    match dialect.processor {
        Some(processor) => processor.family >= 0x17,
        None => dialect.has(Capabilities::FETCH_EXTENDED),
    }
}
