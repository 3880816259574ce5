//! Page.
use super::Uncertainty;
/// Writes.
pub fn write(_: &Uncertainty, _: &mut dyn std::io::Write) -> std::io::Result<()> { Ok(()) }
