//! attribute (not yet written).
