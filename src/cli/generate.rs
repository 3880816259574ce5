//! `completions` and `man`: what packages of the program ship, made from the command line's own types.

use super::Action;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use skidconv::options::is_stdout;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[derive(Args)]
pub struct Completions {
    /// The shell
    pub shell: Shell,
}

#[derive(Args)]
pub struct Man {
    /// The folder to write them into
    folder: PathBuf,
}

impl Man {
    pub fn action(self) -> Result<Action, &'static str> {
        match is_stdout(&self.folder) {
            true => Err("there are several pages: name a folder for them instead of standard output"),
            false => Ok(Action::Man(self.folder)),
        }
    }
}

/// Writes the completions of `shell` to the standard output.
pub fn completions(shell: Shell) -> io::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut super::Cli::command(), "skidconv", &mut script);
    io::stdout().write_all(&script)
}

/// Writes a page for the program and one for each command.
pub fn man(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(super::Cli::command(), folder)
}
