//! `variance`: a recording of calls in, tables and charts out.

use super::Action;
use super::common::one_on_stdout;
use super::report::Show;
use clap::Args;
use std::path::{Path, PathBuf};

pub const EXAMPLE: &str = "Example:
  skidconv record --variance -- ./prog
  skidconv variance calls.jsonl --html calls.html";

#[derive(Args, Debug)]
#[command(mut_arg("raw", |raw| raw.hide(true)))]
pub struct Variance {
    /// The recording, as `skidconv record --variance` wrote it
    pub input: PathBuf,
    /// Judge functions by this metric [instructions, or task-clock where they were not counted]
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Functions shown
    #[arg(short, long, value_name = "N", default_value_t = 20)]
    pub functions: usize,
    /// One row per function, context, thread and metric ("-" is standard output, as below)
    #[arg(long, value_name = "F")]
    pub csv: Option<PathBuf>,
    /// Calls over time, of the functions that the report names first
    #[arg(long, value_name = "F")]
    pub svg: Option<PathBuf>,
    /// In the SVG, calls of this function only, by context
    #[arg(long, value_name = "NAME", requires = "svg")]
    pub function: Option<String>,
    /// The report and the charts as a page for a browser
    #[arg(long, value_name = "F")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub show: Show,
}

impl Variance {
    pub fn action(self) -> Result<Action, &'static str> {
        one_on_stdout(self.outputs())?;
        Ok(Action::Variance(Box::new(self)))
    }

    /// The files to write.
    pub fn outputs(&self) -> impl Iterator<Item = &Path> {
        [&self.csv, &self.svg, &self.html].into_iter().filter_map(|path| path.as_deref())
    }
}
