//! `calibrate`: this machine in, its skid out.

use super::Action;
use super::common::calibrations;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

pub const EXAMPLE: &str = "Example:
  skidconv calibrate
  skidconv fix perf.data                  starts from it, if perf.data is from such a processor";

#[derive(Args)]
pub struct Calibrate {
    /// Seconds for each event in each of four loops
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    duration: f64,
    /// Folder to store it in [$XDG_DATA_HOME/skidconv/calibrations]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

impl Calibrate {
    pub fn action(self) -> Result<Action, &'static str> {
        if !(0.01..=1000.0).contains(&self.duration) {
            return Err("give a duration from 0.01 to 1000 seconds");
        }
        let folder = self.output.or_else(calibrations);
        let folder = folder
            .ok_or("no folder to store it in: neither XDG_DATA_HOME nor HOME is set: name one with -o")?;
        Ok(Action::Calibrate(Duration::from_secs_f64(self.duration), folder))
    }
}
