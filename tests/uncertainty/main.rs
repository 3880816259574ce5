//! Uncertainty of profiles: the statistics against another implementation, coverage and false alarms by simulation, and
//! findings on recordings whose trouble is known.

#[path = "../recording/mod.rs"]
mod recording;
#[path = "../tool/mod.rs"]
mod tool;

mod called;
mod command;
mod coverage;
mod findings;
mod made;
mod reference;
