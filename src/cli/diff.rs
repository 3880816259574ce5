//! `diff`: two recordings in, a table out.

use super::Action;
use super::common::{Reading, Solving};
use super::report::Show;
use clap::Args;
use std::path::PathBuf;

pub const EXAMPLE: &str = "Example:
  skidconv diff before.data after.data";

#[derive(Args)]
pub struct Diff {
    /// The first recording
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
    pub fn action(self) -> Action {
        let mut options = self.how.options(self.a);
        self.show.apply(&self.solving, &mut options);
        options.instructions = true;
        let other = skidconv::options::Options { input: self.b, ..options.clone() };
        Action::Diff { sides: Box::new([options, other]), show: self.show, rows: self.rows, all: self.all }
    }
}
