//! The place of the optional recorder.
//!
//! It will open counters with `perf_event_open`, write a `perf.data` and measure the skid of the machine it runs on. Nothing of
//! that is here yet: record with `perf record`. All `unsafe` code of the project will be in this crate.
