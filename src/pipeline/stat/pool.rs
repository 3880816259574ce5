//! Runs as one recording.

use std::path::{Path, PathBuf};

use super::Error;
use crate::export::{Existing, Output};
use crate::perfdata::{self, PerfFile, Unlike};
use crate::pipeline;

/// Writes the recordings at `paths` as one.
pub fn pool(paths: &[PathBuf], (to, existing): (&Path, Existing)) -> Result<u64, Error> {
    let open = |path: &PathBuf| {
        let failed = |source| pipeline::Error::Read { path: path.clone(), source };
        PerfFile::open(path).map_err(failed)
    };
    let files: Vec<PerfFile> = paths.iter().map(open).collect::<Result<_, _>>()?;
    // recordings hold memory: only whom they belong to may read them
    let mut out = Output::with_mode(to, existing, 0o600)?;
    let samples = perfdata::pool(&files, &mut out).map_err(|(ix, why)| match why {
        Unlike::Io(source) => pipeline::Error::Read { path: paths[ix].clone(), source }.into(),
        why => Error::Unlike { path: paths[ix].clone(), why },
    })?;
    out.commit()?;
    Ok(samples)
}
