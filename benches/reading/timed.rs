//! Another program, its wall time and its peak memory.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How a run went.
#[derive(Debug)]
pub struct Run {
    /// Wall time.
    pub seconds: f64,
    /// Peak of resident memory, as last seen while it ran.
    pub megabytes: f64,
}

/// Runs `command`; `None` if it cannot be started or fails.
pub fn run(command: &[String]) -> Option<Run> {
    let (program, args) = command.split_first()?;
    let begun = Instant::now();
    let mut command = Command::new(program);
    command.args(args).env("PAGER", "cat").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut kilobytes = 0;
    loop {
        kilobytes = kilobytes.max(peak(&child).unwrap_or(0));
        if let Some(status) = child.try_wait().ok()? {
            let seconds = begun.elapsed().as_secs_f64();
            return status.success().then_some(Run { seconds, megabytes: kilobytes as f64 / 1000.0 });
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// `VmHWM` in `/proc/PID/status`, in KB.
fn peak(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
