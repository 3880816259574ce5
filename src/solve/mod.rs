//! solve (not yet written).
