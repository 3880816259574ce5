//! export (not yet written).
