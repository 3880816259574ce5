//! Recordings and what `fix` makes of them.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;
use skidconv::perfdata::{PerfFile, Record, Sample};

use crate::tool::{folder, skidconv, testdata, text};

/// Recordings of testdata/cases, each unlike the others; the rest of them are only scored, by the accuracy bench.
const CASES: [&str; 3] = ["branchy", "mcf_like", "nist_fn"];

/// A recording before and after.
pub struct Fixed {
    pub name: String,
    pub before: PathBuf,
    pub after: PathBuf,
    /// The report of the run.
    pub report: Value,
}

/// What of a sample is compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub attr: u32,
    pub pid: i32,
    pub tid: i32,
    pub time: Option<u64>,
    pub period: u64,
    pub exact: bool,
    pub ip: u64,
    pub chain: Vec<u64>,
}

impl Fixed {
    /// Fixes `before` in `folder`.
    pub fn new(name: &str, folder: &Path, before: &Path, symfs: Option<&Path>, args: &[&str]) -> Fixed {
        let after = folder.join(format!("{name}.fixed.data"));
        let json = folder.join(format!("{name}.json"));
        let mut words =
            vec!["fix", text(before), "--force", "--quiet", "-o", text(&after), "--report-json", text(&json)];
        if let Some(symfs) = symfs {
            words.extend(["--symfs", text(symfs)]);
        }
        words.extend(args);
        let ran = skidconv(folder, &words);
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.err);
        let report = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
        ran.assert_tells_of_damage_alone(&report, name);
        Fixed { name: name.into(), before: before.into(), after, report }
    }

    /// Every sample before and after.
    pub fn samples(&self) -> Vec<(Seen, Seen)> {
        let (before, after) = (samples(&self.before), samples(&self.after));
        assert_eq!(before.len(), after.len(), "{}", self.name);
        before.into_iter().zip(after).collect()
    }
}

/// All samples of a recording, in the order of the file.
pub fn samples(path: &Path) -> Vec<Seen> {
    let mut found = vec![];
    each_record(path, |_, _, sample| found.extend(sample.map(seen)));
    found
}

fn seen(s: &Sample<'_>) -> Seen {
    let chain = s.callchain.iter().collect();
    Seen {
        attr: s.attr.0,
        pid: s.pid,
        tid: s.tid,
        time: s.time,
        period: s.period,
        exact: s.exact,
        ip: s.ip,
        chain,
    }
}

/// Shows every record, and what it says if it is a sample.
pub fn each_record(path: &Path, mut visit: impl FnMut(&PerfFile, &Record<'_>, Option<&Sample<'_>>)) {
    let file = PerfFile::open(path).unwrap();
    let mut records = file.records().unwrap();
    while let Some(record) = records.next().unwrap() {
        visit(&file, &record, file.sample(&record).unwrap().as_ref());
    }
}

/// The recordings with truth, fixed with one seed.
pub fn cases() -> &'static [Fixed] {
    static CACHE: OnceLock<Vec<Fixed>> = OnceLock::new();
    CACHE.get_or_init(|| {
        let folder = folder("cases");
        let fix = |name: &&str| Fixed::new(name, &folder, &case(name), Some(&symfs()), &["--seed", "7"]);
        CASES.iter().map(fix).collect()
    })
}

/// One of [`cases`].
pub fn the(name: &str) -> &'static Fixed {
    cases().iter().find(|c| c.name == name).unwrap()
}

/// The recordings with truth and all that other people recorded and `fix` can read.
pub fn all() -> &'static [Fixed] {
    static CACHE: OnceLock<Vec<Fixed>> = OnceLock::new();
    CACHE.get_or_init(|| {
        let folder = folder("others");
        let readable = |path: &PathBuf| !text(path).contains("corrupted");
        let fix = |path: PathBuf| {
            Fixed::new(path.file_stem().unwrap().to_str().unwrap(), &folder, &path, None, &[])
        };
        crate::recording::all_testdata().into_iter().filter(readable).map(fix).collect()
    })
}

/// The recording of a case.
pub fn case(name: &str) -> PathBuf {
    testdata(&format!("cases/{name}.perf.data"))
}

/// The binaries of the cases.
pub fn symfs() -> PathBuf {
    testdata("cases/symfs")
}
