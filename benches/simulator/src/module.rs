//! The files whose code a run executes: the program, and what its loader maps beside it.
//!
//! In: a program. Out: its modules, those of its libraries where the run will have them: valgrind maps the same files at the same
//! addresses each time, and the loader tells them when it is asked (`LD_DEBUG`). Where the loader itself and the program lie is
//! known only once they run.

use std::path::{Path, PathBuf};

use crate::image::{Image, Mapping};
use crate::program::Program;
use crate::{Error, Result};

/// A file, and where its code lies.
#[derive(Debug, Clone)]
pub struct Module {
    /// The path that recordings give it.
    pub recorded_path: String,
    /// Its code.
    pub image: Image,
    /// What the loader adds to the file's addresses; `None` until it has run.
    pub bias: Option<u64>,
}

impl Module {
    /// The program, its loader and its libraries, in this order; a statically linked program is alone. `loading` is what the loader
    /// says under valgrind when it is asked for files and libraries.
    pub fn all(program: &Program, loading: impl FnOnce() -> Result<String>) -> Result<Vec<Module>> {
        let image = Image::read(&program.binary)?;
        let loader = image.loader.clone();
        let mut modules = vec![Module { recorded_path: program.recorded_path.clone(), image, bias: None }];
        if let Some(loader) = loader {
            modules.push(Module::carried(program, &loader, None)?);
            for (path, bias) in mapped(&loading()?) {
                modules.push(Module::carried(program, path, Some(bias))?);
            }
        }
        Ok(modules)
    }

    /// A file of this machine, copied to where the program's recordings are looked up.
    fn carried(program: &Program, path: &str, bias: Option<u64>) -> Result<Module> {
        let from = Path::new(path).canonicalize().map_err(Error::io(path))?;
        let to: PathBuf = program.symfs.join(from.strip_prefix("/").unwrap_or(&from));
        if let Some(folder) = to.parent() {
            std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        }
        std::fs::copy(&from, &to).map_err(Error::io(&to))?;
        Ok(Module { recorded_path: from.display().to_string(), image: Image::read(&from)?, bias })
    }

    /// The code mapping; `None` if nothing of it ran.
    pub fn mapping(&self) -> Option<Mapping> {
        self.bias.map(|bias| self.image.mapping(bias))
    }

    /// The last part of its path.
    pub fn name(&self) -> &str {
        self.recorded_path.rsplit('/').next().unwrap_or_default()
    }

    /// Where the function around an address of the run begins.
    pub fn function(&self, address: u64) -> Option<u64> {
        let bias = self.bias.filter(|_| self.bytes_at(address).is_some())?;
        let before = self.image.functions.partition_point(|f| f.start + bias <= address);
        self.image.functions[..before].last().map(|f| f.start + bias)
    }

    /// The bytes from an address of the run to the end of the code.
    pub fn bytes_at(&self, address: u64) -> Option<&[u8]> {
        self.image.bytes_at(address.wrapping_sub(self.bias?))
    }
}

/// Paths and bases of what the traced program's loader says it maps; before valgrind's last line of its own, shells and valgrind
/// itself are loaded.
fn mapped(said: &str) -> Vec<(&str, u64)> {
    let lines: Vec<&str> = said.lines().collect();
    let own = |line: &&str| line.starts_with("==");
    let begin = lines.iter().position(own).unwrap_or(0);
    let (mut found, mut path) = (Vec::new(), "");
    for line in &lines[begin..] {
        if let Some((_, tried)) = line.split_once("trying file=") {
            path = tried;
        } else if let Some((file, _)) = line.split_once("\tfile=").and_then(|(_, file)| file.split_once(" ["))
        {
            // a name without a folder was looked for
            path = if file.starts_with('/') { file } else { path };
        } else if let Some((_, base)) = line.split_once(" base: 0x") {
            let digits = base.split(' ').next().unwrap_or_default();
            found.extend(u64::from_str_radix(digits, 16).ok().map(|base| (path, base)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_of_the_program_tells_paths_and_bases() {
        let said = "     7:\t  trying file=/lib/libc.so.6\n\
                    7:\t  dynamic: 0x00007faf4c273b60  base: 0x00007faf4c0a1000   size: 0x1\n\
                    ==7== Command: ./dy\n\
                    7:\tfile=/usr/libexec/core.so [0];  needed by ./dy [0]\n\
                    7:\tfile=/usr/libexec/core.so [0];  generating link map\n\
                    7:\t  dynamic: 0x000000000483ae58  base: 0x0000000004837000   size: 0x0000000000004010\n\
                    7:\tfile=libm.so.6 [0];  needed by ./dy [0]\n\
                    7:\t  trying file=/usr/lib/debug/libm.so.6\n\
                    7:\t  trying file=/lib/libm.so.6\n\
                    7:\tfile=libm.so.6 [0];  generating link map\n\
                    7:\t  dynamic: 0x0000000004b40d48  base: 0x0000000004a62000   size: 0x00000000000df110\n";
        assert_eq!(mapped(said), [("/usr/libexec/core.so", 0x483_7000), ("/lib/libm.so.6", 0x4a6_2000)]);
    }
}
