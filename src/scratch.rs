//! What a run has on disk only while it goes on: outputs that are not complete, archives that are unpacked.
//!
//! In: files and folders as they are made. Out: nothing, once they are dropped, or when a program that has to end at once
//! calls [`sweep`]. It knows no signals: whoever handles them does so for the whole program.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How often a folder is cleared that is being filled meanwhile.
const TRIES: usize = 100;

static THERE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn there() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    THERE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As long as this lives, [`sweep`] removes what it stands for.
#[derive(Debug)]
pub(crate) struct Listed(PathBuf);

impl Drop for Listed {
    fn drop(&mut self) {
        there().remove(&self.0);
    }
}

/// Makes a file or folder that removes itself, and lists it.
pub(crate) fn listed<T: AsRef<Path>>(make: impl FnOnce() -> io::Result<T>) -> io::Result<(T, Listed)> {
    // held meanwhile, so that nothing is made beside a sweep
    let mut there = there();
    let made = make()?;
    let path = std::path::absolute(made.as_ref())?;
    there.insert(path.clone());
    Ok((made, Listed(path)))
}

/// Removes all that is there, for a program that ends at once: whoever makes or drops something from now on waits for ever.
pub fn sweep() {
    let there = there();
    for path in &*there {
        if fs::remove_file(path).is_err() {
            let _ = (0..TRIES).find(|_| fs::remove_dir_all(path).is_ok() || !path.exists());
        }
    }
    std::mem::forget(there);
}
