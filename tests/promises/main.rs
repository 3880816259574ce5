//! What a corrected recording promises, each promise a test: on the recordings with exact truth, on others made by hand, and
//! where perf can record, on fresh ones.

#[path = "../recording/mod.rs"]
mod recording;
#[path = "../tool/mod.rs"]
mod tool;

mod fixed;
mod truth;
mod bytes;

mod kept;
mod moves;
mod chains;
mod stacks;
mod classes;
mod again;
mod readers;
mod accuracy;
mod baselines;
mod branches;
mod linked;
mod processes;
mod unverified;
