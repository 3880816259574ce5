//! code (not yet written).
