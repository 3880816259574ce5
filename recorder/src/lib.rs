//! The optional recorder.
