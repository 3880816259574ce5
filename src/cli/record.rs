//! `record`: a program, a process or the machine in, a recording out.

use super::Action;
use clap::Args;
use skidconv_recorder::list;
use skidconv_recorder::names::{self, Wanted};
use skidconv_recorder::plan::{Callchains, Plan, Target};
use skidconv_recorder::sys::Rate;
use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::PathBuf;
use std::time::Duration;

pub const EXAMPLE: &str = "Example:
  skidconv record -- ./prog               writes perf.data
  skidconv record --variance -- ./prog    writes calls.jsonl, for skidconv variance
  skidconv record --randomize -c 1000003 -o p.data -- ./prog
  skidconv record -g -F 999 -o - ./prog | skidconv fix -
  skidconv fix perf.data";

/// Bytes of stack that `perf record --call-graph dwarf` keeps.
const STACK: u32 = 8192;

#[derive(Args)]
pub struct Record {
    /// Events as `perf record -e` takes them: names, {groups}, tracepoints, modifiers; may be repeated [cycles and instructions]
    #[arg(short, long, value_name = "EVENTS", value_parser = events)]
    event: Vec<Events>,
    /// A sample after so many events [a prime that suits each event]
    #[arg(short, long, value_name = "N", value_parser = positive, conflicts_with = "freq")]
    count: Option<u64>,
    /// So many samples a second, or max for as many as the system allows; the kernel adapts the interval
    #[arg(short = 'F', long, value_name = "HZ", value_parser = hertz)]
    freq: Option<u64>,
    /// Draw every interval afresh, so that no loop keeps step: from half the interval to one and a half
    #[arg(long, conflicts_with = "freq")]
    randomize: bool,
    /// With --randomize or --variance: equal seeds draw equal intervals [a random one]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The file to write, or - for a pipe; an earlier recording is kept as FILE.old [perf.data; with --variance calls.jsonl]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Record this process, with all its threads
    #[arg(short, long, value_name = "PID", conflicts_with_all = ["all_cpus", "command"])]
    pid: Option<u32>,
    /// Record these threads
    #[arg(short, long, value_name = "TIDS", value_delimiter = ',', conflicts_with_all = ["pid", "all_cpus", "command"])]
    tid: Vec<u32>,
    /// Record the whole machine, as long as COMMAND runs if there is one
    #[arg(short, long)]
    all_cpus: bool,
    /// Record these processors of it, such as 0-3,5
    #[arg(short = 'C', long, value_name = "LIST", value_parser = processors, conflicts_with_all = ["pid", "tid"])]
    cpu: Option<Processors>,
    /// Record user space only, whatever events say
    #[arg(long, conflicts_with = "all_kernel")]
    all_user: bool,
    /// Record the kernel only
    #[arg(long)]
    all_kernel: bool,
    /// Stop after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    duration: Option<Duration>,
    /// With callchains: fp, dwarf, dwarf,BYTES or lbr
    #[arg(long, value_name = "HOW", value_parser = callchains)]
    call_graph: Option<Callchains>,
    /// With callchains along frame pointers
    #[arg(short, conflicts_with = "call_graph")]
    g: bool,
    /// With the last branches taken
    #[arg(short = 'b', long, conflicts_with = "call_graph")]
    branch_any: bool,
    /// Fail where there are no hardware counters
    #[arg(long)]
    require_pmu: bool,
    /// Pages of memory for records, per processor; a power of two
    #[arg(short, long, value_name = "N", default_value_t = skidconv_recorder::plan::PAGES, value_parser = pages)]
    mmap_pages: usize,
    /// Measure single calls of hot functions instead, for `skidconv variance`
    #[cfg(target_arch = "x86_64")]
    #[arg(long, conflicts_with_all = [
        "event", "count", "freq", "randomize", "all_cpus", "call_graph", "g", "branch_any", "require_pmu",
        "mmap_pages", "tid", "cpu", "all_user", "all_kernel",
    ])]
    variance: bool,
    /// With --variance: calls to measure, a second and running thread
    #[cfg(target_arch = "x86_64")]
    #[arg(long, value_name = "N", default_value_t = 45.0, value_parser = rate)]
    rate: f64,
    /// The program to run, with its arguments
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Clone)]
struct Events(Vec<Vec<Wanted>>);

#[derive(Clone)]
struct Processors(Vec<u32>);

