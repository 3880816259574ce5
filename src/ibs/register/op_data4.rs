//! MSRC001_103D, `IBS_OP_DATA4`.

use super::{Field, Of};
use crate::ibs::Dialect;

/// It was a load that had to start anew.
pub const LOAD_RESYNC: Field = Field::bit("IbsOpLdResync", 0, Of::When(is_excavator));

/// All of them.
pub const FIELDS: [Field; 1] = [LOAD_RESYNC];

/// Family 15h models 60h to 7Fh.
fn is_excavator(dialect: &Dialect) -> bool {
    dialect.processor.is_some_and(|p| p.family == 0x15 && (0x60..0x80).contains(&p.model))
}
