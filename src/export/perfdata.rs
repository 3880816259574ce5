//! The recording itself: a copy with samples moved, and beside it what was done.

use super::{Error, Existing, Output};
use crate::options::is_stdout;
use crate::perfdata::{Patch, PerfFile, Record, Rewritten, Sample, rewrite};
use crate::progress::Progress;
use crate::report::{Report, sidecar};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Writes the samples of `input`, which was opened at `from`, with the patches that `decide` asks for. The copy may be read
/// by whom the original may: recordings hold memory. It appears at `to` when the returned output is committed.
pub fn write_recording(
    (input, from): (&PerfFile, &Path),
    (to, existing): (&Path, Existing),
    progress: &dyn Progress,
    decide: impl FnMut(&Record<'_>, &Sample<'_>) -> Option<Patch>,
) -> Result<(Output, Rewritten), Error> {
    let mode = fs::metadata(from).map_or(0o600, |meta| meta.permissions().mode() & 0o666);
    let mut output = Output::with_mode(to, existing, mode)?;
    let done = rewrite(input, &mut output, progress, decide)
        .map_err(|source| Error::Recording { path: to.to_owned(), source })?;
    Ok((output, done))
}

/// Where the report of a corrected recording goes (see [`sidecar`]); nowhere beside the standard output.
pub fn beside(recording: &Path) -> Option<PathBuf> {
    let is_stream = is_stdout(recording) || fs::metadata(recording).is_ok_and(|meta| !meta.is_file());
    (!is_stream).then(|| sidecar(recording))
}

/// Writes `report` beside a recording.
pub fn write_sidecar(report: &Report, recording: &Path) -> Result<Option<Output>, Error> {
    let write = |out: &mut Output| Ok(report.write_json(out)?);
    beside(recording).map(|path| Output::staged(&path, Existing::Replace, write)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sidecar_stands_beside_the_recording_and_only_there() {
        let folder = tempfile::tempdir().unwrap();
        let recording = folder.path().join("perf.fixed.data");
        let report = Report { samples: 5, ..Report::default() };
        write_sidecar(&report, &recording).unwrap().unwrap().commit().unwrap();
        let written = fs::read(folder.path().join("perf.fixed.data.skidconv.json")).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&written).unwrap();
        assert_eq!(json["samples"], 5);
        assert!(write_sidecar(&report, Path::new("-")).unwrap().is_none());
        assert!(write_sidecar(&report, Path::new("/dev/null")).unwrap().is_none());
    }
}