impl Record {
    pub fn action(self) -> Result<Action, &'static str> {
        #[cfg(target_arch = "x86_64")]
        if self.variance {
            return self.of_calls();
        }
        if self.seed.is_some() && !self.randomize {
            return Err("--seed is for --randomize and --variance");
        }
        let command = (!self.command.is_empty()).then_some(self.command);
        let target = match (self.pid, self.all_cpus || self.cpu.is_some(), command) {
            (Some(pid), ..) => Target::Process(pid),
            _ if !self.tid.is_empty() => Target::Threads(self.tid),
            (None, true, command) => Target::System(command),
            (None, false, Some(command)) => Target::Command(command),
            (None, false, None) => {
                return Err(
                    "nothing to record: name a program behind --, a process with -p, a thread with -t, or all with -a",
                );
            }
        };
        let mut plan = Plan::new(target, self.output.unwrap_or_else(|| "perf.data".into()));
        plan.events = self.event.into_iter().flat_map(|events| events.0).collect();
        plan.modes = match (self.all_user, self.all_kernel) {
            (true, _) => Some([true, false, false]),
            (_, true) => Some([false, true, false]),
            _ => None,
        };
        plan.processors = self.cpu.map(|processors| processors.0);
        plan.rate = self.count.map(Rate::Period).or(self.freq.map(Rate::Frequency));
        plan.randomize = self.randomize.then(|| self.seed.unwrap_or_else(seed));
        plan.callchains = self.call_graph.or(self.g.then_some(Callchains::FramePointers));
        (plan.branches, plan.require_counters) = (self.branch_any, self.require_pmu);
        (plan.duration, plan.pages) = (self.duration, self.mmap_pages);
        plan.words = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        Ok(Action::Record(Box::new(plan)))
    }

    #[cfg(target_arch = "x86_64")]
    fn of_calls(self) -> Result<Action, &'static str> {
        let whom = match self.pid {
            Some(pid) => crate::calls::Whom::Process(pid),
            None if self.command.is_empty() => {
                return Err("nothing to measure: name a program behind --, or a process with -p");
            }
            None => crate::calls::Whom::Command(self.command),
        };
        Ok(Action::RecordCalls(crate::calls::Wanted {
            whom,
            duration: self.duration,
            output: self.output.unwrap_or_else(|| "calls.jsonl".into()),
            rate: self.rate,
            seed: self.seed.unwrap_or_else(seed),
        }))
    }
}

/// Of the keys that the standard library makes from the system's randomness.
fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

fn events(text: &str) -> Result<Events, String> {
    names::parse(text).map(Events).map_err(|error| error.to_string())
}

fn processors(text: &str) -> Result<Processors, String> {
    let processors = list(text).filter(|processors| !processors.is_empty()).map(|mut all| {
        all.sort();
        all.dedup();
        Processors(all)
    });
    processors.ok_or_else(|| "give numbers and ranges, such as 0-3,5".into())
}

fn positive(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|&number| number > 0).ok_or_else(|| "give a positive number".into())
}

fn hertz(text: &str) -> Result<u64, String> {
    if text != "max" {
        return positive(text);
    }
    let most = std::fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate");
    positive(most.map_err(|error| format!("the system's limit cannot be read: {error}"))?.trim())
}

#[cfg(target_arch = "x86_64")]
fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (0.1..=1e5).contains(rate));
    rate.ok_or_else(|| "give a number from 0.1 to 100000".into())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..1e9).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "give seconds".into())
}

fn pages(text: &str) -> Result<usize, String> {
    let pages = text.parse::<usize>().ok().filter(|pages| pages.is_power_of_two() && *pages <= 1 << 20);
    pages.ok_or_else(|| "give a power of two up to 1048576".into())
}

fn callchains(text: &str) -> Result<Callchains, String> {
    match text.split_once(',').unwrap_or((text, "")) {
        ("fp", "") => Ok(Callchains::FramePointers),
        ("lbr", "") => Ok(Callchains::BranchRecords),
        ("dwarf", "") => Ok(Callchains::Dwarf(STACK)),
        ("dwarf", size) => {
            let size = size.parse::<u32>().ok().filter(|size| (8..65528).contains(size));
            let size = size.ok_or("give 8 to 65527 bytes of stack")?;
            Ok(Callchains::Dwarf(size.next_multiple_of(8).min(65520)))
        }
        _ => Err("give fp, dwarf, dwarf,BYTES or lbr".into()),
    }
}
