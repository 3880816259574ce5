//! MSRC001_1035, `IBS_OP_DATA`: how the op retired, and what it was as a branch.

use super::{Field, Of};
use crate::ibs::{Capabilities, Dialect};

/// Cycles from its completion to its retirement.
pub const COMPLETION_TO_RETIREMENT: Field = Field::bits("IbsCompToRetCtr", 0, 16, Of::All);
/// Cycles from its being tagged to its retirement.
pub const TAG_TO_RETIREMENT: Field = Field::bits("IbsTagToRetCtr", 16, 16, Of::All);
/// It made the pipeline start anew.
pub const RESYNC: Field = Field::bit("IbsOpBrnResync", 32, Of::When(is_old));
/// It was a mispredicted return.
pub const MISPREDICTED_RETURN: Field = Field::bit("IbsOpMispReturn", 33, Of::When(is_old));
/// It was a return.
pub const RETURN: Field = Field::bit("IbsOpReturn", 34, Of::All);
/// It was a taken branch.
pub const TAKEN: Field = Field::bit("IbsOpBrnTaken", 35, Of::All);
/// It was a mispredicted branch.
pub const MISPREDICTED: Field = Field::bit("IbsOpBrnMisp", 36, Of::All);
/// It was a branch.
pub const BRANCH: Field = Field::bit("IbsOpBrnRet", 37, Of::All);
/// Its address is not known.
pub const RIP_INVALID: Field = Field::bit("IbsRipInvalid", 38, Of::Capability(Capabilities::RIP_INVALID));
/// It was a branch fused with what it depends on.
pub const FUSED: Field = Field::bit("IbsOpBrnFuse", 39, Of::Capability(Capabilities::BRANCH_FUSED));
/// It came from microcode.
pub const MICROCODE: Field = Field::bit("IbsOpMicrocode", 40, Of::When(Dialect::tells_of_misses));

/// All of them.
pub const FIELDS: [Field; 11] = [
    COMPLETION_TO_RETIREMENT,
    TAG_TO_RETIREMENT,
    RESYNC,
    MISPREDICTED_RETURN,
    RETURN,
    TAKEN,
    MISPREDICTED,
    BRANCH,
    RIP_INVALID,
    FUSED,
    MICROCODE,
];

/// Families 10h, 12h and 14h, and Bulldozer.
fn is_old(dialect: &Dialect) -> bool {
    dialect.family_in(&[0x10, 0x12, 0x14]) || dialect.is_bulldozer()
}
