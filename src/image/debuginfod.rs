//! Binaries and debug files from debuginfod servers, by build-id (<https://sourceware.org/elfutils/Debuginfod.html>).
//!
//! In: a build-id. Out: a file in the cache that elfutils uses too. It asks only where the user wants it to, since it tells
//! the servers which programs were recorded. Whoever takes a file checks that it is the build asked for.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::runtime::Builder;

use super::locate::hex;

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
        (!servers.is_empty()).then_some(Debuginfod { servers, cache, patience })
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
        let fetched = |server: &String| {
            runtime.block_on(download(
                &format!("{server}/{path}"),
                &folder,
                &file,
                self.patience.unwrap_or(PATIENCE),
            ))
        };
        self.servers.iter().find_map(fetched).map(|()| file)
    }
}

/// Fetches `url` to `file`, which appears whole or not at all.
async fn download(url: &str, folder: &Path, file: &Path, patience: Duration) -> Option<()> {
    let client = reqwest::Client::builder().connect_timeout(patience).read_timeout(patience).build().ok()?;
    let mut answer = client.get(url).send().await.ok()?.error_for_status().ok()?;
    fs::create_dir_all(folder).ok()?;
    let mut part = tempfile::NamedTempFile::new_in(folder).ok()?;
    let mut len = 0;
    while let Some(bytes) = answer.chunk().await.ok()? {
        len += bytes.len() as u64;
        if len > LARGEST {
            return None;
        }
        part.write_all(&bytes).ok()?;
    }
    part.persist(file).ok()?;
    Some(())
}
