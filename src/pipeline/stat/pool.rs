//! Runs as one recording.

use std::path::{Path, PathBuf};

use super::Error;
use crate::export::{self, Existing, Output};
use crate::perfdata::{self, PerfFile, Unlike};
use crate::pipeline;

/// Writes the recordings at `paths` as one, which appears at `to` when it is committed.
pub fn pool(paths: &[PathBuf], (to, existing): (&Path, Existing)) -> Result<Output, Error> {
    let open = |path: &PathBuf| {
        let failed = |source| pipeline::Error::Read { path: path.clone(), source };
        PerfFile::open(path).map_err(failed)
    };
    let files: Vec<PerfFile> = paths.iter().map(open).collect::<Result<_, _>>()?;
    // recordings hold memory: only whom they belong to may read them
    let mut out = Output::with_mode(to, existing, 0o600)?;
    perfdata::pool(&files, &mut out).map_err(|(ix, why)| match why {
        Unlike::Io(perfdata::Error::Write(source)) => export::Error::Write { path: to.into(), source }.into(),
        Unlike::Io(source) => pipeline::Error::Read { path: paths[ix].clone(), source }.into(),
        source => Error::Unlike { path: paths[ix].clone(), source },
    })?;
    Ok(out)
}
