//! The command line's types, one file per command, and their conversion into an [`Action`].

#[cfg(target_os = "linux")]
mod calibrate;
mod common;
mod diff;
mod fix;
pub mod generate;
mod ibs;
#[cfg(target_os = "linux")]
mod record;
mod report;
mod variance;
mod stat;

pub use ibs::Tables;
pub use report::{Show, When};
pub use variance::Variance;

use clap::{CommandFactory, Parser, Subcommand, error::ErrorKind};
use skidconv::options::Options;

/// Puts perf samples back on the instructions that caused them.
#[derive(Parser)]
#[command(version, propagate_version = true, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "Example:
  perf record -e cycles,instructions -- ./prog
  skidconv fix perf.data
  perf report -i perf.fixed.data")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Correct skid: write a recording, and other formats, with the samples where they belong
    ///
    /// A counter's interrupt arrives late, and the address it records is downstream of the instruction that caused it. `fix`
    /// rebuilds the control flow of the sampled code, solves for how often each path ran, and moves samples back. Counts,
    /// order, times, threads and periods stay as they are; exact events (cycles:pp) are left alone.
    #[command(after_help = fix::FIX_EXAMPLE, after_long_help = fix::FIX_EXAMPLE)]
    Fix(fix::Fix),
    /// Write the same formats from the samples as they were recorded
    ///
    /// Without -o no recording is written: name at least one other output.
    #[command(after_help = fix::CONVERT_EXAMPLE, after_long_help = fix::CONVERT_EXAMPLE)]
    #[command(mut_arg("firefox_diff", |arg| arg.hide(true)), mut_arg("flamegraph_diff", |arg| arg.hide(true)))]
    Convert(fix::Convert),
    /// Show what `fix` would do: functions before and after, with intervals
    #[command(after_help = report::REPORT_EXAMPLE, after_long_help = report::REPORT_EXAMPLE)]
    Report(report::Report),
    /// Show a function's instructions before and after, with loops and source lines
    #[command(after_help = report::ANNOTATE_EXAMPLE, after_long_help = report::ANNOTATE_EXAMPLE)]
    Annotate(report::Annotate),
    /// Show where two recordings differ beyond the uncertainty
    ///
    /// Both are corrected first. Functions are compared by name and binary, instructions by address where both recordings
    /// have the same build. Probabilities are adjusted for the number of comparisons (Šidák). They are of sampling alone: how much
    /// runs of one program differ takes several runs of each, and `stat --against`.
    #[command(after_help = diff::EXAMPLE, after_long_help = diff::EXAMPLE)]
    Diff(diff::Diff),
    /// Show how far self times can be trusted: of one recording, or of many runs
    ///
    /// After NIST Technical Note 1826: what published models say of the standard deviation of sample counts, what is observed
    /// between runs, with intervals by Student's t and by the bootstrap, and what speaks against either: fragmented self time,
    /// aliasing with the sampling period, dependent samples, drift, attraction to some addresses, losses.
    #[command(after_help = stat::EXAMPLE, after_long_help = stat::EXAMPLE)]
    Stat(stat::Stat),
    /// Show what single instructions did: AMD's sampled fetches and ops (IBS), and sampled accesses to memory
    ///
    /// The recording needs the registers of each sample: `perf record --raw-samples -e ibs_op// -e ibs_fetch//`. Fetches are
    /// counted as killed, completed, aborted, and by what they missed; ops as branches, loads and stores, and by what they
    /// missed and for how long. Accesses of `perf mem record` get such a table of any processor, and samples of counters
    /// stand beside them.
    #[command(after_help = ibs::EXAMPLE, after_long_help = ibs::EXAMPLE)]
    Ibs(ibs::Ibs),
    /// Record a program, a process or the machine
    ///
    /// Counts cycles and instructions, or cpu-clock where there are no hardware counters, and writes a perf.data that perf
    /// reads as well. The exit code is the program's; 127 if it was not found, 126 if it cannot run, 1 if the recording failed.
    #[cfg(target_os = "linux")]
    #[command(after_help = record::EXAMPLE, after_long_help = record::EXAMPLE)]
    Record(record::Record),
    /// Measure the skid of this machine, for `fix` to start from
    ///
    /// Samples loops whose counts are known with each event that the machine has, and stores what that says of processors of
    /// this kind. `fix`, `report`, `annotate` and `diff` use it on recordings that name such a processor.
    #[cfg(target_os = "linux")]
    #[command(after_help = calibrate::EXAMPLE, after_long_help = calibrate::EXAMPLE)]
    Calibrate(calibrate::Calibrate),
    /// Show how much calls of a function differ, and what to do about it
    ///
    /// In a recording of `skidconv record --variance`. Functions with much time and much variance are worth the effort.
    #[command(after_help = variance::EXAMPLE, after_long_help = variance::EXAMPLE)]
    Variance(Variance),
    /// Write a shell's completions to standard output
    Completions(generate::Completions),
    /// Write the manual pages into a folder
    Man(generate::Man),
}

