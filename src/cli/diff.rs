//! `diff`: two recordings in, a table out.

use super::Action;
use super::common::{Reading, Solving};
use super::report::Show;
use clap::Args;
use skidconv::options::{Options, is_stdout};
use std::path::PathBuf;

pub const EXAMPLE: &str = "Example:
  skidconv diff before.data after.data
  skidconv stat before-*.data --against after-*.data      if runs of one program differ among themselves";

#[derive(Args)]
pub struct Diff {
    /// The first recording; one of the two may be "-" for standard input
    a: PathBuf,
    /// The second recording
    b: PathBuf,
    #[command(flatten)]
    how: Reading,
    #[command(flatten)]
    solving: Solving,
    #[command(flatten)]
    show: Show,
    /// Rows per table
    #[arg(short, long, value_name = "N", default_value_t = 20)]
    rows: usize,
    /// Show what does not differ beyond the uncertainty as well
    #[arg(long)]
    all: bool,
}

impl Diff {
    pub fn action(self) -> Result<Action, &'static str> {
        if is_stdout(&self.a) && is_stdout(&self.b) {
            return Err("standard input cannot be both recordings: name a file for one of them");
        }
        let mut options = self.how.options(self.a);
        self.show.apply(&self.solving, &mut options);
        options.instructions = true;
        let other = Options { input: self.b, ..options.clone() };
        let sides = Box::new([options, other]);
        Ok(Action::Diff { sides, show: self.show, rows: self.rows, all: self.all })
    }
}
