//! The recording that a run reads: opened, with which of its events are wanted; then surveyed.
//!
//! In: options. Out: the file and its survey, or why there is none. It does not know what the survey is for.

use super::Error;
use super::equal::Group;
use super::survey::Survey;
use super::unverified;
use crate::image::{self, Debuginfod, SearchPath, Unpacked};
use crate::options::{Options, is_called};
use crate::perfdata::{self, Features, PerfFile};
use crate::progress::Progress;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A recording.
#[derive(Debug)]
pub struct Input {
    /// Its file.
    pub file: PerfFile,
    /// For each event, whether it is asked for.
    pub wanted: Vec<bool>,
    path: PathBuf,
    strict: bool,
    threads: usize,
}

impl Input {
    /// Opens the recording of `options`.
    pub fn open(options: &Options) -> Result<Input, Error> {
        let path = options.input.clone();
        let file = PerfFile::open(&path).map_err(|source| Error::Read { path: path.clone(), source })?;
        let wanted = wanted(&file, options)?;
        Ok(Input { file, wanted, path, strict: options.strict, threads: workers(options) })
    }

    /// Walks over it. `see` is shown each distinct sample, in the order of the file.
    pub fn survey(
        &self,
        binaries: &Binaries,
        progress: &dyn Progress,
        see: impl FnMut(&Survey, &Group<'_>),
    ) -> Result<Survey, Error> {
        let ended = unverified::ended(self.file.features(), &self.path);
        let search = SearchPath { ended, here: is_here(self.file.features()), ..binaries.search.clone() };
        let survey = Survey::take(&self.file, search, self.threads, progress, see);
        let survey = survey.map_err(|source| self.unreadable(source))?;
        self.check_damage(&survey)?;
        Ok(survey)
    }

    /// With `--strict`, damage is an error.
    fn check_damage(&self, survey: &Survey) -> Result<(), Error> {
        let damage = survey.tolerated().filter(|warning| warning.is_damage);
        let damage: Vec<String> = damage.map(String::from).collect();
        match damage.is_empty() || !self.strict {
            true => Ok(()),
            false => Err(Error::Damaged { path: self.path.clone(), damage: damage.join("; ") }),
        }
    }

    /// The error that says whose this one is.
    pub fn unreadable(&self, source: perfdata::Error) -> Error {
        Error::Read { path: self.path.clone(), source }
    }
}

/// Whether a recording names this machine, and the kernel that runs on it.
fn is_here(features: &Features) -> bool {
    let told = |file: &str| std::fs::read_to_string(Path::new("/proc/sys/kernel").join(file)).ok();
    let same = |recorded: &Option<String>, file: &str| {
        recorded.as_deref().is_some_and(|recorded| told(file).is_some_and(|own| own.trim_end() == recorded))
    };
    same(&features.hostname, "hostname") && same(&features.os_release, "osrelease")
}

/// Threads to read with.
pub fn workers(options: &Options) -> usize {
    options.threads.or_else(|| Some(std::thread::available_parallelism().ok()?.get())).unwrap_or(1)
}

/// Which events are asked for. Each that is named has to be there.
fn wanted(file: &PerfFile, options: &Options) -> Result<Vec<bool>, Error> {
    for name in &options.events {
        if !file.attrs().iter().any(|attr| is_called(&attr.name, name)) {
            let known = file.attrs().iter().map(|a| a.name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(Error::NoSuchEvent { name: name.clone(), known });
        }
    }
    Ok(file.attrs().iter().map(|attr| options.wants(&attr.name)).collect())
}

/// Sees that there is something to read.
fn opened(path: &Path) -> io::Result<()> {
    match File::open(path)?.metadata()?.is_dir() {
        true => Err(ErrorKind::IsADirectory.into()),
        false => Ok(()),
    }
}

/// Where binaries and symbols are looked for. Tarballs are unpacked as long as this lives.
#[derive(Debug)]
pub struct Binaries {
    search: SearchPath,
    _unpacked: Vec<Unpacked>,
}

impl Binaries {
    /// Unpacks the tarballs, and sees that what is named is there.
    pub fn of(options: &Options) -> Result<Binaries, Error> {
        if let Some(path) = options.symfs.iter().find(|path| !path.is_dir()) {
            return Err(Error::NoFolder(path.clone()));
        }
        let symbols = |path: &PathBuf, source| Error::Symbols { path: path.clone(), source };
        let unpacked = |path: &PathBuf| image::unpack(path).map_err(|source| symbols(path, source));
        let unpacked: Vec<Unpacked> = options.archives.iter().map(unpacked).collect::<Result<_, _>>()?;
        let mut search = SearchPath::system(options.symfs.clone());
        search.archives = unpacked.iter().map(|folder| folder.path().to_owned()).collect();
        if let Some(path) = &options.kallsyms {
            opened(path).map_err(|source| symbols(path, source))?;
            if !image::lists_kernel(path) {
                return Err(Error::NotOfKernel(path.clone()));
            }
            search.kallsyms = Some(path.clone());
        }
        if options.debuginfod {
            search.debuginfod = Some(Debuginfod::from_env().ok_or(Error::NoServers)?);
        }
        Ok(Binaries { search, _unpacked: unpacked })
    }
}
