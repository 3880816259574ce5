//! `report` and `annotate`: a recording in, tables out.

use super::Action;
use super::common::{Input, Solving};
use clap::{Args, ValueEnum};
use skidconv::options::{Annotate as Wanted, Options};
use std::path::PathBuf;

pub const REPORT_EXAMPLE: &str = "Example:
  skidconv report perf.data
  skidconv report perf.data --missing     which symbols are missing, and what would help";

pub const ANNOTATE_EXAMPLE: &str = "Example:
  skidconv annotate perf.data main --event instructions";

#[derive(Args)]
pub struct Report {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    solving: Solving,
    #[command(flatten)]
    show: Show,
    /// Functions shown per event
    #[arg(short, long, value_name = "N", default_value_t = 20)]
    functions: usize,
    /// Show binaries whose symbols are missing instead
    #[arg(long)]
    missing: bool,
    /// Write the same, and the code of the hottest functions, as a page for a browser
    #[arg(long, value_name = "F")]
    html: Option<PathBuf>,
}

#[derive(Args)]
pub struct Annotate {
    #[command(flatten)]
    input: Input,
    /// The function, or a part of its name [the hottest ones]
    function: Option<String>,
    #[command(flatten)]
    solving: Solving,
    #[command(flatten)]
    show: Show,
}

/// How text is shown.
#[derive(Args, Clone, Copy, Debug)]
pub struct Show {
    /// Do not pipe the text into $PAGER
    #[arg(long)]
    pub no_pager: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = When::Auto, value_name = "WHEN")]
    pub color: When,
    /// Show the samples as they were recorded, without correction
    #[arg(long)]
    raw: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Show {
    /// Of what is not a matter of correction.
    pub fn new(no_pager: bool, color: When) -> Show {
        Show { no_pager, color, raw: true }
    }

    /// Makes a run of `options` one that only shows, and corrects unless the samples are wanted as recorded.
    pub fn apply(self, solving: &Solving, options: &mut Options) {
        if !self.raw {
            solving.apply(options);
        }
        options.dry = true;
    }
}

impl Report {
    pub fn action(self) -> Result<Action, &'static str> {
        let mut options = self.input.into_options();
        self.show.apply(&self.solving, &mut options);
        options.html = self.html;
        if options.uses_stdout() {
            return Err("standard output has the tables already: give the page a file");
        }
        Ok(Action::Report { options, show: self.show, functions: self.functions, missing: self.missing })
    }
}

impl Annotate {
    pub fn action(self) -> Action {
        let mut options = self.input.into_options();
        self.show.apply(&self.solving, &mut options);
        options.annotate = Some(self.function.map_or(Wanted::Hottest, Wanted::Function));
        Action::Annotate { options, show: self.show }
    }
}
