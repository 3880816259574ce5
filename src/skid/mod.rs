//! skid (not yet written).
