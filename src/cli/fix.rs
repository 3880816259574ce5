//! `fix` and `convert`: a recording in, files out.

use super::Action;
use super::common::{Input, Outputs, Solving, one_on_stdout};
use clap::Args;
use skidconv::options::Options;
use std::path::PathBuf;

pub const FIX_EXAMPLE: &str = "Example:
  skidconv fix perf.data --csv hot.csv    writes perf.fixed.data and hot.csv
  perf annotate -i perf.fixed.data        what reads perf.data reads the result";

pub const CONVERT_EXAMPLE: &str = "Example:
  skidconv convert perf.data --flamegraph prog.svg";

#[derive(Args)]
pub struct Fix {
    #[command(flatten)]
    convert: Convert,
    #[command(flatten)]
    solving: Solving,
}

#[derive(Args)]
pub struct Convert {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    outputs: Outputs,
    /// No progress bars and no report; what is damaged or lost is told all the same
    #[arg(short, long)]
    quiet: bool,
}

impl Fix {
    pub fn action(self) -> Result<Action, &'static str> {
        let (mut options, quiet) = self.convert.options();
        self.solving.apply(&mut options);
        checked(options, quiet)
    }
}

impl Convert {
    pub fn action(self) -> Result<Action, &'static str> {
        let (options, quiet) = self.options();
        checked(options, quiet)
    }

    fn options(self) -> (Options, bool) {
        let mut options = self.input.into_options();
        self.outputs.apply(&mut options);
        (options, self.quiet)
    }
}

fn checked(options: Options, quiet: bool) -> Result<Action, &'static str> {
    if !options.correct && options.shows_change() {
        return Err(
            "nothing is corrected, so that nothing changes: --flamegraph-diff and --firefox-diff are for fix",
        );
    }
    let outputs = || options.output.iter().map(PathBuf::as_path).chain(options.side_outputs());
    if !options.correct && outputs().next().is_none() {
        return Err("nothing to write: name an output: -o, --csv, --flamegraph or another of --help");
    }
    one_on_stdout(outputs())?;
    Ok(Action::Write { options, quiet })
}
