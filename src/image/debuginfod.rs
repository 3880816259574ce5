//! Binaries and debug files from debuginfod servers, by build-id (<https://sourceware.org/elfutils/Debuginfod.html>).
//!
//! In: a build-id. Out: a file in the cache that elfutils uses too. It asks only where the user wants it to, since it tells
//! the servers which programs were recorded. Whoever takes a file checks that it is the build asked for. A server that fails
//! is told of, and one that cannot be reached or does not answer is asked no more.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Builder;

use super::locate::hex;
use crate::scratch;

/// No file that is fetched may be larger: 8 GiB.
const LARGEST: u64 = 1 << 33;
/// Where `DEBUGINFOD_TIMEOUT` does not say otherwise, a server has so long to send something.
const PATIENCE: Duration = Duration::from_secs(90);

/// The servers to ask, and where what they send is kept.
#[derive(Clone, Debug, Default)]
pub struct Debuginfod {
    servers: Vec<String>,
    cache: PathBuf,
    patience: Option<Duration>,
    faults: Arc<Mutex<Vec<(String, Fault)>>>,
}

/// Why a server, or the cache, gave nothing. That a server does not know a build is no fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Fault {
    #[error("it cannot be reached")]
    Unreachable,
    #[error("it does not answer within {} s", .0.as_secs())]
    Silent(Duration),
    #[error("it answers {0}")]
    Refused(String),
    #[error("its answer breaks off")]
    Broken,
    #[error("its answer is longer than {LARGEST} bytes")]
    TooLong,
    #[error("{} cannot be written: {error}", path.display())]
    Cache { path: PathBuf, error: String },
}

impl Fault {
    fn is_of_server(&self) -> bool {
        matches!(self, Fault::Unreachable | Fault::Silent(_))
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Artifact {
    /// The binary itself.
    Executable,
    /// The file with its symbols and debug information.
    Debuginfo,
}

impl Artifact {
    fn name(self) -> &'static str {
        match self {
            Artifact::Executable => "executable",
            Artifact::Debuginfo => "debuginfo",
        }
    }
}

impl Debuginfod {
    /// As the environment says: `DEBUGINFOD_URLS`, `DEBUGINFOD_CACHE_PATH`, `DEBUGINFOD_TIMEOUT`. `None` without servers.
    pub fn from_env() -> Option<Debuginfod> {
        let servers = env::var("DEBUGINFOD_URLS").ok()?;
        let home = || env::home_dir().map(|home| home.join(".cache"));
        let cache = env::var_os("DEBUGINFOD_CACHE_PATH").map(PathBuf::from).or_else(|| {
            let caches = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home)?;
            Some(caches.join("debuginfod_client"))
        })?;
        let patience = env::var("DEBUGINFOD_TIMEOUT").ok().and_then(|seconds| seconds.parse().ok());
        Debuginfod::new(&servers, cache, patience.map(Duration::from_secs))
    }

    /// With `servers` separated by blanks; `None` without any.
    pub fn new(servers: &str, cache: PathBuf, patience: Option<Duration>) -> Option<Debuginfod> {
        let servers: Vec<String> =
            servers.split_whitespace().map(|url| url.trim_end_matches('/').into()).collect();
        (!servers.is_empty()).then(|| Debuginfod { servers, cache, patience, ..Debuginfod::default() })
    }

    /// The file in the cache, fetched if it is not there.
    pub fn fetch(&self, build_id: &[u8], artifact: Artifact) -> Option<PathBuf> {
        let folder = self.cache.join(hex(build_id));
        let file = folder.join(artifact.name());
        // elfutils leaves an empty file where no server knew it
        if fs::metadata(&file).is_ok_and(|meta| meta.len() > 0) {
            return Some(file);
        }
        let path = format!("buildid/{}/{}", hex(build_id), artifact.name());
        let runtime = Builder::new_current_thread().enable_all().build().ok()?;
        let patience = self.patience.unwrap_or(PATIENCE);
        let fetched = |server: &&String| {
            let url = format!("{server}/{path}");
            match runtime.block_on(download(&url, &folder, &file, patience)) {
                Ok(found) => found,
                Err(fault) => {
                    self.faults().push(((*server).clone(), fault));
                    false
                }
            }
        };
        self.servers.iter().filter(|server| !self.is_given_up(server)).find(fetched).map(|_| file)
    }

    fn is_given_up(&self, server: &str) -> bool {
        self.faults().iter().any(|(of, fault)| of == server && fault.is_of_server())
    }

    fn faults(&self) -> std::sync::MutexGuard<'_, Vec<(String, Fault)>> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What failed so far, a line each and none twice.
    pub fn complaints(&self) -> Vec<String> {
        let mut lines: Vec<String> =
            self.faults().iter().map(|(server, fault)| format!("debuginfod: {server}: {fault}")).collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }
}

/// Fetches `url` to `file`, which appears whole or not at all; `false` if the server does not know it.
async fn download(url: &str, folder: &Path, file: &Path, patience: Duration) -> Result<bool, Fault> {
    let told = |error: reqwest::Error| match () {
        () if error.is_timeout() => Fault::Silent(patience),
        () if error.is_connect() || error.is_builder() => Fault::Unreachable,
        () => Fault::Broken,
    };
    let kept = |error: std::io::Error| Fault::Cache { path: folder.into(), error: error.to_string() };
    let client = reqwest::Client::builder().connect_timeout(patience).read_timeout(patience);
    let mut answer = client.build().map_err(told)?.get(url).send().await.map_err(told)?;
    match answer.status() {
        status if status.is_success() => {}
        reqwest::StatusCode::NOT_FOUND => return Ok(false),
        status => return Err(Fault::Refused(status.to_string())),
    }
    fs::create_dir_all(folder).map_err(kept)?;
    let make = || tempfile::NamedTempFile::new_in(folder);
    let (mut part, _listed) = scratch::listed(make).map_err(kept)?;
    let mut len = 0;
    while let Some(bytes) = answer.chunk().await.map_err(told)? {
        len += bytes.len() as u64;
        if len > LARGEST {
            return Err(Fault::TooLong);
        }
        part.write_all(&bytes).map_err(kept)?;
    }
    part.persist(file).map_err(|error| kept(error.error))?;
    Ok(true)
}
