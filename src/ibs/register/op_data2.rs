//! MSRC001_1036, `IBS_OP_DATA2`: where the data of a load came from that missed the cache.

use super::{Field, Of};
use crate::ibs::{Capabilities, Dialect};

/// Which part of the machine answered.
pub const SOURCE: Field = Field::bits("DataSrcLo", 0, 3, Of::All);
/// It was of another node.
pub const REMOTE: Field = Field::bit("RmtNode", 4, Of::When(has_nodes));
/// State of the line in the cache that answered: 0 modified, 1 owned.
pub const OWNED: Field = Field::bit("CacheHitSt", 5, Of::When(has_nodes));
/// Upper bits of which part answered.
pub const SOURCE_EXTENDED: Field = Field::bits("DataSrcHi", 6, 2, Of::Capability(Capabilities::ZEN4));
/// It was a streaming store.
pub const STREAMING_STORE: Field = Field::bit("StrmSt", 8, Of::Capability(Capabilities::STREAMING_STORE));
/// The answer came from another socket.
pub const REMOTE_SOCKET: Field = Field::bit("RmtSocket", 9, Of::Capability(Capabilities::STREAMING_STORE));

/// All of them.
pub const FIELDS: [Field; 6] = [SOURCE, REMOTE, OWNED, SOURCE_EXTENDED, STREAMING_STORE, REMOTE_SOCKET];

/// Families 12h, 14h and 16h are of single nodes.
fn has_nodes(dialect: &Dialect) -> bool {
    !dialect.family_in(&[0x12, 0x14, 0x16])
}
