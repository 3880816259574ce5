//! Sampled fetches, ops and accesses: the registers as perf prints them, the tables of AMD's note, other processors, and what
//! `fix` makes of such recordings.

mod evidence;
mod fixed;
mod made;
mod memory;
mod note;
mod perf;
#[path = "../recording/mod.rs"]
mod recording;
#[path = "../tool/mod.rs"]
mod tool;
