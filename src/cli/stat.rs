//! `stat`: recordings in, their uncertainty out.

use super::Action;
use super::common::{Reading, one_on_stdout};
use super::report::When;
use clap::Args;
use skidconv::pipeline::stat::StatOptions;
use skidconv::stat::Asked;
use std::path::PathBuf;

pub const EXAMPLE: &str = "Examples:
  skidconv stat perf.data
  for n in $(seq 100); do perf record -o run-$n.data ./prog; done
  skidconv stat run-*.data --html runs.html
  skidconv stat old-*.data --against new-*.data";

#[derive(Args)]
pub struct Stat {
    /// The recording, or several of the same program in the order in which they were made
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Recordings to compare those with
    #[arg(long, value_name = "RUN", num_args = 1..)]
    against: Vec<PathBuf>,
    #[command(flatten)]
    how: Reading,
    /// How often functions are called in a run: CSV with the columns function and calls, or what `record --variance` made
    /// [what branch stacks say]
    #[arg(long, value_name = "F")]
    calls: Option<PathBuf>,
    /// In what proportion the self times of functions are expected: CSV with the columns function and expected
    #[arg(long, value_name = "F")]
    expect: Option<PathBuf>,
    /// Confidence of all intervals, in per cent
    #[arg(long, value_name = "PERCENT", default_value_t = 95.0, value_parser = confidence)]
    confidence: f64,
    /// Resamples of the bootstrap
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    replicates: u32,
    /// Equal seeds give equal intervals
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Functions told apart per event; the others are taken together
    #[arg(short, long, value_name = "N", default_value_t = 20)]
    functions: usize,
    /// Compare shares of samples, not samples, as is done where periods vary
    #[arg(long)]
    shares: bool,
    /// Everything that was measured, one row per function
    #[arg(long, value_name = "F")]
    csv: Option<PathBuf>,
    /// A page for a browser, with plots
    #[arg(long, value_name = "F")]
    html: Option<PathBuf>,
    /// The plots as SVG files in a folder
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Put the runs together as one recording, if they show no bias
    #[arg(long, value_name = "OUT")]
    pool: Option<PathBuf>,
    /// Pool biased runs all the same, and replace an existing recording
    #[arg(long)]
    force: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = When::Auto, value_name = "WHEN")]
    color: When,
}

impl Stat {
    pub fn action(self) -> Result<Action, &'static str> {
        let asked = Asked {
            confidence: self.confidence / 100.0,
            replicates: self.replicates as usize,
            seed: self.seed,
        };
        let options = StatOptions {
            reading: self.how.options(PathBuf::new()),
            runs: self.runs,
            against: self.against,
            calls: self.calls,
            expect: self.expect,
            functions: self.functions,
            asked,
            shares: self.shares,
            csv: self.csv,
            html: self.html,
            svg: self.svg,
            pooled: self.pool,
            force: self.force,
        };
        one_on_stdout(options.outputs())?;
        Ok(Action::Stat { options: Box::new(options), color: self.color })
    }
}

fn confidence(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(percent) if (50.0..=99.9999).contains(&percent) => Ok(percent),
        _ => Err("give per cent from 50 to 99.9999".into()),
    }
}
