//! Runs as one recording.
