//! Where the cases are.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use skidconv_simulator::grid;
use skidconv_simulator::program::Source;
use skidconv_simulator::sets::{CASES, QUICK, SETS};
use skidconv_simulator::trace::Trace;

/// A recording beside its truth.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// Which set it belongs to.
    pub set: String,
    folder: PathBuf,
}

/// The name of the set that the repository holds.
pub const HELD: &str = "testdata/cases";
/// The name of the set that the simulator makes.
pub const GRID: &str = "grid";

impl Case {
    /// The recording.
    pub fn recording(&self) -> PathBuf {
        self.folder.join(format!("{}.perf.data", self.name))
    }

    /// The truth.
    pub fn truth(&self) -> PathBuf {
        self.folder.join(format!("{}.truth.tsv", self.name))
    }

    /// The folder that stands for `/`.
    pub fn symfs(&self) -> PathBuf {
        self.folder.join("symfs")
    }
}

/// The cases of `testdata/cases`.
pub fn held() -> Result<Vec<Case>> {
    within(&root().join(HELD), HELD.into())
}

/// The simulator's cases that choices were made by, or the quick part of them.
pub fn grid(quick: bool) -> Result<Vec<Case>> {
    made(CASES.iter().filter(|c| !quick || QUICK.contains(&c.name)).collect(), GRID)
}

/// The simulator's cases of a set.
pub fn of(set: &str) -> Result<Vec<Case>> {
    let (_, cases) = SETS.iter().find(|(name, _)| *name == set).with_context(|| format!("no set {set}"))?;
    made(cases.iter().collect(), set)
}

/// Cases of a set; made if they are not there.
fn made(mut wanted: Vec<&grid::Case>, set: &str) -> Result<Vec<Case>> {
    let folder = root().join("target/accuracy").join(set);
    std::fs::create_dir_all(&folder)?;
    wanted.sort_by_key(|c| c.program);
    let case = |name: &str| Case { name: name.into(), set: set.into(), folder: folder.clone() };
    for same in wanted.chunk_by(|a, b| a.program == b.program) {
        let missing: Vec<_> = same.iter().filter(|c| !case(c.name).truth().exists()).collect();
        if missing.is_empty() {
            continue;
        }
        eprintln!("making {} recordings of {}", missing.len(), same[0].program);
        let trace = Trace::record(Source::named(same[0].program)?.compile(&folder.join("symfs"))?)?;
        for case in missing {
            case.write(&trace, &folder)?;
        }
    }
    Ok(wanted.iter().map(|c| case(c.name)).collect())
}

/// The cases of a folder, by name.
pub fn within(folder: &Path, set: String) -> Result<Vec<Case>> {
    let files = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut cases = Vec::new();
    for file in files {
        if let Some(name) = file?.file_name().to_str().and_then(|n| n.strip_suffix(".truth.tsv")) {
            cases.push(Case { name: name.into(), set: set.clone(), folder: folder.into() });
        }
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cases)
}

/// The repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
