//! The command line's types, and their conversion into [`Options`].

use clap::{Args, Parser, Subcommand, ValueEnum, error::ErrorKind};
use skidconv::options::{Options, Solver, is_stdout};
use std::path::PathBuf;

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
    #[command(after_help = FIX_EXAMPLE, after_long_help = FIX_EXAMPLE)]
    Fix(Fix),
    /// Write the same formats from the samples as they were recorded
    ///
    /// Without -o no recording is written: name at least one other output.
    #[command(after_help = CONVERT_EXAMPLE, after_long_help = CONVERT_EXAMPLE)]
    Convert(Common),
}

const FIX_EXAMPLE: &str = "Example:
  skidconv fix perf.data --csv hot.csv    writes perf.fixed.data and hot.csv
  perf annotate -i perf.fixed.data        what reads perf.data reads the result";

const CONVERT_EXAMPLE: &str = "Example:
  skidconv convert perf.data --folded - | flamegraph.pl > prog.svg";

#[derive(Args)]
struct Fix {
    #[command(flatten)]
    common: Common,
    /// How hot code is solved
    #[arg(long, value_enum, default_value_t = SolverName::Gibbs)]
    solver: SolverName,
    /// Mean skid, instead of estimating it
    #[arg(long, value_name = "CYCLES", value_parser = cycles)]
    skid: Option<f64>,
    /// Equal seeds give equal bytes, on any number of threads
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

#[derive(Args)]
struct Common {
    /// The recording, as `perf record` wrote it: a file, a folder (--threads), or "-" for standard input
    input: PathBuf,
    /// The recording to write [fix: INPUT with .fixed before its extension]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Folder with the recorded machine's binaries under their own paths, as in perf; the first hit wins
    #[arg(long, value_name = "DIR")]
    symfs: Vec<PathBuf>,
    /// One row per instruction: counts before and after, interval, verdict ("-" is standard output, as below)
    #[arg(long, value_name = "F")]
    csv: Option<PathBuf>,
    /// pprof's profile.proto, gzipped
    #[arg(long, value_name = "F")]
    pprof: Option<PathBuf>,
    /// A profile for profiler.firefox.com; gzipped if F ends in .gz
    #[arg(long, value_name = "F")]
    firefox: Option<PathBuf>,
    /// Folded stacks weighed by period, of the first event or the first --event
    #[arg(long, value_name = "F")]
    folded: Option<PathBuf>,
    /// What was done, as JSON
    #[arg(long, value_name = "F")]
    report_json: Option<PathBuf>,
    /// Only this event, as `perf script` names it; may be repeated
    #[arg(long, value_name = "NAME")]
    event: Vec<String>,
    /// Threads to work with [one per processor]
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<usize>,
    /// Replace an existing recording
    #[arg(long)]
    force: bool,
    /// Refuse a damaged recording, instead of reading what is whole and saying what is not
    #[arg(long)]
    strict: bool,
    /// No progress bars and no report
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum SolverName {
    /// Sample the posterior; where chains do not mix, fall back to argmin
    Gibbs,
    /// The posterior's mode
    Argmin,
    /// Flow conservation only
    Flow,
    /// The formulation of "Can We Trust Profiling Results?" (ICS'19), literally
    Ics,
    /// Baseline without skid: the mean of each block's samples
    Mean,
    /// Baseline without skid: LLVM's profile inference, with the compiler's costs
    Profi,
    /// Baseline without skid: LLVM's profile inference, with BOLT's costs
    Bolt,
    /// Baseline without skid: GCC's minimum-cost smoothing of counts
    Mcf,
}

impl Cli {
    /// The options and whether to be quiet; what parses but makes no sense is a usage error and ends the program.
    pub fn into_options(self) -> (Options, bool) {
        let (common, fix) = match self.command {
            Command::Fix(Fix { common, solver, skid, seed }) => (common, Some((solver, skid, seed))),
            Command::Convert(common) => (common, None),
        };
        let quiet = common.quiet;
        let mut options = common.into_options();
        if let Some((solver, skid, seed)) = fix {
            options.correct = true;
            options.solver = solver.into();
            (options.skid, options.seed) = (skid, seed);
        }
        if let Err(message) = check(&options) {
            <Cli as clap::CommandFactory>::command().error(ErrorKind::ArgumentConflict, message).exit()
        }
        (options, quiet)
    }
}

impl Common {
    fn into_options(self) -> Options {
        Options {
            input: self.input,
            output: self.output,
            symfs: self.symfs,
            csv: self.csv,
            pprof: self.pprof,
            firefox: self.firefox,
            folded: self.folded,
            report_json: self.report_json,
            events: self.event,
            threads: self.threads,
            force: self.force,
            strict: self.strict,
            ..Options::default()
        }
    }
}

impl From<SolverName> for Solver {
    fn from(name: SolverName) -> Solver {
        match name {
            SolverName::Gibbs => Solver::Gibbs,
            SolverName::Argmin => Solver::Argmin,
            SolverName::Flow => Solver::Flow,
            SolverName::Ics => Solver::Ics,
            SolverName::Mean => Solver::Mean,
            SolverName::Profi => Solver::Profi,
            SolverName::Bolt => Solver::Bolt,
            SolverName::Mcf => Solver::Mcf,
        }
    }
}

fn check(options: &Options) -> Result<(), &'static str> {
    let outputs = || options.output.iter().map(PathBuf::as_path).chain(options.side_outputs());
    if !options.correct && outputs().next().is_none() {
        return Err(
            "nothing to write: name an output, -o, --csv, --pprof, --firefox, --folded or --report-json",
        );
    }
    if outputs().filter(|path| is_stdout(path)).count() > 1 {
        return Err("standard output cannot take two outputs: give all but one of them a file");
    }
    Ok(())
}

fn cycles(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(cycles) if (0.0..=1e6).contains(&cycles) => Ok(cycles),
        _ => Err("give cycles from 0 to 1000000".into()),
    }
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads) if (1..=4096).contains(&threads) => Ok(threads),
        _ => Err("give 1 to 4096 threads".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Options {
        Cli::try_parse_from(words.split(' ')).unwrap().into_options().0
    }

    #[test]
    fn every_flag_reaches_the_options() {
        let o = parse(
            "skidconv fix in -o out --symfs a --symfs b --csv c --pprof p --firefox f --folded - --report-json r \
             --event cycles --event instructions --solver ics --skid 12.5 --seed 9 --threads 3 --force --strict --quiet",
        );
        assert!(o.correct && o.force && o.strict && o.solver == Solver::Ics && o.skid == Some(12.5));
        assert_eq!((o.seed, o.threads, o.events.len(), o.symfs.len()), (9, Some(3), 2, 2));
        let side: Vec<_> = o.side_outputs().map(|p| p.to_str().unwrap()).collect();
        assert_eq!(side, ["c", "p", "f", "-", "r"]);
    }

    #[test]
    fn fix_samples_by_default_and_convert_does_not_correct() {
        assert!(parse("skidconv fix in").correct);
        assert_eq!(parse("skidconv fix in").solver, Solver::Gibbs);
        assert!(!parse("skidconv convert in --csv c").correct);
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        for words in ["--skid -1", "--skid nan", "--skid inf", "--threads 0", "--seed -1", "--solver magic"] {
            let words = format!("skidconv fix in {words}");
            assert!(Cli::try_parse_from(words.split(' ')).is_err(), "{words}");
        }
    }

    #[test]
    fn the_definitions_are_sound() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}