/// What the program is to do.
#[derive(Debug)]
pub enum Action {
    /// Write files, and tell of it; if quiet, of damage alone.
    Write {
        /// Which.
        options: Options,
        /// Whether to tell of damage alone.
        quiet: bool,
    },
    /// Show functions.
    Report {
        /// Of what.
        options: Options,
        /// How.
        show: Show,
        /// How many per event.
        functions: usize,
        /// Whether to show binaries without symbols instead.
        missing: bool,
    },
    /// Show instructions.
    Annotate {
        /// Of what.
        options: Options,
        /// How.
        show: Show,
    },
    /// Show differences.
    Diff {
        /// Between what.
        sides: Box<[Options; 2]>,
        /// How.
        show: Show,
        /// How many per table.
        rows: usize,
        /// Whether to show what does not differ as well.
        all: bool,
    },
    /// Show uncertainties.
    Stat {
        /// Of what.
        options: Box<skidconv::pipeline::stat::StatOptions>,
        /// When to use colours.
        color: When,
    },
    /// Show tables of sampled fetches, ops and accesses.
    Ibs {
        /// Of what.
        options: Options,
        /// How.
        tables: Tables,
    },
    /// Record.
    #[cfg(target_os = "linux")]
    Record(Box<skidconv_recorder::plan::Plan>),
    /// Measure the skid of this machine: how long each loop runs, and where the result goes.
    #[cfg(target_os = "linux")]
    Calibrate(std::time::Duration, std::path::PathBuf),
    /// Show variance among calls.
    Variance(Box<Variance>),
    /// Record calls.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    RecordCalls(crate::calls::Wanted),
    /// Write a shell's completions.
    Completions(clap_complete::Shell),
    /// Write manual pages into a folder.
    Man(std::path::PathBuf),
}

#[cfg(target_os = "linux")]
impl Action {
    /// Whether it records, and ends when its program does.
    pub fn records(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        if matches!(self, Action::RecordCalls(_)) {
            return true;
        }
        matches!(self, Action::Record(_) | Action::Calibrate(..))
    }
}

impl Cli {
    /// What to do; what parses but makes no sense is a usage error and ends the program.
    pub fn into_action(self) -> Action {
        let action = match self.command {
            Command::Fix(fix) => fix.action(),
            Command::Convert(convert) => convert.action(),
            Command::Report(report) => report.action(),
            Command::Annotate(annotate) => Ok(annotate.action()),
            Command::Diff(diff) => diff.action(),
            Command::Stat(stat) => stat.action(),
            Command::Ibs(ibs) => ibs.action(),
            #[cfg(target_os = "linux")]
            Command::Record(record) => record.action(),
            #[cfg(target_os = "linux")]
            Command::Calibrate(calibrate) => calibrate.action(),
            Command::Variance(variance) => variance.action(),
            Command::Completions(of) => Ok(Action::Completions(of.shell)),
            Command::Man(into) => into.action(),
        };
        action.unwrap_or_else(|message| Cli::command().error(ErrorKind::ArgumentConflict, message).exit())
    }
}

#[cfg(test)]
mod tests;
