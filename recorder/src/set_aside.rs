//! An earlier recording of the same name: kept with `.old` at its name, as perf does it.
//!
//! In: the path of a recording to come. It comes back there if the new one does not come to be.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// What was there before, if anything. Dropped before [`SetAside::keep`], it goes back.
#[derive(Debug)]
pub struct SetAside {
    path: PathBuf,
    old: Option<PathBuf>,
}

impl SetAside {
    /// Renames what is at `path`, if that is a file with something in it.
    pub fn at(path: &Path) -> io::Result<SetAside> {
        let is_recording = fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0);
        let old = is_recording.then(|| {
            let mut old = path.as_os_str().to_owned();
            old.push(".old");
            PathBuf::from(old)
        });
        if let Some(old) = &old {
            fs::rename(path, old)?;
        }
        Ok(SetAside { path: path.to_owned(), old })
    }

    /// The new recording is there: the earlier one stays where it is.
    pub fn keep(&mut self) {
        self.old = None;
    }
}

impl Drop for SetAside {
    fn drop(&mut self) {
        if let Some(old) = &self.old {
            let _ = fs::rename(old, &self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_recording_comes_back_unless_there_is_a_new_one() {
        let folder = std::env::temp_dir().join(format!("skidconv-aside-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (path, old) = (folder.join("data"), folder.join("data.old"));
        fs::write(&path, "earlier").unwrap();
        let aside = SetAside::at(&path).unwrap();
        assert!(!path.exists() && old.exists());
        fs::write(&path, "half").unwrap();
        drop(aside);
        assert_eq!((fs::read(&path).unwrap(), old.exists()), (b"earlier".to_vec(), false));
        SetAside::at(&path).unwrap().keep();
        assert!(!path.exists() && old.exists());
        fs::remove_dir_all(&folder).unwrap();
    }
}
