//! `ibs`: a recording in, tables of what single instructions did out.

use super::Action;
use super::common::{Reading, one_on_stdout};
use super::report::When;
use clap::Args;
use skidconv::options::{Annotate, Options};
use std::path::PathBuf;

pub const EXAMPLE: &str = "Example:
  perf record --raw-samples -e ibs_op/cnt_ctl=1/ -e ibs_fetch// -- ./prog      on AMD
  perf mem record ./prog                                                      elsewhere
  skidconv ibs perf.data                functions
  skidconv ibs perf.data multiply       the instructions of a function";

#[derive(Args)]
pub struct Ibs {
    /// The recording, as `perf record` wrote it: a file, a folder (--threads), or "-" for standard input
    input: PathBuf,
    /// Show this function instruction by instruction: its name, or a part of it
    function: Option<String>,
    #[command(flatten)]
    how: Reading,
    /// One row per event and instruction, with all columns ("-" is standard output, as below)
    #[arg(long, value_name = "F")]
    csv: Option<PathBuf>,
    /// One row per event and function
    #[arg(long, value_name = "F")]
    functions_csv: Option<PathBuf>,
    /// The tables, and the code of the hottest functions, as a page for a browser
    #[arg(long, value_name = "F")]
    html: Option<PathBuf>,
    /// Functions shown per event
    #[arg(short, long, value_name = "N", default_value_t = 20)]
    functions: usize,
    /// Show all columns that hold something, not only the usual ones
    #[arg(short, long)]
    all: bool,
    /// Print the registers of every sample instead, as `perf report -D` does
    #[arg(long, conflicts_with_all = ["function", "csv", "functions_csv", "html"])]
    dump: bool,
    /// Do not pipe the text into $PAGER
    #[arg(long)]
    no_pager: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = When::Auto, value_name = "WHEN")]
    color: When,
}

/// What is shown of the tables.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// Functions per event.
    pub functions: usize,
    /// All columns.
    pub all: bool,
    /// The registers instead.
    pub dump: bool,
    /// Without a pager.
    pub no_pager: bool,
    /// Colours.
    pub color: When,
}

impl Ibs {
    pub fn action(self) -> Result<Action, &'static str> {
        let Ibs { functions, all, dump, no_pager, color, .. } = self;
        let options = Options {
            csv: self.csv,
            functions_csv: self.functions_csv,
            html: self.html,
            annotate: self.function.map(Annotate::Function),
            dry: true,
            ..self.how.options(self.input)
        };
        one_on_stdout(options.side_outputs())?;
        Ok(Action::Ibs { options, tables: Tables { functions, all, dump, no_pager, color } })
    }
}
