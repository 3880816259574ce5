//! Lines of source code, where the source is there.
//!
//! In: a path as debug information states it, and the folders that stand for the recorded machine's root. Out: the text of
//! single lines. Debug information is not to be trusted: only names of source code are opened, so that a binary cannot put
//! another file of this machine into a report.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::source::Source;

/// No source file that is read may be longer: 16 MiB.
const LONGEST: u64 = 1 << 24;
/// Endings of source code's names.
const ENDINGS: [&str; 29] = [
    "c", "cc", "cpp", "cxx", "c++", "C", "h", "hh", "hpp", "hxx", "inc", "inl", "ipp", "tcc", "rs", "go",
    "s", "S", "asm", "f", "f90", "d", "zig", "nim", "swift", "ml", "hs", "cu", "java",
];

/// Source files, each read once.
#[derive(Debug, Default)]
pub struct SourceText {
    roots: Vec<PathBuf>,
    files: HashMap<String, Option<Vec<String>>>,
}

impl SourceText {
    /// Looks under each of `roots`, then at the path itself.
    pub fn new(roots: &[PathBuf]) -> SourceText {
        SourceText { roots: roots.to_vec(), files: HashMap::new() }
    }

    /// Line `line`, counted from 1, without its end.
    pub fn line(&mut self, file: &str, line: u32) -> Option<&str> {
        let roots = &self.roots;
        let lines = self.files.entry(file.to_owned()).or_insert_with(|| read(roots, file)).as_ref()?;
        lines.get((line as usize).checked_sub(1)?).map(String::as_str)
    }
}

fn read(roots: &[PathBuf], file: &str) -> Option<Vec<String>> {
    let path = Path::new(file);
    if !ENDINGS.contains(&path.extension()?.to_str()?) {
        return None;
    }
    let inside = |root: &PathBuf| root.join(path.strip_prefix("/").unwrap_or(path));
    let bytes = roots.iter().map(inside).chain([path.to_owned()]).find_map(|path| content(&path))?;
    Some(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
}

fn content(path: &Path) -> Option<Vec<u8>> {
    let len = fs::metadata(path).ok()?.len();
    let (source, _) = Source::open(path).ok().filter(|_| len <= LONGEST)?;
    source.read(0, len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one_and_only_source_is_read() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("src")).unwrap();
        fs::write(root.path().join("src/a.c"), "one\ntwo\n").unwrap();
        fs::write(root.path().join("src/shadow"), "secret\n").unwrap();
        let mut text = SourceText::new(&[root.path().to_owned()]);
        assert_eq!(text.line("/src/a.c", 2), Some("two"));
        assert_eq!(text.line("/src/a.c", 0), None);
        assert_eq!(text.line("/src/a.c", 3), None);
        assert_eq!(text.line("/src/shadow", 1), None);
        assert_eq!(text.line("/src/gone.c", 1), None);
    }
}
