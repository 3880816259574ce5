//! The files that a recording is made of: one, or in directory format (`perf record --threads`) a folder of them.
//!
//! In the folder, `data` is a recording in file mode with all descriptions and the records of perf itself; `data.0`, `data.1`
//! and so on hold nothing but records, each those of some processors, each compressed for itself if at all
//! (tools/perf/util/data.c).

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::Error;
use super::header::Section;

/// One file of a recording.
#[derive(Debug)]
pub(super) struct Part {
    pub file: File,
    /// Where its records are.
    pub data: Section,
}

impl Part {
    /// A file that is records from its first byte to its last.
    fn of_records(file: File) -> io::Result<Part> {
        let size = file.metadata()?.len();
        Ok(Part { file, data: Section { offset: 0, size } })
    }
}

/// The file with the header in a folder that is a recording.
pub(super) fn main_file(folder: &Path) -> Result<PathBuf, Error> {
    let path = folder.join("data");
    match path.is_file() {
        true => Ok(path),
        false => Err(Error::Directory { path: folder.to_owned() }),
    }
}

/// Whether the folder of `main` has the kernel's code (`perf record --kcore`): that is why it is a folder.
pub(super) fn has_kcore(main: &Path) -> bool {
    main.with_file_name("kcore_dir").is_dir()
}

/// The files of records beside `main`, in the order of their numbers.
pub(super) fn beside(main: &Path) -> Result<Vec<Part>, Error> {
    let folder = main.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Open { path, source }
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed(folder))? {
        let entry = entry.map_err(failed(folder))?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("data.")?.parse::<u32>().ok());
        found.extend(number.filter(|_| entry.path().is_file()).map(|number| (number, entry.path())));
    }
    found.sort();
    let open =
        |(_, path): (u32, PathBuf)| File::open(&path).and_then(Part::of_records).map_err(failed(&path));
    found.into_iter().map(open).collect()
}
