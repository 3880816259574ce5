//! MSRC001_103C, `IC_IBS_EXTD_CTL`: more of the fetch.

use super::{Field, Of};

/// Cycles of refilling the instruction TLB.
pub const TLB_LATENCY: Field = Field::bits("IbsItlbRefillLat", 0, 16, Of::All);

/// All of them.
pub const FIELDS: [Field; 1] = [TLB_LATENCY];
