//! Another program, its times and its peak memory.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Clock ticks a second in `/proc` (`USER_HZ`), on all machines that Linux runs on today.
const TICKS: f64 = 100.0;

/// How a run went.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Wall time.
    pub seconds: f64,
    /// Time of processors, which depends less on what else the machine does.
    pub processor: f64,
    /// Peak of resident memory, as last seen while it ran.
    pub megabytes: f64,
}

/// Runs `command`; `None` if it cannot be started or fails.
pub fn run(command: &[String]) -> Option<Run> {
    let (program, args) = command.split_first()?;
    let (begun, before) = (Instant::now(), of_children());
    let mut command = Command::new(program);
    command.args(args).env("PAGER", "cat").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut kilobytes = 0;
    loop {
        kilobytes = kilobytes.max(peak(&child).unwrap_or(0));
        if let Some(status) = child.try_wait().ok()? {
            let (seconds, processor) = (begun.elapsed().as_secs_f64(), of_children() - before);
            return status.success().then_some(Run {
                seconds,
                processor,
                megabytes: kilobytes as f64 / 1000.0,
            });
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The run whose wall time is the median.
pub fn median(runs: &[Run]) -> Option<Run> {
    let mut runs = runs.to_vec();
    runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    runs.get(runs.len() / 2).copied()
}

/// `VmHWM` in `/proc/PID/status`, in KB.
fn peak(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Time of processors that this program took so far, in user mode and in the kernel.
pub fn processor_seconds() -> f64 {
    ticks(11) + ticks(12)
}

/// That of the programs it ran to their end.
fn of_children() -> f64 {
    ticks(13) + ticks(14)
}

/// A field of `/proc/self/stat`, counted from behind the name of the program.
fn ticks(field: usize) -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    fields.split_whitespace().nth(field).and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) / TICKS
}
