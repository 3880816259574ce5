//! Which part of the machine answered a load.

use super::Dialect;
use super::register::{Register, op_data2 as data2};
use crate::ibs::Capabilities;

/// Where the data of a load came from that missed its core's caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DataSource {
    /// The third cache level of the core's own complex, or another core's cache there.
    LocalCache,
    /// A cache elsewhere in the same node.
    NearCache,
    /// A cache of another node.
    FarCache,
    /// Memory.
    Dram,
    /// Memory that is known to be slow.
    SlowMemory,
    /// Devices, configuration space or the interrupt controller.
    Io,
    /// Memory behind an extension link.
    ExtensionMemory,
    /// Coherent memory of a processor of another type.
    PeerMemory,
    /// An encoding that means nothing.
    Reserved(u8),
}

impl DataSource {
    /// From `IBS_OP_DATA2`; `None` where it says nothing.
    pub(super) fn of(register: Register, dialect: &Dialect) -> Option<DataSource> {
        let code = number(register, dialect.has(Capabilities::ZEN4));
        Some(match (dialect.has(Capabilities::ZEN4), code) {
            (_, 0) => return None,
            (_, 1) => DataSource::LocalCache,
            (false, 2) if data2::REMOTE.is_known(dialect) && register.is(&data2::REMOTE) => {
                DataSource::FarCache
            }
            (_, 2) => DataSource::NearCache,
            (_, 3) => DataSource::Dram,
            (false, 4) | (true, 5) => DataSource::FarCache,
            (true, 6) => DataSource::SlowMemory,
            (_, 7) => DataSource::Io,
            (true, 8) => DataSource::ExtensionMemory,
            (true, 12) => DataSource::PeerMemory,
            (_, code) => DataSource::Reserved(code),
        })
    }
}

/// The number that stands for a source: three bits, or five.
pub(super) fn number(register: Register, extended: bool) -> u8 {
    let high = if extended { register.get(&data2::SOURCE_EXTENDED) } else { 0 };
    (high << 3 | register.get(&data2::SOURCE)) as u8
}
