//! Recordings of one program in several sizes: by how many of its functions run, and by how many samples are taken.

use std::path::{Path, PathBuf};

use crate::Result;
use crate::core::Model;
use crate::grid::{Case, With};
use crate::interrupt::{Lands, Skid};
use crate::program::Source;
use crate::trace::Trace;

/// Hot functions of a module of the program.
const PER_MODULE: u64 = 10;
/// Calls of all modules together in a run of the program: so much is traced, and repeated until it has its samples.
const CALLS: u64 = 600;

/// A size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    name: &'static str,
    modules: u64,
    /// Samples of instructions, and about as many of cycles.
    pub samples: u64,
}

macro_rules! sizes {
    ($($name:literal $modules:literal $samples:literal;)*) => {
        /// Every size, the full one first; then more functions, fewer, and fewer samples.
        pub const SIZES: &[Size] = &[$(Size { name: $name, modules: $modules, samples: $samples }),*];
    };
}

sizes! {
    "many-300-50000" 30 50000;
    "many-1000-50000" 100 50000;
    "many-150-50000" 15 50000;
    "many-80-50000" 8 50000;
    "many-40-50000" 4 50000;
    "many-300-25000" 30 25000;
    "many-300-12500" 30 12500;
    "many-300-6250" 30 6250;
}

impl Size {
    /// Functions that are hot.
    pub fn functions(self) -> u64 {
        self.modules * PER_MODULE
    }

    /// The recording, made in `out` if it is not there; binaries are in `out/symfs`.
    pub fn recording(self, out: &Path) -> Result<PathBuf> {
        let path = out.join(format!("{}.perf.data", self.name));
        if !path.exists() {
            let mut program = Source::named("many")?.compile(&out.join("symfs"))?;
            program.args = vec![self.modules.to_string(), (CALLS / self.modules).to_string()];
            self.case().write(&Trace::record(program)?, out)?;
        }
        Ok(path)
    }

    fn case(self) -> Case {
        Case {
            name: self.name,
            program: "many",
            model: Model::Wide4,
            skid: Skid::Jitter { base: 20, spread: 0.3 },
            lands: Lands::AfterHead,
            samples: self.samples,
            with: With::default(),
        }
    }
}
