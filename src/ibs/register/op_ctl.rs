//! MSRC001_1033, `IBS_OP_CTL`: how ops are chosen.

use super::{Field, Of};
use crate::ibs::Capabilities;

/// Sampling period, in units of 16.
pub const MAX_COUNT: Field = Field::bits("IbsOpMaxCnt", 0, 16, Of::All);
/// Only ops that miss the third cache level are sampled.
pub const L3_MISS_ONLY: Field = Field::bit("IbsOpL3MissOnly", 16, Of::Capability(Capabilities::ZEN4));
/// Sampling is on.
pub const ENABLED: Field = Field::bit("IbsOpEn", 17, Of::All);
/// There is a sample.
pub const VALID: Field = Field::bit("IbsOpVal", 18, Of::All);
/// The period counts dispatched ops rather than cycles.
pub const COUNTS_OPS: Field = Field::bit("IbsOpCntCtl", 19, Of::Capability(Capabilities::OP_COUNT));
/// Upper bits of the period.
pub const MAX_COUNT_EXTENDED: Field =
    Field::bits("IbsOpMaxCntExt", 20, 7, Of::Capability(Capabilities::OP_COUNT_EXTENDED));
/// What was counted so far.
pub const COUNT: Field = Field::bits("IbsOpCurCnt", 32, 20, Of::All);
/// Upper bits of what was counted.
pub const COUNT_EXTENDED: Field =
    Field::bits("IbsOpCurCntExt", 52, 7, Of::Capability(Capabilities::OP_COUNT_EXTENDED));
/// Loads faster than this are not sampled: 128 cycles times one more.
pub const LATENCY_THRESHOLD: Field =
    Field::bits("IbsOpLatThrsh", 59, 4, Of::Capability(Capabilities::LOAD_LATENCY));
/// Whether that threshold is in force.
pub const LATENCY_ENABLED: Field =
    Field::bit("IbsOpLatFltEn", 63, Of::Capability(Capabilities::LOAD_LATENCY));

/// All of them.
pub const FIELDS: [Field; 10] = [
    MAX_COUNT,
    L3_MISS_ONLY,
    ENABLED,
    VALID,
    COUNTS_OPS,
    MAX_COUNT_EXTENDED,
    COUNT,
    COUNT_EXTENDED,
    LATENCY_THRESHOLD,
    LATENCY_ENABLED,
];
