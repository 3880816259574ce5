//! Ctrl-C, and being asked to end: what a run has on disk only for itself goes first.

use skidconv::scratch;
use skidconv_recorder::sys::{ENDS, Signals, Status, end_by};
use std::io;

/// Sees to it from now on, in a thread of its own. Signals that the program is to ignore, as behind `nohup`, it ignores.
pub fn watch() -> io::Result<()> {
    let ignored = Status::of(std::process::id());
    let ignored = ignored.field("SigIgn:").and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0);
    let awaited: Vec<i32> = ENDS.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0).collect();
    let signals = Signals::take(&awaited)?;
    let end = move || {
        if let Ok(signal) = signals.wait() {
            scratch::sweep();
            end_by(signal);
        }
    };
    std::thread::Builder::new().spawn(end).map(drop)
}
